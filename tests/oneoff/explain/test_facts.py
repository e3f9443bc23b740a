"""The facts of one wait, against their definition and by hand."""

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Limit, Standing
from audit.oneoff.explain import facts
from audit.oneoff.explain.facts import LEAST, LINES, timeline
from audit.oneoff.explain.story import Crowd, LineCause, TimelineLine, Use
from tests.oneoff.explain.scenes import ORIGIN, POOL, scene, story
from tests.strategies import NOW, workloads


def test_who_was_there_when_it_came() -> None:
    found = scene("4")
    assert facts.running(found) == Crowd(2, 4, 0)
    assert facts.ahead(found) == Crowd(1, 3, 0)
    assert facts.ahead(scene("3")) == Crowd(0, 0, 0)
    assert facts.running(scene("3")).own == 1


def test_who_came_later_and_started_earlier() -> None:
    named, number = facts.passers(scene("4"))
    assert number == 2
    assert [(one.job_id, one.user, one.size) for one in named] == [("5", "4", 2), ("6", "2", 2)]
    assert [one.start - ORIGIN for one in named] == [60, 100]


def test_what_was_in_use_meanwhile() -> None:
    assert [_relative(use) for use in facts.uses(scene("4"))] == [
        (20, 60, 0, 4, 0, 4),
        (60, 100, 0, 2, 2, 4),
        (100, 150, 0, 0, 4, 4),
        (150, 160, 0, 0, 2, 4),
        (160, 180, 0, 3, 0, 4),
    ]


def _relative(use: Use) -> tuple[int, ...]:
    begin, end = use.begin - ORIGIN, use.end - ORIGIN
    return (begin, end, use.own, use.earlier, use.later, use.capacity)


@given(workloads(), st.data())
def test_crowds_and_use_as_defined(attempts: pl.DataFrame, data: st.DataObject) -> None:
    described = describe(attempts, [POOL])
    known = described.with_row_index("row").filter(
        pl.col("arrival_time").is_not_null(),
        pl.col("standing").is_in([Standing.ENDED.value, Standing.PENDING.value]),
    )
    if known.is_empty():
        return
    row = data.draw(st.sampled_from(known["row"].to_list()))
    one = described.row(row, named=True)
    found = facts.scene(described, POOL, NOW, "UTC", row)
    at, until = found.subject.arrival, found.subject.until
    rows = [other for other in described.iter_rows(named=True) if other["start_time"] is not None]
    runs = [
        other
        for other in rows
        if other["start_time"] < at
        and (other["end_time"] or _open_until(other)) > at
        and other["occupancy_s"] != 0
    ]
    order = [described.row(int(k), named=True) for k in found.queue["row"]]
    place = next((k for k, other in enumerate(order) if other == one), len(order))
    waits = [
        other
        for other in order[:place]
        if other["size"] and other["arrival_time"] is not None
        if (other["start_time"] or other["end_time"] or NOW) >= at
    ]
    assert facts.ahead(found).attempts == len(waits)
    assert facts.running(found).attempts == len(runs)
    assert facts.running(found).size == sum(other["size"] or 0 for other in runs)
    uses = facts.uses(found)
    assert (uses == ()) == (until <= at)
    for use in uses:
        there = [
            other
            for other in rows
            if other["start_time"] <= use.begin
            and (other["end_time"] or _open_until(other)) > use.begin
        ]
        assert use.own + use.earlier + use.later == sum(other["size"] or 0 for other in there)
        assert use.own == sum(
            other["size"] or 0
            for other in there
            if one["user"] is not None and other["user"] == one["user"]
        )
    assert sum(use.end - use.begin for use in uses) == max(until - at, 0)
    # what is booked to later arrivals is held by some that are said to have started before it
    causes = facts.booked(described, found, NOW, row, facts.LogEvidence(0)).causes
    assert not causes.get("cause_later_s") or facts.passers(found)[1]


def _open_until(row: dict[str, object]) -> int:
    """When an open attempt is taken to end: start + max(walltime, now − start + 1)."""
    assert row["walltime_s"] is None
    return NOW + 1


# --- the timeline --------------------------------------------------------------------------------


def test_stretches_count_the_jobs_that_it_was_behind() -> None:
    # Until 100 the pool is full of 1, 2 and 5; until 160 5 or 6 runs, then 3.
    lines = story("4").account.timeline
    assert [(line.begin - ORIGIN, line.end - ORIGIN, line.parts) for line in lines] == [
        (20, 100, (LineCause("earlier", None, 80, 2),)),
        (100, 160, (LineCause("later", None, 60, 2),)),
        (160, 180, (LineCause("earlier", None, 20, 1),)),
    ]


def test_a_rule_is_named() -> None:
    # ann's job 3 waits from 10 on, while her job 1 runs until 100.
    lines = story("3", POOL._replace(limits=(Limit(most=1, per="user"),))).account.timeline
    assert lines[0] == TimelineLine(
        ORIGIN + 10, ORIGIN + 100, (LineCause("rule", "limit of 1 running job per user", 90, 0),)
    )


CAUSES = st.sampled_from(["earlier", "later", "own", "claimed", "unexplained"])


@given(st.lists(st.tuples(CAUSES, st.integers(1, 2_000)), min_size=1, max_size=60))
def test_merging_keeps_every_second(drawn: list[tuple[str, int]]) -> None:
    ends = pl.Series([length for _, length in drawn]).cum_sum().to_list()
    traced = pl.DataFrame(
        {
            "begin": [0, *ends[:-1]],
            "end": ends,
            "cause": [cause for cause, _ in drawn],
            "by": pl.Series([None] * len(drawn), dtype=pl.String),
        }
    )
    lines = timeline(traced, scene("4").queue)
    assert len(lines) <= LINES
    assert (lines[0].begin, lines[-1].end) == (0, ends[-1])
    assert all(one.end == other.begin for one, other in pairwise(lines))
    assert all(line.end - line.begin >= LEAST * ends[-1] for line in lines)
    seconds: dict[str, int] = {}
    for line in lines:
        assert sum(part.seconds for part in line.parts) == line.end - line.begin
        for part in line.parts:
            seconds[part.cause] = seconds.get(part.cause, 0) + part.seconds
    assert seconds == {
        cause: sum(length for of, length in drawn if of == cause) for cause, _ in drawn
    }


def test_a_job_that_did_not_wait_has_no_timeline() -> None:
    assert story("1").account.timeline == ()
