"""Logs of every dialect: bytes to records, and files to rows of the store.

Records are read in memory beside a bare split of the same lines (of JSON, a bare ``json.loads``; of
XML, a bare parse), and beside looking at each byte once. Ingest goes from no file to a closed
database, with its schema, the hash of the log, typed columns, offsets and refusals; its twin is
``CREATE TABLE AS SELECT * FROM read_csv(…, all_varchar=true)`` of the same bytes, as text.
"""

import json
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl

from audit.formats.dialects import HEAD_BYTES, PLAIN, detect
from audit.formats.lines import Block
from audit.ingest.ingest import take_in
from audit.ingest.logs import open_logs
from audit.model import RECORDS as SCHEMA
from audit.store.database import fetch, open_store
from audit.store.migrations import migrate
from bench.logs.big_pbs import big_pbs
from bench.logs.big_sacct import big_sacct
from bench.logs.big_swf import big_swf
from bench.logs.big_workload import big_workload
from bench.logs.writers import gridengine, htcondor, lsf, sacct_json
from bench.measure.figures import Figure
from bench.measure.pairs import measured

STORED = ("swf", "sacct", "pbs")
"""Dialects whose logs are also taken into the store."""
FEW = 30_000
"""Of fewer records an ingest mostly makes the store, which is once for all."""
STORED_GOAL = 2.0
"""Of the CPU of ``read_csv``."""

UNREAD = {f"Attribute{n}": n if n % 2 else "a text of an ad" for n in range(90)}
"""HTCondor's ads have over a hundred attributes, of which few are read."""


class Log(NamedTuple):
    """How a log of a dialect is made, and what reads it without understanding it."""

    write: Callable[[int], bytes]
    bare: Callable[[bytes], object]
    most: int
    """Records: its writer is slow, or its records are long."""
    goal: float
    """Of the CPU of ``bare``."""
    csv: str | None = None
    """Options with which ``read_csv`` reads it; None: it cannot."""


def _jobs(records: int) -> pl.DataFrame:
    """Attempts that all ended, with what every dialect can hold of them."""
    drawn = big_workload(records, 0)
    rng = np.random.Generator(np.random.PCG64(0))
    wait = pl.Series(rng.integers(0, 10_000, records))
    walltime = pl.Series(rng.choice([3_600, 14_400, 43_200, 86_400], records))
    return drawn.select(
        job_id=pl.int_range(1, records + 1).cast(pl.String),
        job_number=pl.int_range(1, records + 1),
        user=pl.format("user{}", "user"),
        account=pl.format("group{}", pl.col("user").cast(pl.Int64) % 20),
        group=pl.lit("staff"),
        partition=pl.lit("batch"),
        state=pl.lit("COMPLETED"),
        submit_time="arrival_time",
        eligible_time="arrival_time",
        start_time=pl.col("arrival_time") + wait,
        end_time=pl.col("arrival_time") + wait + pl.min_horizontal("occupancy_s", walltime),
        suspended_s=pl.lit(0, pl.Int64),
        walltime_s=walltime,
        cpus="size",
        nodes=(pl.col("size") + 15) // 16,
        mem_bytes=pl.col("size") * (1 << 30),
    ).match_to_schema(SCHEMA, missing_columns="insert")


def _condor(form: htcondor.Form, records: int) -> bytes:
    named = _jobs(records).with_columns(job_id=pl.format("ap#{}.0", "job_id"))
    ads = [{**UNREAD, **htcondor.ad_of(row)} for row in named.iter_rows(named=True)]
    return htcondor.printed(ads, form)


def _near_swf(records: int) -> bytes:
    """A table of SWF's columns, separated by commas."""
    lines = big_swf(records).split(b"\n")
    return b"\n".join(line if line[:1] == b";" else line.replace(b" ", b",") for line in lines)


def _written(write: Callable[[pl.DataFrame], bytes], records: int) -> bytes:
    return write(_jobs(records))


def _split(separator: str, data: bytes) -> int:
    return sum(len(line.split(separator)) for line in data.decode().split("\n"))


