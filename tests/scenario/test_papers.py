"""The statements of figs. 1–5 of [S] and its §3.1, on schedules small enough to draw.

Drawings: one row per unit of the resource, one column per second, from 0; '.' is free. R runs when
the others come, Q are queued, numbered as they came. Policies are EASY with first come, first
served, if not stated otherwise.
"""

from typing import NamedTuple

import polars as pl
import pytest

from audit.metrics.attempts.population import describe
from audit.model import Backfill, Order, Policy, Pool, Resource
from audit.scenario.engine import simulate
from audit.scenario.fair_start import fair_start_times
from audit.scenario.scenario import Scenario
from tests.strategies import frame

NOW = 1_000


class Asked(NamedTuple):
    name: str
    arrival: int
    size: int
    takes: int
    expected: int | None = None  # as long as it takes, where nothing is said


def log(*attempts: Asked) -> pl.DataFrame:
    """These attempts, not yet scheduled: their starts are unknown."""
    records = [
        {
            "job_id": one.name,
            "submit_time": one.arrival,
            "occupancy_s": one.takes,
            "walltime_s": one.expected or one.takes,
            "cpus": one.size,
            "user": one.name,
        }
        for one in attempts
    ]
    return frame(records)


def audited(
    attempts: pl.DataFrame, capacity: int, policy: Policy, starts: dict[str, int] | None = None
) -> dict[str, dict[str, int]]:
    """Start and fair start times of each, on the policy's schedule or the one that is given."""
    pool = Pool("main", Resource.cpus, capacity)
    if starts is None:
        schedule = simulate(describe(attempts, [pool]), pool, NOW, policy)
    else:
        begun = attempts.with_columns(
            start_time=pl.col("job_id").replace_strict(starts, return_dtype=pl.Int64)
        )
        ran = begun.with_columns(end_time=pl.col("start_time") + pl.col("occupancy_s"))
        schedule = describe(ran, [pool])
    made = fair_start_times(Scenario(schedule, pool._replace(policy=policy), NOW))
    return {row["job_id"]: row for row in made.iter_rows(named=True)}


def column(audit: dict[str, dict[str, int]], name: str) -> dict[str, int]:
    return {job: row[name] for job, row in audit.items()}


EASY = Policy(Order.fcfs, Backfill.easy)


def test_fig_1_a_benign_backfill() -> None:
    # 4   R B B A A     X = 1 of 4 is left for 4 s. B needs that much, for 2 s: it passes A, which
    # 3   R R R R A     needs all of it, and A starts when it would have started anyway.
    # 2   ...
    #     0 1   4
    audit = audited(log(Asked("R", 0, 3, 4), Asked("A", 1, 4, 2), Asked("B", 1, 1, 2)), 4, EASY)
    assert column(audit, "start_time") == {"R": 0, "A": 4, "B": 1}
    assert column(audit, "fst_strict") == {"R": 0, "A": 4, "B": 1}
    assert column(audit, "miss_strict_s") == {"R": 0, "A": 0, "B": 0}


# Figs. 2 to 5 are one story. R1 (2 wide) and R2 (1 wide) are expected until 6 and end at 2.
#
#     with Q5                          without it
#     4   . 5 5 5 5 5 1 1 1            4   . . 1 1 1 . .       Q1 needs all 4, and waits for R1
#     3   r r . . . . 1 1 1            3   r r 1 1 1 3 3       and R2; by what is expected, until
#     2   R R 2 2 3 3 1 1 1            2   R R 1 1 1 2 2       6. Q5 (1 wide, 5 long) may thus
#     1   R R 2 2 3 3 1 1 1            1   R R 1 1 1 2 2       start at 1.
#         0 1 2 3 4 5 6 7 8                0 1 2 3 4 5 6       (Q2 and Q3 are 2 wide, 2 long)
STORY = log(
    Asked("R1", 0, 2, 2, 6),
    Asked("R2", 0, 1, 2, 6),
    Asked("Q1", 0, 4, 3),
    Asked("Q2", 0, 2, 2),
    Asked("Q3", 0, 2, 2),
    Asked("Q5", 1, 1, 5),
)


def test_fig_2_a_later_arrival_frees_capacity_for_an_earlier_one() -> None:
    # Q5 keeps Q1 from starting at 2, and there is room for Q2, then for Q3, before their time.
    audit = audited(STORY, 4, EASY)
    assert audit["Q2"]["start_time"] == 2 < audit["Q2"]["fst_strict"] == 5
    assert audit["Q3"]["start_time"] == 4 < audit["Q3"]["fst_strict"] == 5
    # preferred, which is no miss
    assert audit["Q2"]["miss_strict_s"] == audit["Q3"]["miss_strict_s"] == 0


def test_fig_3_inaccurate_estimates_let_a_later_arrival_delay_an_earlier_one() -> None:
    audit = audited(STORY, 4, EASY)
    assert audit["Q5"]["start_time"] == 1
    assert (audit["Q1"]["start_time"], audit["Q1"]["fst_strict"]) == (6, 2)
    assert audit["Q1"]["miss_strict_s"] == 4
    # with right estimates Q5 would have had to wait, and no job is late
    exact = STORY.with_columns(walltime_s="occupancy_s")
    assert set(column(audited(exact, 4, EASY), "miss_strict_s").values()) == {0}


def test_fig_4_all_strict_fair_starts_may_be_more_than_can_be_had() -> None:
    # 5     5 5 5 5 5       From 2 to 5 Q1 (all 4) and Q5, each at its fair start time.
    # 4   . . 1 1 1 . .
    fair = column(audited(STORY, 4, EASY), "fst_strict")
    assert fair == {"R1": 0, "R2": 0, "Q1": 2, "Q2": 5, "Q3": 5, "Q5": 1}
    assert most_at_once(STORY, fair) == 5


