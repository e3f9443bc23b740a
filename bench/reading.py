"""Dialects of other schedulers, read in memory, against a bare split of the same lines, in turns.

Goal: at least 60,000 records/s of user CPU on this machine, or 0.3 × the records/s of Python's
`line.split(separator)` over the same decoded text; of JSON 0.4 × those of a bare `json.loads`, and
of HTCondor's history 0.4 × those of the split.
"""

import json
import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from big_workload import big_workload

from audit.formats.dialects import HEAD_BYTES, PLAIN, Dialect, Header, table
from audit.formats.gridengine import writing as gridengine
from audit.formats.htcondor import writing as htcondor
from audit.formats.lines import Block
from audit.formats.lsf import writing as lsf
from audit.formats.pbs import writing as pbs
from audit.formats.sacct import json_writing as sacct_json
from audit.model import RECORDS as SCHEMA

RECORDS = 50_000
PER_SECOND = 60_000
GOAL = 0.3
ROUNDS = 3


UNREAD = {f"Attribute{n}": n if n % 2 else "a text of an ad" for n in range(90)}
"""HTCondor's ads have over a hundred attributes, of which few are read."""


def _of_condor(form: htcondor.Form) -> Callable[[pl.DataFrame], bytes]:
    def write(frame: pl.DataFrame) -> bytes:
        named = frame.with_columns(job_id=pl.format("ap#{}.0", "job_id"))
        ads = [{**UNREAD, **htcondor.ad_of(row)} for row in named.iter_rows(named=True)]
        return htcondor.printed(ads, form)

    return write


DIALECTS: dict[str, tuple[Callable[[pl.DataFrame], bytes], str | None]] = {
    # name: what writes the log, what separates its fields; None: it is JSON
    "pbs": (pbs.write, " "),
    "lsf": (lsf.write, " "),
    "gridengine": (gridengine.write, ":"),
    "htcondor": (_of_condor("raw"), "="),
    "htcondor-json": (_of_condor("json"), None),
    "sacct-json": (sacct_json.write, None),
}


OTHER_GOALS = {"htcondor": 0.4, "htcondor-json": 0.4, "sacct-json": 0.4}


def goal(name: str) -> float:
    """What the ratio of a dialect must reach."""
    return OTHER_GOALS.get(name, GOAL)


class Measured(NamedTuple):
    per_second: float  # records read in a second of user CPU
    ratio: float  # over those that are split


def jobs(records: int = RECORDS, seed: int = 0) -> pl.DataFrame:
    """Attempts that all ended, with what every dialect can hold of them."""
    drawn = big_workload(records, seed)
    rng = np.random.Generator(np.random.PCG64(seed))
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


def _blocks(data: bytes, dialect: Dialect, header: Header) -> Iterator[Block]:
    offset, line = 0, 1
    while offset < len(data):
        chunk = data[offset : offset + dialect.block_bytes]
        end = dialect.whole(chunk, header) if offset + len(chunk) < len(data) else len(chunk)
        yield Block(chunk[:end], offset, line)
        line += chunk.count(b"\n", 0, end)
        offset += end


def read(name: str, data: bytes) -> None:
    dialect = table()[name]
    header = dialect.header(data[:HEAD_BYTES], PLAIN)
    found = 0
    for block in _blocks(data, dialect, header):
        parsed = dialect.parse(block, header)
        assert parsed.refusals.is_empty()
        found += parsed.records.height
    assert found == RECORDS, found


def split(data: bytes, separator: str | None) -> None:
    if separator is None:
        assert json.loads(data)
        return
    assert sum(len(line.split(separator)) for line in data.decode().split("\n")) > RECORDS


def _user_seconds(run: Callable[[], None]) -> float:
    before = os.times().user
    run()
    return os.times().user - before


def measured(name: str) -> Measured:
    """Records/s of a dialect by user CPU, and their ratio to those of a bare split."""
    write, separator = DIALECTS[name]
    data = write(jobs())
    read(name, data)  # warm-up: lazy imports
    rounds = [
        (
            _user_seconds(partial(read, name, data)),
            _user_seconds(partial(split, data, separator)),
        )
        for _ in range(ROUNDS)
    ]
    ours, theirs = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    return Measured(RECORDS / ours, theirs / ours)


if __name__ == "__main__":
    for each in DIALECTS:
        print(each, measured(each))
