"""Starts that a window forbids, against its definition, second by second."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import closed_hours as kernels
from audit.kernels.closed_hours import ForbiddenStart as Mark
from audit.scenario.windows.hours import hours_to_next
from audit.scenario.windows.occasions import hour_of_week

HOUR, WEEK = 3_600, 168
DAYS = 4
ATTEMPTS = 6

Part = tuple[int, int, int, int, bool]  # attempt, begin, seconds, stretch, claims


@st.composite
def parts(draw: st.DrawFn) -> list[Part]:
    """Parts of hours of some attempts, by attempt and begin."""
    found = []
    for job in range(ATTEMPTS):
        for hour in sorted(draw(st.sets(st.integers(-20, 24 * DAYS - 1), max_size=8))):
            since = draw(st.integers(0, HOUR - 1))
            until = draw(st.integers(since + 1, min(since + 90, HOUR)))
            stretch = 10 * job + draw(st.integers(0, 1))
            at = hour * HOUR + since
            found.append((job, at, until - since, stretch, draw(st.booleans())))
    return found


def forbids(at: int, reach: int, closed: Sequence[int], *, overlap: bool) -> bool:
    """Whether a window forbids a start: an hour that it touches is closed."""
    last = at + reach - 1 if overlap else at
    hours = range(at // HOUR, last // HOUR + 1)
    return any(int(hour_of_week(np.array([hour * HOUR]))[0]) in closed for hour in hours)


@given(
    parts(),
    st.lists(st.tuples(st.integers(0, ATTEMPTS - 1), st.integers(0, 24 * DAYS * HOUR)), max_size=8),
    st.sets(st.integers(0, WEEK - 1), max_size=30),
    st.lists(st.integers(1, 6 * HOUR), min_size=ATTEMPTS, max_size=ATTEMPTS),
    st.booleans(),
)
def test_forbidden_starts_are_those_of_the_definition(
    cut: list[Part],
    started: list[tuple[int, int]],
    closed: set[int],
    reach: list[int],
    overlap: bool,
) -> None:
    table = np.array(cut, np.int64).reshape(-1, 5)
    of_start, start = np.array(started, np.int64).reshape(-1, 2).T.copy()
    side = np.arange(ATTEMPTS) % 3  # 0: the class, 1: neighbours, 2: neither

    def possible(part: np.ndarray) -> kernels.PossibleStarts:
        job, begin, seconds, stretch, _ = part.T.copy()
        of_parts = (job, begin, seconds, stretch, hour_of_week(begin))
        of_starts = (of_start, start, hour_of_week(start))
        return kernels.PossibleStarts(*of_parts, *of_starts, np.array(reach))

    window = kernels.ClosedHours(hours_to_next(closed), overlap, side == 0, side == 1)
    expected, waiting, before, hour = [], dict[int, int](), -1, -1
    last_stretch = None
    for one, since, lasts, of, claim in cut:
        inside = [
            second
            for second in range(since, since + lasts, 1)
            if forbids(second, reach[one], sorted(closed), overlap=overlap)
        ]
        if not inside:
            continue
        if side[one] == 0:
            for second in inside:
                waiting[second // (24 * HOUR)] = waiting.get(second // (24 * HOUR), 0) + 1
        if claim:
            marks = Mark.BEGINS_STRETCH * (of != last_stretch)
            marks |= Mark.IN_NEW_HOUR * ((one, inside[0] // HOUR) != (before, hour))
            last_stretch, before, hour = of, one, inside[0] // HOUR
            expected.append((one, inside[0], marks))
    for one, second in started:
        if forbids(second, reach[one], sorted(closed), overlap=overlap):
            marks = Mark.BREAKS | Mark.IN_NEW_HOUR * ((one, second // HOUR) != (before, hour))
            before, hour = one, second // HOUR
            expected.append((one, second, marks))
    wanted = int(Mark.BREAKS | Mark.BEGINS_STRETCH)
    out = kernels.Table(3)
    kernels.forbidden_starts(possible(table[table[:, 4] > 0]), window, wanted, out)
    assert out.taken().tolist() == [
        [one, second, marks | Mark.OF_CLASS * (side[one] == 0)]
        for one, second, marks in expected
        if side[one] < 2 and marks & wanted
    ]
    days = np.zeros(DAYS + 2, np.int64)
    kernels.forbidden_seconds(possible(table), window, -1, days)
    assert {day - 1: count for day, count in enumerate(days.tolist()) if count} == waiting
