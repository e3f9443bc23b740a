"""Which changes are tried on a pool, and what each makes of it."""

import json

import polars as pl
import pytest

from audit.metrics.fairshare import trees
from audit.model import Limit, Order, Policy, Resource, Window
from audit.policies import Backfill
from audit.scenario.advice import candidates as titles
from audit.scenario.advice.candidates import Candidate, candidates
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.scenario import Scenario
from tests.scenario.advice.days import HOUR, Job, log, pool

REPLAN = Backfill.conservative_replan


def today(policy: Policy, *limits: Limit, walltime: int | None = None) -> Scenario:
    own = pool(8, policy, *limits)
    jobs = [Job(k * HOUR, HOUR, 1, k, walltime) for k in range(12)]
    return Scenario(log(jobs, own, days=2), own)


def of(family: str, scenario: Scenario) -> list[Candidate]:
    return [one for one in candidates(scenario) if one.family == family]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy(), [(REPLAN, 2), (REPLAN, 4), (REPLAN, 8)]),
        (Policy(Order.fcfs, Backfill.none), [(Backfill.easy, None), (REPLAN, 4)]),
        (Policy(Order.fcfs, Backfill.no_guarantee), [(Backfill.easy, None), (REPLAN, 4)]),
        (Policy(Order.fcfs, REPLAN), [(Backfill.easy, None), (REPLAN, 4)]),
        (Policy(Order.fcfs, REPLAN, reservations=4), [(REPLAN, 8)]),
        (Policy(Order.fcfs, REPLAN, depth=50), [(REPLAN, 1), (REPLAN, 4)]),
        (Policy(Order.fcfs, Backfill.conservative), []),
    ],
)
def test_reservations(policy: Policy, expected: list[tuple[Backfill, int | None]]) -> None:
    tried = [one.after.pool.policy for one in of("reservations", today(policy))]
    assert [(one.backfill, one.reservations) for one in tried] == expected
    assert all((one.order, one.depth) == (policy.order, policy.depth) for one in tried)


def test_depth_window_and_interval_stay_where_places_are_kept() -> None:
    policy = Policy(Order.sjf, Backfill.easy, 50, 900, 30)
    (one, *_) = of("reservations", today(policy))
    assert one.after.pool.policy == Policy(Order.sjf, REPLAN, 50, 900, 30, 2)


def test_limits_are_lifted_and_windows_opened_one_by_one() -> None:
    limits = (Limit(most=4, resource="cpus", per="user"), Limit(most=2, partition=("p",)))
    windows = (Window(hours=(0, 1)), Window(hours=(5,), walltime_above_s=7200))
    scenario = today(Policy(), *limits)
    scenario = scenario._replace(pool=scenario.pool._replace(windows=windows))
    lifted = of("limits", scenario)
    assert [one.after.pool.limits for one in lifted] == [limits[1:], limits[:1]]
    assert [one.after.pool.windows for one in lifted] == [windows, windows]
    opened = of("windows", scenario)
    assert [one.after.pool.windows for one in opened] == [windows[1:], windows[:1]]
    assert [one.change for one in (*lifted, *opened)] == [
        '{"lift_limit": 1}',
        '{"lift_limit": 2}',
        '{"open_window": 1}',
        '{"open_window": 2}',
    ]


def test_who_overasks_most_asks_for_twice_what_it_takes() -> None:
    scenario = today(Policy(), walltime=5 * HOUR)
    ten, everybody = of("walltimes", scenario)
    users = json.loads(ten.change)["users"]
    assert len(users) == 10  # all twelve overask alike: by name
    assert users == sorted(scenario.attempts["user"].unique())[:10]
    asked = ten.after.attempts.filter(pl.col("user").is_in(users))["walltime_s"]
    assert asked.unique().to_list() == [2 * HOUR]
    others = ten.after.attempts.filter(~pl.col("user").is_in(users))["walltime_s"]
    assert others.unique().to_list() == [5 * HOUR]
    assert everybody.after.attempts["walltime_s"].unique().to_list() == [2 * HOUR]


@pytest.mark.parametrize(
    ("policy", "walltime", "tried"),
    [
        (Policy(), HOUR, False),  # nobody overasks
        (Policy(Order.fcfs, Backfill.none), 5 * HOUR, False),  # nothing goes by walltimes
        (Policy(Order.sjf, Backfill.none), 5 * HOUR, True),
    ],
)
def test_walltimes_are_tried_where_they_matter(policy: Policy, walltime: int, tried: bool) -> None:
    assert bool(of("walltimes", today(policy, walltime=walltime))) is tried


def test_a_limit_per_user_leaves_wider_jobs_alone() -> None:
    half, quarter = of("per_user", today(Policy()))
    assert half.after.pool.limits == (Limit(most=4, resource="cpus", per="user", size_up_to=4),)
    assert quarter.after.pool.limits == (Limit(most=2, resource="cpus", per="user", size_up_to=2),)


@pytest.mark.parametrize(("capacity", "tried"), [(1, []), (2, [1]), (3, [1]), (4, [2, 1])])
def test_of_small_pools_no_limit_is_tried_twice(capacity: int, tried: list[int]) -> None:
    own = pool(capacity, Policy())
    scenario = Scenario(log([Job(0, HOUR, 1, 0)], own, days=1), own)
    limits = [one.after.pool.limits[0].most for one in of("per_user", scenario)]
    assert limits == tried


