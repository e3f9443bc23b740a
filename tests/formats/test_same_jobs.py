"""The same jobs, written and read in every dialect."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.formats import dialects, swf
from audit.formats.dialects import PLAIN
from audit.formats.lines import Block
from audit.model import RECORDS
from bench.logs.writers import gridengine as _gridengine
from bench.logs.writers import lsf as _lsf
from bench.logs.writers import pbs as _pbs
from bench.logs.writers import sacct as _text
from bench.logs.writers import sacct_json as _json
from tests.examples import examples
from tests.formats.contract import EPOCH, PLAIN_JOB

TIMES: Final = ("submit_time", "start_time", "end_time", "occupancy_s", "walltime_s")
NAMES: Final = ("job_number", "user", "account", "partition")
AMOUNTS: Final = ("cpus", "mem_bytes")


class Written(NamedTuple):
    """One way to write them."""

    name: str
    write: Callable[[pl.DataFrame], bytes]
    carries: tuple[str, ...] = (*TIMES, *NAMES, *AMOUNTS, "state", "group", "nodes", "gpus")


ALL: Final = (
    Written("swf", lambda frame: swf.write(frame, {}), (*TIMES, *NAMES, "cpus", "state")),
    Written("sacct", _text.write),
    Written("sacct-json", _json.write),
    Written("pbs", _pbs.write),
    Written("lsf", _lsf.write),
    Written("gridengine", _gridengine.write, (*TIMES, *NAMES, *AMOUNTS, "state", "group", "gpus")),
)


@st.composite
def _jobs(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for number in range(1, draw(st.integers(2, 5))):
        submit = EPOCH + draw(st.integers(0, 100_000))
        start = submit + draw(st.integers(0, 10_000))
        end = start + draw(st.integers(1, 10_000))
        nodes = draw(st.integers(1, 20))
        cpus = nodes * draw(st.integers(1, 64))
        found.append(
            {
                **PLAIN_JOB,
                **dict.fromkeys(("user", "account", "group", "partition"), str(number)),
                "job_id": str(number),
                "job_number": number,
                "nodes": nodes,
                "cpus": cpus,
                "state": draw(st.sampled_from(["COMPLETED", "FAILED"])),
                "submit_time": submit,
                "eligible_time": submit,
                "occupancy_s": end - start,
                "start_time": start,
                "end_time": end,
                "walltime_s": 60 * draw(st.integers(200, 10_000)),
                "gpus": nodes * draw(st.integers(0, 4)),
                "mem_bytes": (cpus * draw(st.integers(1, 1 << 10))) << 20,
            }
        )
    return found


@pytest.mark.parametrize("way", ALL, ids=lambda way: way.name)
def test_come_back_the_same(way: Written) -> None:
    dialect = dialects.table()[way.name]

    @settings(max_examples=examples(15))
    @given(_jobs())
    def check(jobs: list[dict[str, Any]]) -> None:
        frame = pl.DataFrame(jobs).match_to_schema(RECORDS, missing_columns="insert")
        data = way.write(frame)
        parsed = dialect.parse(Block(data, 0, 1), dialect.header(data, PLAIN))
        assert parsed.refusals.is_empty()
        attempts = parsed.records.sort("job_number").select(way.carries)
        assert attempts.to_dicts() == frame.select(way.carries).to_dicts()

    check()
