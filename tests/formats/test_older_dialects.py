"""SWF and sacct's text keep what every dialect owes, too."""

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.formats import swf
from audit.formats.sacct import text as sacct
from audit.formats.sacct import writing
from tests.formats import contract
from tests.logs import line

TIMES = ("submit_time", "start_time", "end_time", "walltime_s")
NUMBERS = {name: st.sampled_from(["5", "17"]) for name in ("user", "account", "partition")}


def write_swf(frame: pl.DataFrame) -> bytes:
    numbered, comments = swf.numbered(frame)
    return swf.write(numbered, {"UnixStartTime": "0", "Version": "2.2"}, comments)


SWF = contract.Case(
    dialect=swf.DIALECT,
    head=b"; Version: 2.2\n; UnixStartTime: 1700000000\n; MaxProcs: 64\n",
    records=tuple(
        f"{line(job, submit=60 * job, wait=5, run=100, user=4711, group=2)}\n".encode()
        for job in range(1, 6)
    ),
    write=write_swf,
    carries=(*TIMES, "cpus", "state", *NUMBERS),
    name=b"4711",
    names=(),
    changes={**NUMBERS, "state": st.sampled_from(["COMPLETED", "FAILED"])},
    tells_cuts=False,  # the last number of a line may be a part of it
)

SACCT = contract.Case(
    dialect=sacct.DIALECT,
    head=b"JobID|User|State|Submit|Start|End|AllocCPUS\n",
    records=tuple(
        f"{job}|ana|COMPLETED|176722560{job}|1767226000|1767229600|4\n".encode()
        for job in (1, 2, 3)
    ),
    write=lambda frame: writing.write(frame, zone=None),
    carries=(
        *("job_id", "user", "account", "group", "partition", "state", *TIMES),
        *("eligible_time", "cpus", "nodes", "gpus", "mem_bytes"),
    ),
    names=(),
    ids=("7", "8", "12_3", "13+1"),
    changes={"walltime_s": st.integers(1, 9_999).map(lambda minutes: 60 * minutes)},
    tells_cuts=False,  # the last column may be a part of a name
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
@pytest.mark.parametrize("case", [SWF, SACCT], ids=["swf", "sacct"])
def test_contract(case: contract.Case, check: contract.Check) -> None:
    check(case)
