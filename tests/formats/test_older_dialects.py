"""SWF and sacct's text keep what every dialect owes, too."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats import swf
from audit.formats.dialects import Reading
from audit.formats.lines import Block
from audit.formats.sacct import text as sacct
from audit.model import RECORDS
from bench.logs.writers import sacct as sacct_text
from bench.logs.writers.sacct import COLUMNS, write
from tests.formats import contract
from tests.logs import line
from tests.strategies import sampled

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


_hostile = st.text(st.sampled_from("ab|\n,;\"'\t\r\u2603 "), max_size=8)
_names = st.text(st.characters(exclude_characters="|\n\r", codec="utf-8"), min_size=1, max_size=6)
_users = st.one_of(st.none(), _names.filter(lambda text: text != "(null)"))
_walltimes = st.one_of(st.none(), st.integers(1, 10_000).map(lambda minutes: 60 * minutes))
_priorities = st.one_of(st.none(), st.integers(0, 10**6).map(float))
_times = st.integers(1_700_000_000, 1_760_000_000)


@st.composite
def _records(draw: st.DrawFn) -> dict[str, object]:
    submit = draw(_times)
    start = draw(st.one_of(st.none(), st.integers(submit, submit + 10_000)))
    end = None if start is None else draw(st.integers(start + 1, start + 10_000))
    spent = 0 if start is None or end is None else draw(st.integers(0, end - start))
    return {
        "job_id": draw(sampled(["7", "3_0", "23+1", "3_[0-9%2]"])),
        "user": draw(_users),
        "account": "a",
        "state": "PENDING" if start is None else draw(sampled(["COMPLETED", "CANCELLED"])),
        "submit_time": submit,
        "eligible_time": draw(st.one_of(st.none(), st.just(submit))),
        "start_time": start,
        "end_time": end,
        "suspended_s": None if start is None else spent,
        "walltime_s": draw(_walltimes),
        "cpus": draw(st.integers(1, 1_000)),
        "nodes": draw(st.integers(1, 10)),
        "gpus": draw(st.integers(0, 8)),
        "mem_bytes": draw(st.integers(1, 1 << 36)) << 10,
        "priority": draw(_priorities),
        "partition": draw(_users),
        "qos": draw(_users),
        "reason": draw(sampled([None, "Resources", "QOSMaxJobsPerUserLimit"])),
        "reservation": draw(sampled([None, "maintenance"])),
        "JobName": draw(_hostile).strip("\r"),
    }


@pytest.mark.thorough
@given(
    st.lists(_records(), min_size=1, max_size=8),
    st.sampled_from(["|", "\x1f", "☃", "@@"]),
    st.sampled_from([None, "UTC", "Asia/Kathmandu"]),
)
def test_written_and_read_again(
    rows: list[dict[str, object]], separator: str, zone: str | None
) -> None:
    for row in rows:  # nothing that a name can hold may look like the separator
        # nor like a part of one of several letters: `a@@@b` could be cut in two places
        for name in ("user", "partition", "qos"):
            text = str(row[name] or "").translate(dict.fromkeys(map(ord, separator)))
            row[name] = text or None
    schema = pl.Schema([*RECORDS.items(), ("JobName", pl.String())])
    whole = [{name: row.get(name) for name in schema} for row in rows]
    frame = pl.DataFrame(whole, schema=schema)
    written = write(frame, ["JobID", "JobName", *COLUMNS[1:]], separator=separator, zone=zone)
    parsed = sacct.parse(Block(written, 0, 1), sacct.header(written, Reading(zone=zone)))
    assert parsed.refusals.is_empty()
    columns = [name for name in rows[0] if name != "JobName"]
    assert parsed.records.select(columns).to_dicts() == [
        {name: row[name] for name in columns} for row in rows
    ]


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
        (contract.a_flipped_bit_costs_what_it_touches, "Europe/Berlin"),
        (contract.a_nul_costs_its_record_at_most, "Europe/Berlin"),
        (contract.the_machines_zone_changes_nothing, "Europe/Berlin"),
        (contract.nothing_is_too_odd_to_be_read, "Europe/Berlin"),
        (contract.odd_days_come_back, None),
        (contract.a_clock_that_stepped_back_costs_its_record, None),
    ],
)
def test_local_times(check: contract.Check, zone: str | None) -> None:
    check(replace(LOCAL, reading=Reading(zone=zone)))
