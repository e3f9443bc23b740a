"""Writes the demo log as SWF: `python -m bench.logs.demo_log OUT.swf [--seed N] [--jobs N]`.

The same arguments give the same bytes. The log is there whole or not at all, and its schedule has
passed its check (audit/workloads/demo_log.py).
"""

import argparse
import os
import sys
from datetime import datetime
from pathlib import Path

import polars as pl

from audit.errors import AuditError
from audit.formats import swf
from audit.periods import zone
from bench.logs.demo_jobs import QUEUES, ZONE, start_of_log
from bench.logs.demo_schedule import FULL_JOBS, demo_log

CAPACITY = 512
SEED = 1


def to_swf(log: pl.DataFrame, seed: int) -> bytes:
    """The log with its header: capacity, zone, start and end, names of the queues."""

    def shown(column: str, last: bool) -> str:
        instant = log[column].max() if last else log[column].min()
        assert isinstance(instant, int)
        return datetime.fromtimestamp(instant, zone(ZONE)).strftime("%Y-%m-%d %H:%M:%S %Z")

    entries = {
        "Version": "2.2",
        "Computer": f"Demo cluster, {CAPACITY} processors (made up)",
        "Installation": "fairaudit",
        "Conversion": f"none: drawn at random (seed {seed}), scheduled by EASY",
        "MaxJobs": str(log.height),
        "MaxRecords": str(log.height),
        "Preemption": "No",
        "UnixStartTime": str(start_of_log()),
        "TimeZoneString": ZONE,
        "StartTime": shown("submit_time", last=False),
        "EndTime": shown("end_time", last=True),
        "MaxProcs": str(CAPACITY),
        "MaxQueues": str(len(QUEUES)),
        "Note": "user and group numbers mean users and accounts",
    }
    text = swf.write(log, entries)
    # One line for each queue, which a mapping of entries cannot hold.
    queues = "".join(f"; Queue: {number} {name}\n" for number, (name, _) in QUEUES.items())
    note = text.index(b"; Note: ")
    return text[:note] + queues.encode() + text[note:]


def write(out: Path, content: bytes) -> None:
    """Puts ``content`` in place in one step."""
    partial = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="writes the demo log as SWF")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=FULL_JOBS)
    arguments = parser.parse_args()
    try:
        log = demo_log(arguments.seed, arguments.jobs, CAPACITY)
        write(arguments.out, to_swf(log, arguments.seed))
    except (AuditError, OSError) as error:
        print(f"demo log: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, AuditError) else 2
    print(f"{arguments.out}: {log.height:,} jobs", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
