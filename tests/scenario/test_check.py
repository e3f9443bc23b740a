"""Each kind of broken schedule is caught, and nothing else is."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import SimulationError
from audit.metrics.attempts.population import describe
from audit.model import Backfill, Policy, Pool, Resource
from audit.model import CapacityStep as PoolStep
from audit.scenario.check import (
    FINDINGS,
    Capacity,
    beyond,
    check_replay,
    check_schedule,
    check_simulated,
    require_sound,
)
from audit.scenario.engine import PLANNED, replay, simulate
from audit.scenario.workload import KEYS, NEVER
from tests.naive.simulation import Job, Log, Window
from tests.strategies import EPOCH, arrays, frame, logs, policies, workloads

CAPACITY = 4
# A sound schedule of a pool of 4; time from left to right, one column per second from 0.
#   4  b b . . d
#   3  b b . . d      c has no occupancy: it comes and goes at 2, beside b's end.
#   2  a a a a d
#   1  a a a a d
SOUND = pl.DataFrame(
    {
        "cluster": ["x"] * 4,
        "job_id": ["a", "b", "c", "d"],
        "attempt": [1, 1, 1, 1],
        "arrival_time": [0, 0, 1, 2],
        "size": [2, 2, 2, 4],
        "start_time": [0, 0, 2, 4],
        "end_time": [4, 2, 2, 5],
        "occupancy_s": [4, 2, 0, 1],
    },
    schema_overrides={"attempt": pl.Int64},
)


def changed(job_id: str, of: pl.DataFrame = SOUND, **values: int | None) -> pl.DataFrame:
    """A schedule, by default the sound one, with one attempt's columns replaced."""
    return of.with_columns(
        pl.when(pl.col("job_id") == job_id)
        .then(pl.lit(value, pl.Int64))
        .otherwise(pl.col(column))
        .alias(column)
        for column, value in values.items()
    )


def schedule_of(**columns: Sequence[object]) -> pl.DataFrame:
    """Attempts 0, 1, … that arrive at 0."""
    count = len(columns["start_time"])
    named = {"cluster": ["x"] * count, "job_id": [str(k) for k in range(count)]}
    more = {"attempt": [1] * count, "arrival_time": [0] * count, **columns}
    types = {"cluster": pl.String, "job_id": pl.String, "blocked": pl.Boolean}
    schema = {name: types.get(name, pl.Int64) for name in (*named, *more)}
    return pl.DataFrame(named | more, schema=schema)


def in_steps(
    amounts: Sequence[int],
    *steps: tuple[int, Sequence[int]],
    resources: Sequence[str] = ("size",),
    planned: bool = False,
) -> Capacity:
    """The capacity before all steps, and the steps with their times."""
    return Capacity(
        tuple(resources),
        np.array(amounts, np.int64),
        np.array([time for time, _ in steps], np.int64),
        np.array([change for _, change in steps], np.int64).reshape(len(steps), len(amounts)),
        np.full(len(steps), planned),
    )


def with_blocked(*job_ids: str) -> pl.DataFrame:
    return SOUND.with_columns(blocked=pl.col("job_id").is_in(job_ids))


def found(
    schedule: pl.DataFrame,
    attempts: pl.DataFrame = SOUND,
    capacity: int | Capacity = CAPACITY,
    snapshot_time: int | None = None,
) -> list[tuple[str, str, int | None, int]]:
    findings = check_schedule(schedule, attempts, capacity, snapshot_time=snapshot_time)
    assert findings.schema == FINDINGS
    return findings.select("check", "job_id", "at", "amount").rows()


def test_a_sound_schedule_gives_no_finding() -> None:
    assert found(SOUND) == found(SOUND.reverse()) == found(SOUND.clear(), SOUND.clear()) == []
    require_sound(check_schedule(SOUND, SOUND, CAPACITY))


NOT_B = SOUND.filter(pl.col("job_id") != "b")
LARGE = changed("d", size=5)
AGAIN = changed("b", start_time=5, end_time=7).filter(pl.col("job_id") == "b")
SECOND = pl.concat([SOUND, AGAIN.with_columns(attempt=pl.lit(2, pl.Int64))])
AT_0 = changed("c", arrival_time=0, start_time=0, end_time=0)
Faults = list[tuple[str, str, int | None, int]]


