"""Ten years of a big site: 10^8 attempts, taken in over nights, with old months archived.

    python -m bench.scale.ten_years --months 120 --clusters 10 --attempts 100000000 --each 12

Each cluster's log is drawn from the workload model of bench/ and scheduled by EASY, month by month
(what runs or waits when a month ends goes on in the next). Each night is a separate process that
does what `fairaudit run` does with the logs of `--each` months. It prints wall and CPU of its
stages, its peak memory, and the size of database and archive. `--budget` bounds the CPU of the fair
start times of a pool. The next logs are drawn while a night runs.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.array_types import Ints
from audit.studies.workload.compute import model_files, synthetic
from audit.studies.workload.compute.synthetic import easy
from bench.logs.big_workload import MODEL
from bench.scale import night

FIRST_YEAR = 2016
ROOM = 1.2
"""How much larger a pool is than the model has it: queues are then of hours, not of days."""


COLUMNS = {
    "reading": ("reading",),
    "fair starts": ("fair start times", "delays by later arrivals"),
    "writing, archiving, publishing": (
        *("joining results", "writing results", "archiving", "publishing", "compacting"),
    ),
    "reports": (*("reading the report's figures", "figures of pools", "trend", "making the page"),),
    "other": (),
}
"""Of the table, and the stages that each sums up; the last has what is left."""


def month_start(number: int) -> int:
    year, month = divmod(FIRST_YEAR * 12 + number, 12)
    return int(datetime(year, month + 1, 1, tzinfo=UTC).timestamp())


class Cluster:
    """Draws one cluster's months, one after the other."""

    def __init__(self, number: int, per_month: int) -> None:
        self.model = model_files.from_toml(MODEL.read_text(encoding="utf-8"), MODEL.name)
        drawn = synthetic.draw(self.model, 0, 28, 1.0).height
        self.intensity = per_month / drawn * 28 / 30.4
        self.capacity = round(self.model.capacity * self.intensity * ROOM)
        self.number = number
        self.jobs = 0
        self.left = _empty()

    def month(self, number: int) -> bytes:
        """The records of what ends in a month, as SWF."""
        begin, end = month_start(number), month_start(number + 1)
        days = (end - begin) // 86_400
        drawn = synthetic.draw(self.model, 1000 * number + self.number, days, self.intensity)
        arrival = drawn["arrival_time"].to_numpy() - int(drawn["arrival_time"][0]) + begin
        new = {
            "job": np.arange(self.jobs, self.jobs + drawn.height) + 1,
            "arrival": arrival,
            "start": np.full(drawn.height, -1),
            "occupancy": drawn["occupancy_s"].to_numpy(),
            "walltime": drawn["walltime_s"].fill_null(86_400).to_numpy(),
            "size": np.minimum(drawn["size"].to_numpy(), self.capacity),
            "user": drawn["user"].to_numpy(),
            "group": drawn["label"].cast(pl.Int64).to_numpy(),
        }
        self.jobs += drawn.height
        every = {name: np.concatenate([self.left[name], new[name]]) for name in new}
        running = every["start"] >= 0
        order = np.lexsort((every["job"], np.maximum(every["arrival"], begin), ~running))
        every = {name: values[order] for name, values in every.items()}
        running = every["start"] >= 0
        gone_on = np.where(running, begin - every["start"], 0)
        start = easy(
            np.maximum(every["arrival"], begin).astype(np.int64),
            every["size"].astype(np.int64),
            (every["occupancy"] - gone_on).astype(np.int64),
            np.maximum(every["walltime"] - gone_on, 1).astype(np.int64),
            self.capacity,
        )
        every["start"] = np.where(running, every["start"], start)
        stop = every["start"] + every["occupancy"]
        held = stop < end
        self.left = {name: values[~held].copy() for name, values in every.items()}
        waits = self.left["start"] >= end
        self.left["start"][waits] = -1
        return _swf({name: values[held] for name, values in every.items()}, begin, self.capacity)


def _empty() -> dict[str, Ints]:
    names = ("job", "arrival", "start", "occupancy", "walltime", "size", "user", "group")
    return {name: np.zeros(0, np.int64) for name in names}


def _swf(jobs: dict[str, Ints], begin: int, capacity: int) -> bytes:
    unknown = np.full(len(jobs["job"]), -1)
    first = min(begin, int(jobs["arrival"].min()))
    table = pl.DataFrame(
        {
            "job": jobs["job"],
            "submit": jobs["arrival"] - first,
            "wait": jobs["start"] - jobs["arrival"],
            "run": jobs["occupancy"],
            "allocated": jobs["size"],
            "cpu": unknown,
            "used": unknown,
            "requested": jobs["size"],
            "walltime": np.maximum(jobs["walltime"], jobs["occupancy"]),
            "memory": unknown,
            "status": np.ones(len(unknown), np.int64),
            "user": jobs["user"],
            "group": jobs["group"],
            "executable": unknown,
            "queue": np.ones(len(unknown), np.int64),
            "partition": unknown,
            "preceding": unknown,
            "think": unknown,
        }
    )
    header = (
        f"; Version: 2.2\n; UnixStartTime: {first}\n; TimeZoneString: UTC\n; MaxProcs: {capacity}\n"
    )
    lines = table.write_csv(separator=" ", include_header=False)
    return header.encode() + lines.encode()


