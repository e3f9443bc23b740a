"""Dates far from the rest of their source, by a stated rule, on days and counts alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.ingest.doubtful import APART_DAYS, Part, doubts, parts

MONTH = [(20_000 + day, 10) for day in range(31)]  # 310 records
LAST = MONTH[-1][0]


def doubted(days: list[tuple[int, int]]) -> list[int]:
    """The first days of the parts that are doubtful."""
    return [doubt.part.first for doubt in doubts(sorted(days))]


@pytest.mark.parametrize("day", [1_900, LAST + 400, 32_800])
def test_a_clock_of_another_year_is_doubtful(day: int) -> None:
    assert doubted([*MONTH, (day, 1)]) == [day]
    assert doubted([*MONTH, (day, 3)]) == [day]


def test_what_is_near_or_many_is_believed() -> None:
    assert doubted([*MONTH, (LAST + APART_DAYS, 1)]) == []  # no gap at all
    assert doubted([*MONTH, (LAST + 400, 4)]) == []
    assert doubted([(20_000, 9), (1_900, 1)]) == []  # too few to tell who is wrong
    assert doubted([(20_000, 31), (1_900, 3)]) == [1_900]
    assert doubted([(20_000, 1), (25_000, 1)]) == []


def test_of_a_long_log_one_percent_is_few() -> None:
    years = [(10_000 + day, 10) for day in range(1_000)]
    assert doubted([*years, (20_000, 100)]) == [20_000]
    assert doubted([*years, (20_000, 101)]) == []


def test_a_long_log_may_pause_three_times_as_long() -> None:
    years = [(10_000 + day, 10) for day in range(1_000)]
    assert doubted([*years, (10_999 + 3_000, 1)]) == []
    assert doubted([*years, (10_999 + 3_001, 1)]) == [14_000]
    decades = [(1_000 + day, 10) for day in range(8_000)]
    assert doubted([*decades, (8_999 + 3_654, 1)]) == [12_653]  # ten years are always far


def test_a_few_beside_a_part_that_is_believed_are_not_doubted_for_the_others() -> None:
    old = [(5_000 + day, 1) for day in range(200)]
    assert doubted([*old, (5_600, 1), *MONTH]) == []  # 401 days behind 200
    assert doubted([*old, (5_800, 1), *MONTH]) == [5_800]


def test_parts_end_where_a_year_has_no_record() -> None:
    assert parts([(0, 1), (366, 2), (733, 4)]) == [Part(0, 366, 3), Part(733, 733, 4)]
    assert doubts([]) == []


@given(st.dictionaries(st.integers(0, 40_000), st.integers(1, 500), max_size=20), st.integers(0, 9))
def test_what_is_doubted_is_little_and_never_all(days: dict[int, int], shift: int) -> None:
    laid = sorted(days.items())
    found = doubts(laid)
    records = sum(doubt.part.records for doubt in found)
    assert records == 0 or records < sum(days.values())
    largest = max(parts(laid), key=lambda part: part.records, default=None)
    assert largest not in [doubt.part for doubt in found]
    moved = doubts([(day + shift, count) for day, count in laid])
    assert [doubt.part.first - shift for doubt in moved] == [doubt.part.first for doubt in found]
