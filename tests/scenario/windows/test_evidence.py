"""Broken shares, their bound, and the days of a rule, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels.closed_hours import Side
from audit.metrics.closed_hours import DAY_S
from audit.scenario.windows import evidence
from audit.scenario.windows.evidence import Units
from tests.naive import rules as naive

EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 40 * DAY_S), st.booleans()), min_size=1, max_size=60
)


def units(found: list[tuple[int, int, bool]]) -> Units:
    """Return the units of events, each of an attempt of its own; every other is a neighbour's."""
    users, bits = max(user for user, _, _ in found) + 2, 20
    numbers = [
        (2 * (at // DAY_S * users + user + 1) + broken << bits) + 2 * job
        for job, (user, at, broken) in enumerate(found)
    ]
    events = evidence.UnitEvents(
        np.sort([*numbers, *(number + 1 for number in numbers)]), users, bits
    )
    side = np.resize(np.array([Side.INSIDE, Side.OUTSIDE], np.uint8), 2 * len(found))
    mine, others = events.units(side)
    assert all(map(np.array_equal, mine, others))
    return mine


def judge(
    rule: list[tuple[int, int, bool]], neighbours: list[tuple[int, int, bool]]
) -> evidence.TestedRule:
    return evidence.judge(units(rule), units(neighbours))


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count events in parts, most of which end within a key."""
    monkeypatch.setattr(evidence, "_AT_ONCE", 3)


@given(EVENTS)
def test_shares_are_those_of_each_user_and_day(
    found: list[tuple[int, int, bool]],
) -> None:
    got = units(found)
    expected = naive.units(found)
    assert list(zip(got.day.tolist(), got.user.tolist(), strict=True)) == sorted(expected)
    for at, user, share in zip(got.day.tolist(), got.user.tolist(), got.share, strict=True):
        assert share == pytest.approx(expected[at, user])
    assert got.mean == pytest.approx(sum(expected.values()) / len(expected))


@given(st.integers(1, 60), st.floats(0, 1))
def test_the_bound_is_that_of_the_definition(trials: int, part: float) -> None:
    breaks = part * trials
    found = evidence.upper_bound(breaks, trials)
    assert found == pytest.approx(naive.upper_bound(breaks, trials), abs=1e-3)
    assert breaks / trials <= found <= 1


def test_bounds_by_hand() -> None:
    assert evidence.upper_bound(0, 20) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert evidence.upper_bound(3, 100) == pytest.approx(0.0757108, abs=1e-6)  # R: binom.test
    assert evidence.upper_bound(5, 5) == 1


@given(EVENTS, st.floats(0.01, 0.5))
def test_the_stretch_of_days_is_the_best_of_all(
    found: list[tuple[int, int, bool]], most: float
) -> None:
    begin, end = evidence._stretch(units(found), most)
    days = range(41)

    def worth(first: int, behind: int) -> float:
        inside = [broken for _, at, broken in found if first <= at // DAY_S < behind]
        return most * len(inside) - sum(inside)

    best = max(worth(first, last + 1) for first in days for last in days if last >= first)
    if best > 0:
        assert worth(begin, end) == pytest.approx(best)


def kept(days: range, users: int = 4, each: int = 3) -> list[tuple[int, int, bool]]:
    return [
        (user, day * DAY_S + 3_600 * k, False)
        for day in days
        for user in range(users)
        for k in range(each)
    ]


def broken(days: range, users: int = 4) -> list[tuple[int, int, bool]]:
    return [(user, day * DAY_S + 50_000, True) for day in days for user in range(users)]


def test_a_rule_that_is_kept() -> None:
    found = judge(kept(range(30)), broken(range(30)))
    assert (found.fails, found.days) == ("", None)
    assert (found.breaks, found.withheld, found.units) == (0, 360, 120)
    assert found.by_chance == 1
    assert found.bound == pytest.approx(1 - 0.05 ** (1 / 120))


def test_a_rule_in_force_for_half_of_the_log_is_found_with_its_days() -> None:
    rule = [*kept(range(20)), *broken(range(20, 40))]
    found = judge(rule, broken(range(40)))
    assert (found.fails, found.days) == ("", (evidence.SINCE, 20))
    assert (found.breaks, found.withheld) == (0, 240)


def test_a_rule_ends_only_where_the_log_contradicts_it() -> None:
    """A rule without occasions on the last days of the log, a weekend, is still in force."""
    since = [*broken(range(20)), *kept(range(20, 38))]
    assert judge(since, broken(range(40))).days == (20, evidence.UNTIL)
    between = [*since, *broken(range(38, 50))]
    assert judge(between, broken(range(50))).days == (20, 38)


@pytest.mark.parametrize(
    ("rule", "neighbours", "fails"),
    [
        (kept(range(30), users=2), broken(range(30)), "users of occasions"),
        (kept(range(4), each=9), broken(range(30)), "days of occasions"),
        (kept(range(1), each=4), broken(range(30)), "occasions"),
        (kept(range(30)), broken(range(4)), "neighbours"),
        (kept(range(30)), broken(range(30), users=2), "users of neighbours"),
        (kept(range(6), each=1), broken(range(30)), "bound"),
        # 1 of 5 neighbours started: a tenth of that is not shown by 120 units
        (kept(range(30)), [*kept(range(30), each=4), *broken(range(30))], "bound"),
    ],
)
def test_rules_without_enough_evidence_are_not_kept(
    rule: list[tuple[int, int, bool]], neighbours: list[tuple[int, int, bool]], fails: str
) -> None:
    assert judge(rule, neighbours).fails.startswith(fails)


def test_a_user_who_is_exempt_counts_with_their_units() -> None:
    exempt = [(9, day * DAY_S, True) for day in range(25)]
    found = judge(kept(range(100), users=9) + exempt, broken(range(100)))
    assert (found.fails, found.breaks, found.units) == ("", 25, 925)
    assert found.bound < 0.1 * found.by_chance
