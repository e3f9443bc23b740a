"""A report over many attempts of many users: its time beside that of its queries, and its memory.

    python -m bench.scale.large_report      # 1 M attempts, 5,000 users; some minutes

KTH-SP2 repeated side by side, its jobs shared out among users (`repeated_log`), is audited with few
fair start times; then the report alone is made, in a separate process. Goals: twice the CPU of its
queries and 15 s, and 1 GB.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from audit.files import caches
from audit.model import Period
from bench.logs.real import real_log
from bench.logs.repeated_log import RECORDS, log_side_by_side
from bench.measure.machine import peak_mib
from bench.measure.pairs import fairaudit

USERS = 5_000
SECONDS = 15.0
FACTOR = 2.0
PEAK_MIB = 1_024.0


def _cpu() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


class _Queries:
    """Counts the CPU of all queries."""

    def __init__(self) -> None:
        self.cpu_s = 0.0

    def around(self, do: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            since = _cpu()
            try:
                return do(*arguments, **named)
            finally:
                self.cpu_s += _cpu() - since

        return timed


def report(path: Path) -> None:
    """Makes the report of a database in this process, and prints what it cost."""
    caches.give_back()
    from audit import config
    from audit.pipeline import drawing
    from audit.report.render import page
    from audit.store import database, queries, snapshots

    counted = _Queries()
    for module, name in ((queries, "fetch"), (database, "rows")):
        setattr(module, name, counted.around(getattr(module, name)))
    con = snapshots.open_snapshot(path)
    [(cluster, name)] = database.rows(con, "SELECT DISTINCT cluster, period FROM summary")
    span = "SELECT min(arrival_time), max(end_time) FROM job_result"
    [(first, last)] = database.rows(con, span)
    begin = _cpu()
    contents = drawing.contents_of(con, config.Config(), cluster, Period(name, first, last))
    html = page.render_html(contents, page.draw(contents))
    print(counted.cpu_s, _cpu() - begin, peak_mib(), len(html.encode()) / 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description="a report over many attempts of many users")
    parser.add_argument("--attempts", type=int, default=RECORDS)
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--database", type=Path, help="report on one that an audit made")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        report(asked.child)
        return 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        database = asked.database
        if database is None:
            kth = real_log()
            if kth is None:
                parser.error("FAIRAUDIT_REAL_LOGS names no folder with KTH-SP2")
            log = log_side_by_side(kth, asked.attempts, Path(name), asked.users)
            options = ("--no-pdf", "--no-fit", "--no-advice", "--budget", "5")
            fairaudit(["audit", log, "--out", Path(name, "out"), *options])
            database = Path(name, "out", "audit.duckdb")
        command = [sys.executable, "-m", "bench.scale.large_report", "--child", str(database)]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    queries_s, all_s, peak, kib = map(float, said.split())
    print(f"queries {queries_s:.1f} s CPU, report {all_s:.1f} s, {peak:,.0f} MiB, {kib:,.0f} KiB")
    fine = all_s <= FACTOR * queries_s + SECONDS and peak <= PEAK_MIB
    print("all goals hold" if fine else "MISSED")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
