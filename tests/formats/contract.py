"""The promises of every dialect, for any log.

A dialect's tests describe it by a ``Case`` and run every one of ``CHECKS`` over it::

    @pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
    def test_contract(check: contract.Check) -> None:
        check(CASE)
"""

import os
import random
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import DialectError
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.instants import LATEST
from audit.formats.lines import Block
from audit.hostlists import amounts_text, listed
from audit.model import RECORDS, REFUSALS, RefusalCode
from tests.examples import examples
from tests.strategies import sampled

EPOCH: Final = 1_700_000_000

ODD_DAYS: Final = (
    1_709_164_800,  # 2024-02-29T00:00:00Z
    1_774_745_000,  # 2026-03-29T00:43:20Z
    1_792_886_400,  # 2026-10-25T00:00:00Z
    1_792_890_000,  # 2026-10-25T01:00:00Z
    1_798_759_800,  # 2026-12-31T23:30:00Z
)

PLACES: Final = ("line", "byte_offset")

HOSTILE: Final = (
    "\N{LATIN SMALL LETTER U WITH DIAERESIS}ser",
    "a b",
    "a,b;c:d|e\tf=g",
    'quo"ted',
    "it's '; DROP TABLE records; --",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "../../etc/passwd",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc",
    "back\\slash\\",
    "carriage\rreturn",
    "new\nline",
    "nul\0byte",
    "\x1b[31mred",
    "[1-1000000%50]",
    "x" * 10_240,
)
"""Names that jobs, accounts or queues have had, or might have."""

HOSTILE_BYTES: Final = (
    *(
        b"\xff",
        b"a\0b",
        b"a\rb",
        b"a\nb",
        b"a\r\n\r\nb",
        b'"',
        b'"a',
        b"a=b;c,d|e:f",
    ),
    *(b"\xc3", b"\xed\xa0\x80", b"\xe2\x80\xae", b"x" * 10_240, b"", b" "),
)


@dataclass(frozen=True)
class Case:
    """A dialect, and what its tests need to know of it."""

    dialect: Dialect
    records: tuple[bytes, ...]
    """A small log, cut into its records (4 kB or less in all, three or more): each with all that
    belongs to it, up to where the next begins. Each is taken in, or counted as no attempt."""
    write: Callable[[pl.DataFrame], bytes]
    """The dialect's writer, for a frame of ``RECORDS``."""
    carries: tuple[str, ...]
    """Columns of ``RECORDS`` that come back as they were written."""
    head: bytes = b""
    """The text before the first record."""
    tail: bytes = b""
    """The text after the last record."""
    name: bytes = b"ana"
    """A name in the first record, such as its user."""
    names: tuple[str, ...] = ("user",)
    """Columns of ``carries`` that hold any name; hostile ones too, if written by the writer."""
    returned: Callable[[str], str | None] = str
    """Return the text that a hostile name is read as."""
    on_nodes: tuple[str, ...] = ()
    """The resources of which the dialect gives the amount on each node of a job."""
    ids: tuple[str, ...] = ("7", "8", "12")
    """Ids that jobs may have."""
    changes: Mapping[str, st.SearchStrategy[Any]] = field(default_factory=dict)
    """Columns that this dialect can only hold in another range than that of ``jobs``."""
    tells_cuts: bool = True
    """Whether the dialect recognises a record that was cut."""
    reading: Reading = PLAIN

    @cached_property
    def sample(self) -> bytes:
        """The whole log."""
        return self.head + b"".join(self.records) + self.tail

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where each record ends, the head being the first."""
        return tuple(accumulate(map(len, self.records), initial=len(self.head)))

    @cached_property
    def header(self) -> Header:
        return self.dialect.header(self.sample, self.reading)

    @cached_property
    def whole(self) -> Parsed:
        """The result for the sample."""
        return self.read(self.sample)

    def read(self, data: bytes, header: Header | None = None) -> Parsed:
        """A log in one block."""
        return self.dialect.parse(Block(data, 0, 1), header or self.header)

    def intact(self, touched: set[int]) -> list[tuple[object, ...]]:
        """The rows of the records that were not touched, wherever they stand."""
        found = self.whole.records.with_row_index("row")
        rows = [
            bisect_right(self.ends, offset) - 1 not in touched for offset in found["byte_offset"]
        ]
        return found.filter(pl.Series(rows, dtype=pl.Boolean)).drop("row", *PLACES).rows()


def in_blocks(dialect: Dialect, data: bytes, block_bytes: int) -> Parsed:
    """A log, read in blocks of about ``block_bytes``."""
    header = dialect.header(data, PLAIN)
    parts, offset, line, seen = [], 0, 1, block_bytes
    while offset < len(data):
        end = len(data) if seen >= len(data) else offset + dialect.whole(data[offset:seen], header)
        if end > offset:
            parts.append(dialect.parse(Block(data[offset:end], offset, line), header))
            line += data.count(b"\n", offset, end)
            offset = end
        seen += block_bytes
    return Parsed(
        pl.concat([part.records for part in parts]),
        pl.concat([part.refusals for part in parts]),
        sum(part.steps for part in parts),
        remarks=sum((Counter(part.remarks) for part in parts), Counter[str]()),
    )


Check = Callable[[Case], None]


def name_of(check: Check) -> str:
    """Return pytest's name for a check."""
    return check.__name__


