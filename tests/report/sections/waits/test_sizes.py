"""Waits by size and queue, from attempts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.report.sections.causes import shown
from audit.report.sections.waits import section
from tests.report.sections.jobs import frame, job


def test_the_strip_has_nearest_ranks() -> None:
    jobs = frame(*(job(60 * k, occupancy_s=10 * k) for k in range(1, 101)))
    made = section.strip(jobs)
    assert (made.median, made.p90, made.p99) == (3_000, 5_400, 5_940)
    assert (made.run_median, made.run_p90, made.run_p99) == (500, 900, 990)
    assert made.over == {60: 0.99, 3_600: 0.4, 36_000: 0.0}
    assert (made.minute_jobs, made.long_jobs, made.hour_jobs) == (99, 90, 40)


def test_a_queue_that_hides_the_typical_wait_is_named() -> None:
    debug = [job(60, partition="debug") for _ in range(60)]
    batch = [job(180, partition="batch") for _ in range(40)]
    made = section.strip(frame(*debug, *batch))
    assert (made.hiding_queue, made.without_queue) == ("debug", 180)
    assert section.strip(frame(*debug)).hiding_queue is None
    assert section.strip(frame(*debug, *batch[:29])).hiding_queue is None  # too few others
    near = [job(179, partition="batch") for _ in range(40)]
    assert section.strip(frame(*debug, *near)).hiding_queue is None  # not three times as long


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
    assert section.joined(counts, most, capacity) == classes


@given(
    st.dictionaries(st.integers(1, 5_000), st.integers(1, 90), min_size=1, max_size=12),
    st.integers(1, 6),
)
def test_classes_hold_every_job_once(counts: dict[int, int], most: int) -> None:
    classes = section.joined(counts, most)
    assert len(classes) <= most
    assert classes[0][0] == 1
    assert classes[-1][1] == max(counts)
    assert all(low <= high for low, high in classes)
    for (_, before), (after, _) in pairwise(classes):
        assert after == before + 1
    numbers = [sum(n for s, n in counts.items() if low <= s <= high) for low, high in classes]
    assert sum(numbers) == sum(counts.values())
    assert len(classes) == 1 or min(numbers) >= section.FEWEST


def test_jobs_with_gpus_have_classes_of_their_own_where_there_are_many() -> None:
    cpus = [job(10, size=4) for _ in range(60)]
    gpus = [job(10, size=8, gpus=2) for _ in range(40)]
    jobs = frame(*cpus, *gpus)
    made = section.sizes(jobs, shown.shares(jobs), 100)
    assert [(one.gpus, one.jobs) for one in made] == [(False, 60), (True, 40)]
    few = frame(*cpus, *gpus[:3])
    assert not any(one.gpus for one in section.sizes(few, shown.shares(few), 100))