@pytest.mark.parametrize(
    ("schedule", "attempts", "expected"),
    [
        (SOUND, changed("d", arrival_time=6), [("starts_before_arrival", "d", 4, 2)]),
        (
            changed("d", end_time=3),
            SOUND,
            [("ends_before_start", "d", 3, 1), ("occupancy_changed", "d", 3, -2)],
        ),
        (changed("d", end_time=9), SOUND, [("occupancy_changed", "d", 9, 4)]),
        (changed("d", end_time=9), SOUND.drop("occupancy_s"), []),
        (changed("d", start_time=3, end_time=4), SOUND, [("over_capacity", "d", 3, 2)]),
        # at 1 a and b fill the pool from before to after: c cannot have come and gone
        (changed("c", start_time=1, end_time=1), SOUND, [("over_capacity", "c", 1, 2)]),
        # at 0 it can, before a and b start
        (AT_0, AT_0, []),
        (changed("a", end_time=None), SOUND, [("over_capacity", "d", 4, 2)]),
        (NOT_B, SOUND, [("lost", "b", 0, 0)]),
        (changed("b", start_time=None, end_time=None), SOUND, [("lost", "b", 0, 1)]),
        # larger than the pool: it need not start, and must not
        (changed("d", start_time=None, end_time=None), LARGE, []),
        (SOUND.filter(pl.col("job_id") != "d"), LARGE, []),
        (SOUND, LARGE, [("over_capacity", "d", 4, 1)]),
        (pl.concat([SOUND, AGAIN]), SOUND, [("twice", "b", 5, 2)]),
        # another attempt of the same job is another
        (SECOND, SECOND, []),
        (SECOND, SOUND, [("stranger", "b", 5, 1)]),
        (SOUND, SECOND, [("lost", "b", 0, 0)]),
        (
            SOUND.with_columns(pl.Series(PLANNED, [0, None, 3, 3], dtype=pl.Int64)),
            SOUND,
            [("later_than_planned", "d", 4, 1)],
        ),
        # an attempt that requests nothing may start anywhere
        (changed("c", start_time=1, end_time=1), changed("c", size=0), []),
        # findings come by kind, then instant
        (
            changed("a", end_time=5).filter(pl.col("job_id") != "c"),
            changed("d", arrival_time=6),
            [
                ("lost", "c", 1, 0),
                ("starts_before_arrival", "d", 4, 2),
                ("occupancy_changed", "a", 5, 1),
                ("over_capacity", "d", 4, 2),
            ],
        ),
    ],
)
def test_each_fault_is_found(
    schedule: pl.DataFrame, attempts: pl.DataFrame, expected: Faults
) -> None:
    assert found(schedule, attempts) == found(schedule.reverse(), attempts) == expected


def test_one_too_many_at_once() -> None:
    assert found(SOUND, capacity=3) == [
        ("over_capacity", "a", 0, 1),
        ("over_capacity", "b", 0, 1),
        ("over_capacity", "c", 2, 1),
        ("over_capacity", "d", 4, 1),
    ]
    # an end and a start at one instant do not overlap
    assert found(changed("d", start_time=3, end_time=4), capacity=6) == []


def test_a_snapshot_may_be_over_full_but_nothing_may_start_into_it() -> None:
    # a and b hold 4 of 3 in the snapshot at 1. c fits at 2, when b is gone; d never does.
    without_d = changed("d", size=1)
    assert found(without_d, without_d, capacity=3, snapshot_time=1) == [
        ("over_capacity", "c", 2, 1)
    ]
    beside = changed("c", without_d, size=1)
    assert found(beside, beside, capacity=3, snapshot_time=1) == []
    into = changed("c", beside, start_time=1, end_time=1)
    assert found(into, into, capacity=3, snapshot_time=1) == [("over_capacity", "c", 1, 2)]


@pytest.mark.parametrize(
    ("attempts", "error"),
    [
        (changed("a", arrival_time=None), "arrival_time is unknown for 1 attempts"),
        (changed("a", size=None), "size is unknown"),
        (changed("a", size=-1), "negative"),
        (pl.concat([SOUND, SOUND]), "listed twice"),
    ],
)
def test_what_cannot_be_checked_is_an_error(attempts: pl.DataFrame, error: str) -> None:
    with pytest.raises(SimulationError, match=error):
        check_schedule(SOUND, attempts, CAPACITY)