def test_who_brings_a_flood_is_limited_alone() -> None:
    own = pool(8, Policy())
    flood = [Job(k, 4 * HOUR, 1, 0) for k in range(12)]  # 48 CPU-hours, a quarter of a day's 192
    scenario = Scenario(log([*flood, Job(9 * HOUR, HOUR, 1, 1)], own, days=1), own)
    first = of("per_user", scenario)[0]
    assert first.after.pool.limits == (
        Limit(most=2, resource="cpus", user=("user00",), size_up_to=2),
    )
    assert "user00" in first.title
    less = Scenario(log([*flood[1:], Job(9 * HOUR, HOUR, 1, 1)], own, days=1), own)
    assert len(of("per_user", less)) == 2
    few = Scenario(log([Job(k, 48 * HOUR, 1, 0) for k in range(9)], own, days=1), own)
    assert len(of("per_user", few)) == 2  # nine jobs, whatever their work


def test_targets_are_tried_under_fairshare_alone() -> None:
    assert of("targets", today(Policy(Order.nuwt))) == []
    assert of("targets", today(Policy())) == []
    own = pool(8, Policy(Order.fairshare))
    jobs = [Job(0, 3 * HOUR, 2, 0), Job(1, HOUR, 1, 1)]
    scenario = Scenario(log(jobs, own, days=1), own, EQUAL_SHARES)
    by_use, equal = of("targets", scenario)
    names = ["account0", "account1"]
    for one, shares in ((by_use, [6.0 * HOUR, 1.0 * HOUR]), (equal, [1.0, 1.0])):
        want = trees.flat(names, dict(zip(names, shares, strict=True)), kind="account")
        assert one.after.fairshare.tree is not None
        assert one.after.fairshare.kind == "account"
        assert one.after.fairshare.tree.names == want.names
        assert one.after.fairshare.tree.shares.tolist() == want.shares.tolist()


def test_passes_look_further_and_are_more_often() -> None:
    deeper, often = of("passes", today(Policy(Order.fcfs, REPLAN, 100, None, 120)))
    assert deeper.after.pool.policy.depth == 400
    assert often.after.pool.policy.interval_s == 30
    assert of("passes", today(Policy(Order.fcfs, Backfill.easy, interval_s=59))) == []


def test_families_take_turns_and_changes_are_told_apart() -> None:
    limits = tuple(Limit(most=most, resource="cpus", per="user") for most in range(3, 15))
    found = candidates(today(Policy(), *limits, walltime=5 * HOUR))
    families = [one.family for one in found]
    assert families[:4] == ["reservations", "limits", "walltimes", "per_user"]
    assert families.count("limits") == 8
    assert len({one.change for one in found}) == len(found)
    assert all(json.loads(one.change) for one in found)


# --- titles --------------------------------------------------------------------------------------


CPUS = Resource.cpus


@pytest.mark.parametrize(
    ("depth", "had", "title"),
    [
        (4, 1, "Reserve for the first four in the queue instead of one"),
        (1, 0, "Reserve for the first in the queue instead of none"),
        (1, None, "Reserve for the first in the queue instead of all that wait"),
        (12, 10, "Reserve for the first 12 in the queue instead of ten"),
    ],
)
def test_reservations_are_called(depth: int, had: int | None, title: str) -> None:
    assert titles.reservations(depth, had) == title


@pytest.mark.parametrize(
    ("limit", "title"),
    [
        (Limit(most=1, per="user"), "Lift the limit of 1 job per user"),
        (Limit(most=32, resource="cpus", per="account"), "Lift the limit of 32 CPUs per account"),
        (
            Limit(most=1024, resource="cpus", partition=("a", "b"), qos=("long",)),
            "Lift the limit of 1,024 CPUs in all for jobs of qos long and partition a, b",
        ),
        (
            Limit(most=3 << 29, resource="mem_bytes", per="job", walltime_above_s=14400),
            "Lift the limit of 1.5 GiB of memory per job for jobs asking for more than 4 h",
        ),
    ],
)
def test_limits(limit: Limit, title: str) -> None:
    assert titles.lifted(limit, CPUS) == title


def test_windows() -> None:
    assert titles.opened(Window(hours=(1, 2)), CPUS) == (
        "Start jobs at any hour of the week, not only at 166 of 168"
    )
    wide = Window(hours=(1,), size_above=4, size_up_to=8)
    assert titles.opened(wide, Resource.nodes) == (
        "Start jobs asking for more than 4 nodes and up to 8 nodes at any hour of the week, not "
        "only at 167 of 168"
    )


def test_walltimes_users_targets_and_passes() -> None:
    asking = "ask for at most twice the time that their jobs take"
    assert titles.asking(None) == f"Have everybody {asking}"
    assert titles.asking(1) == f"Have the user who overasks most {asking}"
    assert titles.asking(10) == f"Have the ten users who overask most {asking}"
    assert titles.per_user(50, CPUS) == "Let no user have more than 50 CPUs at a time"
    assert titles.spread("ann", 1, Resource.gpus) == (
        "Let user ann, who brought the largest flood, have no more than 1 GPU at a time"
    )
    assert titles.targets("equal") == "Give each account the same target"
    assert titles.targets("use") == "Give each account what it used as its target"
    assert titles.depth(4_000, 1_000) == "Let backfilling look at 4,000 jobs instead of 1,000"
    assert titles.often(30, 120).endswith("every 30 s instead of 120 s")
