"""`make same`: shows whether a change of the code changed a figure.

    python -m bench.same                  # audits the logs; 1 where a result differs
    python -m bench.same --write          # makes today's results the reference
    python -m bench.same --only demo,kth  # only some of the logs
    python -m bench.same --against DIR    # compares with another checkout's var/same instead,
                                          # and shows the first rows that differ

The audits stay in var/same. The reference is one JSON file per log, in bench/same/reference.
``names.RENAMES`` lists later renames.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from bench.logs.real import KTH, LANL, demo, real_log
from bench.same.records import Record, differences, read, record, write
from bench.same.tables import rows, tables

ROOT: Final = Path(__file__).resolve().parents[2]
REFERENCE: Final = Path(__file__).parent / "reference"
KEPT: Final = ROOT / "var" / "same"


class Log(NamedTuple):
    """A log to audit."""

    path: Callable[[], Path | None]
    """Returns its file, or None if this machine lacks it."""
    options: Sequence[str] = ()
    """Options of `fairaudit audit` beside --no-pdf and --predict.

    The budgets are the defaults: fairaudit spends them by a cost model, not by a clock.
    """


_SLURM = ROOT / "tests" / "data" / "slurm"
_AS_SLURM = ("--config", str(Path(__file__).parent / "slurmlab.toml"))
LOGS: Final[Mapping[str, Log]] = {
    "demo": Log(partial(demo, KEPT)),
    "kth": Log(partial(real_log, KTH)),
    "lanl": Log(partial(real_log, LANL)),
    "slurmlab": Log(lambda: _SLURM / "plain" / "sacct.txt", _AS_SLURM),
    "slurmlab-limits": Log(lambda: _SLURM / "limits" / "sacct.txt", _AS_SLURM),
}


def audited(path: Path, options: Sequence[str], folder: Path) -> Record:
    """Audit a log into ``folder``, replacing what was there, and return the record.

    Raises:
        SystemExit: the audit failed; its stderr is shown.
    """
    shutil.rmtree(folder, ignore_errors=True)
    fixed = ("--no-pdf", "--predict")
    command = [sys.executable, "-m", "audit", "audit", str(path), *fixed, *options]
    done = subprocess.run(
        [*command, "--out", str(folder)], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return record(folder)


def compared(now: Record, name: str, against: Path | None) -> list[str]:
    """Return a line for each difference from the reference, or from another checkout's audit."""
    then = record(against / name) if against else read(REFERENCE / f"{name}.json")
    found = differences(then, now)
    lines = [f"{name}.{what}: {how}" for what, how in found.items()]
    return lines + (rows_apart(found, against / name, KEPT / name) if against else [])


def rows_apart(found: Mapping[str, str], then: Path, now: Path) -> list[str]:
    """Return the first rows that differ in each table or column of ``found``, of two folders."""
    sides = [
        {
            table: frame.with_columns(pl.lit("a row").alias("rows"))
            for table, frame in tables(folder / "audit.duckdb")
        }
        for folder in (then, now)
    ]
    lines = []
    for name in found:
        table, _, column = name.partition(".")
        before, after = (side.get(table, pl.DataFrame()) for side in sides)
        column = column or "rows"
        if column in before.columns and column in after.columns:
            lines += [f"  {name}: {row}" for row in rows(before, after, column)]
    return lines


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        description="shows whether a change of the code changed a figure"
    )
    parser.add_argument("--write", action="store_true", help="write the reference")
    parser.add_argument("--only", help=f"some of {', '.join(LOGS)}")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another checkout's var/same")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(LOGS)
    if unknown := set(names) - set(LOGS):
        parser.error(f"no log {', '.join(sorted(unknown))}; there are {', '.join(LOGS)}")
    KEPT.mkdir(parents=True, exist_ok=True)
    summary, same = [], True
    for name in names:
        log = LOGS[name]
        if (path := log.path()) is None:
            summary.append(f"*** {name}: NOT COMPARED, FAIRAUDIT_REAL_LOGS names no such log ***")
            continue
        now = audited(path, log.options, KEPT / name)
        print("\n".join(f"{sha256}  {name}.{what}" for what, sha256 in now.hashes()), flush=True)
        if options.write:
            write(now, REFERENCE / f"{name}.json")
        apart = compared(now, name, options.against)
        same = same and not apart
        size = f"{len(now.columns):,} columns, {len(now.numbers):,} numbers in report.html"
        summary += [*apart, f"{name}: {'DIFFERS' if apart else 'same'} ({size})"]
    print("\n".join(summary))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