def accounted(parsed: Parsed) -> int:
    """Records that were taken in, refused, or counted as no attempt."""
    return parsed.records.height + parsed.refusals.height + parsed.steps


def rows(parsed: Parsed) -> list[tuple[object, ...]]:
    """Its records, wherever they stood."""
    return parsed.records.drop(*PLACES).rows()


def is_sane(parsed: Parsed) -> bool:
    """Whether it is of the right form and holds nothing that no later part could bear."""
    assert parsed.records.schema == RECORDS
    assert parsed.refusals.schema == REFUSALS
    assert parsed.steps >= 0
    kept = parsed.records
    for name in ("submit_time", "eligible_time", "start_time", "end_time"):
        assert kept[name].is_between(0, LATEST).all(), name
    for name in ("cpus", "nodes", "gpus", "mem_bytes", "walltime_s", "suspended_s", "occupancy_s"):
        assert (kept[name] >= 0).all(), name
    assert (kept["end_time"] >= kept["start_time"]).all()
    assert kept["job_id"].is_not_null().all()
    assert kept["kind"].is_not_null().all()
    assert parsed.refusals["reason"].is_not_null().all()
    return True


def is_recognised_by_itself_alone(case: Case) -> None:
    assert dialects.detect(case.sample, "x", case.reading) is case.dialect
    for dialect in dialects.table().values():
        assert dialect.recognises(case.sample) is (dialect is case.dialect), dialect.name
    assert case.dialect.recognises(case.head + case.records[0] + case.records[1][:-9])
    for nothing in (b"", b"\n", b"one two three\n", b"{}", b"\0\xff"):
        assert not case.dialect.recognises(nothing)


def sample_is_whole(case: Case) -> None:
    assert len(case.sample) <= 4_096
    assert is_sane(case.whole)
    assert case.whole.refusals.is_empty()
    assert accounted(case.whole) == len(case.records) >= 3
    assert case.name in case.records[0]


def needed_entries_are_enough(case: Case) -> None:
    header = replace(case.header, entries=case.dialect.needed(case.header.entries), problems=())
    assert case.read(case.sample, header).records.equals(case.whole.records)


