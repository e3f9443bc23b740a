"""Rows about pools, compared with definitions in plain Python."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.fidelity import MaySay
from audit.model import OBSERVED, Period
from audit.periods import day_edges, day_of, zone
from audit.report.build import build
from audit.report.reading.pools import BURST_DAYS, elsewhere, pictured
from audit.report.record.pool import Elsewhere, Figure, Pictured, PoolPart
from audit.report.record.preemption import InterruptedUser, Preempted, Preemption
from audit.report.record.requested import BeyondUser
from audit.report.text import tables
from audit.store import database, queries
from audit.store.database import Connection
from tests import stores
from tests.report.rows import add, add_run
from tests.report.sample import fidelity, present

DAY = 86_400
FROM = 1_793_484_000 - 7 * DAY  # contains a change of clocks
PERIOD = Period("2026-10", FROM, FROM + 9 * DAY)
ZONE = "Europe/Berlin"
CAPACITY = 8


class Job(NamedTuple):
    arrival: int
    wait: int
    occupancy: int
    size: int | None
    walltime: int | None
    standing: str = "ended"
    user: str | None = "ann"


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Connection:
    con = stores.new(Path(tmp_path_factory.mktemp("pictured")) / "audit.duckdb")
    add(con, "pools", cluster="demo", pool="batch", resource="cpus", capacity=CAPACITY)
    return con


def shown(con: Connection, jobs: list[Job], period: Period = PERIOD) -> Pictured:
    con.execute("DELETE FROM job_result")
    rows = [
        {
            "cluster": "demo",
            "pool": "batch",
            "schedule": OBSERVED,
            "job_id": str(number),
            "attempt": 1,
            "standing": job.standing,
            "arrival_time": job.arrival,
            "start_time": job.arrival + job.wait,
            "end_time": job.arrival + job.wait + job.occupancy,
            "occupancy_s": job.occupancy,
            "runtime_s": job.occupancy,
            "size": job.size,
            "user": job.user,
            "walltime_s": job.walltime,
            "run_id": "run-1",
        }
        for number, job in enumerate(jobs)
    ]
    if rows:
        add(con, "job_result", *rows)
    return pictured(con, "demo", OBSERVED, period, ZONE).get("batch", Pictured())


JOBS = st.lists(
    st.builds(
        Job,
        st.integers(FROM - 2 * DAY, FROM + 10 * DAY),
        st.integers(0, 3 * DAY),
        st.integers(0, DAY),
        st.none() | st.integers(1, 8),
        st.none() | st.integers(1, DAY),
        st.sampled_from(["ended", "ended", "ended", "running"]),
    ),
    max_size=8,
)


@given(JOBS)
def test_work_that_waited_as_defined(con: Connection, jobs: list[Job]) -> None:
    edges = day_edges(PERIOD.from_time, PERIOD.to_time, zone(ZONE))
    slow = []
    for first, last in pairwise(edges):
        work = Fraction(0)
        for job in jobs:
            if job.standing == "ended" and job.size is not None:
                overlap = min(job.arrival + job.wait, last) - max(job.arrival, first)
                work += max(overlap, 0) * job.size * job.occupancy
        slow.append(work / (last - first) / CAPACITY)
    found = shown(con, jobs).waiting_work
    assert [value for _, value in found] == pytest.approx(
        [float(of) for of in slow] if found else []
    )
    assert bool(found) == any(slow)
    assert [day for day, _ in found[:2]] == (["2026-10-25", "2026-10-26"] if found else [])


@given(JOBS)
def test_use_of_walltimes_as_defined(con: Connection, jobs: list[Job]) -> None:
    within = [
        Fraction(job.occupancy, job.walltime)
        for job in jobs
        if job.standing == "ended"
        and job.walltime is not None
        and FROM <= job.arrival + job.wait + job.occupancy < PERIOD.to_time
    ]
    told = shown(con, jobs).walltimes
    assert (told is None) == (not within)
    if told is not None:
        tenths = [
            sum(Fraction(k, 10) < part <= Fraction(k + 1, 10) for part in within) for k in range(10)
        ]
        tenths[0] += sum(part == 0 for part in within)
        assert told.tenths == (*tenths, sum(part > 1 for part in within))
        assert told.attempts == len(within)
        assert told.median == pytest.approx(float(median_low(within)))


MANY = st.lists(
    st.builds(
        Job,
        st.integers(FROM, FROM + 2 * DAY),
        st.integers(0, DAY // 8),
        st.integers(0, DAY),
        st.none() | st.integers(1, 8),
        st.none(),
        st.sampled_from(["ended", "ended", "ended", "running"]),
        st.sampled_from(["ann", "ben", None]),
    ),
    max_size=20,
)


@given(MANY)
def test_bursts_as_defined(con: Connection, jobs: list[Job]) -> None:
    """Each arrival of a burst is while an earlier attempt of the same user is queued."""
    slow = []
    for user in ("ann", "ben"):
        own = [(job.arrival, number, job) for number, job in enumerate(jobs) if job.user == user]
        runs: list[list[Job]] = []
        queued_until = 0
        for arrival, _, job in sorted(own):
            if arrival >= queued_until:
                runs.append([])
            runs[-1].append(job)
            queued_until = max(queued_until, arrival + job.wait)
        for run in runs:
            ended = [job for job in run if job.standing == "ended"]
            work_s = Fraction(sum((job.size or 0) * job.occupancy for job in ended), CAPACITY)
            if len(run) > 1 and work_s >= BURST_DAYS * DAY:
                slow.append((-work_s, run[0].arrival, user, len(run), run[-1].arrival))
    found = shown(con, jobs).bursts
    days = [day_of(of[1], zone(ZONE)).isoformat() for of in sorted(slow)]
    assert [(of.first, of.user, of.attempts) for of in found] == [
        (day, of[2], of[3]) for day, of in zip(days, sorted(slow), strict=True)
    ]
    assert [of.work_s for of in found] == pytest.approx([float(-of[0]) for of in sorted(slow)])
    lasts = [day_of(of[4], zone(ZONE)).isoformat() for of in sorted(slow)]
    assert [of.last for of in found] == lasts


def test_a_burst_may_begin_before_the_period(con: Connection) -> None:
    first = Job(FROM - DAY, 2 * DAY, DAY, 8, None)
    jobs = [first, first._replace(arrival=FROM + 10), first._replace(arrival=FROM - 9 * DAY)]
    (burst,) = shown(con, jobs).bursts
    assert (burst.first, burst.last, burst.attempts) == ("2026-10-25", "2026-10-25", 2)


def test_by_hand(con: Connection) -> None:
    # Two days of waiting, half of the pool, for an hour of work: half an hour of the whole pool.
    found = shown(con, [Job(FROM + DAY, 2 * DAY, 3_600, 4, 7_200)])
    hours = {day: seconds / 3_600 for day, seconds in found.waiting_work}
    assert hours["2026-10-26"] == 0.5
    assert hours["2026-10-25"] == pytest.approx(0.5 / 25)  # an hour of a day of 25
    assert found.walltimes is not None
    assert found.walltimes.tenths == (0, 0, 0, 0, 1, *[0] * 6)
    assert found.walltimes.median == 0.5


def test_an_empty_period_has_nothing_to_show(con: Connection) -> None:
    assert shown(con, [], Period("none", FROM, FROM)) == Pictured()


def test_no_attempt_is_compared_with_every_day(con: Connection) -> None:
    shown(con, [Job(FROM + k, 60, 60, 1, 60) for k in range(500)])
    query = queries.load("report_waiting_work")
    edges = list(range(FROM, FROM + DAY, 600))
    of = {"cluster": "demo", "schedule": OBSERVED, "edges": edges}
    [(_, plan)] = con.execute(f"EXPLAIN {query.sql}", of).fetchall()
    assert set(re.findall(r"\w+ Join", plan)) == {"Hash Join"}, plan


# --- what other tools count


MONTH = Period("month", 1_000, 2_000)
WHOLE = Period("all", 0, 4_000)


class Counted(NamedTuple):
    name: str
    submit: int
    held: int
    """How long it was not eligible."""
    wait: int
    runs: int | None
    """None: it still runs."""
    suspended: int = 0
    size: int | None = 1
    started: bool = True


def started(job: Counted) -> int:
    return job.submit + job.held + job.wait


def counted_row(number: int, job: Counted) -> dict[str, object]:
    ended = job.started and job.runs is not None
    standing = "ended" if ended else "running" if job.started else "never_started"
    return {
        "cluster": "demo",
        "pool": "batch",
        "schedule": OBSERVED,
        "job_id": job.name,
        "attempt": number + 1,
        "standing": standing,
        "submit_time": job.submit,
        "arrival_time": job.submit + job.held,
        "start_time": started(job) if job.started else None,
        "end_time": started(job) + job.runs if job.started and job.runs is not None else None,
        "occupancy_s": job.runs if ended else None,
        "runtime_s": max(job.runs - job.suspended, 0) if ended and job.runs is not None else None,
        "size": job.size,
        "run_id": "run-1",
    }


def counted(con: Connection, jobs: list[Counted], period: Period) -> Elsewhere | None:
    con.execute("DELETE FROM job_result")
    rows = [counted_row(number, job) for number, job in enumerate(jobs)]
    if rows:
        add(con, "job_result", *rows)
    return elsewhere(con, "demo", OBSERVED, period).get("batch")


COUNTED = st.lists(
    st.builds(
        Counted,
        st.sampled_from("abc"),
        st.integers(0, 2_500),
        st.integers(0, 300),
        st.integers(0, 300),
        st.none() | st.integers(0, 1_500),
        st.integers(0, 200),
        st.none() | st.integers(1, 9),
        st.sampled_from([True, True, False]),
    ),
    max_size=9,
)


def exact_mean(values: list[int]) -> float | None:
    return float(Fraction(sum(values), len(values))) if values else None


@pytest.mark.thorough
@given(COUNTED, st.sampled_from([MONTH, WHOLE]))
def test_as_each_tool_counts(con: Connection, jobs: list[Counted], period: Period) -> None:
    first, last = period.from_time, period.to_time
    ran = [job for job in jobs if job.started]
    done = [job for job in ran if job.runs is not None]
    ended = [j for j in done if period.whole_log or first <= started(j) + (j.runs or 0) < last]
    began = [j for j in ran if period.whole_log or first <= started(j) < last]
    found = counted(con, jobs, period)
    if found is None:
        assert not ended
        assert not began
        return
    submitted = [started(job) - job.submit for job in ended]
    assert found.wait_from_submission_s == pytest.approx(exact_mean(submitted))
    assert found.wait_of_started_s == pytest.approx(
        exact_mean([started(j) - j.submit for j in began])
    )
    assert found.repeated == len(ended) - len({job.name for job in ended})
    held, running = 0, 0
    for job in ran:
        if job.runs is None:
            inside = 0 if period.whole_log else max(last - max(started(job), first), 0)
            held += (job.size or 0) * inside
            continue
        begin, end = started(job), started(job) + job.runs
        if not period.whole_log:
            begin, end = max(begin, first), min(end, last)
        inside = max(end - begin, 0)
        held += (job.size or 0) * inside
        if job.runs:
            running += (job.size or 0) * (inside * max(job.runs - job.suspended, 0) // job.runs)
    assert (found.held or 0) == held
    assert (found.held_running or 0) == running


def test_other_tools_by_hand(con: Connection) -> None:
    """Ten minutes of hold, five of waiting; half of the run lies inside, a quarter is suspended."""
    job = Counted("a", 600, held=600, wait=300, runs=1_000, suspended=250, size=4)
    again = Counted("a", 700, held=0, wait=300, runs=100)
    assert counted(con, [job, again], MONTH) == Elsewhere(300.0, 600.0, 0, 2_100.0, 1_600.0)
    assert counted(con, [job, again], WHOLE) == Elsewhere(600.0, 600.0, 1, 4_100.0, 3_100.0)


def test_who_ended_at_once_among_many(con: Connection) -> None:
    """DuckDB works out for all rows what it then adds up of some."""
    jobs = [Counted(str(k), k, held=0, wait=1, runs=k % 2 and 10) for k in range(5_000)]
    found = present(counted(con, jobs, WHOLE))
    assert (found.held, found.held_running) == (25_000.0, 25_000.0)


# --- fair start times


_PERIOD = Period("2026-10", 1790805600, 1793487600)


_KEY = {"cluster": "demo", "period": "2026-10", "run_id": "run-1"}


@pytest.fixture
def filled(bare: Connection) -> Connection:
    add(bare, "clusters", cluster="demo", zone="Europe/Berlin", notes="[]")
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
    assert not part.fair_start.statuses
    assert not part.fair_start.partitions
    assert part.fair_start.fidelity is None
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
    fair = _part(filled).fair_start
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
    queues = _part(filled).queues
    names = [(one.partition, one.qos, one.gpu_type, one.share) for one in queues]
    assert names == [("a / b", "long", "h100", 0.75), ("cpu", "-", "-", 0.25)]
    assert queues[0].figure("cause_own_share").value == 0.75


def test_one_partition_is_no_comparison(filled: Connection) -> None:
    _summary(filled, ("miss_delivered_mean", "partition", "short", 50.0, 10))
    assert _part(filled).fair_start.partitions == ()


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
    found = [(one.kind, one.label, one.part) for one in _part(filled).unexplained]
    assert found == [
        ("hour", "9", pytest.approx(80 / 100)),
        ("user", "ann", 0.5),
        ("user", "ben", 0.2),
        ("user", "eve", 0.15),
        ("width_class", "1", 1.0),
    ]
    filled.execute("UPDATE job_result SET wait_s = 1000")
    assert _part(filled).unexplained == ()


def test_fidelity_is_that_of_the_pool(filled: Connection) -> None:
    rows = [("batch", "start_error_median", 60.0), ("other", "start_error_median", 9.0)]
    frame = pl.DataFrame(rows, ("pool", "metric", "value"), orient="row").with_columns(
        order=pl.lit("fcfs"), backfill=pl.lit("easy"), unit=pl.lit("s")
    )
    marked = frame.with_columns(**{name: pl.lit(_KEY[name]) for name in _KEY})
    database.insert(filled, "fidelity_result", marked)
    found = present(_part(filled).fair_start.fidelity)
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
        fair = replace(part.fair_start, fidelity=fidelity(best))
        of = tables.delayed(part.users, replace(part, fair_start=fair), 5)
        return [row.name for row in of]

    assert delayed(0.65) == ["anna", "cem"]  # ben started earlier in all
    assert delayed(0.3) == ["anna"]  # cem's delay is a quarter of its waiting by one reading alone
    assert delayed(0.29) == delayed(None) == []


def test_the_agreement_of_rules_is_read(filled: Connection) -> None:
    keys = ("order", "backfill", "own_peak", "value")
    tried = [("fcfs", "easy", False, 0.2), ("sjf", "easy", True, 0.4), ("lxf", "easy", True, None)]
    used = {"order": "kept", "backfill": "none", "own_peak": True}
    rows: list[dict[str, object]] = [
        {**used, "metric": "rule_used", "value": 0.0},
        {"order": "fcfs", "backfill": "easy", "metric": "agreement_nodes", "value": 0.7},
    ]
    rows += [{**dict(zip(keys, row, strict=True)), "metric": "agreement"} for row in tried]
    add(filled, "fidelity_result", *rows, **_KEY, pool="batch", unit="1")
    found = present(_part(filled).fair_start.fidelity)
    assert found.rules[0] == ("sjf", "easy", True, 0.4)
    assert [rule.agreement for rule in found.rules] == [0.4, 0.2, None]
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
    assert pool.beyond == (
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
    assert pool.preemption == Preemption(
        (InterruptedUser("ann", 1, 200.0, 0),),
        (Preempted("1", "ann", "scavenge", 2, end, 200.0, "2, 3", "bob, cem"),),
    )
    con.close()
