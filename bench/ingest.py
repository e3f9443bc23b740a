"""Ingest to typed rows in the store against DuckDB's own reader, in one run, in turns.

Goal (issues 2 and 3), for SWF and for sacct's text: at least half the rows/s of
`CREATE TABLE AS SELECT * FROM read_csv(…, all_varchar=true)` of the same bytes. Each side goes from
no file to a closed database file: ours with schema, hash of the log, detection, typed columns,
offsets and refusals; the other with text.

Other dialects (``SPLIT``): bytes to typed records, against a bare split of the same lines,
in CPU seconds. Goal: 0.3 × its records/s, or 60,000.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
from scale_log import scale_log
from scale_pbs import scale_pbs
from scale_sacct import scale_sacct

from audit.formats import dialects
from audit.formats.lines import Block
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


SPLIT = {
    # name: what makes the log, what its fields stand between
    "PBS": (scale_pbs, b" "),
}
SPLIT_GOAL = 0.3
ENOUGH = 60_000
"""Records for each CPU second."""


def parsed(name: str) -> dict[str, float]:
    """Records of a dialect in a CPU second, ours and those of a bare split, and their ratio."""
    make, separator = SPLIT[name]
    log = make()
    count = log.count(b"\n")
    dialect = dialects.detect(log[: dialects.HEAD_BYTES], name)
    header = dialect.header(log[: dialects.HEAD_BYTES], dialects.PLAIN)

    def read() -> int:
        found = begin = 0
        while begin < len(log):
            block = log[begin : begin + dialect.block_bytes]
            block = block[: dialect.whole(block, header)]
            found += dialect.parse(Block(block, begin, 1), header).records.height
            begin += len(block)
        return found

    def split() -> int:
        return sum(bool(line.split(separator)) for line in log.split(b"\n") if line)

    seconds: dict[str, list[float]] = {"ours": [], "split": []}
    for _ in range(ROUNDS + 1):
        for side, run in (("ours", read), ("split", split)):
            begun = time.process_time()
            assert run() == count
            seconds[side].append(time.process_time() - begun)
    rates = {side: count / statistics.median(taken[1:]) for side, taken in seconds.items()}
    return {**rates, "ratio": rates["ours"] / rates["split"]}


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
    for name in SPLIT:
        print(name, parsed(name))