def a_cut_costs_one_record(case: Case) -> None:
    """As below: at 12 bytes or more of the shortest record, and at one in 184 of the others."""
    shortest = min(range(len(case.records)), key=lambda k: len(case.records[k]))
    begin, end = case.ends[shortest : shortest + 2]
    some = range(begin, end + 1, 1 + (end - begin) // 24)
    places = range(len(case.head), len(case.sample))
    _cut(case, (cut for cut in places if cut in some or cut % 184 == 0))


def a_cut_anywhere_costs_one_record(case: Case) -> None:
    """The rest of a record that was cut is refused once, or read if the dialect cannot recognise
    cuts; whole records before it are read.
    """
    _cut(case, range(len(case.head), len(case.sample)))


def _cut(case: Case, places: Iterable[int]) -> None:
    """As records do not depend on one another (``blocks_may_end_at_any_record``), those before the
    cut are read again at some cuts only.
    """
    kept = [case.whole.records.filter(pl.col("byte_offset") < end).rows() for end in case.ends]
    for cut in places:
        whole = bisect_right(case.ends, cut) - 1
        rest = case.sample[case.ends[whole] : cut]
        if not rest.strip():
            continue
        begin = 0 if cut % 23 == 0 else case.ends[whole]
        head = case.sample[: len(case.head)] if begin else b""
        data = head + case.sample[begin:cut]
        parsed = case.read(data)
        left = parsed.records.height
        if begin == 0:
            before = pl.col("byte_offset") < case.ends[whole]
            assert parsed.records.filter(before).rows() == kept[whole], cut
            left -= len(kept[whole])
        refused = parsed.refusals.height
        if whole == len(case.records):
            assert left == 0, cut
            assert refused <= 1, cut
        elif not case.tells_cuts or rest.strip() == case.records[whole].strip():
            assert accounted(parsed) == (1 if begin else whole + 1), cut
        else:
            assert (left, refused) == (0, 1), cut
            if not rest.strip(b" \n,"):  # between records
                continue
            assert len(data) - len(rest) <= parsed.refusals["byte_offset"].item() < len(data), cut


def a_flipped_bit_costs_what_it_touches(case: Case) -> None:
    _flip(case, 5)


def each_of_many_flipped_bits_costs_what_it_touches(case: Case) -> None:
    _flip(case, 60)


def _flip(case: Case, times: int) -> None:
    """One bit, each time another; the first are the same however many there are."""
    chance = random.Random(20)
    for _ in range(times):
        place = chance.randrange(len(case.head), len(case.sample))
        data = bytearray(case.sample)
        data[place] ^= 1 << chance.randrange(8)
        hit = min(bisect_right(case.ends, place) - 1, len(case.records) - 1)
        touched = {hit}
        if place >= case.ends[hit + 1] - 1:  # the end of one is the beginning of the next
            touched.add(hit + 1)
        parsed = case.read(bytes(data))
        assert is_sane(parsed)
        found = rows(parsed)
        missing = [row for row in case.intact(touched) if row not in found]
        assert missing == [], (place, data[place])


def blocks_may_end_at_any_record(case: Case) -> None:
    places = {place for end in case.ends[1:-1] for place in (end, end - 1, end + 7)}
    ends = {case.dialect.whole(case.sample[:place], case.header) for place in places}
    for first in ends - {0}:
        one = case.read(case.sample[:first])
        line = 1 + case.sample.count(b"\n", 0, first)
        two = case.dialect.parse(Block(case.sample[first:], first, line), one.header or case.header)
        both = pl.concat([one.records, two.records])
        assert both.equals(case.whole.records), first
        assert pl.concat([one.refusals, two.refusals]).is_empty()
        assert one.steps + two.steps == case.whole.steps


def lines_may_end_as_on_windows(case: Case) -> None:
    data = case.sample.replace(b"\n", b"\r\n")
    parsed = case.read(data, case.dialect.header(data, case.reading))
    assert parsed.refusals.is_empty()
    assert rows(parsed) == rows(case.whole)


def odd_bytes_in_a_name_cost_that_record(case: Case) -> None:
    others = case.intact({0})
    for odd in HOSTILE_BYTES:
        data = case.sample.replace(case.name, odd, 1)
        parsed = case.read(data)
        assert is_sane(parsed)
        assert rows(parsed)[-len(others) :] == others, odd
        assert accounted(parsed) >= len(case.records), odd


def a_nul_costs_its_record_at_most(case: Case) -> None:
    """It makes no log binary: whatever it hit is a name that holds it, or one refusal."""
    for hit, begin in enumerate(case.ends[:-1]):
        place = (begin + case.ends[hit + 1]) // 2
        data = case.sample[:place] + b"\0" + case.sample[place + 1 :]
        assert dialects.detect(data, "x", case.reading) is case.dialect, place
        parsed = case.read(data, case.dialect.header(data, case.reading))
        assert is_sane(parsed)
        found = rows(parsed)
        assert [row for row in case.intact({hit}) if row not in found] == [], place


def hostile_names_come_back(case: Case) -> None:
    written = pl.concat(
        case_frame(case, [{**PLAIN_JOB, **dict.fromkeys(case.names, name)}], first=k)
        for k, name in enumerate(HOSTILE)
    )
    expected = [case.returned(name) for name in HOSTILE]
    parsed = read_back(case, written)
    assert parsed.refusals.is_empty()
    for name in case.names:
        assert parsed.records[name].to_list() == expected, name


def what_is_written_is_read(case: Case) -> None:
    @settings(max_examples=examples(20))
    @given(st.lists(jobs(case), min_size=1, max_size=6))
    def check(found: list[dict[str, Any]]) -> None:
        written = case_frame(case, found)
        parsed = read_back(case, written)
        assert is_sane(parsed)
        assert parsed.refusals.is_empty()
        columns = list(case.carries)
        assert parsed.records.select(columns).to_dicts() == written.select(columns).to_dicts()

    check()


def the_machines_zone_changes_nothing(case: Case) -> None:
    zone = os.environ.get("TZ")
    try:
        for other in ("America/St_Johns", "Pacific/Apia"):
            os.environ["TZ"] = other
            time.tzset()
            assert case.read(case.sample).records.equals(case.whole.records)
    finally:
        os.environ.pop("TZ")
        if zone is not None:
            os.environ["TZ"] = zone
        time.tzset()


def odd_days_come_back(case: Case) -> None:
    """A leap day, the hour that comes twice in Berlin, the one that never was there, new year."""
    times = ("submit_time", "eligible_time", "start_time", "end_time")
    found = [
        {**PLAIN_JOB, **dict(zip(times, (at, at, at + 1_800, at + 5_400), strict=True))}
        for at in ODD_DAYS
    ]
    written = case_frame(case, found)
    parsed = read_back(case, written)
    assert parsed.refusals.is_empty()
    columns = [name for name in times if name in case.carries]
    assert parsed.records.select(columns).rows() == written.select(columns).rows()


def a_clock_that_stepped_back_costs_its_record(case: Case) -> None:
    """A job that ended before it started is refused, with the reason."""
    back = {**PLAIN_JOB, "end_time": EPOCH + 30}
    parsed = read_back(case, case_frame(case, [PLAIN_JOB, back, PLAIN_JOB]))
    assert is_sane(parsed)
    assert parsed.records.height == 2
    (code,) = parsed.refusals["code"]
    assert code == RefusalCode.ORDER, parsed.refusals["reason"].item()


def nothing_is_too_odd_to_be_read(case: Case) -> None:
    """A fuzz target: near a good log, whatever the bytes, each record is accounted for."""
    edits = st.tuples(st.integers(0, len(case.sample)), st.integers(0, 12), st.binary(max_size=8))

    @settings(max_examples=examples(20))
    @given(st.lists(edits, max_size=4))
    def check(made: list[tuple[int, int, bytes]]) -> None:
        data = case.sample
        for place, gone, new in made:
            data = data[:place] + new + data[place + gone :]
        try:
            header = case.dialect.header(data, case.reading)
        except DialectError:
            header = case.header
        parsed = case.read(data, header)
        assert is_sane(parsed)
        lines = data.count(b"\n") + 1
        for frame in (parsed.records, parsed.refusals):
            assert frame["line"].is_between(1, lines).all()
            assert frame["byte_offset"].is_between(0, len(data)).all()
            assert frame["byte_offset"].is_sorted()

    check()


CHECKS: Final[Sequence[Any]] = (
    is_recognised_by_itself_alone,
    sample_is_whole,
    needed_entries_are_enough,
    a_cut_costs_one_record,
    pytest.param(a_cut_anywhere_costs_one_record, marks=pytest.mark.thorough),
    a_flipped_bit_costs_what_it_touches,
    pytest.param(each_of_many_flipped_bits_costs_what_it_touches, marks=pytest.mark.thorough),
    blocks_may_end_at_any_record,
    lines_may_end_as_on_windows,
    odd_bytes_in_a_name_cost_that_record,
    a_nul_costs_its_record_at_most,
    hostile_names_come_back,
    what_is_written_is_read,
    the_machines_zone_changes_nothing,
    odd_days_come_back,
    a_clock_that_stepped_back_costs_its_record,
    nothing_is_too_odd_to_be_read,
)

OF_FORMS: Final[Sequence[Check]] = (
    is_recognised_by_itself_alone,
    sample_is_whole,
    a_cut_costs_one_record,
    blocks_may_end_at_any_record,
    lines_may_end_as_on_windows,
    what_is_written_is_read,
)
"""Those that depend on how a form separates records, for further forms of a dialect."""

PLAIN_JOB: Final[Mapping[str, object]] = {
    "user": "ana",
    "account": "phys",
    "group": "staff",
    "partition": "batch",
    "state": "COMPLETED",
    "submit_time": EPOCH,
    "eligible_time": EPOCH,
    "start_time": EPOCH + 60,
    "end_time": EPOCH + 3_660,
    "suspended_s": 0,
    "walltime_s": 7_200,
    "cpus": 8,
    "nodes": 2,
    "gpus": 0,
    "mem_bytes": 4 << 30,
}

_plain_names = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=6)


