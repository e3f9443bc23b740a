"""Limits that logs show: planted ones, none where there is none, and those of public logs."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit.metrics.attempts.population import describe
from audit.model import Limit, Node, Policy, Pool, Resource, Window
from audit.scenario.engine import simulate
from audit.scenario.limits import limits_of
from audit.scenario.plateaus import search
from audit.scenario.plateaus.capacity import CapacityBelow
from audit.scenario.plateaus.entities import Family, LimitedQuantity
from audit.scenario.plateaus.judging import PlateauFault
from audit.scenario.plateaus.search import Plateaus, SharedLevel, plateau_search
from audit.scenario.plateaus.sweeping import swept
from tests.metrics.attempts.test_real_logs import described
from tests.scenario.windows.sites import CPUS, DAY, EPOCH, JOBS, WIDE, Planted, half, made, requests
from tests.strategies import ended, frame

DEBUG = ("debug",)
GIB = 1 << 30


def of_log(attempts: pl.DataFrame, pool: Pool) -> Plateaus:
    """The limits that a log shows."""
    ends = attempts["end_time"].drop_nulls().to_list()
    return plateau_search(attempts, pool, max(ends), min(ends)).found()


def searched(planted: Planted) -> Plateaus:
    """The limits that a made site's log shows."""
    return of_log(*made(planted, 1))


PLANTED = {
    "jobs of a user": JOBS,
    "CPUs of a user": CPUS,
    "CPUs of an account": Limit(most=48, resource="cpus", per="account"),
    "jobs of one account": Limit(most=8, account=("a3",)),
    "jobs of a partition": Limit(most=8, partition=DEBUG),
    "CPUs of a partition": Limit(most=24, resource="cpus", partition=DEBUG),
    "jobs of a user in a partition": Limit(most=4, per="user", partition=DEBUG),
    "CPUs of a user in a partition": Limit(most=24, resource="cpus", per="user", partition=DEBUG),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=pytest.mark.thorough if k % 2 else ())
        for k, one in enumerate(PLANTED)
    ],
)
def test_a_planted_limit_is_found_and_no_other(name: str) -> None:
    rule = PLANTED[name]
    found = searched(Planted(rule))
    assert found.limits == (rule,)
    assert (found.own, found.shared, found.capacity) == ((), (), None)
    evidence = found.rules[0].evidence
    assert evidence.startswith("0 of ")
    assert evidence.endswith(" starts exceed it")


def test_a_limit_of_memory_decides() -> None:
    """Jobs ask for 1 or 4 GiB per CPU, so that CPUs and jobs stop at many levels."""
    rule = Limit(most=96 * GIB, resource="mem_bytes", per="user")
    narrow = (pl.int_range(pl.len()) % 3 == 0) & (pl.col("cpus") < 32)
    memory = pl.col("cpus") * GIB * pl.when(narrow).then(4).otherwise(1)
    jobs = requests(1, 56, 130).with_columns(mem_bytes=memory)
    amounts = (("cpus", 160), ("mem_bytes", 160 * 3 * GIB))
    site = Pool("all", Resource.cpus, 160, amounts=amounts)
    limited = site._replace(limits=(rule,))
    ran = simulate(describe(jobs, [site]), limited, EPOCH + 10_000 * DAY, Policy())
    ran = ran.filter(pl.col("start_time").is_not_null()).select(jobs.columns)
    found = of_log(describe(ran, [site]), site)
    assert found.limits == (rule,)
    assert found.rules[0].evidence.startswith("0 of ")
    assert (found.own, found.shared, found.capacity) == ((), (), None)


def test_jobs_that_are_exempt_break_it() -> None:
    found = searched(Planted(JOBS, overrides=True))
    assert found.limits == (JOBS,)
    assert found.rules[0].evidence == "58 of 7,307 starts exceed it"


def test_days_on_which_it_is_in_force() -> None:
    (limit,) = searched(Planted(half(JOBS))).limits
    planted = half(JOBS)
    assert limit.but(valid_from=None, valid_to=None) == JOBS
    assert limit.valid_from is not None
    assert limit.valid_to is not None
    assert planted.valid_from <= limit.valid_from < limit.valid_to <= planted.valid_to
    assert (limit.valid_to - limit.valid_from).days > 24


def test_a_limit_ends_only_where_a_start_exceeds_it() -> None:
    (late,) = searched(Planted(half(JOBS, 28, 60))).limits
    assert late.but(valid_from=None) == JOBS
    assert late.valid_from is not None
    (early,) = searched(Planted(half(JOBS, -4, 28))).limits
    assert early.but(valid_to=None) == JOBS
    assert early.valid_to is not None


def test_a_limit_of_one_user_is_no_rule_of_the_site() -> None:
    rule = Limit(most=4, user=("u03",))
    found = searched(Planted(rule))
    assert found.limits == ()
    (own,) = found.own
    assert (own.limit, own.entity) == (rule, "u03")
    assert own.judged.concentration > 0.7  # its number is printed
    few = [one for one in found.failed if one.judged.fault is PlateauFault.FEW_USERS]
    assert all(not one.judged.series.pooled for one in few)


@pytest.mark.parametrize("rule", [None, WIDE])
def test_none_is_invented(rule: Window | None) -> None:
    found = searched(Planted(rule))
    assert found.limits == ()
    assert (found.own, found.shared, found.capacity) == ((), (), None)
    assert all(one.judged.fault is not None for one in found.failed)


def test_capacity_below_the_declared_one() -> None:
    below = Limit(most=148, resource="cpus")
    found = searched(Planted(below))
    assert found.capacity is not None
    assert found.capacity.family.without is None
    assert (found.capacity.level, found.capacity.declared) == (148, 152)
    assert found.limits == ()


