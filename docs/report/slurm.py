"""Read what Slurm's sacct, scontrol and sacctmgr print.

Part of recompute.py, which shares no code with fairaudit. Times are UTC.
"""

import re
from collections import defaultdict
from datetime import UTC, datetime

from nodes import Node, Request, Vector
from replay import Job, Log

EXPORT = [
    "JobID", "JobIDRaw", "Cluster", "Partition", "QOS", "Account", "Group", "GID", "User",
    "UID", "Submit", "Eligible", "Start", "End", "Elapsed", "ExitCode", "State", "NNodes",
    "AllocCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "Timelimit", "NodeList",
    "JobName",
]  # fmt: skip
"""The columns of Open XDMoD's export, which has no header."""
TASKS = 10**7  # more than an array has
BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def read_sacct(text: str, partition: str | None) -> tuple[Log, list[Request]]:
    """Read a log of sacct, and what its jobs request on nodes.

    Args:
        text: of sacct.
        partition: whose jobs are a pool of their own; None: all of them.
    """
    separator = "\x1f" if "\x1f" in text else "|"
    lines = [line.split(separator) for line in text.splitlines()]
    names = lines.pop(0) if "JobIDRaw" in lines[0] else EXPORT
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    rows = [
        row for row in rows if partition in (None, row["Partition"]) for _ in tasks(row["JobID"])
    ]
    found = sorted(
        zip(map(_job, rows), map(_request, rows), strict=True), key=lambda one: one[0][:3]
    )
    jobs, requests = map(list, zip(*found, strict=True))
    most: defaultdict[str, int] = defaultdict(int)  # CPUs that ran on each node
    for job, request in found:
        for name in request.on:
            most[name] = max(most[name], job.size // len(request.on))
    return Log(jobs, len(rows), sum(most.values()), UTC, nodes=len(most)), requests


def with_nodes(log: Log, nodes: list[Node]) -> Log:
    """Return a log with the capacity of its nodes."""
    cpus, gpus = (sum(node.amounts.get(name, 0) for node in nodes) for name in ("cpu", "gpu"))
    return log._replace(capacity=cpus, gpus=gpus, nodes=len(nodes))


def read_nodes(text: str, events: str) -> list[Node]:
    """Read ``scontrol show node -o``, and the drains of ``sacctmgr -P show event``."""
    away = defaultdict(list)
    for line in events.splitlines()[1:]:
        _, name, begin, end, state, *_ = line.split("|")
        if name and state.startswith(("DRAIN", "DOWN")):
            away[name].append((_time(begin) or 0, _time(end) or 1 << 40))
    found = []
    for line in text.splitlines():
        of = dict(re.findall(r"(\w+)=(\S*)", line))
        gres = {f"gpu:{name}": int(n) for name, n in re.findall(r"gpu:(\w+):(\d+)", of["Gres"])}
        amounts = {"cpu": int(of["CPUTot"]), "gpu": sum(gres.values())}
        amounts |= {"mem": int(of["RealMemory"]) * 2**20, **gres}
        partitions, features = (of[key].split(",") for key in ("Partitions", "AvailableFeatures"))
        found.append(Node(of["NodeName"], amounts, partitions, features, away[of["NodeName"]]))
    return found


def _job(row: dict[str, str]) -> Job:
    submit, start, end = (_time(row[name]) for name in ("Submit", "Start", "End"))
    start = None if row["NodeList"] == "None assigned" else start
    arrival = _time(row["Eligible"]) or submit
    arrival = arrival if start is None else min(arrival, start)
    days, clock = row["Timelimit"].rpartition("-")[::2]
    hours, minutes, seconds = map(int, clock.split(":"))
    walltime = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    used = tres(row["AllocTRES"] or row["ReqTRES"])
    job, _, task = row["JobID"].partition("_")
    number = int(job) * TASKS + (int(task) if task.isdecimal() else 0)
    return Job(
        arrival, submit, number, row["User"], row["Account"], row["Partition"],
        row["QOS"], used["cpu"], walltime, start, end, used.get("gpu", 0),
        int(row["Priority"]) if row.get("Priority") else None, row.get("Reason", ""),
    )  # fmt: skip


def _request(row: dict[str, str]) -> Request:
    used, asked = tres(row["AllocTRES"] or row["ReqTRES"]), tres(row["ReqTRES"])
    typed = any(name.startswith("gpu:") for name in asked)
    needed = {name: n for name, n in used.items() if typed or not name.startswith("gpu:")}
    ran = "assigned" not in row["NodeList"]
    on = hosts(row["NodeList"]) if ran else []
    return Request(needed, used, int(row["NNodes"]), on, row.get("Constraints", ""))


def _time(text: str) -> int | None:
    known = re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text)
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) if known else None


def tres(text: str) -> Vector:
    """Return CPUs, memory in bytes, and GPUs in all and by type."""
    found = re.findall(r"(?:gres/)?(cpu|mem|gpu(?::\w+)?)=([\d.]+)([KMGT]?)", text)
    return {name: int(float(number) * BYTES[unit]) for name, number, unit in found}


def tasks(job: str) -> range:
    """Return the tasks of a record, of which a pending array may have several."""
    pending = re.search(r"_\[([\d,-]+)", job)
    return range(len(hosts(f"t[{pending[1]}]")) if pending else 1)


def hosts(text: str) -> list[str]:
    """Return the names in a list such as ``a[01-03,7],b``."""
    names = []
    for prefix, inside in re.findall(r"([^,\[\]]+)(?:\[([^\]]*)\])?", text):
        for part in inside.split(",") if inside else ():
            first, _, last = part.partition("-")
            names += [
                f"{prefix}{k:0{len(first)}}" for k in range(int(first), int(last or first) + 1)
            ]
        names += [] if inside else [prefix]
    return names
