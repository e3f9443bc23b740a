"""Candidates and counts of levels against their definitions (tests/naive/plateaus.py)."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.kernels.plateaus import judge
from audit.scenario.plateaus.judging import LEVELS, PlateauCounts
from tests.examples import examples
from tests.naive import plateaus as naive
from tests.naive.plateaus import Point

_point = st.builds(
    Point, st.integers(0, 3), st.integers(0, 7), st.integers(0, 3), st.integers(100, 108)
)
_points = st.lists(_point, max_size=40)
_ended_at_once = st.integers(0, 4).map(lambda number: number == 0)
"""Whether a job ended in the second of its start, and adds nothing to the level after it."""
_climbs = st.lists(
    st.builds(
        lambda point, at_once: point if at_once else point._replace(level=point.level + point.adds),
        _point,
        _ended_at_once,
    ),
    max_size=40,
)


def traces(stopped: list[Point], climbed: list[Point]) -> judge.Traces:
    """Points as the kernel takes them."""
    columns: dict[str, Any] = {}
    for name, points in (("stop", stopped), ("climb", climbed)):
        ordered = sorted(points, key=lambda p: (p.entity, p.day))
        entity, level, adds, day = np.array(ordered, np.int64).reshape(-1, 4).T.copy()
        columns |= {
            f"first_{name}": np.searchsorted(entity, np.arange(5)),
            f"{name}_level": level,
            f"{name}_adds": adds,
            f"{name}_day": day,
        }
    return judge.Traces(**columns)


@settings(max_examples=examples(150))
@given(_points, _climbs, st.integers(0, 3), st.integers(1, 4))
def test_as_defined(stopped: list[Point], climbed: list[Point], begin: int, count: int) -> None:
    end = min(begin + count, 4)
    of, low, high = traces(stopped, climbed), np.array([begin]), np.array([end])
    stopped, climbed = (
        [p for p in points if begin <= p.entity < end] for points in (stopped, climbed)
    )
    found = np.zeros((1, LEVELS), np.int64)
    judge.candidates(of, low, high, found)
    best, often = naive.candidates(stopped, climbed)
    assert [one for one in found[0, :2].tolist() if one >= 0] == best
    assert [one for one in found[0, 2:].tolist() if one >= 0] == often
    for level in range(11):
        counts = np.zeros((1, len(PlateauCounts._fields)), np.int64)
        concentration = np.zeros(1)
        nowhere = np.array([[1], [0]])
        judge.weigh(of, low, high, np.array([level]), nowhere, counts, concentration)
        got = PlateauCounts(*counts[0].tolist())
        exact = naive.weigh(stopped, climbed, level, single=end - begin == 1)
        if exact is None:
            assert not any(got)
            continue
        for name in set(PlateauCounts._fields) & set(naive.Weight._fields):
            assert getattr(got, name) == getattr(exact, name), name
        assert concentration[0] == pytest.approx(float(exact.concentration))
        rest = got.at - got.most_at - 2 * (got.broken - got.most_broken)
        assert rest in exact.others
        given_period = np.array([[got.first_day], [got.last_day]])
        again = np.zeros_like(counts)
        judge.weigh(of, low, high, np.array([level]), given_period, again, concentration)
        assert PlateauCounts(*again[0].tolist()) == got._replace(always=0)


def test_quantiles_stand_for_many_levels() -> None:
    # 10,000 stops at the level 70,000, each of a job of 10, and as many levels below it
    stopped = [Point(0, 70_000, 10, 1)] * 10_000 + [Point(0, 3 * k, 1, 1) for k in range(10_000)]
    found = np.zeros((1, LEVELS), np.int64)
    judge.candidates(traces(stopped, []), np.array([0]), np.array([4]), found)
    assert found[0, 0] == 70_000
    assert (found[0, 2:] == -1).all()
