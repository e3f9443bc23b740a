"""[B §5] on a log: groups, targets and settings, against slow twins and by hand."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.usage import Windows
from audit.model import Backfill, Order, Policy
from audit.scenario import engine
from audit.scenario.ownership import Fairshare
from audit.scenario.workload import workload
from audit.studies.sensitivity import compute as sensitivity
from audit.studies.sensitivity.compute import BASES, OTHERS, RUNS, SettingPoint
from tests.examples import examples
from tests.naive import sensitivity as naive
from tests.strategies import NOW, workloads
from tests.studies.sensitivity.known import FIXED, POOL, RED_DIAMOND, attempts_of

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


@settings(max_examples=examples(15))
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
        fixed = base.point
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
    with pytest.raises(UsageError, match="fewer than two groups have any usage"):
        sensitivity.grouped(attempts_of((0, 0, 10, 1, "u", "a")))


# --- cells, against the simulated schedule -------------------------------------------------------


fitting = workloads(most=8, only_ended=True).map(
    lambda attempts: attempts.with_columns(pl.col("cpus") % 5)
)


@settings(max_examples=examples(15), deadline=None)
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
    point = SettingPoint(1, 2, 0.5, 1 if first_run else 3)
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
    number = dict(zip(groups.attempts["user"], groups.users.tolist(), strict=True))
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
