"""Advice: logs on which a change certainly helps, and logs on which none does."""

import shlex
from datetime import date
from functools import cache
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from audit.metrics.fairshare import trees
from audit.model import Limit, Node, Order, Period, Placement, Policy, Window
from audit.policies import Backfill
from audit.registry.causes import LACKS
from audit.scenario.advice import advise as module
from audit.scenario.advice.advise import NOTHING, TriedChanges, advise, affordable
from audit.scenario.advice.candidates import Candidate, candidates
from audit.scenario.engine import replayed_starts
from audit.scenario.scenario import Scenario, ScenarioChange, changed
from audit.scenario.whatif import options
from audit.workers.executors import Executor, Threads
from tests.scenario.advice.days import (
    DAY,
    DAYS,
    EPOCH,
    HOUR,
    MINUTE,
    Job,
    indifferent,
    limited,
    log,
    now,
    pool,
    scenario,
    starved,
    whole,
)
from tests.workers.scattered import Scattered

BUDGET_S = 10.0
RESERVE = "--backfill easy"


def advised(
    today: Scenario, budget_s: float = BUDGET_S, seed: int = 7, **more: Any
) -> TriedChanges:
    today = today.but(now=now(today.attempts))
    period = more.pop("period", whole(today.attempts))
    return advise(today, period, budget_s, seed, **{"agreement": 1.0} | more)


@cache
def of_starved() -> TriedChanges:
    return advised(starved())


def never_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a replay was made")

    monkeypatch.setattr(module, "replayed_starts", fail)


def one(of: TriedChanges, change: str) -> dict[str, Any]:
    return of.changes.row(by_predicate=pl.col("change") == change, named=True)


def parts(of: TriedChanges, change: str) -> dict[str | None, tuple[int, str]]:
    rows = of.parts.filter(pl.col("change") == change, pl.col("dimension") != "user")
    assert rows["dimension"].is_in(["all", "width_class", "walltime_class"]).all()
    return {
        row["dimension_value"]: (row["difference_s"], row["outcome"])
        for row in rows.iter_rows(named=True)
    }


def test_users_who_gain_most_are_listed() -> None:
    today = starved()
    period = whole(today.attempts)
    after = today.but(pool=today.pool._replace(policy=Policy(Order.fcfs, Backfill.easy)))
    saved = replayed_starts(today, period) - replayed_starts(after, period)
    gains = today.attempts.with_columns(s=pl.Series(saved)).group_by("user").agg(pl.sum("s"))
    rows = of_starved().parts.filter(pl.col("dimension") == "user")
    assert rows["change"].unique().to_list() == [RESERVE]
    assert rows["outcome"].to_list() == ["gains"] * 3
    most = gains.sort("s", "user", descending=[True, False])["user"].head(3)
    assert rows["dimension_value"].to_list() == most.to_list()


def test_a_reservation_for_a_wide_job_that_starves() -> None:
    # Today the wide job waits until 22:40, when the last narrow one ends. With a reservation it
    # starts at 1:20, when those that run at 0:30 have ended. Of the narrow ones those of 0:40, 1:00
    # and 1:20 start at 1:30, 2:00 and 2:20 at 2:30, 3:20 at 3:30: 50 + 30 + 10 + 30 + 10 + 10
    # minutes for 66 jobs.
    found = of_starved()
    reserve = one(found, RESERVE)
    assert reserve["place"] == 1
    assert reserve["outcome"] == "supported"
    assert reserve["title"] == "Reserve for the first in the queue instead of none"
    assert (reserve["dimension"], reserve["dimension_value"]) == ("width_class", "3-4")
    waits = (22 * HOUR + 10 * MINUTE, 50 * MINUTE)
    assert (reserve["today_s"], reserve["changed_s"]) == waits
    assert reserve["gain_s"] == waits[0] - waits[1] == reserve["gain_lower_s"]
    lost = 140 * MINUTE
    assert reserve["saved_s"] == DAYS * (waits[0] - waits[1] - lost)
    assert reserve["attempts"] == 67 * DAYS
    assert parts(found, reserve["change"]) == {
        None: (round((lost - (waits[0] - waits[1])) / 67), "gains"),
        "1": (round(lost / 66), "loses"),
        "3-4": (waits[1] - waits[0], "gains"),
        "0-1h": (round((lost - (waits[0] - waits[1])) / 67), "gains"),
    }


