"""[B]'s conclusions, on answers whose verdicts are known, and on a log made for one of them."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.claims import ClaimHolds
from audit.metrics.draws import Draws, ratio
from audit.metrics.uncertainty import Resamples
from audit.model import Backfill
from audit.studies.sensitivity import claims
from audit.studies.sensitivity import compute as sensitivity
from audit.studies.sensitivity.claims import SettingResults, Sums
from audit.studies.sensitivity.compute import OTHERS, Base, Groups, SettingPoint
from tests.naive import sensitivity as naive
from tests.strategies import EPOCH
from tests.studies.sensitivity.known import (
    ACXIOM,
    FIXED,
    POOL,
    RED_DIAMOND,
    answered,
    as_the_paper,
    attempts_of,
    contrary,
    rising,
)


def held(found: SettingResults, base: Base = RED_DIAMOND, two: bool = True) -> list[str]:
    return [verdict.holds.value for verdict in claims.decide(base, found, two_at_once=two)]


def test_all_conclusions_hold_where_the_log_is_as_the_paper_says() -> None:
    for base, count in ((RED_DIAMOND, 9), (ACXIOM, 7)):
        found = held(answered(as_the_paper, rising), base, base is RED_DIAMOND)
        assert found == ["yes"] * count


def test_none_holds_where_the_log_says_the_contrary() -> None:
    def falling(point: SettingPoint) -> int:
        return 90 - round(contrary(point, 0) / 1_000)

    assert held(answered(contrary, falling)) == ["no"] * 9


def test_settings_that_move_no_start_decide_nothing() -> None:
    verdicts = claims.decide(
        RED_DIAMOND, answered(lambda point, group: 100 + 100 * group), two_at_once=True
    )
    assert {verdict.holds for verdict in verdicts} == {ClaimHolds.undecided}
    assert verdicts[4].because.endswith("all values of interval, depth, decay")
    # the log is shorter than a window: only the targets matter
    short = answered(lambda point, group: 5_000 + 100 * point.run * (1 - group))
    assert held(short)[:7] == ["undecided"] * 7


def test_only_one_side_of_the_claim() -> None:
    found = answered(lambda point, group: as_the_paper(point, 0), rising)
    assert held(found)[:3] == ["no"] * 3


def test_utilization_that_stands_still_does_not_follow() -> None:
    verdicts = claims.decide(ACXIOM, answered(as_the_paper), two_at_once=False)
    assert verdicts[-2].holds is ClaimHolds.no
    assert "0.5000 in all 27 settings" in verdicts[-2].because


def test_one_user_decides_nothing() -> None:
    one = answered(as_the_paper, rising)
    alone = {
        point: Sums(sums.attempts[:, :1], sums.response[:, :1], *(of[:1] for of in sums[2:]))
        for point, sums in one.sums.items()
    }
    found = SettingResults(one.labels, alone, Resamples(1, 0), Resamples(1, 0))
    assert set(held(found)) == {"undecided"}


def test_noise_between_users_leaves_it_undecided() -> None:
    found = answered(as_the_paper, rising)
    signs = np.array([1, -1] * 5, float)
    noisy = {
        point: sums._replace(
            response=sums.response + np.outer([1.0, 1.0], signs) * 400 * point.interval_days
        )
        for point, sums in found.sums.items()
    }
    verdicts = claims.decide(RED_DIAMOND, found._replace(sums=noisy), two_at_once=False)
    assert verdicts[0].holds is ClaimHolds.undecided


# --- figures -------------------------------------------------------------------------------------


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.data())
def test_change(values: list[int], data: st.DataObject) -> None:
    values.sort()
    of = data.draw(st.lists(st.integers(0, 1_000), min_size=len(values), max_size=len(values)))
    resamples = Resamples(2, 0, 20)
    drawn = [ratio(resamples, np.array([y, y], float), np.ones(2)) for y in of]
    found = claims.change(values, drawn)
    expected = naive.change([Fraction(x) for x in values], [Fraction(y) for y in of])
    assert found.value == pytest.approx(float(expected), abs=1e-9)
    assert found.resamples == pytest.approx(np.full(20, float(expected)), abs=1e-9)


def test_a_response_beside_that_at_the_fixed_values() -> None:
    found = answered(as_the_paper, rising)
    other = FIXED._replace(interval_days=9)
    assert found.beside(FIXED, FIXED, 0) == 1
    expected = as_the_paper(other, 0) / as_the_paper(FIXED, 0)
    assert found.beside(other, FIXED, 0) == pytest.approx(expected, rel=1e-3)
    assert found.others == range(1, 2)
    both = (found.sums[other].mean_response(0) or 0) + (found.sums[other].mean_response(1) or 0)
    assert found.sums[other].mean_response(0, 1) == pytest.approx(both / 2)  # as many attempts each


def test_rows_for_the_database() -> None:
    found = answered(as_the_paper, rising)
    rows = claims.rows("all", found)
    assert rows.height == len(found.sums) * 4
    one = rows.filter(
        pl.col("setting") == FIXED.label,
        pl.col("metric") == "response_mean",
        pl.col("dimension_value") == "wide",
    ).row(0, named=True)
    assert one["value"] == pytest.approx(as_the_paper(FIXED, 0), rel=1e-3)
    assert one["lower"] < one["value"] < one["upper"]


# --- from a log to a verdict ---------------------------------------------------------------------


def memory(days: int) -> pl.DataFrame:
    """A user with much usage five days ago competes daily with one with little usage yesterday.

    A user pair per story; ``wide`` used 4 · 3 h five days before, ``narrow`` 4 · 1 h on the last
    day. With one day remembered, wide goes first; with nine, narrow does.
    """
    day, hour = 86_400, 3_600
    lives: list[Any] = []
    for story in range(4):
        t = EPOCH + story * 40 * day
        wide, narrow = (f"w{story}", "wide"), (f"n{story}", "narrow")
        plan = [
            (t, 3 * hour, *wide),
            (t + 5 * day - 8 * hour, hour, *narrow),
            (t + 5 * day, hour, None, None),
            (t + 5 * day + 60, 2 * hour, *wide),
            (t + 5 * day + 120, 2 * hour, *narrow),
        ]
        lives += [(at, at, at + length, 4, user, account) for at, length, user, account in plan]
    return attempts_of(*lives)


def apart(figures: list[float | None]) -> float:
    first, last = figures[0], figures[-1]
    assert first is not None
    assert last is not None
    return last - first


def test_a_longer_memory_makes_the_dominant_group_slower_where_only_long_memory_knows_its_use() -> (
    None
):
    groups: Groups = sensitivity.grouped(memory(1))
    assert groups.labels == ("wide", "narrow", OTHERS)
    base = Base("one day", SettingPoint(1, 1, 0.7))
    sweep = sensitivity.sweeps(base)[0]
    cells = sensitivity.cells(groups, POOL, EPOCH + 10**9, Backfill.easy, sweep.points)
    found = claims.answers(
        groups.labels, sweep.points, [cell.compute() for cell in cells], Draws(3)
    )
    starts = [found.sums[point].mean_response(0) for point in sweep.points]
    # 2 h each behind the hour; the one behind the other waits 2 h longer
    # the mean of two attempts, of which one waits longer
    assert apart(starts) == 3_600
    narrow = [found.sums[point].mean_response(1) for point in sweep.points]
    assert apart(narrow) == -3_600
    verdict = claims.slower_and_faster(base, found.labels, claims.changes(found, sweep))
    assert verdict.holds is ClaimHolds.yes
