"""Limits that forbid waiting attempts: by hand, and against the slow twin."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.metrics.passed.limited import FORBIDDEN, forbidden, joined, of_entities, users_under
from audit.model import Pool, Resource
from audit.rules import Limit
from tests.examples import examples
from tests.naive import passed_over as naive
from tests.strategies import ended, frame, sampled

DAY = 86_400
NOW = 100 * DAY
POOL = Pool("main", Resource.cpus, 100)
PER_USER = Limit(most=2, per="user")

Record = dict[str, Any]


def job(arrival: int, start: int, end: int, user: str = "ann", **more: Any) -> Record:
    record = ended(arrival, start, end, 1, user, walltime_s=100, partition="main")
    return {**record, "account": "a", **more}


def spans(records: Sequence[Record], *limits: Limit) -> list[tuple[int, int, int]]:
    """The spans of each record."""
    numbered = [{**one, "job_id": str(k)} for k, one in enumerate(records)]
    table = describe(frame(numbered), [POOL])
    got = forbidden(table, POOL, NOW, limits)
    assert got.schema == FORBIDDEN
    return sorted((int(table["job_id"][row]), begin, end) for row, begin, end in got.rows())


def test_earlier_waiting_jobs_of_the_user_take_theirs() -> None:
    """Two may run: the second waits behind one that runs and one that waits."""
    records = [job(0, 0, 50), job(10, 200, 300), job(20, 210, 300), job(30, 220, 300, "bob")]
    assert spans(records, PER_USER) == [(2, 20, 49)]
    assert spans(records, Limit(most=1, per="user")) == [(1, 10, 49), (2, 20, 209)]


def test_a_limit_of_an_account_counts_what_all_its_users_run() -> None:
    records = [job(0, 0, 50), job(0, 0, 90, "bob"), job(10, 200, 300), job(20, 210, 300, "bob")]
    limit = Limit(most=2, per="account")
    assert spans(records, limit) == [(2, 10, 49), (3, 20, 49)]
    assert spans(records, Limit(most=2, account=("a",))) == [(2, 10, 49), (3, 20, 49)]
    assert spans(records, Limit(most=2, account=("b",))) == []


def test_what_is_too_large_holds_up_nobody_behind_it() -> None:
    limit = Limit(most=4, resource="cpus", per="user")
    records = [job(0, 0, 50, cpus=2), job(10, 200, 300, cpus=3), job(20, 200, 300, cpus=2)]
    assert spans(records, limit) == [(1, 10, 49), (2, 50, 199)]


def test_a_limit_within_a_partition_and_within_days() -> None:
    records = [job(0, 0, 50), job(10, 200, 300, partition="long"), job(20, 210, 300)]
    assert spans(records, Limit(most=1, per="user", partition=("main",))) == [(2, 20, 49)]
    days = Limit(most=1, per="user", valid_from=date(1970, 1, 3))
    later = [job(2 * DAY - 50, 2 * DAY - 50, 4 * DAY), job(2 * DAY - 20, 5 * DAY, 6 * DAY)]
    assert spans(later, days) == [(1, 2 * DAY, 4 * DAY - 1)]


def test_an_exempt_job_is_never_forbidden() -> None:
    limit = Limit(most=1, per="user", exempt_qos=("high",))
    records = [job(0, 0, 50), job(10, 200, 300), job(20, 40, 60, qos="high")]
    assert spans(records, limit) == [(1, 10, 59)]


def test_remaining_time_shrinks_while_a_job_runs() -> None:
    """At 60, 40 s of the first job remain, and 100 s more are allowed; someone starts at 70."""
    limit = Limit(most=150, resource="cpus", remaining=True, per="user")
    records = [job(0, 0, 100), job(10, 300, 400), job(20, 70, 80, "bob")]
    assert spans(records, limit) == [(1, 10, 69)]


def test_a_job_that_one_limit_forbids_takes_nothing_of_the_others() -> None:
    """Account a is full, so that of two jobs that ann may run, her second waiting one is free."""
    records = [
        *(job(0, 0, 500, "bob", cpus=8), job(0, 0, 500, account="b")),
        *(job(10, 500, 600), job(20, 300, 400, account="b")),
    ]
    of_account = Limit(most=8, resource="cpus", account=("a",))
    per_user = Limit(most=2, per="user")
    assert spans(records, of_account) == [(2, 10, 499)]
    assert spans(records, per_user) == [(2, 300, 399), (3, 20, 299)]
    assert spans(records, per_user, of_account) == [(2, 10, 499)]
    assert spans(records, of_account, per_user) == [(2, 10, 499)]


def test_limits_of_others_are_ignored() -> None:
    others = [Limit(most=1), Limit(most=1, per="partition"), Limit(most=1, per="job")]
    assert of_entities([*others, PER_USER]) == [PER_USER]
    assert spans([job(0, 0, 50), job(10, 200, 300)], *others) == []


def test_users_under_a_limit() -> None:
    bob = [job(0, 0, 1, "bob", partition="long"), job(3 * DAY, 3 * DAY, 4 * DAY, "bob")]
    table = describe(frame([job(0, 0, 1), *bob]), [POOL])
    assert users_under(table, [Limit(most=1)], "UTC") == frozenset()
    assert users_under(table, [PER_USER], "UTC") == {"ann", "bob"}
    in_long = Limit(most=1, per="user", partition=("long",))
    assert users_under(table, [in_long], "UTC") == {"bob"}  # half of his jobs
    later = Limit(most=2, per="user", valid_from=date(1970, 1, 3))
    assert users_under(table, [later], "UTC") == {"bob"}
    never = Limit(most=2, per="user", valid_to=date(1970, 1, 1))
    assert users_under(table, [never], "UTC") == frozenset()
    third = describe(frame([*bob, job(0, 0, 1, "bob")]), [POOL])
    assert users_under(third, [later], "UTC") == frozenset()


def test_spans_of_several_limits_are_joined() -> None:
    given_ = [(0, 5, 9), (0, 0, 3), (0, 10, 12), (1, 2, 4), (0, 1, 2), (0, 20, 30)]
    table = pl.DataFrame(given_, FORBIDDEN, orient="row")
    assert joined(table).rows() == [(0, 0, 3), (0, 5, 12), (0, 20, 30), (1, 2, 4)]


def test_a_job_that_never_started_adds_a_second_if_its_walltime_is_unknown() -> None:
    limit = Limit(most=100, resource="cpus", remaining=True, per="user")
    left = {**job(60, 60, 900), "start_time": None, "walltime_s": None, "state": "CANCELLED"}
    assert spans([job(0, 0, 50), left], limit) == []
    assert spans([job(0, 0, 80), {**left, "walltime_s": 90}], limit) == [(1, 60, 79)]


@st.composite
def _record(draw: st.DrawFn) -> Record:
    arrival = draw(st.integers(0, 300))
    start = arrival + draw(sampled([0, 10, 200, 400]))
    record = job(arrival, start, start + draw(sampled([0, 30, 250])), draw(sampled(["ann", "bob"])))
    record |= {
        "cpus": draw(sampled([1, 1, 2, 3])),
        "account": draw(sampled(["a", "a", "b", None])),
        "walltime_s": draw(sampled([50, 300, None])),
    }
    if draw(st.integers(0, 7)) == 0:
        record |= {"start_time": None, "state": "CANCELLED"}
    return record


@st.composite
def _limit(draw: st.DrawFn) -> Limit:
    resource = draw(sampled([None, "cpus"]))
    remaining = resource is not None and draw(st.booleans())
    most = draw(st.integers(1, 6)) * (100 if remaining else 1)
    per = draw(sampled(["user", "account"]))
    return Limit(most=most, resource=resource, remaining=remaining, per=per)


@given(
    records=st.lists(_record(), min_size=1, max_size=14),
    limits=st.lists(_limit(), min_size=1, max_size=3),
)
@settings(max_examples=examples(75))
def test_as_defined(records: list[Record], limits: list[Limit]) -> None:
    rows = describe(frame([{**one, "job_id": str(k)} for k, one in enumerate(records)]), [POOL])
    found = spans(records, *limits)
    jobs = []
    for row in rows.to_dicts():
        start = row["start_time"]
        occupancy = 0 if start is None else row["end_time"] - start
        walltime = row["walltime_s"] if row["walltime_s"] is not None else occupancy
        jobs.append(
            {
                "job": int(row["job_id"]),
                "user": row["user"],
                "account": row["account"],
                "arrival": row["arrival_time"],
                "start": start,
                "end": row["end_time"],
                "leave": row["end_time"] if start is None else start,
                "cpus": row["cpus"],
                "jobs": 1,
                "walltime": max(walltime, 1),
            }
        )
    drawn = [
        {"most": of.most, "what": of.resource or "jobs", "per": of.per, "remaining": of.remaining}
        for of in limits
    ]
    for instant in sorted({one["start"] for one in jobs if one["start"] is not None}):
        for k, expected in naive.forbidden(jobs, drawn, instant).items():
            inside = [one for one in found if one[0] == jobs[k]["job"]]
            assert any(begin <= instant <= end for _, begin, end in inside) == expected