def test_of_a_family_one_is_advised() -> None:
    # Reservations for the first, and for the first four: only one waits at a time, so both are one.
    found = of_starved()
    both = found.changes.filter(pl.col("title").str.contains("Reserve"))
    assert both["outcome"].to_list() == ["supported", "supported"]
    assert both["gain_s"].n_unique() == 1
    assert found.changes["place"].drop_nulls().to_list() == [1]


def test_a_limit_that_idles_the_machine_is_lifted() -> None:
    # Twelve run at a time and the last of a user's six waits five hours: 2.5 h on average. Without
    # the limit 24 run at a time, and the last start after two hours: an hour on average.
    found = advised(limited())
    lift = one(found, "--lift 1")
    assert (lift["place"], lift["dimension"], lift["dimension_value"]) == (1, "all", None)
    assert lift["title"] == "Lift the limit of 1 running job per user"
    assert lift["gain_s"] == pytest.approx(1.5 * HOUR, abs=60)
    assert (lift["gaining_users"], lift["losing_users"]) == (12, 0)
    others = found.changes.filter(pl.col("change") != lift["change"])
    assert others["place"].null_count() == others.height


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_advised_where_no_change_helps(seed: int) -> None:
    found = advised(indifferent(seed), seed=seed)
    assert found.changes.height >= 5
    assert found.changes["place"].null_count() == found.changes.height
    reserve = found.parts.filter(pl.col("change").str.contains("--reservations"))
    assert set(reserve["outcome"]) == {"same"}


def test_what_costs_others_more_in_sum_is_outweighed() -> None:
    # As above, but the wide job runs for two hours, in which four times as many narrow ones wait.
    greedy = pool(4, Policy(Order.fcfs, Backfill.no_guarantee))
    narrow = [Job(k * 5 * MINUTE, 15 * MINUTE, 1, k) for k in range(60)]
    wide = Job(22 * MINUTE, 2 * HOUR, 4, 5)
    found = advised(scenario([*narrow, wide], greedy))
    reserve = one(found, RESERVE)
    assert reserve["gain_s"] > HOUR
    assert reserve["saved_s"] < 0
    assert (reserve["outcome"], reserve["place"]) == ("outweighed", None)


def test_the_same_log_gives_the_same_advice_whatever_its_order() -> None:
    today = starved()
    first = of_starved()
    shuffled = today.but(attempts=today.attempts.sample(fraction=1.0, shuffle=True, seed=3))
    later = today.attempts.with_columns(
        pl.col("submit_time", "start_time", "end_time", "arrival_time") + 5 * DAY
    )
    moved = advised(today.but(attempts=later), period=Period("all", EPOCH, now(later)))
    for other in (advised(today), advised(shuffled), moved):
        assert other.changes.equals(first.changes)
        assert other.parts.equals(first.parts)


@pytest.mark.parametrize("executor", [Threads(3), Scattered()], ids=["threads", "elsewhere"])
def test_it_does_not_matter_who_replays(executor: Executor) -> None:
    today = starved()
    here, there = of_starved(), advised(today, executor=executor)
    assert here.changes.height > 1
    assert there.changes.equals(here.changes)
    assert there.parts.equals(here.parts)