def test_the_error_tells_which_attempt_where_and_by_how_much() -> None:
    findings = check_schedule(changed("d", start_time=3, end_time=4), SOUND, CAPACITY)
    with pytest.raises(SimulationError, match=r"over_capacity: job d, attempt 1, at 3, by 2"):
        require_sound(findings)
    with pytest.raises(SimulationError, match="and 1 more"):
        require_sound(pl.concat([findings] * 6))


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3), st.integers(0, 4)), max_size=7),
)
def test_over_capacity_says_what_counting_second_by_second_says(
    capacity: int, rows: list[tuple[int, int, int]]
) -> None:
    frame = schedule_of(
        size=[size for _, size, _ in rows],
        start_time=[start for start, *_ in rows],
        end_time=[start + occupancy for start, _, occupancy in rows],
    )
    overfull = []
    for k, (t, own, occupancy) in enumerate(rows):
        if occupancy:
            held = sum(s for start, s, o in rows if start <= t < start + o)
        else:
            held = own + sum(s for start, s, o in rows if start < t < start + o)
        if own and held > capacity:
            overfull.append((t, k, held - capacity))
    findings = check_schedule(frame, frame, capacity)
    assert findings.select("at", "job_id", "amount").rows() == [
        (t, str(k), excess) for t, k, excess in sorted(overfull)
    ]
    assert findings.select(KEYS).height == len(overfull)


def test_capacity_in_steps() -> None:
    has = in_steps([4], (2, [-1]), (2, [3]), (5, [-6]))
    assert has.at(np.array([0, 1, 2, 4, 5, 9])).tolist() == [[4], [4], [6], [6], [0], [0]]
    assert (has.largest.tolist(), has.levels[-1].tolist()) == ([6], [0])
    constant = in_steps([4])
    assert constant.at(np.array([0, 9])).tolist() == [[4], [4]]
    assert (constant.largest.tolist(), constant.levels[-1].tolist()) == ([4], [4])


@pytest.mark.parametrize(
    ("capacity", "faulty"),
    [
        # one of 4 is lost at 1, while a and b hold 4: c (2 at 2) finds 2 held of 3
        (in_steps([4], (1, [-1]), (4, [1])), "c"),
        # it comes back a second too late for d
        (in_steps([4], (3, [-1]), (5, [1])), "d"),
        # steps come before starts at the same instant
        (in_steps([3], (0, [1])), None),
        (in_steps([4], (5, [-4])), None),
        (in_steps([4], (4, [-1]), (6, [1])), "d"),
    ],
)
def test_only_starts_into_a_loss_are_faults(capacity: Capacity, faulty: str | None) -> None:
    at = {"c": 2, "d": 4}
    expected = [] if faulty is None else [("over_capacity", faulty, at[faulty], 1)]
    assert found(SOUND, capacity=capacity) == expected


def test_only_what_is_requested_can_be_too_little() -> None:
    # memory is over-full from 1 on; only d asks for it.
    memory = SOUND.with_columns(pl.Series("memory", [8, 0, 0, 3]))
    has = in_steps([4, 8], (1, [0, -6]), resources=("size", "memory"))
    assert found(memory, memory, has) == [("over_capacity", "d", 4, 1)]
    roomy = in_steps([4, 8], (1, [0, -5]), resources=("size", "memory"))
    assert found(memory, memory, roomy) == []


def test_the_first_resource_that_is_too_little_says_by_how_much() -> None:
    both = SOUND.with_columns(pl.Series("memory", [0, 0, 0, 7]))
    has = in_steps([3, 1], resources=("memory", "size"))
    assert found(both, both, has)[-1] == ("over_capacity", "d", 4, 4)


def test_what_is_blocked_takes_from_the_capacity_and_is_no_attempt() -> None:
    # b is blocked: it may start into what is full, come early, and run on; others may not then.
    assert found(SOUND, with_blocked("b")) == []
    assert found(changed("b", start_time=-3, end_time=3), with_blocked("b")) == [
        ("over_capacity", "c", 2, 2)
    ]
    assert found(changed("b", start_time=None, end_time=None), with_blocked("b")) == []
    assert found(changed("b", end_time=None), with_blocked("b")) == [
        ("over_capacity", "c", 2, 2),
        ("over_capacity", "d", 4, 2),
    ]
    # It takes as steps do, before all passes: c (2 at 2, no occupancy) cannot go first.
    assert found(changed("b", start_time=2, end_time=4)) == []
    assert found(changed("b", start_time=2, end_time=4), with_blocked("b")) == [
        ("over_capacity", "c", 2, 2)
    ]
    assert found(changed("b", start_time=4, end_time=5), with_blocked("b")) == [
        ("over_capacity", "d", 4, 2)
    ]


