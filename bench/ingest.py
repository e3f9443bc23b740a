"""Ingest to typed rows in the store against DuckDB's own reader, in one run, in turns.

Goal (issues 2 and 3), for SWF and for sacct's text: at least half the rows/s of
`CREATE TABLE AS SELECT * FROM read_csv(…, all_varchar=true)` of the same bytes. Each side goes from
no file to a closed database file: ours with schema, hash of the log, detection, typed columns,
offsets and refusals; the other with text.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
from scale_log import scale_log
from scale_sacct import scale_sacct

from audit.ingest.ingest import take_in
from audit.ingest.logs import open_logs
from audit.store.database import fetch, open_store
from audit.store.migrations import migrate

RECORDS = 1_000_000
GOAL = 0.5
ROUNDS = 3


def ours(log: Path, database: Path) -> int:
    con = open_store(database)
    try:
        migrate(con)
        (taken,) = take_in(con, "bench", open_logs([log]))
        assert taken.refused == 0
        return int(fetch(con, "SELECT count(*) AS rows FROM records")["rows"][0])
    finally:
        con.close()


DIALECTS = {
    # name: what makes the log, how read_csv is told to read it
    "SWF": (scale_log, "delim=' ', header=false, comment=';'"),
    "sacct": (scale_sacct, "delim='|', header=true, quote=''"),
}


def yardstick(log: Path, database: Path, how: str) -> int:
    con = duckdb.connect(str(database))
    try:
        con.execute(
            f"CREATE TABLE records AS SELECT * FROM read_csv(?, all_varchar=true, {how})",
            [str(log)],
        )
        (rows,) = con.execute("SELECT count(*) FROM records").fetchall()[0]
        return int(rows)
    finally:
        con.close()


def timed(run: Callable[[Path, Path], int], log: Path, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one run; CPU is that of all threads."""
    database = folder / "bench.duckdb"
    wall, cpu = time.perf_counter(), time.process_time()
    rows = run(log, database)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    database.unlink()
    assert rows == RECORDS, f"{rows} rows"
    return seconds


def ratio(dialect: str = "SWF") -> dict[str, float]:
    """Median seconds of both sides, and our rows/s over theirs, by wall and by CPU."""
    make, how = DIALECTS[dialect]
    theirs = partial(yardstick, how=how)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "scale.log"
        log.write_bytes(make(RECORDS))
        for run in (ours, theirs):  # warm-up: page cache, lazy imports
            timed(run, log, folder)
        rounds = [(timed(ours, log, folder), timed(theirs, log, folder)) for _ in range(ROUNDS)]
    got = {
        f"{kind}_{side}": statistics.median(both[which][part] for both in rounds)
        for which, side in enumerate(("ours", "csv"))
        for part, kind in enumerate(("wall", "cpu"))
    }
    for kind in ("wall", "cpu"):
        got[f"ratio_{kind}"] = got[f"{kind}_csv"] / got[f"{kind}_ours"]
    return got


if __name__ == "__main__":
    for name in DIALECTS:
        print(name, ratio(name))