def test_a_period_is_replayed_by_its_own_attempts() -> None:
    today = starved()
    half = Period("2000-01", EPOCH, EPOCH + DAYS // 2 * DAY)
    found = advised(today, period=half)
    assert one(found, RESERVE)["attempts"] == 67 * DAYS // 2
    inside = today.attempts.filter(pl.col("arrival_time") < half.to_time)
    assert advised(today.but(attempts=inside), period=half).changes.equals(found.changes)


def test_who_is_too_few_is_never_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    never_replayed(monkeypatch)
    own = pool(1, Policy())
    hour = [Job(k * MINUTE, HOUR, 1, k) for k in range(6)]
    idle = log([Job(0, HOUR, 1, k) for k in range(6)], own).with_columns(wait_s=59)
    for few, why in (
        (log(hour, own, users=9), "few_users"),
        (log(hour, own, days=19), "few_days"),
        (idle, "short_waits"),
        (idle.clear(), "few_users"),
    ):
        found = advise(Scenario(few, own, now(idle)), whole(idle), 10.0, 7, agreement=1.0).changes
        assert set(found["outcome"]) <= {why}
        assert found.height or few.is_empty()
        assert set(found["gain_s"]) <= {None}
    assert advised(starved(), budget_s=0) == NOTHING


def test_a_budget_leaves_out_what_it_cannot_pay_and_names_it() -> None:
    today = starved()
    found = candidates(today)
    asked = (today, found, whole(today.attempts))
    counts = []
    for budget_s in (1e-6, 0.03, 0.04, 0.05, 0.06, 10.0):
        tried, others = affordable(*asked, budget_s)
        assert {one.change for one in (*tried, *others)} == {one.change for one in found}
        assert len(tried) + len(others) == len(found)
        counts.append(len(tried))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert 0 < counts[3] < counts[-1] == len(found)
    told = advised(today, budget_s=0.05).changes
    left_out = told.filter(pl.col("outcome") == "not_tried")
    assert left_out.height == len(found) - counts[3]
    assert left_out["gain_s"].null_count() == left_out.height


def test_a_change_under_which_somebody_never_starts_is_not_supported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    today = starved()
    (first, *_) = candidates(today)
    small = first.after.but(pool=first.after.pool._replace(capacity=3, amounts=(("cpus", 3),)))
    monkeypatch.setattr(module, "candidates", lambda *_: (first._replace(after=small),))
    found = advised(today)
    assert found.changes["outcome"].to_list() == ["never_starts"]
    assert found.changes["never_start"].to_list() == [DAYS]  # the wide job of each day
    assert found.parts.is_empty()


def test_nothing_is_advised_where_the_replay_misses_the_observed_wait() -> None:
    today = starved()
    twice = today.attempts.with_columns(
        pl.col("wait_s") * 2, start_time=pl.col("start_time") + pl.col("wait_s")
    )
    found = advised(today.but(attempts=twice))
    assert set(found.changes["outcome"]) == {"not_reproduced"}
    assert set(found.changes["never_start"]) == {0}
    assert found.changes["place"].null_count() == found.changes.height
    assert found.parts.is_empty()


def test_rules_that_cause_no_waiting_are_not_tried() -> None:
    today = limited()
    every = advised(today, shares={"1": 0.6}).changes["change"].to_list()
    assert {"--lift 1", "--relax 1=2"} < {*every}
    assert not {"--lift 1", "--relax 1=2"} & {*advised(today, shares={}).changes["change"]}


# --- the changes tried ---------------------------------------------------------------------------

REPLAN = Backfill.conservative_replan


def busy(policy: Policy, *limits: Limit, walltime: int | None = None) -> Scenario:
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
    tried = [one.after.pool.policy for one in of("reservations", busy(policy))]
    assert [(one.backfill, one.reservations) for one in tried] == expected
    assert all((one.order, one.depth) == (policy.order, policy.depth) for one in tried)


def test_reservations_leave_depth_window_and_interval() -> None:
    policy = Policy(Order.sjf, Backfill.easy, 50, 900, 30)
    (one, *_) = of("reservations", busy(policy))
    assert one.after.pool.policy == Policy(Order.sjf, REPLAN, 50, 900, 30, 2)


LIMITS = (Limit(most=4, resource="cpus", per="user"), Limit(most=2, partition=("p",)))
WINDOWS = (Window(hours=(0, 1)), Window(hours=(5,), walltime_above_s=7200))


def ruled(*limits: Limit) -> Scenario:
    made = busy(Policy(), *limits, walltime=5 * HOUR)
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


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["least_loaded", "consecutive", "exclusive"]),
        ({"placement": Placement.least_loaded}, ["packed", "consecutive", "exclusive"]),
        ({"exclusive_nodes": True}, []),
        ({"nodes": ()}, []),
    ],
)
def test_other_placements_are_tried_if_nodes_cause_waiting(
    fields: dict[str, Any], expected: list[str]
) -> None:
    site = busy(Policy())
    nodes = (Node("a", (("cpus", 4),), ()), Node("b", (("cpus", 4),), ()))
    site = site.but(pool=site.pool._replace(**{"nodes": nodes, **fields}))
    for share, found in ((0.05, expected), (0.04, [])):
        tried = [one for one in candidates(site, {"nodes": share}) if one.family == "placement"]
        assert [one.change for one in tried] == [f"--placement {name}" for name in found]


