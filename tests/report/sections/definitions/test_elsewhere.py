"""Figures as other tools count them."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.model import OBSERVED, Period
from audit.report.sections.definitions.record import Elsewhere
from audit.report.sections.definitions.section import counted_elsewhere, read
from audit.report.source import SectionSource
from audit.store.database import Connection
from tests import stores
from tests.report.rows import add
from tests.report.sample import figure, having, pool, present


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Connection:
    con = stores.new(Path(tmp_path_factory.mktemp("elsewhere")) / "audit.duckdb")
    add(con, "pools", cluster="demo", pool="batch", resource="cpus", capacity=8)
    return con


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
    return read(SectionSource(con, "demo", period)).get("batch")


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


def test_each_figure_says_in_which_direction_and_by_how_much() -> None:
    part = pool()  # a mean wait of 600 s, 1,000 attempts
    used = figure("consumed", 3_600_000.0, unit="resource·s")
    part = replace(part, figures=(*part.figures, used))
    part = having(part, Elsewhere(660.0, None, 20, 3_600_000.0, 3_240_000.0))
    told = [(row.tool.split(":")[0], row.there, row.differs) for row in counted_elsewhere(part)]
    assert told == [
        ("sacct", "11 min", "10 % more there"),
        ("XDMoD", "–", "not known"),
        ("XDMoD", "1,000", "the same"),
        ("sreport", "900", "10 % less there"),
        ("sacct without --duplicates", "980", "2 % less there"),
    ]


def test_where_nothing_ended_there_is_nothing_to_compare() -> None:
    assert counted_elsewhere(pool()) == ()
    none = having(pool(), Elsewhere(None, None, 0, 9.0, None), figures=())
    assert counted_elsewhere(none) == ()
