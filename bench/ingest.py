"""SWF ingest to typed rows in the store against DuckDB's own reader, in one run, in turns.

Goal (issue 2): at least half the rows/s of `CREATE TABLE AS SELECT * FROM read_csv(…,
all_varchar=true)` of the same bytes. Each side goes from no file to a closed database file: ours
with schema, hash of the log, detection, typed columns, offsets and refusals; the other with text.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
from scale_log import scale_log

from audit.ingest.ingest import open_logs, take_in
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


def yardstick(log: Path, database: Path) -> int:
    con = duckdb.connect(str(database))
    try:
        con.execute(
            "CREATE TABLE records AS SELECT * FROM read_csv("
            "?, all_varchar=true, delim=' ', header=false, comment=';')",
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


def ratio() -> dict[str, float]:
    """Median seconds of both sides, and our rows/s over theirs, by wall and by CPU."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "scale.swf"
        log.write_bytes(scale_log(RECORDS))
        for run in (ours, yardstick):  # warm-up: page cache, lazy imports
            timed(run, log, folder)
        rounds = [(timed(ours, log, folder), timed(yardstick, log, folder)) for _ in range(ROUNDS)]
    got = {
        f"{kind}_{side}": statistics.median(both[which][part] for both in rounds)
        for which, side in enumerate(("ours", "csv"))
        for part, kind in enumerate(("wall", "cpu"))
    }
    for kind in ("wall", "cpu"):
        got[f"ratio_{kind}"] = got[f"{kind}_csv"] / got[f"{kind}_ours"]
    return got


if __name__ == "__main__":
    print(ratio())
