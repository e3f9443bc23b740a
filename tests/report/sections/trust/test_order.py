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
    assert made == (pytest.approx(higher / number) if number else None)


def test_without_priorities_the_order_is_not_known() -> None:
    assert trust.by_priority(frame(job(10), job(5))) is None
