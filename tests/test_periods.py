"""Days in zones, over clock changes."""

from datetime import date
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from audit import periods
from audit.errors import UsageError
from audit.model import Period
from audit.periods import covering, day_start, kind_of

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3600
KINDS = ("day", "week", "month", "quarter", "year")


def test_days_of_a_clock_change_last_as_long_as_they_do() -> None:
    spring = periods.between(date(2026, 3, 28), date(2026, 3, 31), BERLIN)
    autumn = periods.between(date(2026, 10, 24), date(2026, 10, 27), BERLIN)
    for period, hours in ((spring, [24, 23, 24]), (autumn, [24, 25, 24])):
        edges = periods.day_edges(period.from_time, period.to_time, BERLIN)
        assert [(end - start) // HOUR for start, end in pairwise(edges)] == hours


def test_edges_begin_and_end_where_requested() -> None:
    noon = periods.day_start(date(2026, 5, 1), BERLIN) + 12 * HOUR
    midnight = noon + 12 * HOUR
    assert periods.day_edges(noon, noon, BERLIN) == [noon]
    assert periods.day_edges(noon, midnight, BERLIN) == [noon, midnight]
    assert periods.day_edges(noon, midnight + 1, BERLIN) == [noon, midnight, midnight + 1]
    assert periods.day_of(midnight, BERLIN) == date(2026, 5, 2)
    assert periods.day_of(midnight - 1, BERLIN) == date(2026, 5, 1)


def test_a_day_whose_midnight_was_skipped_begins_at_its_first_instant() -> None:
    havana = ZoneInfo("America/Havana")  # clocks went from 00:00 to 01:00 on 2026-03-08
    start = periods.day_start(date(2026, 3, 8), havana)
    assert periods.day_of(start, havana) == date(2026, 3, 8)
    assert periods.day_of(start - 1, havana) == date(2026, 3, 7)


def test_periods_are_named_by_their_days() -> None:
    period = periods.between(date(2026, 1, 1), date(2026, 2, 1), ZoneInfo("UTC"))
    assert period == Period("2026-01-01..2026-02-01", 1_767_225_600, 1_769_904_000)
    assert not period.whole_log
    assert Period("all", 0, 1).whole_log


@pytest.mark.parametrize("last", [date(2026, 1, 1), date(2025, 12, 31)])
def test_empty_periods_are_refused(last: date) -> None:
    with pytest.raises(UsageError, match="must be a later day"):
        periods.between(date(2026, 1, 1), last, BERLIN)


@pytest.mark.parametrize("name", ["Atlantis/Harbour", "", "../etc/passwd", "Europe"])
def test_unknown_zones_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not in the IANA database"):
        periods.zone(name)


def test_days_are_read_as_written() -> None:
    assert periods.parse_day("2026-10-31") == date(2026, 10, 31)
    assert periods.day_after(date(2026, 10, 31)) == date(2026, 11, 1)
    with pytest.raises(UsageError, match="write it like 2026-10-31"):
        periods.parse_day("31.10.2026")


def test_quarters_and_years_cover_what_they_should() -> None:
    first, last = day_start(date(2025, 11, 30), BERLIN), day_start(date(2026, 4, 1), BERLIN)
    names = [[one.name for one in covering(kind, first, last, BERLIN)] for kind in KINDS]
    assert [len(one) for one in names] == [123, 19, 6, 3, 2]
    assert names[3] == ["2025-Q4", "2026-Q1", "2026-Q2"]
    assert names[4] == ["2025", "2026"]
    quarter = covering("quarter", first, first, BERLIN)[0]
    assert (quarter.from_time, quarter.to_time) == (
        day_start(date(2025, 10, 1), BERLIN),
        day_start(date(2026, 1, 1), BERLIN),
    )
    for kind, of_kind in zip(KINDS, names, strict=True):
        assert {kind_of(name) for name in of_kind} == {kind}
    assert [kind_of(name) for name in ("all", "2026-01-01..2026-02-01", "")] == [None] * 3
