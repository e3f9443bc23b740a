"""Limits and windows: their attempts, by hand, and when windows are closed, hour by hour."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import SimulationError
from audit.metrics.attempts import reasons
from audit.metrics.attempts.population import describe
from audit.model import Backfill, Limit, Order, Policy, Pool, Resource, Window
from audit.policies import takers
from audit.scenario import tabu
from audit.scenario.check import check_simulated
from audit.scenario.engine import simulate
from audit.scenario.fair_start import fair_start_times
from audit.scenario.limits import SHUT, WEEK_S, Closing, window_edges
from audit.scenario.scenario import Scenario
from audit.scenario.workload import workload
from tests.strategies import Rows, ended, frame

MONDAY = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp())
LATER = MONDAY + 10**6
HOUR = 3600
POOL = Pool("main", Resource.cpus, 4)
ONE_EACH = POOL._replace(limits=(Limit(most=1, per="user"),))


def asked(arrival: int, size: int, lasts: int, user: str | None = "ann", **more: Any) -> Any:
    """An attempt that started on arrival, its walltime what it takes."""
    begin = MONDAY + arrival
    return ended(begin, begin, begin + lasts, size, user, **{"walltime_s": lasts, **more})


def starts(pool: Pool, records: Rows, policy: Policy = Policy()) -> list[int | None]:  # noqa: B008
    """When each starts in a simulation, which passes its check, s from Monday on."""
    described = describe(frame(records), [pool])
    schedule = simulate(described, pool, LATER, policy)
    faults = check_simulated(schedule, described, pool, LATER)
    assert faults.is_empty(), faults
    times = schedule.sort("job_number")["start_time"].to_list()
    return [None if time is None else time - MONDAY for time in times]


def judged(pool: Pool, records: Rows) -> pl.DataFrame:
    """The fair start times of the attempts."""
    return fair_start_times(Scenario(describe(frame(records), [pool]), pool, LATER))


@pytest.mark.parametrize("backfill", list(Backfill))
def test_whom_a_limit_holds_is_passed_over_and_holds_nobody_up(backfill: Backfill) -> None:
    # 4   . . . . A A A   Ann may run one at a time: her second (A, all of the pool) waits for the
    # 3   . c c c A A A   end of her first. Cem's, behind it, starts before it though it ends after
    # 2   b b b . A A A   a; but where A was promised a start at 3, and is allowed then, that is
    # 1   a a a . A A A   kept.
    records = [asked(0, 1, 3), asked(0, 4, 3), asked(0, 1, 3, "bob"), asked(1, 1, 3, "cem")]
    held = starts(ONE_EACH, records, Policy(Order.fcfs, backfill))
    assert held == ([0, 3, 0, 6] if backfill is Backfill.conservative else [0, 4, 0, 1])
    free = starts(POOL, records, Policy(Order.fcfs, backfill))
    waits = {Backfill.none: [0, 3, 6, 6], Backfill.no_guarantee: [0, 4, 0, 1]}
    assert free == waits.get(backfill, [0, 3, 0, 6])


def test_it_is_no_head_of_the_queue() -> None:
    # 4   . . b b b b A d   Ann's second (A, all of the pool) is held until 6. So the head is b,
    # 3   c c b b b b A d   which fits when c ends; d, which would end before A can start but not
    # 2   a a a a a a A d   before b can, waits.
    # 1   a a a a a a A d
    records = [asked(0, 2, 6), asked(0, 4, 1), asked(0, 1, 2, "cem"), asked(0, 2, 4, "bob")]
    records.append(asked(1, 1, 4, "dot"))
    assert starts(ONE_EACH, records) == [0, 6, 0, 2, 7]


@pytest.mark.parametrize("backfill", takers("depth"))
def test_it_is_none_of_those_that_a_pass_looks_at(backfill: Backfill) -> None:
    # 2   a a a A A A     Passes look at two, at a and c: Ann's second is held. Where they look at
    # 1   c c c           one, it is that one's turn at 3.
    records = [asked(0, 1, 3), asked(0, 1, 3), asked(0, 1, 3, "cem")]
    assert starts(ONE_EACH, records, Policy(Order.fcfs, backfill, depth=2)) == [0, 3, 0]
    assert starts(ONE_EACH, records, Policy(Order.fcfs, backfill, depth=1)) == [0, 3, 6]
    # 4   . . . b b b A   The same behind b, the head of the queue: c is the third of three.
    # 3   c c c b b b A
    # 2   a a a b b b .
    # 1   a a a b b b .
    records = [asked(0, 2, 3), asked(0, 4, 3, "bob"), asked(0, 2, 3), asked(0, 1, 3, "cem")]
    assert starts(ONE_EACH, records, Policy(Order.fcfs, backfill, depth=3)) == [0, 3, 6, 0]
    assert starts(ONE_EACH, records, Policy(Order.fcfs, backfill, depth=2)) == [0, 3, 6, 6]


def test_conservative_takes_back_a_plan_that_a_limit_does_not_allow() -> None:
    # 4   a a b b b .     A (Ann's second) is planned for 2, when a is expected to end; but Ann's
    # 3   a a b b b .     small one (s) runs until 5. It loses its plan, b, planned for 5, moves up
    # 2   a a b b b .     to 2 at once, and A is planned anew at 5.
    # 1   s s s s s A
    records = [asked(0, 1, 5), asked(0, 3, 2, "bob"), asked(1, 3, 3), asked(1, 3, 3, "cem")]
    policy = Policy(Order.fcfs, Backfill.conservative)
    assert starts(ONE_EACH, records, policy) == [0, 0, 5, 2]
    described = describe(frame(records), [ONE_EACH])
    planned = simulate(described, ONE_EACH, LATER, policy).sort("job_number")["planned_start_time"]
    # a job that lost its plan has no binding one; one that keeps it starts no later
    assert planned.to_list() == [MONDAY, MONDAY, None, MONDAY + 5]


@pytest.mark.parametrize("backfill", list(Backfill))
def test_a_window_that_closes_at_18_and_opens_at_8(backfill: Backfill) -> None:
    # On workdays from 18 to 8 nothing longer than an hour starts: what comes at 17:59 does, what
    # comes at 18:00 waits until Tuesday, and the short one does not. On the cluster's clock: in
    # Berlin, an hour ahead, all that is an hour earlier.
    night = tuple(h for day in range(5) for h in range(24 * day, 24 * day + 24) if h % 24 >= 18)
    night += tuple(h for day in range(5) for h in range(24 * day, 24 * day + 8))
    pool = POOL._replace(windows=(Window(hours=tuple(sorted(night)), walltime_above_s=HOUR),))
    policy = Policy(Order.fcfs, backfill)
    for zone, ahead in (("UTC", 0), ("Europe/Berlin", HOUR)):
        six = 18 * HOUR - ahead
        records = [
            asked(six - 60, 1, 2 * HOUR),
            asked(six, 1, 2 * HOUR),
            asked(six + 60, 1, HOUR, walltime_s=HOUR),
        ]
        made = starts(pool._replace(zone=zone), records, policy)
        assert made == [six - 60, 32 * HOUR - ahead, six + 60]


def test_a_window_that_closes_lets_others_start_before_the_head_of_the_queue() -> None:
    # 4   . . c c c c c c b   Bob's job needs all. It is the head, which c would delay, until its
    # 3   a a a a a . . . b   window closes at 2. A window of nobody who waits closes at 1.
    # 2   a a a a a . . . b
    # 1   a a a a a . . . b
    own, others = Window(hours=(2, 3), user=("bob",)), Window(hours=(1, 2), user=("dot",))
    pool = POOL._replace(windows=(own, others))
    records = [
        asked(0, 3, 5 * HOUR),
        asked(0, 4, HOUR, "bob"),
        asked(0, 1, 6 * HOUR, "cem"),
        asked(50 * HOUR, 1, HOUR, "dot"),
    ]
    assert starts(pool, records) == [0, 8 * HOUR, 2 * HOUR, 50 * HOUR]
    assert judged(pool, records)["fst_strict"][2] == MONDAY + 2 * HOUR


def test_passes_at_intervals() -> None:
    # The first comes at 0, so there is a pass at 60: b, which came at 10, starts then; and c, for
    # which a place was free from 70 on, at 120.
    records = [asked(0, 4, 55), asked(10, 4, 10, "bob"), asked(20, 1, 5, "cem")]
    for backfill in Backfill:
        policy = Policy(Order.fcfs, backfill, interval_s=60)
        assert starts(POOL, records, policy) == [0, 60, 120]
    assert starts(POOL, records) == [0, 55, 65]


def test_amounts_and_of_whom() -> None:
    pool = POOL._replace(
        capacity=16,
        limits=(
            Limit(most=3, resource="cpus", per="account"),
            Limit(most=0, qos=("short",), walltime_above_s=10),
            Limit(most=6, resource="cpus", per="job"),
            Limit(most=1, user=("eve", "fay")),
        ),
    )
    records = [
        asked(0, 2, 9, account="x"),
        asked(0, 2, 9, account="x"),  # 4 of x
        asked(0, 1, 9, account="x"),  # 3 of x
        asked(0, 2, 9, account="y"),
        asked(0, 4, 9, account="y"),  # more than y may ever have
        asked(0, 2, 11, qos="short"),  # asks for too long
        asked(0, 2, 10, qos="short"),
        asked(0, 7, 9),  # too large by itself
        asked(0, 1, 5, "eve"),
        asked(0, 1, 5, "fay"),  # one of both
        asked(0, 5, 9, None),  # of no account that is known
    ]
    never = None
    assert starts(pool, records) == [0, 9, 0, 0, never, never, 0, never, 0, 5, 0]
    exceeding = judged(pool, records).filter(pl.col("fst_status") == "exceeds_limit")
    assert sorted(exceeding["job_number"]) == [5, 6, 8]
    assert exceeding["fst_strict"].null_count() == 3


@pytest.mark.parametrize(
    ("rules", "made"),
    [
        ({"limits": (Limit(most=3, resource="cpus", per="job"),)}, [None, 0]),
        ({"limits": (Limit(most=1, user=("nobody",)),)}, [0, 5]),
        ({"windows": (Window(hours=tuple(range(168)), walltime_above_s=HOUR),)}, [0, 5]),
    ],
)
def test_rules_that_count_no_attempt(rules: dict[str, Any], made: list[int | None]) -> None:
    assert starts(POOL._replace(**rules), [asked(0, 4, 5), asked(0, 1, 9)]) == made


def test_those_exempt_count_but_are_not_held() -> None:
    limit = Limit(most=1, per="user", exempt_qos=("high",))
    records = [asked(0, 1, 5), asked(0, 1, 9, qos="high"), asked(1, 1, 5)]
    assert starts(POOL._replace(limits=(limit,)), records) == [0, 0, 9]


def test_what_a_snapshot_holds_counts() -> None:
    # j comes at 2 while Ann's first runs, until 7, and her second waits, which started at 9 in the
    # log: it goes first, at 7, and j when it has ended, at 9. A blocked one that ran counts too.
    records = [asked(0, 1, 7), asked(1, 1, 2), asked(2, 1, 1)]
    for row in records[1:]:
        row["start_time"] += 8
        row["end_time"] += 8
    assert [time - MONDAY for time in judged(ONE_EACH, records)["fst_strict"]] == [0, 7, 9]
    records[0]["reason"] = "Dependency"
    blocked = judged(ONE_EACH, records)["fst_strict"].to_list()
    assert blocked == [None, MONDAY + 7, MONDAY + 9]


@pytest.mark.parametrize(
    ("reason", "blocked"),
    [
        ("AssocMaxJobsLimit", False),
        ("QOSMaxJobsPerUserLimit", False),
        ("QOSMaxCpuPerUserLimit", True),  # no such limit here
        ("JobHeldUser", True),
        ("Priority", False),
    ],
)
def test_a_reason_that_a_limit_covers_does_not_block(reason: str, blocked: bool) -> None:
    described = describe(frame([asked(0, 1, 5, reason=reason)]), [ONE_EACH])
    work, _ = workload(described, ONE_EACH, LATER)
    assert work.blocked.tolist() == [blocked]
    other = ONE_EACH._replace(limits=(Limit(most=1, per="user", user=("bob",)),))
    work, _ = workload(described, other, LATER)
    assert work.blocked.tolist() == [reason != "Priority"]


def test_windows_that_are_never_open_together_are_exceeded() -> None:
    even = Window(hours=tuple(range(0, 168, 2)))
    odd = Window(hours=tuple(range(1, 168, 2)), user=("ann",))
    pool = POOL._replace(windows=(even, odd))
    assert starts(pool, [asked(0, 1, 5), asked(0, 1, 5, "bob")]) == [None, HOUR]


def test_windows_go_on_behind_what_the_calendar_is_known_for() -> None:
    # Only the first hour of a week is open, and one of Ann's runs at a time: each takes a week but
    # a second, so they start week after week, in the third year too.
    week = 168 * HOUR
    pool = ONE_EACH._replace(windows=(Window(hours=tuple(range(1, 168))),))
    records = [asked(k, 1, week - 1) for k in range(110)]
    assert starts(pool, records)[1:] == [k * week for k in range(1, 110)]


def test_the_tabu_search_knows_no_limits() -> None:
    described = describe(frame([asked(0, 1, 5)]), [ONE_EACH])
    with pytest.raises(SimulationError, match="limits or windows"):
        tabu.simulate(described, ONE_EACH, LATER)


@given(
    st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/New_York"]),
    st.sampled_from(["2026-03-28", "2026-10-24", "2026-04-03", "2026-07-01"]),
    st.lists(
        st.tuples(
            st.frozensets(st.integers(0, 167), min_size=1),
            st.one_of(st.just(1), st.integers(1, 3 * 86_400)),
            st.one_of(st.none(), st.integers(-3, 14)),
            st.one_of(st.none(), st.integers(-3, 14)),
        ),
        min_size=1,
        max_size=2,
    ),
    st.integers(0, 7200),
    st.integers(0, 12 * 86_400),
)
def test_windows_are_closed_in_their_hours(
    name: str,
    day: str,
    shut: list[tuple[frozenset[int], int, int | None, int | None]],
    seconds: int,
    lasts: int,
) -> None:
    zone = ZoneInfo(name)
    since = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) + seconds
    until = since + lasts
    first_day = date.fromisoformat(day)

    def after(days: int | None) -> date | None:
        return None if days is None else first_day + timedelta(days)

    closings = [
        Closing(
            Window(hours=tuple(sorted(hours)), valid_from=after(begin), valid_to=after(end)),
            reach,
            np.zeros(0, np.int64),
        )
        for hours, reach, begin, end in shut
    ]
    edges = window_edges(closings, zone, since, until, 5)
    assert (np.diff(edges.time) >= 0).all()

    def closed(instant: int, hours: frozenset[int]) -> bool:
        clock = datetime.fromtimestamp(instant, zone)
        return clock.weekday() * 24 + clock.hour in hours

    for k, (hours, reach, begin, end) in enumerate(shut):
        own = edges.counter == 5 + k
        times, level = edges.time[own], np.cumsum(edges.change[own])
        for instant in [*range(since, until + 1, 7200), *times[times <= until].tolist()]:
            today = datetime.fromtimestamp(instant, zone).date()
            valid = (begin is None or today >= after(begin)) and (end is None or today < after(end))  # type: ignore[operator]
            ahead = [*range(instant, instant + reach, 900), instant + reach - 1]
            # in Lord Howe clocks change by half an hour, all else by hours
            expected = valid and any(
                closed(at // 1800 * 1800 if at != instant else at, hours) for at in ahead
            )
            before = np.searchsorted(times, instant, side="right")
            assert (before > 0 and level[before - 1] == SHUT) == expected
    # from then on, weeks are alike
    cycle = edges.time[len(edges.time) - edges.cycle :]
    assert ((cycle > until) & (cycle <= until + WEEK_S)).all()
    assert edges.change[len(edges.time) - edges.cycle :].sum() == 0


def test_an_overlap_window_and_days() -> None:
    # Closed on Monday from 8 to 10. A job of two hours does not start from 06:00:01 on either;
    # one of an hour starts at 7. A limit of Tuesday alone does not hold on Monday.
    window = Window(hours=(8, 9), overlap=True)
    pool = POOL._replace(windows=(window,))
    records = [
        asked(6 * HOUR, 1, 2 * HOUR),
        asked(6 * HOUR + 1, 1, 2 * HOUR),
        asked(7 * HOUR, 1, HOUR),
    ]
    assert starts(pool, records) == [6 * HOUR, 10 * HOUR, 7 * HOUR]
    later = pool._replace(windows=(window.but(valid_from=date(2026, 3, 3)),))
    assert starts(later, records) == [6 * HOUR, 6 * HOUR + 1, 7 * HOUR]
    tuesday = {"valid_from": date(2026, 3, 3), "valid_to": date(2026, 3, 4)}
    limit = ONE_EACH.limits[0].but(**tuesday)
    two = [asked(at, 1, 20 * HOUR) for at in (0, HOUR, 24 * HOUR, 25 * HOUR, 47 * HOUR)]
    assert starts(POOL._replace(limits=(limit,)), two) == [
        *(0, HOUR, 24 * HOUR, 44 * HOUR),
        48 * HOUR,
    ]
    # one that ended before the log begins is not in force
    for last in (date(2026, 3, 2), date(2026, 3, 1)):
        ended = pool._replace(windows=(), limits=(limit.but(valid_from=None, valid_to=last),))
        assert starts(ended, two[:2]) == [0, HOUR]


@pytest.mark.parametrize("backfill", list(Backfill))
def test_a_throttle_lets_so_many_tasks_of_its_array_run(backfill: Backfill) -> None:
    """One task at a time; bob's job, and the task of another array, do not wait for it."""
    array: dict[str, Any] = {"job_number": 7, "array_throttle": 1}
    records = [
        asked(0, 1, 5, **array, job_id="7_0", array_task=0),
        asked(0, 1, 3, **array | {"array_throttle": None}, job_id="7_1", array_task=1),
        asked(1, 1, 2, "bob", job_number=8, job_id="8"),
        asked(2, 1, 2, job_number=9, job_id="9_0", array_task=0, array_throttle=1),
    ]
    assert starts(POOL, records, Policy(backfill=backfill)) == [0, 5, 1, 2]


