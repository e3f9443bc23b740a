"""Later nights compute only what changed, with the same results as from scratch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import BY_OWNER, Backfill, Order, Policy, Pool, Resource
from audit.model import CapacityStep as Declared
from audit.scenario import fair_start
from audit.scenario.driver import Effort
from audit.scenario.engine import replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.workload import NEVER, Workload
from audit.workers.executors import Threads
from tests.examples import examples
from tests.naive.simulation import Log
from tests.scenario.test_engine import known
from tests.scenario.test_fair_start import table
from tests.strategies import EPOCH, POOLS, Rows, arrays, ended, logs, policies, rows

Computed = Callable[..., tuple[np.ndarray, ...]]


@given(logs(limited=True), policies(intervals=True), st.data())
def test_subjects_and_threads_change_no_figure(
    log: Log, policy: Policy, data: st.DataObject
) -> None:
    work = arrays(log)
    whole = fair_starts(work, policy)
    for threads in (2, 3, 7):
        again = fair_starts(work, policy, effort=Effort(Threads(threads)))
        assert all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))
    chosen = data.draw(st.sets(st.integers(0, max(len(log.jobs) - 1, 0))))
    subjects = np.array(sorted(k for k in chosen if k < len(log.jobs)), np.int64)
    for every, some in zip(whole[:2], fair_starts(work, policy, subjects)[:2], strict=True):
        inside = np.isin(np.arange(len(log.jobs)), subjects)
        assert np.array_equal(some, np.where(inside, every, NEVER))


@pytest.mark.parametrize("computed", [replay, fair_starts])
def test_the_origin_of_time_does_not_matter(computed: Computed) -> None:
    of_logs = logs(blocked=False) if computed is replay else logs()

    @given(of_logs, policies(), st.sampled_from([-EPOCH, -1, 1, 10**9]))
    def check(log: Log, policy: Policy, by: int) -> None:
        times = known(computed(arrays(log), policy)[0])
        moved = [None if time is None else time + by for time in times]
        assert known(computed(arrays(shifted(log, by)), policy)[0]) == moved

    check()


def shifted(log: Log, by: int) -> Log:
    return log._replace(
        jobs=tuple(
            job._replace(
                arrival=job.arrival + by,
                start=None if job.start is None else job.start + by,
                end=None if job.end is None else job.end + by,
            )
            for job in log.jobs
        ),
        steps=tuple(step._replace(time=step.time + by) for step in log.steps),
    )


@settings(max_examples=examples(20))
@given(rows(), st.sampled_from(POOLS), policies(slurm=False), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_names_matter(
    records: Rows, pool: Pool, policy: Policy, chance: Any
) -> None:
    shuffled = [{**record, "user": record["user"] and record["user"][::-1]} for record in records]
    chance.shuffle(shuffled)
    columns = ["fst_strict", "fst_relaxed", "fst_status"]
    made, again = (
        table(each, pool, policy).sort("job_number").select(columns) for each in (records, shuffled)
    )
    assert made.equals(again)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many fair start times each table needed."""
    numbers: list[int] = []
    real = fair_start.fair_starts

    def counting(
        work: Workload, policy: Policy, subjects: Any = None, *rest: Any, **more: Any
    ) -> Any:
        numbers.append(len(work.arrival) if subjects is None else len(subjects))
        return real(work, policy, subjects, *rest, **more)

    monkeypatch.setattr(fair_start, "fair_starts", counting)
    return numbers


STEPS = (
    (),
    (Declared(EPOCH + 9, (("cpus", 1),)),),
    (Declared(EPOCH + 15, (("cpus", 1),), planned=True),),
    (Declared(EPOCH + 15, (("cpus", 6),), planned=True),),
    (Declared(EPOCH + 40, (("cpus", 6),)),),
)
"""Capacity steps learned since the last night; the last one lets larger attempts queue."""


@pytest.mark.thorough
@settings(max_examples=examples(40))
@given(
    rows(),
    rows(4),
    st.sampled_from(STEPS),
    st.sampled_from(STEPS),
    policies(slurm=False),
    st.data(),
)
def test_from_night_to_night_as_from_scratch(
    before: Rows,
    news: Rows,
    known_steps: tuple[Declared, ...],
    steps: tuple[Declared, ...],
    policy: Policy,
    data: st.DataObject,
) -> None:
    """Some attempts are corrected, some are new, and some that were open have ended."""
    fair_orders = (
        [Order.fcfs, policy.order] if policy.order in BY_OWNER else [Order.fcfs, *BY_OWNER]
    )
    fair_order = data.draw(st.sampled_from(fair_orders))
    pool = data.draw(st.sampled_from(POOLS[:2]))._replace(fair_order=fair_order)
    tonight = table(before, pool._replace(steps=known_steps), policy)
    after = list(before)
    for k in range(len(after)):
        change = data.draw(st.integers(0, 5))
        if change == 0:
            after[k] = {**data.draw(rows(1).filter(bool))[0], **renamed(after[k])}
        if change == 1:
            after[k] = {**after[k], "user": data.draw(st.sampled_from(["ann", "bob"]))}
    after += [{**new, **renamed({"job_number": 100 + k})} for k, new in enumerate(news)]
    changed = pool._replace(steps=steps)
    again = table(after, changed, policy, known=tonight)
    assert again.equals(table(after, changed, policy))