def test_fig_5_relaxed_fair_starts_can_all_be_had() -> None:
    # 4   . . 1 1 1 3 3 . .       Q5 joins when Q2 and Q3 have started, at 5; there is room for it
    # 3   r r 1 1 1 3 3 . .       when they have ended.
    # 2   R R 1 1 1 2 2 . .
    # 1   R R 1 1 1 2 2 5 5 ...
    audit = audited(STORY, 4, EASY)
    fair = column(audit, "fst_relaxed")
    assert fair == {"R1": 0, "R2": 0, "Q1": 2, "Q2": 5, "Q3": 5, "Q5": 7}
    assert most_at_once(STORY, fair) == 4
    assert all(late >= audit[job]["fst_strict"] for job, late in fair.items())


def most_at_once(attempts: pl.DataFrame, starts: dict[str, int]) -> int:
    runs: list[tuple[int, int, int]] = [
        (starts[name], starts[name] + takes, size)
        for name, takes, size in attempts.select("job_id", "occupancy_s", "cpus").rows()
    ]
    used = [sum(size for begin, end, size in runs if begin <= t < end) for t, _, _ in runs]
    return max(used)


def test_section_3_1_2_to_lose_a_place_ahead_of_the_queue_is_a_miss_by_strict_alone() -> None:
    # what might have been            what was
    # 3   . b b A                     3   . x x A b b       b could have passed A, at 1. x, which
    # 2   R R R A                     2   R R R A . .       came later, did so instead; b comes
    # 1   R R R A                     1   R R R A . .       after A, as it came after A.
    #     0 1   3                         0 1   3 4
    attempts = log(
        Asked("R", 0, 2, 3), Asked("A", 1, 3, 1), Asked("b", 1, 1, 2), Asked("x", 1, 1, 2)
    )
    audit = audited(attempts, 3, EASY, {"R": 0, "A": 3, "b": 4, "x": 1})
    assert column(audit, "miss_strict_s") == {"R": 0, "A": 0, "b": 3, "x": 0}
    assert column(audit, "miss_relaxed_s") == {"R": 0, "A": 0, "b": 0, "x": 0}


def test_section_3_1_2_fairness_is_not_performance() -> None:
    # all that fits starts              no job passes
    # 5   . . y y y y X X . . . . h h   5   . . . . . . . . . . . . h h X X
    # 4   . . y y y y X X . . . . h h   4   . . . . . . . . . . . . h h X X
    # 3   R R R R . . X X . . . . h h   3   R R R R . . . . . . . . h h X X   y comes last, at 2:
    # 2   R R R R . . X X . . . . h h   2   R R R R . . . . . . . . h h X X   it is served last
    # 1   K K K K K K K K K K K K h h   1   K K K K K K K K K K K K h h . .   on the right
    #     0   2   4   6           12        0                       12  14
    attempts = log(
        Asked("R", 0, 2, 4),
        Asked("K", 0, 1, 12),
        Asked("h", 1, 5, 2),
        Asked("X", 1, 4, 2),
        Asked("y", 2, 2, 4),
    )
    sooner = audited(attempts, 5, Policy(Order.fcfs, Backfill.no_guarantee))["X"]
    fairer = audited(attempts, 5, Policy(Order.fcfs, Backfill.none))["X"]
    assert (sooner["start_time"], sooner["fst_strict"], sooner["miss_strict_s"]) == (6, 4, 2)
    assert (fairer["start_time"], fairer["fst_strict"], fairer["miss_strict_s"]) == (14, 14, 0)


def test_section_3_1_2_one_reference_for_all_policies_would_not_see_the_later_served_first() -> (
    None
):
    # 3   B B A A         A and B are alike, and A came first. Served in the wrong order, A is late
    # 2   R R R R C C     by all that it would have had; beside a schedule without backfilling, in
    # 1   R R R R C C     which A would start at 6, it is not late at all.
    #     0   2   4
    attempts = log(
        Asked("R", 0, 2, 4), Asked("C", 0, 3, 2), Asked("A", 0, 1, 2), Asked("B", 0, 1, 2)
    )
    right = audited(attempts, 3, EASY)
    assert column(right, "start_time") == {"R": 0, "C": 4, "A": 0, "B": 2}
    assert set(column(right, "miss_strict_s").values()) == {0}
    swapped = audited(attempts, 3, EASY, {"R": 0, "C": 4, "A": 2, "B": 0})
    assert column(swapped, "miss_strict_s") == {"R": 0, "C": 0, "A": 2, "B": 0}
    reference = audited(attempts, 3, Policy(Order.fcfs, Backfill.none))
    assert reference["A"]["start_time"] == 6 > swapped["A"]["start_time"]


def test_section_3_1_3_those_preferred_do_not_make_up_for_those_missed() -> None:
    # One of six is late, by 4; two are early.
    misses = column(audited(STORY, 4, EASY), "miss_strict_s")
    assert sum(misses.values()) / len(misses) == pytest.approx(4 / 6)
    # and where all of n are late by x, x it is, not x / n
    attempts = log(*(Asked(f"a{k}", 0, 1, 1) for k in range(3)))
    late = column(audited(attempts, 3, EASY, {f"a{k}": 5 for k in range(3)}), "miss_strict_s")
    assert sum(late.values()) / len(late) == 5


def test_section_3_first_come_first_served_is_fair_to_everyone() -> None:
    audit = audited(STORY, 4, Policy(Order.fcfs, Backfill.none))
    assert set(column(audit, "miss_strict_s").values()) == {0}
    assert set(column(audit, "miss_relaxed_s").values()) == {0}
