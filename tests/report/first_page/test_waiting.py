"""Strip, causes, classes and rules, from small frames made by hand and a slow twin."""

import math
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.registry.reasons import HELD_BY
from audit.report.first_page import waiting
from audit.report.first_page.causes import CAUSES, KEYS
from audit.report.first_page.facts import Where

COLUMNS = dict.fromkeys(
    (
        *("outside", "held", "unavailable", "rule", "nodes", "own"),
        *("claimed", "kept", "earlier", "later", "cycle", "unexplained"),
    ),
    0.0,
)


def job(wait: float = 0, **more: Any) -> dict[str, Any]:
    """An attempt whose whole wait has no reason, unless ``more`` gives the seconds of causes."""
    causes = {name: float(more.pop(name)) for name in list(more) if name in COLUMNS}
    parts = COLUMNS | causes
    parts["unexplained"] = causes.get("unexplained", wait - sum(causes.values()))
    made: dict[str, Any] = {
        "user": "anna", "account": None, "partition": "batch", "size": 1, "gpus": 0,
        "arrival_time": 0, "start_time": int(wait), "end_time": int(wait) + 100,
        "wait_s": int(wait), "occupancy_s": 100, "walltime_s": 3_600, "held_by": None,
        "main_rule": None, "similar_wait_s": None, "cause_rule_free_s": 0.0, "priority": None,
    }  # fmt: skip
    return made | {f"cause_{name}_s": seconds for name, seconds in parts.items()} | more


SCHEMA = {
    **dict.fromkeys(("user", "account", "partition", "held_by", "main_rule"), pl.String),
    **dict.fromkeys(("walltime_s", "similar_wait_s"), pl.Int64),
    "priority": pl.Float64,
}


def frame(*jobs: dict[str, Any]) -> pl.DataFrame:
    return waiting.with_causes(pl.DataFrame(list(jobs), schema_overrides=SCHEMA))


def test_shares_are_of_all_waiting_by_who_can_act() -> None:
    jobs = frame(
        job(100, earlier=60, later=40),
        job(100, held=100, held_by="licence"),
        job(100, held=100, held_by="dependency"),
        job(100, held=100, held_by="own_limit_inferred"),
        job(100, held=100),
        job(500, rule=250, outside=50),
    )
    shares = waiting.shares(jobs)
    assert shares == pytest.approx(
        dict.fromkeys(KEYS, 0.0)
        | {"earlier": 0.06, "later": 0.04, "held_site": 0.1, "held_user": 0.1}
        | {"held_unknown": 0.2, "rule": 0.25, "outside": 0.05, "none": 0.2}
    )
    assert math.isclose(sum(shares.values()), 1.0)


def test_rare_looks_of_the_scheduler_are_no_cause_of_their_own() -> None:
    few = frame(job(1_000, cycle=40))
    assert waiting.shares(few)["cycle"] == 0.0
    assert waiting.shares(few)["none"] == 1.0
    many = frame(job(1_000, cycle=60))
    assert waiting.shares(many)["cycle"] == pytest.approx(0.06)


def test_each_kind_of_hold_has_one_group() -> None:
    for kind in (*HELD_BY, "administrator", "of-a-later-version", None):
        shares = waiting.shares(frame(job(10, held=10, held_by=kind)))
        assert sum(shares[key] for key in ("held_site", "held_user", "held_unknown")) == 1.0
    assert {cause.group for cause in CAUSES if cause.key.startswith("held")} == {
        *("The site", "The user", "Not known"),
    }


def test_the_strip_has_nearest_ranks() -> None:
    jobs = frame(*(job(60 * k, occupancy_s=10 * k) for k in range(1, 101)))
    made = waiting.strip(jobs)
    assert (made.median, made.p90, made.p99) == (3_000, 5_400, 5_940)
    assert (made.run_median, made.run_p90, made.run_p99) == (500, 900, 990)
    assert made.over == {60: 0.99, 3_600: 0.4, 36_000: 0.0}
    assert (made.minute_jobs, made.long_jobs) == (99, 90)


def test_a_queue_that_hides_the_typical_wait_is_named() -> None:
    slow = [job(9_000, partition="slow") for _ in range(60)]
    fast = [job(60, partition="fast") for _ in range(40)]
    made = waiting.strip(frame(*slow, *fast))
    assert (made.slow_queue, made.without_queue) == ("slow", 60)
    assert waiting.strip(frame(*fast)).slow_queue is None
    near = [job(100, partition="fast") for _ in range(40)]
    same = waiting.strip(frame(*(job(200, partition="slow") for _ in range(60)), *near))
    assert same.slow_queue is None  # only twice as long


