"""Which changes are tried on a pool, and what each makes of it."""

import shlex

import polars as pl
import pytest
from typer.testing import CliRunner

from audit.metrics.fairshare import trees
from audit.model import Limit, Order, Policy, Window
from audit.policies import Backfill
from audit.scenario.advice.candidates import Candidate, candidates
from audit.scenario.scenario import Change, Scenario, changed
from audit.scenario.whatif import options
from tests.scenario.advice.days import HOUR, Job, pool, scenario

REPLAN = Backfill.conservative_replan


def today(policy: Policy, *limits: Limit, walltime: int | None = None) -> Scenario:
    jobs = [Job(k * HOUR, HOUR, 1, k, walltime) for k in range(12)]
    return scenario(jobs, pool(8, policy, *limits), days=2)


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


def test_reservations_leave_depth_window_and_interval() -> None:
    policy = Policy(Order.sjf, Backfill.easy, 50, 900, 30)
    (one, *_) = of("reservations", today(policy))
    assert one.after.pool.policy == Policy(Order.sjf, REPLAN, 50, 900, 30, 2)


LIMITS = (Limit(most=4, resource="cpus", per="user"), Limit(most=2, partition=("p",)))
WINDOWS = (Window(hours=(0, 1)), Window(hours=(5,), walltime_above_s=7200))


def ruled(*limits: Limit) -> Scenario:
    made = today(Policy(), *limits, walltime=5 * HOUR)
    return made.but(pool=made.pool._replace(windows=WINDOWS))


def test_limits_and_windows_are_lifted_and_relaxed_one_by_one() -> None:
    limits, windows = of("limits", ruled(*LIMITS)), of("windows", ruled(*LIMITS))
    one, two = LIMITS
    assert [each.after.pool.limits for each in limits] == [
        (two,),
        (one.but(most=8), two),
        (one,),
        (one, two.but(most=4)),
    ]
    assert {each.after.pool.windows for each in limits} == {WINDOWS}
    first, last = WINDOWS
    assert [each.after.pool.windows for each in windows] == [
        (last,),
        (first,),
        (first, last.but(walltime_above_s=14400)),
    ]


def test_only_rules_that_cause_waiting_are_tried() -> None:
    shares = {"1": 0.049, "2": 0.05, "window1": 0.0, "window2": 0.4}
    found = candidates(ruled(*LIMITS), shares)
    lifted = [one.change for one in found if one.family in ("limits", "windows")]
    assert lifted == ["--lift 2", "--lift window2", "--relax 2=4", "--relax window2=14400"]


def test_users_who_overask_most_request_twice_the_run_time() -> None:
    before = today(Policy(), walltime=5 * HOUR)
    ten, every = of("walltimes", before)
    by_user = dict(ten.after.attempts.group_by("user").agg(pl.col("walltime_s").max()).iter_rows())
    shorter = sorted(user for user, walltime in by_user.items() if walltime == 2 * HOUR)
    assert shorter == sorted(by_user)[:10]  # all twelve overask alike: by name
    assert {by_user[user] for user in {*by_user} - {*shorter}} == {5 * HOUR}
    assert every.after.attempts["walltime_s"].unique().to_list() == [2 * HOUR]


@pytest.mark.parametrize(
    ("policy", "walltime", "tried"),
    [
        (Policy(), HOUR, False),  # no user overasks
        (Policy(Order.fcfs, Backfill.none), 5 * HOUR, False),  # walltimes decide nothing
        (Policy(Order.sjf, Backfill.none), 5 * HOUR, True),
    ],
)
def test_walltimes_are_tried_where_they_matter(policy: Policy, walltime: int, tried: bool) -> None:
    assert bool(of("walltimes", today(policy, walltime=walltime))) is tried


