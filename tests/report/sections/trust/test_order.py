"""Whether starts follow priorities."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.report.sections.trust import section as trust
from tests.report.sections.jobs import frame, job

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
    made = trust.by_priority(frame(*rows))
    differ = len({priority for _, _, priority in jobs}) > 1
    assert made == (pytest.approx(higher / number) if number and differ else None)


def test_without_priorities_the_order_is_not_known() -> None:
    assert trust.by_priority(frame(job(10), job(5))) is None


def test_equal_priorities_say_nothing() -> None:
    """Slurm's older versions, and a scheduler without priorities, record 0 for each job."""
    rows = [job(0, arrival_time=a, start_time=s, priority=0.0) for a, s in ((0, 9), (1, 5))]
    assert trust.by_priority(frame(*rows)) is None