def test_what_there_never_is_enough_for_need_not_start() -> None:
    without_d = changed("d", start_time=None, end_time=None)
    assert found(without_d, capacity=in_steps([4], (1, [2]))) == [("lost", "d", 2, 1)]
    large = changed("d", size=6)
    assert found(without_d, large, in_steps([4], (9, [1]))) == []
    assert found(without_d, large, in_steps([4], (9, [2]))) == [("lost", "d", 2, 1)]


def test_one_that_waits_for_ever_may_hold_up_others_but_not_lose_them() -> None:
    # From 3 on there are but 3: d waits for ever, and c, wherever it is in the queue, may too.
    has = in_steps([4], (3, [-1]))
    without_d = changed("d", start_time=None, end_time=None)
    assert found(without_d, capacity=has) == []
    without_c_and_d = changed("c", without_d, start_time=None, end_time=None)
    assert found(without_c_and_d, capacity=has) == []
    assert found(without_c_and_d.filter(pl.col("job_id") != "c"), capacity=has) == [
        ("lost", "c", 1, 0)
    ]
    assert found(changed("c", start_time=None, end_time=None), capacity=CAPACITY) == [
        ("lost", "c", 1, 1)
    ]
    # a runs for ever: there is never enough for d again, but for c there is.
    for_ever = changed("a", without_d, end_time=None)
    assert found(for_ever, SOUND.drop("occupancy_s")) == []


def test_asking_for_nothing_is_never_hindered() -> None:
    # a holds 5 of 4 for ever; c asks for nothing.
    held = changed("a", size=5, end_time=None)
    idle = changed("a", changed("c", start_time=None, end_time=None), end_time=None)
    asked = changed("c", held, size=0).with_columns(blocked=pl.col("job_id") == "a")
    assert ("lost", "c", 1, 1) in found(idle, asked)


@pytest.mark.parametrize(
    ("capacity", "snapshot_time", "excused"),
    [
        (in_steps([5], (4, [-1])), None, True),
        (in_steps([5], (2, [-1])), None, False),  # when d was promised 3, that was known
        (in_steps([5], (5, [-1])), None, False),
        (in_steps([4], (3, [1])), None, False),
        (in_steps([5], (3, [-1]), planned=True), None, False),
        (in_steps([5], (3, [-1])), 3, False),  # planned afresh in the snapshot
        (in_steps([5], (3, [-1])), 2, True),
    ],
)
def test_a_promise_binds_as_long_as_the_pool_keeps_what_it_had(
    capacity: Capacity, snapshot_time: int | None, excused: bool
) -> None:
    planned = SOUND.with_columns(pl.Series(PLANNED, [None, None, None, 3], dtype=pl.Int64))
    broken = [] if excused else [("later_than_planned", "d", 4, 1)]
    assert found(planned, capacity=capacity, snapshot_time=snapshot_time) == broken


def test_what_is_blocked_excuses_a_late_start_too() -> None:
    planned = SOUND.with_columns(pl.Series(PLANNED, [None, None, None, 3], dtype=pl.Int64))
    blocked = with_blocked("b")
    assert found(changed("b", planned, start_time=3, end_time=4), blocked) == []
    assert found(planned, blocked) == [("later_than_planned", "d", 4, 1)]


Row = tuple[int, int, tuple[int, int], bool]  # start, occupancy, requests, blocked
Levels = list[tuple[int, tuple[int, int]]]


def possible(rows: Sequence[Row], steps: Levels) -> bool:
    """Whether at each instant there is an order in which all that start then can."""

    def fits(asked: tuple[int, int], t: int, running: Sequence[Row]) -> bool:
        for x in (0, 1):
            left = 4 + sum(change[x] for since, change in steps if since <= t)
            left -= sum(row[2][x] for row in running)
            if 0 < asked[x] > left:
                return False
        return True

    def goes(order: Sequence[Row], t: int, running: list[Row]) -> bool:
        for row in order:
            if not fits(row[2], t, running):
                return False
            if row[1]:
                running = [*running, row]
        return True

    for t in {row[0] for row in rows}:
        before = [
            (start, occupancy, asked, blocked)
            for start, occupancy, asked, blocked in rows
            if t < start + occupancy and (start < t or (blocked and start == t))
        ]
        now = [row for row in rows if row[0] == t and not row[3]]
        if not any(goes(order, t, before) for order in permutations(now)):
            return False
    return True


