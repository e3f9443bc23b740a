"""SWF and sacct's text keep what every dialect owes, too."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.formats import swf
from audit.formats.dialects import Reading
from audit.formats.sacct import text as sacct
from bench.logs.writers import sacct as sacct_text
from bench.logs.writers.sacct import write
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
    write=lambda frame: sacct_text.write(frame, zone=None),
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


LOCAL = contract.Case(
    dialect=sacct.DIALECT,
    head=b"JobID|User|Account|State|Submit|Start|End|AllocCPUS|Partition\n",
    records=tuple(
        f"{job}|ana|phys|COMPLETED|2026-10-25T0{job}:00:00|2026-10-25T0{job}:10:00|"
        f"2026-10-25T0{job}:20:00|4|batch\n".encode()
        for job in range(1, 5)
    ),
    write=write,
    carries=("submit_time", "eligible_time", "start_time", "end_time"),
    tells_cuts=False,
)


@pytest.mark.parametrize(
    ("check", "zone"),
    [
        (contract.is_recognised_by_itself_alone, "Europe/Berlin"),
        (contract.a_nul_costs_its_record_at_most, "Europe/Berlin"),
        (contract.the_machines_zone_changes_nothing, "Europe/Berlin"),
        (contract.odd_days_come_back, None),
        (contract.a_clock_that_stepped_back_costs_its_record, None),
    ],
)
def test_local_times(check: contract.Check, zone: str | None) -> None:
    check(replace(LOCAL, reading=Reading(zone=zone)))
