"""[B §5] on a log: against slow twins, by hand, and on answers whose verdicts are known."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.usage import Windows
from audit.metrics.uncertainty import Resamples
from audit.model import Backfill, Order, Policy, Pool, Resource
from audit.simulation import engine
from audit.simulation.ownership import Fairshare
from audit.simulation.workload import workload
from audit.studies.drawn import Draws, ratio
from audit.studies.sensitivity import claims as sensitivity_claims
from audit.studies.sensitivity import compute as sensitivity
from audit.studies.sensitivity.claims import Answers, Sums
from audit.studies.sensitivity.compute import BASES, OTHERS, RUNS, Base, Groups, Point
from audit.studies.verdicts import Holds
from tests.naive import sensitivity as naive
from tests.strategies import EPOCH, NOW, ended, frame, workloads

POOL = Pool("all", Resource.cpus, 4)
RED_DIAMOND, ACXIOM = BASES
FIXED = Point(7, 7, 0.7)


# --- settings ------------------------------------------------------------------------------------


def test_targets_of_red_diamond_are_those_of_table_8() -> None:
    printed = {1: (0.85, 0.10, 0.05), 2: (0.75, 0.15, 0.10), 3: (0.65, 0.20, 0.15)}
    for run, shares in printed.items():
        assert sensitivity.targets((65, 20, 15), run) == pytest.approx(shares)


def test_targets_of_acxiom_are_those_of_table_9_but_for_its_sum() -> None:
    # 8_node: Table 5 has 12, Table 9 has 11, which is why its runs sum to 99
    areas = (38, 15, 15, 14, 12, 6)
    assert sensitivity.targets(areas, 2) == pytest.approx((0.48, 0.13, 0.13, 0.12, 0.10, 0.04))
    assert sensitivity.targets(areas, 1) == pytest.approx((0.58, 0.11, 0.11, 0.10, 0.08, 0.02))


@given(st.lists(st.integers(1, 1_000), min_size=2, max_size=7), st.sampled_from(RUNS))
def test_targets(areas: list[int], run: int) -> None:
    areas.sort(reverse=True)
    found = sensitivity.targets(areas, run)
    assert found == pytest.approx([float(share) for share in naive.targets(areas, run)], abs=1e-12)
    assert math.fsum(found) == pytest.approx(1)
    assert min(found) >= -1e-15


@settings(max_examples=15)
@given(workloads(), st.sampled_from([100, 110, 150, 250]))
def test_arrivals_are_compressed(attempts: pl.DataFrame, intensity: int) -> None:
    described = describe(attempts, [POOL])
    work, _ = workload(described, POOL, NOW)
    found = sensitivity.compressed(work, intensity)
    first = int(work.arrival.min()) if len(work.arrival) else 0
    assert found.arrival.tolist() == [
        naive.compressed(time, first, intensity) for time in work.arrival.tolist()
    ]
    assert (found.occupancy == work.occupancy).all()
    assert (np.diff(found.arrival) >= 0).all()
    if intensity == 100:
        assert all((a == b).all() for a, b in zip(found[:4], work[:4], strict=True))


def test_each_setting_is_varied_alone() -> None:
    for base in BASES:
        fixed = Point(*base[1:])
        swept = {sweep.key: sweep for sweep in sensitivity.sweeps(base)}
        assert list(swept) == ["interval", "depth", "decay", "targets", "arrivals"]
        for key, column in (("interval", 0), ("depth", 1), ("decay", 2), ("targets", 3)):
            points = swept[key].points
            assert tuple(point[column] for point in points) == swept[key].values
            others = {point[:column] + point[column + 1 :] for point in points}
            assert others == {fixed[:column] + fixed[column + 1 :]}
            assert fixed in points
    for plane in sensitivity.planes(RED_DIAMOND):
        assert len({point for row in plane.points for point in row}) == 81
        assert len(set(plane.diagonal.points)) == 9


# --- groups --------------------------------------------------------------------------------------


def attempts_of(*lives: tuple[int, int, int, int, str | None, str | None]) -> pl.DataFrame:
    """Arrival, start, end, size, user and account of each."""
    records = [
        ended(*life[:4], life[4], account=life[5], walltime_s=life[2] - life[1]) for life in lives
    ]
    return describe(frame(records), [POOL])


def test_groups_by_hand() -> None:
    described = attempts_of(
        (0, 0, 10, 1, "u", "a"),  # 10
        (0, 0, 10, 3, "v", "b"),  # 30
        (0, 0, 7, 1, "w", "c"),  # 7
        (0, 0, 5, 1, "w", None),  # 5
    )
    found = sensitivity.grouped(described)
    assert (found.by, found.labels) == ("account", ("b", "a", "c", OTHERS))
    assert found.areas == (30, 10, 7, 5)
    few = sensitivity.grouped(described, most=2)
    assert (few.labels, few.areas) == (("b", OTHERS), (30, 22))
    assert few.attempts["account"].to_list() == [OTHERS, "b", OTHERS, OTHERS]
    wide = sensitivity.grouped(described, "width_class")
    assert (wide.labels, wide.areas) == (("3-4", "1"), (30, 22))


def test_with_many_accounts_groups_are_width_classes() -> None:
    lives = [(0, 0, 10, 1 + k % 2, f"u{k}", f"a{k}") for k in range(12)]
    assert sensitivity.grouped(attempts_of(*lives)).by == "width_class"
    assert sensitivity.grouped(attempts_of(*lives[:10])).by == "account"


def test_one_group_is_refused() -> None:
    with pytest.raises(UsageError, match="there are not two groups"):
        sensitivity.grouped(attempts_of((0, 0, 10, 1, "u", "a")))


# --- cells, against the simulated schedule -------------------------------------------------------


fitting = workloads(most=8, only_ended=True).map(
    lambda attempts: attempts.with_columns(pl.col("cpus") % 5)
)


@settings(max_examples=15, deadline=None)
@given(
    st.one_of(fitting, workloads(most=8)),
    st.sampled_from([Backfill.easy, Backfill.no_guarantee]),
    st.booleans(),
)
def test_sums_are_those_of_the_schedule(
    attempts: pl.DataFrame, backfill: Backfill, first_run: bool
) -> None:
    described = describe(attempts, [POOL])
    try:
        groups = sensitivity.grouped(described, "user", 3)
    except UsageError:
        return
    point = Point(1, 2, 0.5, 1 if first_run else 3)
    (cell,) = sensitivity.cells(groups, POOL, NOW, backfill, [point, point])
    found = cell.compute()
    shares = dict(zip(groups.labels, sensitivity.targets(groups.areas, point.run), strict=True))
    ranked = Fairshare(
        kind="account",
        method=Windows(interval_s=86_400, depth=2, decay=0.5),
        tree=trees.flat(groups.labels, shares, kind="account"),
    )
    made = engine.simulate(
        groups.attempts, POOL, NOW, Policy(Order.fairshare, backfill), fairshare=ranked
    )
    queued = made.filter(pl.col("standing") == "ended", pl.col("size").fill_null(0) <= 4)
    number = dict(zip(made["user"].to_list(), groups.users.tolist(), strict=True))
    rows = queued.to_dicts()
    expected = {
        (groups.labels.index(group), number[user]): (len(times), sum(times))
        for (group, user), times in naive.responses(rows).items()
        if group in groups.labels
    }
    by_user = found.filter(pl.col("kind") == "user", pl.col("group") < len(groups.labels))
    assert {
        (group, unit): (count, amount) for _, group, unit, count, amount in by_user.iter_rows()
    } == expected
    if rows and queued.height == made.height and len({row["arrival_time"] for row in rows}) > 1:
        by_day = naive.pool_by_day(rows, POOL.capacity)
        for kind, amounts in by_day.items():
            own = found.filter(pl.col("kind") == kind)
            assert dict(own.select("unit", "amount").iter_rows()) == amounts


def test_days_by_hand() -> None:
    day = 86_400
    described = attempts_of(
        (0, 0, day + 100, 2, "u", "a"),
        (day + 50, day + 50, day + 60, 4, "v", "b"),  # waits for the first, from 50 on
        (day + 80, day + 80, day + 90, 1, "u", "a"),  # the last to arrive; slips in
    )
    groups = sensitivity.grouped(described)
    (cell,) = sensitivity.cells(groups, POOL, 2 * day, Backfill.easy, [FIXED])
    found = cell.compute().filter(pl.col("group") < 1)
    assert found.select("kind", "group", "unit", "attempts", "amount").rows() == [
        ("user", 0, 0, 2, day + 110),
        ("day", 0, 0, 1, day + 100),
        ("day", 0, 1, 1, 10),
        ("used", -1, 0, 0, 2 * day),
        ("used", -1, 1, 0, 2 * 80),
        ("lost", -1, 0, 0, 0),
        ("lost", -1, 1, 0, 2 * 30),
        ("capacity", -1, 0, 0, 4 * day),
        ("capacity", -1, 1, 0, 4 * 80),
    ]


# --- the line, and ranks -------------------------------------------------------------------------

figures = st.lists(st.integers(0, 1_000), min_size=3, max_size=3)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), st.data())
def test_change(values: list[int], data: st.DataObject) -> None:
    values.sort()
    of = data.draw(st.lists(st.integers(0, 1_000), min_size=len(values), max_size=len(values)))
    resamples = Resamples(2, 0, 20)
    drawn = [ratio(resamples, np.array([y, y], float), np.ones(2)) for y in of]
    found = sensitivity_claims.change(values, drawn)
    expected = naive.change([Fraction(x) for x in values], [Fraction(y) for y in of])
    assert found.value == pytest.approx(float(expected), abs=1e-9)
    assert found.resamples == pytest.approx(np.full(20, float(expected)), abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_rank_correlation(pairs: list[tuple[int, int]]) -> None:
    one, other = (list(side) for side in zip(*pairs, strict=True))
    found = sensitivity_claims._rank_correlations(np.array([*one, *other], float))
    expected = naive.rank_correlation(one, other)
    if expected is None:
        assert np.isnan(found)
    else:
        assert float(found) == pytest.approx(expected)


# --- deciders, on answers that are known ---------------------------------------------------------

Response = Callable[[Point, int], float]
"""Mean response of a group under a setting."""


def answers(response: Response, used: Callable[[Point], int] = lambda point: 50) -> Answers:
    """What settings came to if groups answered so; ten users and ten days that differ a little."""
    points = [
        point
        for base in BASES
        for sweep in (
            *sensitivity.sweeps(base),
            *(plane.diagonal for plane in sensitivity.planes(base)),
        )
        for point in sweep.points
    ]
    units = np.linspace(0.9, 1.1, 10)
    frames = []
    for point in points:
        rows: list[tuple[str, int, int, int, int]] = []
        for unit, factor in enumerate(units.tolist()):
            for group in (0, 1):
                amount = round(response(point, group) * factor * 10)
                rows.append(("user", group, unit, 10, amount))
                rows.append(("day", group, unit, 10, amount))
            pool = {"used": used(point), "lost": 100 - used(point), "capacity": 100}
            rows += [(kind, -1, unit, 0, amount) for kind, amount in pool.items()]
        frames.append(pl.DataFrame(rows, schema=sensitivity.SUMS, orient="row"))
    return sensitivity_claims.answers(("wide", "narrow"), points, frames, Draws(1))


def as_the_paper(point: Point, group: int) -> float:
    """Everything that [B] concludes."""
    effect = point.interval_days + point.depth + 40 * point.decay + 100 * point.run
    return 1_000 + 3 * effect if group == 0 else 5_000 - effect


def contrary(point: Point, group: int) -> float:
    """Nothing of what [B] concludes."""
    days, depth = point.interval_days, point.depth
    if days in (depth, round(10 * point.decay)):  # along the diagonals nothing moves
        days, depth = FIXED.interval_days, FIXED.depth
    effect = 100 * days + 100 * depth
    return 50_000 - effect if group == 0 else 5_000 + effect


def held(found: Answers, base: Base = RED_DIAMOND, two: bool = True) -> list[str]:
    return [
        verdict.holds.value for verdict in sensitivity_claims.decide(base, found, two_at_once=two)
    ]


def rising(point: Point) -> int:
    return round(as_the_paper(point, 0) / 50)


def test_all_conclusions_hold_where_the_log_is_as_the_paper_says() -> None:
    for base, count in ((RED_DIAMOND, 9), (ACXIOM, 7)):
        found = held(answers(as_the_paper, rising), base, base is RED_DIAMOND)
        assert found == ["yes"] * count


def test_none_holds_where_the_log_says_the_contrary() -> None:
    def falling(point: Point) -> int:
        return 90 - round(contrary(point, 0) / 1_000)

    assert held(answers(contrary, falling)) == ["no"] * 9


def test_no_difference_is_no_support() -> None:
    # nothing moves: nothing is above 0, and the response does not vary
    found = held(answers(lambda point, group: 100 + 100 * group))
    assert found == ["no"] * 7 + ["undecided"] * 2


def test_only_one_side_of_the_claim() -> None:
    found = answers(lambda point, group: as_the_paper(point, 0), rising)
    assert held(found)[:3] == ["no"] * 3


def test_utilization_that_stands_still_does_not_follow() -> None:
    verdicts = sensitivity_claims.decide(ACXIOM, answers(as_the_paper), two_at_once=False)
    assert verdicts[-2].holds is Holds.no
    assert "0.5000 in all 27 settings" in verdicts[-2].because


def test_one_user_decides_nothing() -> None:
    one = answers(as_the_paper, rising)
    alone = {
        point: Sums(sums.attempts[:, :1], sums.response[:, :1], *(of[:1] for of in sums[2:]))
        for point, sums in one.of.items()
    }
    found = Answers(one.labels, alone, Resamples(1, 0), Resamples(1, 0))
    assert set(held(found)) == {"undecided"}


def test_noise_between_users_leaves_it_undecided() -> None:
    found = answers(as_the_paper, rising)
    signs = np.array([1, -1] * 5, float)
    noisy = {
        point: sums._replace(
            response=sums.response + np.outer([1.0, 1.0], signs) * 400 * point.interval_days
        )
        for point, sums in found.of.items()
    }
    verdicts = sensitivity_claims.decide(RED_DIAMOND, found._replace(of=noisy), two_at_once=False)
    assert verdicts[0].holds is Holds.undecided


# --- from a log to a verdict ---------------------------------------------------------------------


def memory(days: int) -> pl.DataFrame:
    """Who used much five days ago and who used a little yesterday compete, day after day.

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
    base = Base("one day", 1, 1, 0.7)
    sweep = sensitivity.sweeps(base)[0]
    cells = sensitivity.cells(groups, POOL, EPOCH + 10**9, Backfill.easy, sweep.points)
    found = sensitivity_claims.answers(
        groups.labels, sweep.points, [cell.compute() for cell in cells], Draws(3)
    )
    starts = [found.of[point].mean_response(0) for point in sweep.points]
    # 2 h each behind the hour; the one behind the other waits 2 h longer
    # the mean of two attempts, of which one waits longer
    assert apart(starts) == 3_600
    narrow = [found.of[point].mean_response(1) for point in sweep.points]
    assert apart(narrow) == -3_600
    verdict = sensitivity_claims.slower_and_faster(
        base, found.labels, sensitivity_claims.changes(found, sweep)
    )
    assert verdict.holds is Holds.yes


def test_rows_for_the_database() -> None:
    found = answers(as_the_paper, rising)
    rows = sensitivity_claims.rows("all", found)
    assert rows.height == len(found.of) * 4
    one = rows.filter(
        pl.col("setting") == FIXED.label,
        pl.col("metric") == "response_mean",
        pl.col("dimension_value") == "wide",
    ).row(0, named=True)
    assert one["value"] == pytest.approx(as_the_paper(FIXED, 0), rel=1e-3)
    assert one["lower"] < one["value"] < one["upper"]