_requests = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(0, 3),
            _requests,
            st.sampled_from([False, False, False, True]),
        ),
        max_size=6,
    ),
    st.lists(
        st.tuples(st.integers(0, 5), st.tuples(st.integers(-3, 3), st.integers(-3, 3))), max_size=3
    ),
)
def test_a_start_is_faultless_where_some_order_of_the_instant_lets_all_start(
    rows: list[Row], steps: Levels
) -> None:
    steps.sort(key=lambda step: step[0])
    frame = schedule_of(
        start_time=[start for start, *_ in rows],
        end_time=[start + occupancy for start, occupancy, *_ in rows],
        nodes=[asked[0] for _, _, asked, _ in rows],
        memory=[asked[1] for _, _, asked, _ in rows],
        blocked=[blocked for *_, blocked in rows],
    )
    capacity = in_steps([4, 4], *steps, resources=("nodes", "memory"))
    faults = check_schedule(frame, frame, capacity)
    assert faults.is_empty() == possible(rows, steps)
    assert not set(faults["job_id"]) & set(frame.filter("blocked")["job_id"])


@given(logs(limited=True), policies(), st.none() | st.integers(-1, 14), st.data())
def test_every_replay_passes_and_hardly_one_with_a_start_moved_does(
    log: Log, policy: Policy, since: int | None, data: st.DataObject
) -> None:
    work = arrays(log)
    from_time = None if since is None else EPOCH + since
    made = replay(work, policy, from_time=from_time)
    faults = check_replay(work, made.start, made.planned, from_time)
    assert faults.is_empty(), faults
    begun = [k for k in np.flatnonzero(made.start != NEVER) if not work.blocked[k]]
    begun = [k for k in begun if from_time is None or made.start[k] >= from_time]
    if not begun:
        return
    moved = made.start.copy()
    k = data.draw(st.sampled_from(begun))
    moved[k] = work.arrival[k] - 1
    early = check_replay(work, moved, made.planned, from_time)
    assert ("starts_before_arrival", str(k)) in early.select("check", "job_id").rows()
    if made.planned[k] != NEVER and not len(work.step_time) and not work.blocked.any():
        moved[k] = max(made.planned[k], made.start[k]) + 1
        late = check_replay(work, moved, made.planned, from_time)
        assert ("later_than_planned", str(k)) in late.select("check", "job_id").rows()
    alone = work.capacity.min() > 0 and not len(work.step_time) and not work.blocked.any()
    if alone and from_time is None:
        moved = made.start.copy()
        moved[k] = NEVER
        lost = check_replay(work, moved, made.planned)
        assert ("lost", str(k)) in lost.select("check", "job_id").rows()


@given(workloads(), policies(slurm=False), st.integers(1, 4), st.booleans())
def test_every_simulated_schedule_passes(
    attempts: pl.DataFrame, policy: Policy, capacity: int, smaller: bool
) -> None:
    step = PoolStep(EPOCH + 20, (("cpus", max(capacity - 1, 1)),))
    pool = Pool("all", Resource.cpus, capacity, (step,) * smaller, (("cpus", capacity),))
    described = describe(attempts, [pool])
    now = EPOCH + 200
    schedule = simulate(described, pool, now, policy)
    assert check_simulated(schedule, described, pool, now).is_empty()
    stranger = schedule.head(1).with_columns(job_id=pl.lit("nobody's"))
    faults = check_simulated(pl.concat([schedule, stranger]), described, pool, now)
    assert (faults["check"] == "stranger").sum() == stranger.height


