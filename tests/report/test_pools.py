"""Rows about pools, compared with definitions in plain Python."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from audit.metrics.attempts.fidelity import MaySay
from audit.model import OBSERVED, Period
from audit.report.build import build
from audit.report.contents import PoolPart
from audit.report.figures import Figure
from audit.report.sections.causes.record import Causes
from audit.report.sections.fair_starts import shown
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.preemption import InterruptedUser, Preempted, Preemption
from audit.report.sections.sharing import BeyondUser, PoolShares
from audit.report.sections.waits.record import Waits
from audit.store import database
from audit.store.database import Connection
from tests import stores
from tests.report.rows import add, add_run
from tests.report.sample import fidelity, having, present
from tests.report.sections.machine.test_record import CAPACITY, FROM, PERIOD, ZONE

_PERIOD = Period("2026-10", 1790805600, 1793487600)
_KEY = {"cluster": "demo", "period": "2026-10", "run_id": "run-1"}


@pytest.fixture
def filled(bare: Connection) -> Connection:
    add(bare, "clusters", cluster="demo", zone="Europe/Berlin", notes="{}")
    add(bare, "pools", cluster="demo", pool="batch", resource="cpus", capacity=4)
    add_run(bare, {"config": {"metrics": {"tolerance_s": 120}}})
    return bare


def _summary(filled: Connection, *rows: tuple[str, str, str | None, float | None, int]) -> None:
    names = ("metric", "dimension", "dimension_value", "value", "attempts")
    made = [dict(zip(names, row, strict=True)) for row in rows]
    add(filled, "summary_result", *made, **_KEY, pool="batch", schedule="observed", unit="s")


def _entity(filled: Connection, kind: str, name: str | None, **values: object) -> None:
    own = {"pool": "batch", "schedule": "observed", "entity_kind": kind, "entity": name}
    counts = {"jobs": 9, "attempts": 9, "never_started": 0, "gave_up_wait_s": 0, "tuwt_s": 9}
    add(filled, "entity_result", {**_KEY, **own, **counts, "tusa": 9.0, **values})


def _part(filled: Connection) -> PoolPart:
    return build(filled, "demo", _PERIOD).pools[0]


def test_a_database_without_fair_starts_has_none(filled: Connection) -> None:
    _summary(filled, ("attempts", "all", None, 9.0, 9))
    _entity(filled, "user", "anna")
    part = _part(filled)
    assert not part.has_fair_starts
    assert not part[FairStart].statuses
    assert not part[FairStart].partitions
    assert part[FairStart].fidelity is None
    assert part.users.rows[0].missed is None


def test_statuses_and_partitions_come_in_order(filled: Connection) -> None:
    _summary(
        filled,
        ("fst_attempts", "fst_status", "blocked", 2.0, 2),
        ("fst_attempts", "fst_status", "final", 7.0, 7),
        ("fst_attempts", "fst_status", "provisional", 1.0, 1),
        ("miss_delivered_mean", "partition", "short", 50.0, 10),
        ("miss_delivered_mean", "partition", "long", 600.0, 2),
        ("miss_delivered_mean", "partition", None, 0.0, 1),
        ("miss_delivered_mean", "partition", "unknown", None, 0),
    )
    fair = _part(filled)[FairStart]
    assert [row.status for row in fair.statuses] == ["final", "provisional", "blocked"]
    assert (fair.subjects, fair.counted) == (10, 8)
    assert [part.label for part in fair.partitions] == ["long", "short", "unknown"]
    assert fair.tolerance_s == 120


def test_waits_by_partition_qos_and_gpu_type(filled: Connection) -> None:
    queue = "partition_qos_gpu_type"
    _summary(
        filled,
        ("wait_mean", queue, "cpu / - / -", 10.0, 30),
        ("wait_mean", queue, "debug / - / -", 0.0, 5),
        ("wait_mean", queue, "a / b / long / h100", 90.0, 10),
        ("cause_own_share", queue, "a / b / long / h100", 0.75, 10),
        ("wait_mean", "qos", "long", 90.0, 10),
    )
    queues = _part(filled)[Waits].queues
    names = [(one.partition, one.qos, one.gpu_type, one.share) for one in queues]
    assert names == [("a / b", "long", "h100", 0.75), ("cpu", "-", "-", 0.25)]
    assert queues[0].figure("cause_own_share").value == 0.75


def test_one_partition_is_no_comparison(filled: Connection) -> None:
    _summary(filled, ("miss_delivered_mean", "partition", "short", 50.0, 10))
    assert _part(filled)[FairStart].partitions == ()


def test_where_unexplained_waiting_is(filled: Connection) -> None:
    """Unexplained and cycle, where they exceed a tenth of all waiting; the three largest."""
    _summary(
        filled,
        ("cause_unexplained_share", "hour_of_week", "9", 0.5, 4),
        ("cause_cycle_share", "hour_of_week", "9", 0.25, 4),
        ("wait_mean", "hour_of_week", "9", 20.0, 4),
        ("cause_unexplained_share", "hour_of_week", "33", 1.0, 1),
        ("wait_mean", "hour_of_week", "33", 20.0, 1),
    )
    jobs = [
        {"job_id": user, "user": user, "cause_unexplained_s": left, "cause_cycle_s": 10}
        for user, left in (("ann", 40), ("ben", 10), ("eve", 5), ("tom", 5))
    ]
    own = {"standing": "ended", "attempt": 1, "wait_s": 100, "width_class": "1"}
    of_pool = {"run_id": "run-1", "cluster": "demo", "pool": "batch", "schedule": "observed"}
    times = dict.fromkeys(("arrival_time", "end_time"), _PERIOD.from_time)
    add(filled, "job_result", *jobs, **own, **of_pool, **times)
    found = [(one.kind, one.label, one.part) for one in _part(filled)[Causes].unexplained]
    assert found == [
        ("hour", "9", pytest.approx(80 / 100)),
        ("user", "ann", 0.5),
        ("user", "ben", 0.2),
        ("user", "eve", 0.15),
        ("width_class", "1", 1.0),
    ]
    filled.execute("UPDATE job_result SET wait_s = 1000")
    assert _part(filled)[Causes].unexplained == ()


def test_fidelity_is_that_of_the_pool(filled: Connection) -> None:
    rows = [("batch", "start_error_median", 60.0), ("other", "start_error_median", 9.0)]
    frame = pl.DataFrame(rows, ("pool", "metric", "value"), orient="row").with_columns(
        order=pl.lit("fcfs"), backfill=pl.lit("easy"), unit=pl.lit("s")
    )
    marked = frame.with_columns(**{name: pl.lit(_KEY[name]) for name in _KEY})
    database.insert(filled, "fidelity_result", marked)
    found = present(_part(filled)[FairStart].fidelity)
    assert (found.order, found.backfill) == ("fcfs", "easy")
    assert found.figures == (Figure("start_error_median", 60.0, unit="s"),)


def test_who_is_delayed_most(filled: Connection) -> None:
    for name, late, cautious, early in (
        ("anna", 500, 400, 10.0),
        ("ben", 100, 100, 90.0),
        ("cem", 400, 10, 0.0),
        (None, 900, 900, 0.0),
    ):
        misses = {"miss_delivered_s": late, "miss_cautious_s": cautious, "missed_delivered": 2}
        _entity(filled, "user", name, tuwt_s=1_000, **misses)
        _summary(
            filled,
            ("miss_delivered_mean", "user", name, late / 5, 5),
            ("preference_delivered_mean", "user", name, early, 5),
            ("miss_delivered_mean", "account", name, 1e9, 7),
        )
    part = _part(filled)
    told = {row.name: row.missed for row in part.users.rows if row.missed}
    assert told["anna"].net_s == 450
    assert told["anna"].missed_share == 0.4
    assert told["anna"].miss_strict_s is None
    assert told[None].miss_delivered_s == 900

    def delayed(best: float | None) -> list[str | None]:
        fair = replace(part[FairStart], fidelity=fidelity(best))
        of = shown.delayed(part.users, having(part, fair), 5)
        return [row.name for row in of]

    assert delayed(0.65) == ["anna", "cem"]  # ben started earlier in all
    assert delayed(0.3) == ["anna"]  # cem's delay is a quarter of its waiting by one reading alone
    assert delayed(0.29) == delayed(None) == []


def test_the_agreement_of_rules_is_read(filled: Connection) -> None:
    keys = ("order", "backfill", "own_peak", "value")
    tried = [
        ("fcfs", "easy", False, 0.2),
        ("fcfs", "conservative_replan", False, 0.2),
        ("fcfs", "none", True, 0.2),
        ("sjf", "easy", True, 0.4),
        ("lxf", "easy", True, None),
    ]
    used = {"order": "kept", "backfill": "none", "own_peak": True}
    rows: list[dict[str, object]] = [
        {**used, "metric": "rule_used", "value": 0.0},
        {"order": "fcfs", "backfill": "easy", "metric": "agreement_nodes", "value": 0.7},
    ]
    rows += [{**dict(zip(keys, row, strict=True)), "metric": "agreement"} for row in tried]
    add(filled, "fidelity_result", *rows, **_KEY, pool="batch", unit="1")
    found = present(_part(filled)[FairStart].fidelity)
    assert found.rules[0] == ("sjf", "easy", True, 0.4)
    assert [rule.agreement for rule in found.rules] == [0.4, 0.2, 0.2, 0.2, None]
    assert [rule.backfill for rule in found.rules[1:4]] == ["easy", "conservative_replan", "none"]
    assert found.used == ("kept", "none", True, None)
    assert (found.best, found.of_policy) == (0.4, 0.7)
    assert found.may_say is MaySay.PROBABLY


def test_users_whose_jobs_were_allocated_more_than_they_requested(tmp_path: Path) -> None:
    con = stores.new(tmp_path / "audit.duckdb")
    of = {"cluster": "demo", "pool": "batch", "schedule": OBSERVED, "run_id": "run-1"}
    add(con, "pools", cluster="demo", pool="batch", resource="cpus", capacity=CAPACITY)
    add(con, "clusters", cluster="demo", zone=ZONE, notes="{}")
    for job, (user, cpus, beyond, reason) in enumerate(
        [
            ("ann", 16, 800.0, "whole"),
            ("ann", 4, 100.0, "memory"),
            ("bob", 10, 20.0, "cores"),  # 2 %: not material
            ("cem", 2, 100.0, "cores"),
            ("cem", 2, 0.0, None),
        ]
    ):
        ended = {"job_id": str(job), "attempt": 1, "standing": "ended", "end_time": FROM + 100}
        more = {"cpus": cpus, "beyond_work": beyond, "beyond_request": reason}
        more |= {"charge": 8.0, "beyond_charge": 2.0} if user == "ann" else {}
        add(con, "job_result", **of, **ended, **more, user=user, occupancy_s=100)
    (pool,) = build(con, "demo", PERIOD).pools
    assert pool[PoolShares].users == (
        BeyondUser("ann", 2_000.0, 900.0, 0.25, "whole"),
        BeyondUser("cem", 400.0, 100.0, None, "cores"),
    )
    con.close()


def test_preempted_jobs_and_who_started_on_their_nodes(tmp_path: Path) -> None:
    con = stores.new(tmp_path / "audit.duckdb")
    of = {"cluster": "demo", "pool": "batch", "schedule": OBSERVED, "run_id": "run-1"}
    add(con, "pools", cluster="demo", pool="batch", resource="cpus", capacity=CAPACITY)
    add(con, "clusters", cluster="demo", zone=ZONE, notes="{}")
    lost = {"user": "ann", "partition": "scavenge", "size": 2, "freed_for": "2, 3"}
    end = FROM + 100
    for job, user, more in (
        ("1", "ann", {**lost, "lost_work": 200.0}),
        ("2", "cem", {"lost_work": 0.0}),
        ("3", "bob", {"lost_work": 0.0}),
    ):
        ended = {"job_id": job, "attempt": 1, "standing": "ended", "end_time": end, "user": user}
        add(con, "job_result", **of, **{**ended, **more})
    for user, preempted, lost_work in (("ann", 1, 200.0), ("bob", 0, 0.0)):
        row = {"entity": user, "preempted": preempted, "lost_work": lost_work, "suspended_s": 0}
        counts = dict.fromkeys(("jobs", "attempts", "never_started", "tuwt_s"), 1) | {"tusa": 1.0}
        add(con, "entity_result", **of, period="2026-10", entity_kind="user", **row, **counts)
    (pool,) = build(con, "demo", PERIOD).pools
    assert pool[Preemption] == Preemption(
        (InterruptedUser("ann", 1, 200.0, 0),),
        (Preempted("1", "ann", "scavenge", 2, end, 200.0, "2, 3", "bob, cem"),),
    )
    con.close()
