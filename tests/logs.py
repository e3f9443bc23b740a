"""Small SWF logs, line by line, as tests need them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

FIELDS = (
    "job",
    "submit",
    "wait",
    "run",
    "allocated",
    "cpu",
    "used",
    "requested",
    "walltime",
    "memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding",
    "think",
)

DEFAULTS: Mapping[str, object] = {
    **dict.fromkeys(FIELDS, -1),
    "submit": 0,
    "wait": 0,
    "run": 60,
    "allocated": 1,
    "walltime": 100,
    "status": 1,
    "user": 1,
    "group": 1,
}


def line(job: object, **fields: object) -> str:
    """One record; what is left out is ordinary."""
    values = {**DEFAULTS, "job": job, **fields}
    return " ".join(str(values[name]) for name in FIELDS)


def log(lines: Iterable[str], **entries: object) -> str:
    """A whole log: header entries, then records."""
    header = {"UnixStartTime": 1_000_000_000, **entries}
    return "".join(f"; {key}: {value}\n" for key, value in header.items()) + "".join(
        f"{line}\n" for line in lines
    )


def busy(count: int = 40, **entries: object) -> str:
    """A log with waits: attempts of 1 to 4 CPUs on a pool of 4, by three users, one at a time."""
    lines, free_at = [], 0
    for job in range(1, count + 1):
        submit = 50 * job
        start = max(submit, free_at)
        free_at = start + 60
        lines.append(
            line(
                job,
                submit=submit,
                wait=start - submit,
                run=60,
                allocated=1 + job % 4,
                user=1 + job % 3,
                group=1 + job % 2,
            )
        )
    return log(lines, **{"MaxProcs": 4, "TimeZoneString": "Europe/Berlin", **entries})


def starving(days: int = 30) -> str:
    """A log whose site backfills without guarantees, on 4 CPUs: see the advice it is given.

    Each day jobs of an hour come every 20 minutes from 0:00 to 21:40, and start 100 s later. One of
    ten minutes comes at 0:30, needs the whole pool, and waits until the last of the others ends.
    """
    lines: list[str] = []
    for day in range(days):
        for k in range(66):
            small = {"wait": 100, "run": 3_600, "user": k % 12, "walltime": 3_600}
            lines.append(line(len(lines) + 1, submit=day * 86_400 + 1_200 * k, **small))
        wide = {"run": 600, "allocated": 4, "wait": 79_900, "user": day % 12, "walltime": 600}
        lines.append(line(len(lines) + 1, submit=day * 86_400 + 1_800, **wide))
    return log(lines, MaxProcs=4)


def write(path: Path, text: str) -> Path:
    """Writes a log, and says where."""
    path.write_text(text, encoding="utf-8")
    return path