def test_a_configured_limit_is_in_force_before() -> None:
    attempts, pool = made(Planted(JOBS), 1)
    found = of_log(attempts, pool._replace(limits=(JOBS,)))
    assert found.limits == ()
    assert found.own == ()


def log(folder: Path, name: str, zone: str) -> tuple[Any, Pool, Plateaus]:
    attempts, pool = described(folder, name)
    pool = pool._replace(zone=zone)
    ran = attempts.drop_nulls("start_time")["end_time"].drop_nulls().to_list()
    return attempts, pool, plateau_search(attempts, pool, max(ran), min(ran)).found()


@pytest.mark.parametrize(
    ("name", "zone"), [("KTH-SP2-1996-2.1-cln", "Etc/GMT-1"), ("UniLu-Gaia-2014-1", "Etc/GMT-1")]
)
def test_logs_without_limits(real_logs: Path, name: str, zone: str) -> None:
    _, _, found = log(real_logs, name, zone)
    assert found.limits == ()
    assert (found.own, found.shared, found.capacity) == ((), (), None)


def test_lanl_cm5(real_logs: Path) -> None:
    attempts, pool, found = log(real_logs, "LANL-CM5-1994-4.1-cln", "Etc/GMT+7")
    assert found.limits == ()
    assert found.capacity is None
    (own,) = found.own
    assert own.limit == Limit(most=64, resource="cpus", user=("178",))  # always
    counts = own.judged.counts
    assert (counts.withheld, counts.broken, counts.near) == (71, 3, 6)
    assert own.evidence == "3 of 2,577 starts exceed it"
    ready = attempts.with_columns(occupancy=attempts["occupancy_s"])
    limits = limits_of(ready, pool._replace(limits=(own.limit,)), 0)
    assert limits.most.tolist() == [64]


def test_a_limit_that_several_users_have() -> None:
    # others exceed it, so it is none of the site
    limited = ("u00", "u01", "u02", "u03", "u04")
    found = searched(Planted(Limit(most=5, per="user", user=limited)))
    assert found.limits == ()
    assert {(one.entity, one.limit) for one in found.own} == {
        (name, Limit(most=5, user=(name,))) for name in limited
    }
    assert found.shared == (SharedLevel(LimitedQuantity(), 5, limited),)


def test_a_capacity_in_force_also_binds_on_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts, pool = made(Planted(days=21, a_day=20), 1)
    below = CapacityBelow(Family(None), 40, pool.capacity, 100, 0, 10, 50)
    monkeypatch.setattr(search, "capacity_below", lambda *_: below)
    used: list[tuple[Limit, ...]] = []

    def record(*given: Any, climbing: bool) -> Any:
        used.append(given[2])
        return swept(*given, climbing=climbing)

    monkeypatch.setattr(search, "swept", record)
    nodes = tuple(Node(f"n{k}", (("cpus", 8),), ()) for k in range(pool.capacity // 8))
    of_log(attempts, pool._replace(nodes=nodes))
    assert used[0] == ()
    assert {one[0] for one in used[1:]} == {Limit(most=40, resource="cpus")}


def test_a_level_that_was_not_reached_is_none_without_stops() -> None:
    """A job of 16 CPUs that waits beside one of 8 shows no limit of 8 CPUs.

    Before, the user reached 16 and 24 CPUs.
    """

    def job(day: int, hour: int, cpus: int, lasts: int | None = None) -> dict[str, Any]:
        submit, start = (86_400 * day + 3_600 * h for h in (1, hour))
        end = start if lasts is None else start + 3_600 * lasts
        begun = {"start_time": None, "state": "CANCELLED"}
        times = {"start_time": start, "occupancy_s": end - start, "state": "COMPLETED"}
        asked = {"cpus": cpus, "walltime_s": 86_400, "user": "ann", "submit_time": submit}
        return asked | {"end_time": end} | (begun if lasts is None else times)

    early = [one for day in range(15) for one in (job(day, 1, 16, 9), job(day, 2, 8, 5))]
    late = [one for day in range(15, 40) for one in (job(day, 1, 8, 9), job(day, 9, 16))]
    pool = Pool("all", Resource.cpus, 64, amounts=(("cpus", 64),))
    attempts = describe(frame([*early, *late]), [pool])
    found = plateau_search(attempts, pool, 41 * 86_400, 36_000).found()
    assert found.rules == ()
    assert [(rule.limit.most, rule.limit.resource) for rule in found.own] == [(1, None)]


@pytest.mark.parametrize("spread", [False, True])
def test_jobs_that_fill_the_nodes_on_which_their_user_runs_show_no_limit(*, spread: bool) -> None:
    """At most four jobs of a user run: on the same four nodes, or on any of twelve."""
    ends, records = [EPOCH] * 4, []
    for number in range(600):
        submit, first = EPOCH + number // 20 * DAY + number % 20, min(ends)
        start, at = max(submit, first), ends.index(first)
        ends[at] = start + 10_000 + 137 * number % 7_919
        node = at + 4 * (number % 3) if spread else at
        one = ended(submit, start, ends[at], 8, "ann", walltime_s=20_000, nodes=1)
        records.append(one | {"node_list": f"n{node}"})
    nodes = tuple(Node(f"n{k}", (("cpus", 8),), ()) for k in range(12))
    pool = Pool("all", Resource.cpus, 96, nodes=nodes)
    found = plateau_search(describe(frame(records), [pool]), pool, max(ends), EPOCH).found()
    limits = [rule.limit for rule in found.own]
    assert limits == ([Limit(most=32, resource="cpus", user=("ann",))] if spread else [])
    assert (found.rules, found.capacity) == ((), None)
