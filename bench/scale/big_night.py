"""The night after a month of a big site: CPU of each stage, and the peak of its memory.

    python -m bench.scale.big_night --jobs 40000

A cluster of `ten_years` has the logs of 14 months in its database. The night computes and reports
the last month, whose rules come from the 400 days before its end.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.scale import night
from bench.scale.ten_years import FIRST_YEAR, Cluster, month_start, settings

MONTHS = 14
LAST = f"{FIRST_YEAR + (MONTHS - 1) // 12}-{(MONTHS - 1) % 12 + 1:02}"


def measured(jobs: int, folder: Path) -> dict[str, object]:
    """Cost of a night of a site with this number of jobs a month."""
    cluster = Cluster(0, jobs)
    (folder / "logs").mkdir()
    text = settings([cluster], months=0, budget=300, advice=2)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    for month in range(MONTHS):
        (folder / "logs" / f"c0-{month:03}.swf").write_bytes(cluster.month(month))
    _night(folder, "ingest")
    return _night(folder, "compute", "report", "publish")


def _night(folder: Path, *stages: str) -> dict[str, object]:
    program = [sys.executable, "-m", night.__name__, str(folder), str(month_start(MONTHS)), LAST]
    done = subprocess.run([*program, *stages], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="the night after a month of a big site")
    parser.add_argument("--jobs", type=int, default=40_000, help="of the month")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="big-night-") as folder:
        print(json.dumps(measured(arguments.jobs, Path(folder)), indent=4))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