@st.composite
def jobs(draw: st.DrawFn, case: Case) -> dict[str, Any]:
    """An attempt that ran and ended, in columns of ``RECORDS``."""
    submit = EPOCH + draw(st.integers(0, 100_000))
    start = submit + draw(st.integers(0, 10_000))
    end = start + draw(st.integers(0, 10_000))
    names = {name: draw(_plain_names) for name in case.names}
    nodes = draw(st.integers(1, 20))
    found = {
        **PLAIN_JOB,
        "job_id": draw(sampled(case.ids)),
        "state": draw(sampled(("COMPLETED", "FAILED", "CANCELLED"))),
        "submit_time": submit,
        "eligible_time": submit,
        "start_time": start,
        "end_time": end,
        "walltime_s": draw(st.integers(1, 1_000_000)),
        "nodes": nodes,
        "cpus": nodes * draw(st.integers(1, 64)),
        "gpus": nodes * draw(st.integers(0, 4)),
        "mem_bytes": draw(st.integers(1, 1 << 30)) << 10,
        **names,
        **{name: draw(values) for name, values in case.changes.items()},
    }
    return found | draw(_places(case, found["nodes"])) if case.on_nodes else found


@st.composite
def _places(draw: st.DrawFn, case: Case, nodes: int) -> dict[str, Any]:
    """The nodes of an attempt, and what it has on each of them: one CPU at least."""
    names = draw(st.permutations([f"n{k}" for k in range(nodes)]))
    each = {
        name: draw(st.lists(st.integers(name == "cpus", 9), min_size=nodes, max_size=nodes))
        for name in case.on_nodes
    }
    some = {name: amounts for name, amounts in each.items() if any(amounts)}
    return {
        "node_list": listed(names),
        "node_amounts": amounts_text(some) if nodes > 1 else None,
        **{name: sum(amounts) for name, amounts in each.items()},
    }


