"""KTH-SP2 repeated, a big SWF log of real jobs: `python -m bench.logs.repeated_log DIR`.

For measuring how a whole audit grows: the same jobs and waits over and over, each repetition behind
the last end of the one before, or beside it. Needs KTH-SP2 in the folder that FAIRAUDIT_REAL_LOGS
names.
"""

import argparse
import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from bench.logs.real import real_log

RECORDS = 1_000_000
GROUPS = 300
"""Of users that jobs are shared out among."""
_APART_S = 617
_STEP = 7_919
"""From the user of a job to that of the next: a prime, so that all come round."""
EACH = 3_000_000
"""Records of one file at most: a file of SWF tells no time beyond 272 years from its start."""
SLOW: Final = 8_000_000
"""Records of at most which times are as recorded: in larger logs all are shorter by a whole factor,
so that the last job ends before the year 2242."""
_TIMES: Final = ("submit", "wait", "run", "field_9")


def repeated_logs(kth: Path, records: int, folder: Path) -> list[Path]:
    """Writes ``records`` jobs into as many files of ``folder`` as they need.

    Jobs are numbered anew, from 1 on in the first file to ``records`` in the last.
    """
    header, jobs = _read(kth)
    faster = -(-records // SLOW)
    known = (pl.when(pl.col(name) > 0).then(pl.col(name) // faster) for name in _TIMES)
    jobs = jobs.with_columns(
        one.otherwise(pl.col(name)).alias(name) for name, one in zip(_TIMES, known, strict=True)
    )
    times = jobs.select(pl.col("submit") + pl.col("wait").clip(0) + pl.col("run").clip(0))
    span = int(times.max().item())
    begin = int(re.search(r"UnixStartTime: *(\d+)", header)[1])  # type: ignore[index]
    logs = list[Path]()
    for first in range(0, records, EACH):
        logs.append(folder / f"{kth.name.partition('.')[0]}-{len(logs) + 1}.swf")
        turn = first // jobs.height
        origin = begin + turn * span
        with logs[-1].open("w") as out:
            out.write(re.sub(r"UnixStartTime: *\d+", f"UnixStartTime: {origin}", header))
            for part in _repetitions(jobs, first, min(first + EACH, records), turn * span, span):
                part.write_csv(out, separator=" ", include_header=False)
    return logs


def log_side_by_side(kth: Path, records: int, folder: Path, users: int) -> Path:
    """Writes ``records`` jobs of eleven months, of as many machines like KTH-SP2 as that takes.

    Each machine's jobs come some minutes after those of the one before; all are divided among
    ``users`` users, each with about as many jobs.
    """
    header, jobs = _read(kth)
    machines = -(-records // jobs.height)
    shifted = [
        jobs.with_columns(pl.col("submit") + number * _APART_S) for number in range(machines)
    ]
    all_jobs = pl.concat(shifted).sort("submit", maintain_order=True).head(records)
    numbered = all_jobs.with_columns(job=pl.int_range(1, 1 + all_jobs.height))
    log = folder / f"{kth.name.partition('.')[0]}-wide.swf"
    with log.open("w") as out:
        out.write(
            re.sub(r"(MaxProcs:\s*)(\d+)", lambda of: f"{of[1]}{int(of[2]) * machines}", header)
        )
        _shared_out(numbered, users).write_csv(out, separator=" ", include_header=False)
    return log


def _read(kth: Path) -> tuple[str, pl.DataFrame]:
    """The header of the log, and its jobs."""
    lines = gzip.decompress(kth.read_bytes()).decode().splitlines(keepends=True)
    header = [line for line in lines if line.startswith(";") and "StartTime:" in line]
    header += [line for line in lines if line.startswith((";\tMaxProcs", "; MaxProcs"))]
    header += [line for line in lines if line.startswith("; TimeZoneString")]
    jobs = [",".join(line.split()) for line in lines if not line.startswith(";")]
    names = ["job", "submit", "wait", "run", *(f"field_{number}" for number in range(5, 19))]
    frame = pl.read_csv("\n".join(jobs).encode(), has_header=False, new_columns=names)
    return "".join(dict.fromkeys(header)), frame


def _repetitions(
    jobs: pl.DataFrame, first: int, end: int, origin: int, span: int
) -> Iterator[pl.DataFrame]:
    """The jobs numbered ``first`` to below ``end``, from 0, with times from ``origin`` on."""
    while first < end:
        turn, at = divmod(first, jobs.height)
        part = jobs[at : at + end - first]
        yield part.with_columns(
            job=pl.int_range(first + 1, first + 1 + part.height),
            submit=pl.col("submit") + turn * span - origin,
        )
        first += part.height


def _shared_out(jobs: pl.DataFrame, users: int) -> pl.DataFrame:
    """The jobs, divided among ``users`` users."""
    whose = pl.col("job") * _STEP % users + 1
    return jobs.with_columns(field_12=whose, field_13=whose % GROUPS + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description="writes KTH-SP2 repeated end to end")
    parser.add_argument("folder", type=Path, help="where the files go")
    parser.add_argument("--records", type=int, default=RECORDS)
    arguments = parser.parse_args()
    kth = real_log()
    if kth is None:
        parser.error("FAIRAUDIT_REAL_LOGS names no folder with KTH-SP2")
    for log in repeated_logs(kth, arguments.records, arguments.folder):
        print(log)


if __name__ == "__main__":
    main()