@pytest.mark.parametrize(
    ("scattered", "expected"),
    [
        ([(8, 1, 60), (3, 1, 50)], ["--per-node cpus=4"]),
        ([(8, 2, 60), (7, 1, 40)], ["--per-node cpus=2"]),
        ([(7, 1, 50)], ["--per-node cpus=4"]),
        ([(1, 1, 500)], []),
        ([(8, 1, 49)], []),
    ],
)
def test_fewer_cpus_on_more_nodes_are_tried_if_nodes_cause_waiting(
    scattered: list[tuple[int, int, int]], expected: list[str]
) -> None:
    """Of 1,000 s of waiting, some passed while single nodes lacked this many CPUs."""
    site = busy(Policy())
    rows = [*scattered, *(((1, 1, 0),) * (site.attempts.height - len(scattered)))]
    cpus, nodes, lacked = zip(*rows, strict=True)
    none = pl.lit(0.0)
    attempts = site.attempts.with_columns(
        cpus=pl.Series(cpus),
        nodes=pl.Series(nodes),
        wait_s=pl.Series([1000, *(0,) * (len(rows) - 1)]),
        **{lack.column: none for lack in LACKS} | {"cause_nodes_s": none},
    ).with_columns(cause_nodes_cpus_s=pl.Series(lacked, dtype=pl.Float64))
    two = (Node("a", (("cpus", 8),), ()), Node("b", (("cpus", 8),), ()))
    site = site.but(pool=site.pool._replace(nodes=two), attempts=attempts)
    assert [one.change for one in candidates(site, {}) if one.family == "sizes"] == expected


def test_a_rule_that_has_ended_is_not_lifted() -> None:
    one, two = LIMITS
    ended, lasting = date(1990, 1, 1), date(2200, 1, 1)
    site = ruled(one.but(valid_to=ended), two.but(valid_to=lasting))
    assert [each.change for each in of("limits", site)] == ["--lift 2", "--relax 2=4"]


def test_users_who_overask_most_request_twice_the_run_time() -> None:
    before = busy(Policy(), walltime=5 * HOUR)
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
    assert bool(of("walltimes", busy(policy, walltime=walltime))) is tried


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
    assert of("targets", busy(Policy(Order.nuwt))) == []
    assert of("targets", busy(Policy())) == []
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
    deeper, often = of("passes", busy(Policy(Order.fcfs, REPLAN, 100, None, 120)))
    assert deeper.after.pool.policy.depth == 400
    assert often.after.pool.policy.interval_s == 30
    assert of("passes", busy(Policy(Order.fcfs, Backfill.easy, interval_s=59))) == []


def test_families_take_turns_and_changes_are_distinct() -> None:
    limits = tuple(Limit(most=most, resource="cpus", per="user") for most in range(3, 15))
    found = candidates(busy(Policy(), *limits, walltime=5 * HOUR))
    families = [one.family for one in found]
    assert families[:4] == ["reservations", "limits", "walltimes", "per_user"]
    assert families.count("limits") == 2 * len(limits)
    assert len({one.change for one in found}) == len(found)


def test_each_change_can_be_tried_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    from audit.cli.oneoff import Changes
    from audit.cli.options import grouped

    asked: list[ScenarioChange] = []

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


def test_the_workloads_of_replays_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is as large as the log, and all changes are listed until the end."""
    tried: list[Scenario] = []

    def listed(today: Scenario, shares: dict[str, float] | None) -> tuple[Candidate, ...]:
        found = candidates(today, shares)
        tried.extend(one.after for one in found)
        return found

    monkeypatch.setattr(module, "candidates", listed)
    assert "supported" in advised(starved()).changes["outcome"]
    assert not any("indexed" in vars(after) for after in tried)


@pytest.mark.parametrize("agreement", [None, 0.649])
def test_nothing_is_replayed_under_a_policy_that_the_log_contradicts(
    agreement: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_replayed(monkeypatch)
    found = advised(starved(), agreement=agreement)
    assert found.changes.height > 0
    assert set(found.changes["outcome"]) == {"not_agreeing"}
    assert found.changes["today_s"].null_count() == found.changes.height
    assert found.parts.is_empty()