def test_the_class_that_has_much_of_the_waiting_without_a_reason() -> None:
    long = [job(9_000, walltime_s=20_000) for _ in range(20)]
    rest = [job(1_000, earlier=500, walltime_s=7_200) for _ in range(80)]
    made = waiting.where(frame(*long, *rest))
    assert made == Where("walltime", 14_400, 180 / 220, 0.2, 20)
    assert waiting.where(frame(*rest)) is None  # everybody's
    assert waiting.where(frame(job(10, earlier=10))) is None


def test_rules_of_one_name_are_one() -> None:
    jobs = frame(
        job(100, rule=80, main_rule="closed 1", cause_rule_free_s=50.0),
        job(100, rule=60, main_rule="closed 2", cause_rule_free_s=60.0),
        job(100, rule=90, main_rule="limit", cause_rule_free_s=1.0),
        job(100, earlier=90),
    )
    named = {
        "closed 1": ("daytime closure for jobs over 4 h", "window", "inferred"),
        "closed 2": ("daytime closure for jobs over 4 h", "window", "inferred"),
        "limit": ("limit of 2 running jobs per user", "limit", "slurm"),
    }
    first, second = waiting.rules(jobs, named)
    assert (first.name, first.waiting_s, first.free_s) == (named["closed 1"][0], 140.0, 110.0)
    assert (second.name, second.source, second.waiting_s) == (named["limit"][0], "slurm", 90.0)


@pytest.mark.parametrize(
    ("counts", "most", "capacity", "classes"),
    [
        ({1: 40, 2: 20, 4: 20, 7: 50}, 6, 100, [(1, 1), (2, 4), (5, 16)]),
        ({1: 40, 3: 29, 16: 40}, 6, 100, [(1, 1), (2, 16)]),
        ({1: 29, 3: 40}, 6, None, [(1, 3)]),
        ({4**k: 50 for k in range(9)}, 6, None,
         [(1, 1), (2, 4), (5, 16), (17, 64), (65, 256), (257, 65_536)]),
        ({80: 40, 1: 40}, 6, 100, [(1, 1), (2, 100)]),
        ({500: 40, 1: 40, 5: 40, 20: 40, 3: 40}, 6, 2_004,
         [(1, 1), (2, 4), (5, 16), (17, 64), (65, 1_024)]),
        ({2: 5}, 6, None, [(1, 2)]),
        ({}, 6, None, []),
    ],
)  # fmt: skip
def test_classes_are_joined_until_each_has_enough(
    counts: dict[int, int], most: int, capacity: int | None, classes: list[tuple[int, int]]
) -> None:
    assert waiting.joined(counts, most, capacity) == classes


@given(
    st.dictionaries(st.integers(1, 5_000), st.integers(1, 90), min_size=1, max_size=12),
    st.integers(1, 6),
)
def test_classes_hold_every_job_once(counts: dict[int, int], most: int) -> None:
    classes = waiting.joined(counts, most)
    assert len(classes) <= most
    assert classes[0][0] == 1
    assert classes[-1][1] == max(counts)
    assert all(low <= high for low, high in classes)
    for (_, before), (after, _) in pairwise(classes):
        assert after == before + 1
    numbers = [sum(n for s, n in counts.items() if low <= s <= high) for low, high in classes]
    assert sum(numbers) == sum(counts.values())
    assert len(classes) == 1 or min(numbers) >= waiting.FEWEST


def test_jobs_with_gpus_have_classes_of_their_own_where_there_are_many() -> None:
    cpus = [job(10, size=4) for _ in range(60)]
    gpus = [job(10, size=8, gpus=2) for _ in range(40)]
    jobs = frame(*cpus, *gpus)
    made = waiting.sizes(jobs, waiting.shares(jobs), 100)
    assert [(one.gpus, one.jobs) for one in made] == [(False, 60), (True, 40)]
    few = frame(*cpus, *gpus[:3])
    assert not any(one.gpus for one in waiting.sizes(few, waiting.shares(few), 100))


placed = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 3)), min_size=1, max_size=9
)


@given(placed)
def test_starts_before_an_earlier_job_as_a_slow_twin_counts_them(
    given_jobs: list[tuple[int, int, int]],
) -> None:
    jobs = [(arrival, arrival + wait, priority) for arrival, wait, priority in given_jobs]
    rows = [
        job(0, arrival_time=a, start_time=s, priority=float(p)) for a, s, p in jobs
    ]  # fmt: skip
    higher = number = 0
    for mine in jobs:
        waits = [j for j in jobs if j[0] < mine[0] and j[1] > mine[1]]
        if waits:
            earliest = min(j[0] for j in jobs if j[1] > mine[1])
            if earliest < mine[0]:
                first = next(j for j in jobs if j[1] > mine[1] and j[0] == earliest)
                number += 1
                higher += mine[2] > first[2]
    made = waiting.by_priority(frame(*rows))
    assert made == (pytest.approx(higher / number) if number else None)


def test_without_priorities_the_order_is_not_known() -> None:
    assert waiting.by_priority(frame(job(10), job(5))) is None