def renamed(record: dict[str, Any]) -> dict[str, Any]:
    """The fields that identify a record."""
    return {"job_number": record["job_number"], "job_id": str(record["job_number"])}


def test_only_what_changed_is_computed_again(computed: list[int]) -> None:
    # One after the other, each takes all there is; the fourth comes when all others have gone.
    pool = Pool("main", Resource.cpus, 1)
    records = [
        ended(EPOCH, EPOCH, EPOCH + 5, 1),
        ended(EPOCH + 1, EPOCH + 5, EPOCH + 9, 1),
        ended(EPOCH + 2, EPOCH + 9, EPOCH + 12, 1),
        ended(EPOCH + 20, EPOCH + 20, EPOCH + 25, 1),
        {"submit_time": EPOCH + 22, "start_time": EPOCH + 25, "cpus": 1, "walltime_s": 50},
    ]
    first = table(records, pool, Policy())
    assert computed.pop() == 4  # the running one is no subject
    assert table(records, pool, Policy(), known=first).equals(first)
    assert computed.pop() == 0
    corrected = [*records]
    corrected[1] = {**records[1], "end_time": EPOCH + 8}
    table(corrected, pool, Policy(), known=first)
    assert computed.pop() == 2  # itself, and the third, for which it waited
    table([*records, ended(EPOCH + 21, EPOCH + 26, EPOCH + 27, 1)], pool, Policy(), known=first)
    assert computed.pop() == 1
    table(records, pool, Policy(Order.sjf), known=first)
    assert computed.pop() == 4
    table(records, pool._replace(capacity=2), Policy(), known=first)
    assert computed.pop() == 4
    late = (Declared(EPOCH + 24, (("cpus", 2),)),)
    table(records, pool._replace(steps=late), Policy(), known=first)
    assert computed.pop() <= 4


def test_what_was_over_capacity_keeps_that_status() -> None:
    # a and b run together on what is enough for one of them when c comes
    records = [
        ended(EPOCH, EPOCH, EPOCH + 10, 1),
        ended(EPOCH + 1, EPOCH + 1, EPOCH + 10, 1),
        ended(EPOCH + 5, EPOCH + 10, EPOCH + 12, 1),
    ]
    pool = Pool("main", Resource.cpus, 1)
    first = table(records, pool, Policy())
    assert "over_capacity" in first["fst_status"].to_list()
    assert table(records, pool, Policy(), known=first).equals(first)


def test_what_one_learns_of_the_pool_changes_what_was_known() -> None:
    pool = Pool("main", Resource.cpus, 4)
    # a is too large for it, so it is not queued, unless the pool is to grow
    a, j = ended(EPOCH, EPOCH + 1, EPOCH + 2, 5), ended(EPOCH, EPOCH + 1, EPOCH + 9, 1)
    policy = Policy(Order.fcfs, Backfill.none)
    tonight = table([a, j], pool, policy)
    assert tonight["fst_strict"].to_list() == [None, EPOCH]
    grows = pool._replace(steps=(Declared(EPOCH + 30, (("cpus", 5),)),))
    assert table([a, j], grows, policy, known=tonight)["fst_strict"].to_list() == [
        EPOCH + 30,
        EPOCH + 31,
    ]
    # and what is known to come is planned around: k cannot have all of the pool until 8
    k = ended(EPOCH, EPOCH, EPOCH + 8, 4)
    policy = Policy(Order.fcfs, Backfill.conservative)
    tonight = table([k], pool, policy)
    assert tonight["fst_strict"].to_list() == [EPOCH]
    shrinks = pool._replace(steps=(Declared(EPOCH + 5, (("cpus", 3),), planned=True),))
    assert table([k], shrinks, policy, known=tonight)["fst_strict"].to_list() == [None]


def test_provisional_ones_are_computed_again_when_what_they_knew_has_ended(
    computed: list[int],
) -> None:
    pool = Pool("main", Resource.cpus, 1)
    running = {"submit_time": EPOCH, "start_time": EPOCH, "cpus": 1, "walltime_s": 100}
    records = [running, ended(EPOCH + 1, EPOCH + 30, EPOCH + 31, 1)]
    tonight = table(records, pool, Policy())
    assert tonight["fst_status"].to_list() == [None, "provisional"]
    assert tonight["fst_strict"].to_list() == [None, EPOCH + 100]
    gone = [{**running, "end_time": EPOCH + 30}, records[1]]
    tomorrow = table(gone, pool, Policy(), known=tonight)
    assert tomorrow["fst_status"].to_list() == ["final", "final"]
    assert tomorrow["fst_strict"].to_list() == [EPOCH, EPOCH + 30]
    assert tomorrow["miss_strict_s"].to_list() == [0, 0]
    assert computed == [1, 2]