@pytest.mark.parametrize(
    ("capacity", "tried"), [(1, []), (2, [1]), (3, [1]), (4, [2, 1]), (8, [4, 2])]
)
def test_a_limit_per_user_exempts_wider_jobs(capacity: int, tried: list[int]) -> None:
    found = of("per_user", scenario([Job(0, HOUR, 1, 0)], pool(capacity, Policy()), days=1))
    assert [one.after.pool.limits for one in found] == [
        (Limit(most=most, resource="cpus", per="user", size_up_to=most),) for most in tried
    ]


def test_the_user_of_the_largest_burst_is_limited_alone() -> None:
    own = pool(8, Policy())
    # One job holds the pool for an hour, in which another user's twelve queue up: 48 CPU-hours, a
    # quarter of a day's 192.
    first, burst = Job(0, HOUR, 8, 1), [Job(1 + k, 4 * HOUR, 1, 0) for k in range(12)]
    (limited, *_) = of("per_user", scenario([first, *burst], own, days=1))
    assert limited.after.pool.limits == (
        Limit(most=2, resource="cpus", user=("user00",), size_up_to=2),
    )
    assert "user00" in limited.title
    apart = [Job(9 * HOUR * k, 8 * HOUR, 8, 0) for k in range(2)]  # none of these waits
    for jobs in ([first, *burst[1:]], [first, Job(1, 24 * HOUR, 8, 0)], apart):
        assert len(of("per_user", scenario(jobs, own, days=1))) == 2


def test_targets_are_tried_under_fairshare_alone() -> None:
    assert of("targets", today(Policy(Order.nuwt))) == []
    assert of("targets", today(Policy())) == []
    jobs = [Job(0, 3 * HOUR, 2, 0), Job(1, HOUR, 1, 1)]
    before = scenario(jobs, pool(8, Policy(Order.fairshare)), days=1)
    names = ["account0", "account1"]
    for one, shares in zip(of("targets", before), ([85.714, 14.286], [1.0, 1.0]), strict=True):
        tree = one.after.fairshare.tree
        assert tree is not None
        assert (one.after.fairshare.kind, tree.names[1:]) == ("account", tuple(names))
        assert tree.shares.tolist()[1:] == shares
    configured = trees.flat(["account0", "x"], {"account0": 1, "x": 1}, kind="account")
    alone = before.but(fairshare=before.fairshare._replace(tree=configured))
    assert of("targets", alone) == []


def test_passes_look_further_and_are_more_often() -> None:
    deeper, often = of("passes", today(Policy(Order.fcfs, REPLAN, 100, None, 120)))
    assert deeper.after.pool.policy.depth == 400
    assert often.after.pool.policy.interval_s == 30
    assert of("passes", today(Policy(Order.fcfs, Backfill.easy, interval_s=59))) == []


def test_families_take_turns_and_changes_are_distinct() -> None:
    limits = tuple(Limit(most=most, resource="cpus", per="user") for most in range(3, 15))
    found = candidates(today(Policy(), *limits, walltime=5 * HOUR))
    families = [one.family for one in found]
    assert families[:4] == ["reservations", "limits", "walltimes", "per_user"]
    assert families.count("limits") == 2 * 8
    assert len({one.change for one in found}) == len(found)


def test_each_change_can_be_tried_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    from audit.cli.oneoff import Changes
    from audit.cli.options import grouped

    asked: list[Change] = []

    @grouped
    def command(*, change: Changes) -> None:
        asked.append(change)

    app = typer.Typer()
    app.command()(command)
    fair = scenario(
        [Job(k, 4 * HOUR, 1, k % 2, 9 * HOUR) for k in range(24)],
        pool(8, Policy(Order.fairshare, REPLAN, 100, None, 120, 2), *LIMITS),
        days=1,
    )
    for before in (ruled(*LIMITS), fair):
        tried = candidates(before)
        assert len(tried) >= 8
        for one in tried:
            result = CliRunner().invoke(app, shlex.split(one.change))
            assert result.exit_code == 0, result.output
            after = changed(before, asked[-1])
            assert after.pool == one.after.pool
            assert after.attempts.equals(one.after.attempts)
            assert options.written(asked[-1]) == one.change