def test_a_simulated_schedule_that_was_changed_is_found_out() -> None:
    rows = [
        {"job_number": k, "submit_time": EPOCH, "start_time": EPOCH, "end_time": EPOCH + 5}
        for k in (1, 2, 3)
    ]
    shared = {"cluster": "x", "attempt": 1, "cpus": 2, "state": "COMPLETED"}
    attempts = frame([{**shared, **row, "job_id": str(row["job_number"])} for row in rows])
    pool = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))
    described = describe(attempts, [pool])
    schedule = simulate(described, pool, EPOCH + 5, Policy(backfill=Backfill.conservative))
    assert schedule["start_time"].to_list() == [EPOCH, EPOCH, EPOCH + 5]
    third = pl.col("job_id") == "3"

    def faults(changed: pl.DataFrame) -> list[str]:
        found = check_simulated(changed, described, pool, EPOCH + 5)
        assert set(found["job_id"]) <= {"1", "2", "3"}
        return found["check"].to_list()

    def shifted(seconds: int, *names: str) -> pl.DataFrame:
        return schedule.with_columns(
            pl.when(third).then(pl.col(name) + seconds).otherwise(name).alias(name)
            for name in names
        )

    assert faults(schedule) == []
    assert faults(shifted(1, "start_time", "end_time")) == ["later_than_planned"]
    assert faults(shifted(-1, "start_time", "end_time")) == ["over_capacity"]
    assert faults(shifted(1, "end_time")) == ["occupancy_changed"]
    assert faults(schedule.filter(~third)) == ["lost"]
    assert faults(pl.concat([schedule, shifted(5, "start_time", "end_time").filter(third)])) == [
        "twice",
        "later_than_planned",
    ]


# --- limits and windows, against their definition ------------------------------------------------


def excesses(log: Log) -> list[int]:
    """Of each attempt, all of which ran, by how much its start goes beyond a limit."""
    work = arrays(log)
    rows = np.arange(len(log.jobs))
    return list(beyond(work.limits, rows, work.start, work.end, work.blocked))


def _exact(log: Log, j: Job) -> int:
    """From the definition; a closed window is 1, and limits on remaining times do not count."""
    if j.blocked:
        return 0
    assert j.start is not None
    most = 0
    for name, amount, binds in j.counts:
        used = amount
        for k in log.jobs:
            assert k.start is not None
            assert k.end is not None
            for other, more, binds_too in k.counts:
                begins = k.start == j.start < k.end and binds_too and j.start != j.end
                before = k.start <= j.start if k.blocked else k.start < j.start
                runs = before and j.start < k.end
                if k is not j and other == name and (runs or (begins and not k.blocked)):
                    used += more
        if binds and name not in log.remaining:
            most = max(most, used - dict(log.most)[name])
    return max([most, *(int(log.windows[w].closed(j.start)) for w in j.windows)])


@given(logs(limited=True), st.data())
def test_limits_as_defined(log: Log, data: st.DataObject) -> None:
    jobs = []
    for job in log.jobs:
        start = EPOCH + data.draw(st.integers(0, 12))
        end = start + data.draw(st.integers(0, 4))
        jobs.append(job._replace(start=start, end=end, blocked=data.draw(st.booleans())))
    log = log._replace(jobs=tuple(jobs))
    made = excesses(log)
    for job, excess in zip(log.jobs, made, strict=True):
        exact = _exact(log, job)
        shut = not job.blocked and any(log.windows[w].closed(job.start or 0) for w in job.windows)
        assert excess >= max(exact, 1) if shut else excess == exact


def test_starts_beyond_limits_by_hand() -> None:
    # Ann may hold 2. At 4 what is blocked comes and goes first: x comes, y goes; a, which ends
    # then, is gone. So b and c, of 1 each, are 1 too many together, and d, of no time, is none.
    def job(start: int, end: int, amount: int = 1, blocked: bool = False) -> Job:
        return Job(
            *(EPOCH, end - start, end - start, (1,), EPOCH + start, EPOCH + end),
            counts=(("ann", amount, True),),
            blocked=blocked,
        )

    a, x, y = job(0, 4, 2), job(4, 9, blocked=True), job(0, 4, blocked=True)
    b, c, d = job(4, 6), job(4, 6), job(4, 4)
    log = Log((a, x, y, b, c, d), (9,), most=(("ann", 2),))
    assert excesses(log) == [1, 0, 0, 1, 1, 0]
    assert excesses(log._replace(jobs=(a, y, b, c, d))) == [1, 0, 0, 0, 0]


def test_windows_are_closed_for_ever_and_no_longer() -> None:
    # Closed in the second unit of each three, long after the last edge that is known.
    window = Window(frozenset({1}), 1, 3, EPOCH)
    jobs = tuple(Job(EPOCH, 1, 1, (1,), EPOCH + t, EPOCH + t + 1, windows=(0,)) for t in range(40))
    made = excesses(Log(jobs, (40,), windows=(window,)))
    assert [excess > 0 for excess in made] == [t % 3 == 1 for t in range(40)]
