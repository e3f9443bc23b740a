"""Starts that a window forbids, against its definition, second by second."""

from collections.abc import Collection

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import closed_hours as kernels
from audit.kernels.growing import GrowingTable
from audit.metrics.closed_hours import hour_of_week
from audit.scenario.windows.hours import hours_to_next

HOUR, WEEK = 3_600, 168
DAYS = 4
ATTEMPTS = 6
CHANGES = ((-(10**9), 0), (5 * HOUR, -HOUR))
"""When a clock changes, and by what it is then ahead of the epoch, s."""

Row = tuple[int, int, int, bool]  # attempt, since, until, whether it could start


@st.composite
def spans(draw: st.DrawFn) -> list[Row]:
    """Spans of some attempts, by attempt and begin, before and after 1970; s on the clock."""
    found = list[Row]()
    for job in range(ATTEMPTS):
        until = draw(st.integers(-20, 24)) * HOUR
        for _ in range(draw(st.integers(0, 6))):
            since = until + draw(st.integers(0, 5 * HOUR))
            until = since + draw(st.one_of(st.integers(1, 90), st.integers(1, 4 * HOUR)))
            found.append((job, since, until, draw(st.booleans())))
    return found


def forbids(at: int, reach: int, closed: Collection[int], *, overlap: bool) -> bool:
    """Whether a window forbids a start: an hour that it touches is closed."""
    last = at + reach - 1 if overlap else at
    hours = range(at // HOUR, last // HOUR + 1)
    return any(int(hour_of_week(np.array([hour * HOUR]))[0]) in closed for hour in hours)


def starts(
    rows: list[Row], of_start: np.ndarray, start: np.ndarray, reach: np.ndarray
) -> kernels.PossibleStarts:
    """Return the starts on a clock that is ``CHANGES`` ahead of the epoch."""
    since = np.array([at for at, _ in CHANGES])
    ahead = np.array([seconds for _, seconds in CHANGES])
    free = list[tuple[int, int, int]]()
    for job, begin, end, _ in rows:
        by = next(seconds for at, seconds in reversed(CHANGES) if begin - seconds >= at)
        free.append((job, begin - by, end - by))
    table = np.array(free, np.int64).reshape(-1, 3)
    possible = table[[row[-1] for row in rows]] if rows else table
    return kernels.PossibleStarts(possible, table, of_start, start, reach, since, ahead)


@given(
    spans(),
    st.lists(st.tuples(st.integers(0, ATTEMPTS - 1), st.integers(0, 24 * DAYS * HOUR)), max_size=8),
    st.sets(st.integers(0, WEEK - 1), max_size=30),
    st.lists(st.integers(1, 6 * HOUR), min_size=ATTEMPTS, max_size=ATTEMPTS),
    st.booleans(),
    st.booleans(),
)
def test_forbidden_starts_are_those_of_the_definition(
    rows: list[Row],
    started: list[tuple[int, int]],
    closed: set[int],
    reach: list[int],
    overlap: bool,
    by_hour: bool,
) -> None:
    of_start, start = np.array(started, np.int64).reshape(-1, 2).T.copy()
    side = np.arange(ATTEMPTS, dtype=np.uint8) % 3
    possible = starts(rows, of_start, start, np.array(reach))
    window = kernels.ClosedHours(hours_to_next(tuple(closed)), overlap, side)
    expected: list[list[list[int]]] = [[], [], []]
    waiting, last = dict[int, int](), dict[int, int]()
    for number, (job, since, until, possible_now) in enumerate(rows):
        inside = [
            second
            for second in range(since, until)
            if forbids(second, reach[job], closed, overlap=overlap)
        ]
        for second in inside if side[job] == kernels.Side.INSIDE else ():
            waiting[second // (24 * HOUR)] = waiting.get(second // (24 * HOUR), 0) + 1
        for second in inside if possible_now else ():
            mark = second // HOUR if by_hour else number
            if mark != last.get(job):
                last[job] = mark
                expected[side[job]].append([second, job])
    for job, second in started:
        if forbids(second, reach[job], closed, overlap=overlap):
            expected[side[job]].append([second, job + (1 << 32)])  # broken
    if by_hour:
        tables = GrowingTable(2), GrowingTable(2)
        kernels.forbidden_starts(possible, window, *tables)
        assert [table.taken().tolist() for table in tables] == expected[kernels.Side.INSIDE :]
    else:
        user, users, bits, out = np.arange(ATTEMPTS) // 2 - 1, ATTEMPTS, 40, GrowingTable(1)
        numbers = kernels.EventNumbers(user, users, bits)
        kernels.forbidden_events(possible, window, numbers, out)
        every = [
            ((second // (24 * HOUR) * users + int(user[job % (1 << 32)]) + 1) * 2 + (job >> 32))
            * (1 << bits)
            + job % (1 << 32)
            for second, job in [*expected[1], *expected[2]]
        ]
        assert sorted(out.taken()[:, 0].tolist()) == sorted(every)
    days = np.zeros(2 * DAYS + 4, np.int64)
    kernels.forbidden_seconds(possible, window, -2, days)
    assert {day - 2: count for day, count in enumerate(days.tolist()) if count} == waiting


@pytest.mark.thorough
@given(spans(), st.lists(st.integers(-1, 2), min_size=ATTEMPTS, max_size=ATTEMPTS))
def test_tables_of_hours_are_those_of_the_definition(rows: list[Row], bins: list[int]) -> None:
    of_start, start = np.arange(ATTEMPTS), np.arange(ATTEMPTS) * 7_000 - 20_000
    row = np.arange(ATTEMPTS) % 2
    possible = starts(rows, of_start, start, np.ones(ATTEMPTS, np.int64))
    since, until, blocks = -10 * HOUR, 40 * HOUR, 4
    expected = np.zeros((WEEK, 2, 3, 3, blocks))

    def add(job: int, second: int, which: int) -> None:
        hour = int(hour_of_week(np.array([second]))[0])
        block = min(max((second - since) * blocks // (until - since), 0), blocks - 1)
        expected[hour, row[job], which, bins[job], block] += bins[job] >= 0

    seen = set()
    for job, begin, end, possible_now in rows:
        for second in range(begin, end):
            at = max(begin, second // HOUR * HOUR)  # of the part in this hour
            add(job, at, 2)
            if possible_now and (job, second // HOUR) not in seen:
                seen.add((job, second // HOUR))
                add(job, at, 0)
    for job, second in zip(of_start.tolist(), start.tolist(), strict=True):
        add(job, second, 1)
    found = np.zeros_like(expected)
    kernels.add_to_table(possible, np.array(bins), row, since, until, found)
    assert np.array_equal(found, expected)