def test_the_throttle_of_a_very_large_array_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    array: dict[str, Any] = {"job_number": 7, "array_throttle": 1}
    records = [asked(0, 1, 5, **array, job_id=f"7_{k}", array_task=k) for k in range(3)]
    assert starts(POOL, records) == [0, 5, 10]
    monkeypatch.setattr(reasons, "LARGEST_ARRAY", 2)
    work, _ = workload(describe(frame(records), [POOL]), POOL, LATER)
    assert not work.limits.some
    assert starts(POOL, records) == [0, 0, 0]


def test_a_limit_of_the_remaining_time() -> None:
    # Of the first job 70 s remain at 10 s, and 35 s at 45 s: there the second one, of 60 s, starts
    # beside it, as another user's job arrives. A job of 101 s alone exceeds the limit.
    limit = Limit(most=100, resource="cpus", remaining=True, per="user")
    pool = POOL._replace(limits=(limit,))
    records = [asked(0, 1, 80), asked(10, 1, 60)]
    assert starts(pool, records) == [0, 80]
    assert starts(pool, [*records, asked(45, 1, 10, user="bob")]) == [0, 45, 45]
    assert starts(pool, [asked(0, 1, 80), asked(30, 1, 50)]) == [0, 30]
    assert starts(pool, [asked(0, 1, 101), asked(0, 1, 100)]) == [None, 0]