_TEXT_GOAL, _OBJECTS_GOAL = 1 / 0.3, 1 / 0.4
_LARGE = 100_000_000
LOGS = {
    "swf": Log(big_swf, partial(_split, " "), _LARGE, _TEXT_GOAL, "delim=' ', comment=';'"),
    "near-swf": Log(_near_swf, partial(_split, ","), 100_000, _TEXT_GOAL),
    "sacct": Log(big_sacct, partial(_split, "|"), _LARGE, _TEXT_GOAL, "delim='|', quote=''"),
    "sacct-json": Log(partial(_written, sacct_json.write), json.loads, 20_000, _OBJECTS_GOAL),
    "pbs": Log(big_pbs, partial(_split, " "), 100_000, _TEXT_GOAL),
    "lsf": Log(partial(_written, lsf.write), partial(_split, " "), 100_000, _TEXT_GOAL),
    "gridengine": Log(
        partial(_written, gridengine.write), partial(_split, ":"), 100_000, _TEXT_GOAL
    ),
    "htcondor": Log(partial(_condor, "raw"), partial(_split, "="), 20_000, _OBJECTS_GOAL),
    "htcondor-json": Log(partial(_condor, "json"), json.loads, 20_000, _OBJECTS_GOAL),
    "htcondor-xml": Log(partial(_condor, "xml"), ET.fromstring, 3_000, _OBJECTS_GOAL),
}
"""By the name of the dialect."""


def _parsed(name: str, data: bytes) -> int:
    """Records of a log in memory, read block by block as ingest does."""
    dialect = detect(data[:HEAD_BYTES], name)
    assert dialect.name == name, dialect.name
    header = dialect.header(data[:HEAD_BYTES], PLAIN)
    found, offset, line = 0, 0, 1
    while offset < len(data):
        chunk = data[offset : offset + dialect.block_bytes]
        last = offset + len(chunk) == len(data)
        end = len(chunk) if last else dialect.whole(chunk, header)
        parsed = dialect.parse(Block(chunk[:end], offset, line), header)
        assert parsed.refusals.is_empty(), parsed.refusals["reason"][0]
        found += parsed.records.height
        header = parsed.header or header
        line += chunk.count(b"\n", 0, end)
        offset += end
    return found


def _stored(log: Path) -> None:
    database = log.with_suffix(".duckdb")
    con = open_store(database)
    try:
        migrate(con)
        (taken,) = take_in(con, "bench", open_logs([log]))
        assert taken.refused == 0
        assert fetch(con, "SELECT count(*) AS rows FROM records")["rows"][0]
    finally:
        con.close()
        database.unlink()


def _read_csv(log: Path, how: str, header: bool) -> None:
    database = log.with_suffix(".csv.duckdb")
    con = duckdb.connect(str(database))
    try:
        con.execute("SET enable_progress_bar = false")
        con.execute(
            "CREATE TABLE records AS SELECT * FROM "
            f"read_csv(?, all_varchar=true, header={header}, {how})",
            [str(log)],
        )
    finally:
        con.close()
        database.unlink()


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Reading every dialect, and taking in those that sites have most of."""
    for name, log in LOGS.items():
        chosen = _sizes(log, sizes)
        for records in chosen:
            data = log.write(records)
            assert _parsed(name, data) >= records
            largest = records == max(chosen)
            once = ("bytes seen once", partial(data.count, b"\n"))
            kind = "parse" if log.bare in {json.loads, ET.fromstring} else "split"
            yield measured(
                "Reading",
                name,
                records,
                partial(_parsed, name, data),
                twin=(f"a bare {kind}", partial(log.bare, data)),
                limit=once,
                goal=log.goal if largest else None,
            )
            if name not in STORED or records < FEW:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "bench.log"
                path.write_bytes(data)
                csv = partial(_read_csv, path, log.csv or "", name == "sacct")
                yield measured(
                    "Ingest",
                    name,
                    records,
                    partial(_stored, path),
                    twin=("DuckDB's read_csv", csv) if log.csv else None,
                    limit=once,
                    goal=STORED_GOAL if log.csv and largest else None,
                )


def _sizes(log: Log, sizes: Sequence[int]) -> list[int]:
    """Those that can be written; two that can, where these are fewer."""
    fitting = [size for size in sizes if size <= log.most]
    most = min(log.most, max(sizes))
    return fitting if len(fitting) > 1 else [most // 10, most]