def case_frame(case: Case, found: Sequence[Mapping[str, object]], first: int = 0) -> pl.DataFrame:
    """A frame of ``RECORDS``; jobs without an id get the dialect's, in turn."""
    named = [
        {"job_id": case.ids[(first + k) % len(case.ids)], "line": k, **row}
        for k, row in enumerate(found)
    ]
    whole = [{name: row.get(name) for name in RECORDS} for row in named]
    return pl.DataFrame(whole, schema=RECORDS)


def parsed(dialect: Dialect, text: str | bytes, reading: Reading = PLAIN) -> Parsed:
    """A log in one block."""
    data = text.encode() if isinstance(text, str) else text
    return dialect.parse(Block(data, 0, 1), dialect.header(data, reading))


def only(found: Parsed) -> dict[str, Any]:
    """The only record of a log."""
    assert found.refusals["reason"].to_list() == []
    return found.records.row(0, named=True)


def why(found: Parsed) -> str:
    """Why the only record of a log is refused."""
    assert found.records.is_empty()
    return str(found.refusals["reason"].item())


def read_back(case: Case, written: pl.DataFrame) -> Parsed:
    """Return a frame as it is read after it was written."""
    data = case.write(written)
    return case.read(data, case.dialect.header(data, case.reading))


def refused(case: Case, data: bytes) -> Iterator[str]:
    """Why records of a log are refused."""
    yield from case.read(data, case.dialect.header(data, case.reading)).refusals["reason"]