def settings(clusters: list[Cluster], months: int, budget: int, advice: int) -> str:
    """config.toml of the site."""
    parts = [
        f"[retention]\narchive_months = {months}\n",
        "[report]\npdf = false\n",
        '[mail]\nvia = "none"\n',
    ]
    parts.append(f"[simulation]\nbudget_s = {budget}\nadvice_budget_s = {advice}\n")
    for cluster in clusters:
        parts.append(
            f'[[clusters]]\nname = "c{cluster.number}"\nzone = "UTC"\n'
            f'[[clusters.sources]]\nfiles = "logs/c{cluster.number}-*.swf"\n'
            f'[[clusters.pools]]\nname = "all"\ncapacity = {{ cpus = {cluster.capacity} }}\n'
        )
    return "\n".join(parts)


def nights(arguments: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    each = round(arguments.attempts / arguments.clusters / arguments.months)
    clusters = [Cluster(number, each) for number in range(arguments.clusters)]
    (folder / "logs").mkdir()
    (folder / "config.toml").write_text(
        settings(clusters, arguments.archive, arguments.budget, arguments.advice), encoding="utf-8"
    )
    ahead = ThreadPoolExecutor(1)
    parts = [
        range(first, min(first + arguments.each, arguments.months))
        for first in range(0, arguments.months, arguments.each)
    ]
    coming = ahead.submit(_drawn, clusters, parts[0])
    for part, following in itertools.zip_longest(parts, parts[1:]):
        logs, attempts = coming.result()
        for name, log in logs.items():
            (folder / "logs" / name).write_bytes(log)
        if following is not None:
            coming = ahead.submit(_drawn, clusters, following)
        done = subprocess.run(
            [sys.executable, "-m", night.__name__, str(folder), str(month_start(part.stop))],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        told = json.loads(done.stdout.splitlines()[-1])
        for name in logs:
            (folder / "logs" / name).unlink()  # as logrotate does: what was read is in the store
        sizes = {
            "store_mib": (folder / "fairaudit-state" / "store.duckdb").stat().st_size >> 20,
            "archive_mib": sum(file.stat().st_size for file in folder.glob("fairaudit-archive/*/*"))
            >> 20,
        }
        yield {"month": part.stop, "attempts": attempts, **sizes, **told}


def _drawn(clusters: Sequence[Cluster], months: range) -> tuple[dict[str, bytes], int]:
    """The logs of some months by name, and how many jobs all have had by then."""
    logs = {
        f"c{cluster.number}-{number:03}.swf": cluster.month(number)
        for number in months
        for cluster in clusters
    }
    return logs, sum(cluster.jobs for cluster in clusters)


def table(told: Sequence[dict[str, Any]]) -> str:
    """The nights as Markdown: CPU of their stages in s, memory and files in MiB."""
    lines = [
        f"| until month | attempts in total | elapsed | {' | '.join(COLUMNS)} | CPU | peak "
        "| database | archive |",
        f"|---:|---:|---:|{'---:|' * len(COLUMNS)}---:|---:|---:|---:|",
    ]
    for of in told:
        left = dict(of["cpu_s"])
        spent = [
            sum(left.pop(stage, 0.0) for stage in stages) if stages else sum(left.values())
            for stages in COLUMNS.values()
        ]
        figures = [of["wall_s"], *spent, sum(of["cpu_s"].values())]
        sizes = [of["peak_mib"], of["store_mib"], of["archive_mib"]]
        cells = [f"{of['month']}", f"{of['attempts']:,}", *(f"{one:,.1f}" for one in figures)]
        lines.append(f"| {' | '.join([*cells, *(f'{size:,}' for size in sizes)])} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="ten years of a big site")
    parser.add_argument("--months", type=int, default=120)
    parser.add_argument(
        "--each", type=int, default=1, help="number of months whose logs each night reads"
    )
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--attempts", type=int, default=100_000_000)
    parser.add_argument("--archive", type=int, default=1, help="retention.archive_months")
    parser.add_argument("--budget", type=int, default=300, help="simulation.budget_s")
    parser.add_argument("--advice", type=int, default=2, help="simulation.advice_budget_s")
    parser.add_argument("--out", type=Path, help="file for a line of JSON on each night")
    arguments = parser.parse_args()
    every = []
    with tempfile.TemporaryDirectory(prefix="ten-years-") as folder:
        for told in nights(arguments, Path(folder)):
            every.append(told)
            print(json.dumps(told), flush=True)
            if arguments.out is not None:
                with arguments.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(told) + "\n")
    print(table(every))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
