"""Lost work and freed nodes: against the slow twin, and by hand."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.metrics.attempts.users import by_entity
from audit.metrics.preemption import interrupted, whole_jobs
from audit.model import Pool, Resource
from tests.naive import preemption as naive
from tests.strategies import Rows, ended, frame, rows, sampled

POOL = Pool("main", Resource.cpus, 4)


def described(*records: dict[str, Any]) -> pl.DataFrame:
    return interrupted(describe(frame(list(records)), [POOL]))


@given(data=st.data(), records=rows())
def test_as_defined(data: st.DataObject, records: Rows) -> None:
    for number, record in enumerate(records):
        nodes = data.draw(st.lists(sampled(["n1", "n2", "n3"]), unique=True, max_size=2))
        state = data.draw(sampled(["COMPLETED", "PREEMPTED", "REQUEUED", "NODE_FAIL"]))
        record |= {"state": state, "node_list": ",".join(nodes) or None, "job_number": number}
    before = describe(frame(records), [POOL])
    got = interrupted(before)
    assert got.drop("lost_work", "freed_for").equals(before)
    held = got.to_dicts()
    some = any(
        row["state"] in ("PREEMPTED", "REQUEUED") or (row["suspended_s"] or 0) > 0 for row in held
    )
    for row in held:
        assert row["lost_work"] == (naive.lost_work(row) if some else None)
        jobs = set((row["freed_for"] or "").split(", "))
        assert jobs == set((naive.freed_for(row, held) or "").split(", "))


def test_jobs_that_started_on_the_freed_nodes() -> None:
    # n1 and n2 are freed at 100. bob starts at once on n2, cem a minute later on n1, dot too late,
    # eve elsewhere; ann's own job starts again on n1.
    one = {"nodes": 1}
    got = described(
        ended(0, 0, 100, 2, "ann", job_id="1", state="PREEMPTED", node_list="n[1-2]", nodes=2),
        ended(0, 100, 200, 1, "bob", job_id="2", node_list="n2", **one),
        ended(0, 160, 200, 1, "cem", job_id="3", node_list="n1", **one),
        ended(0, 161, 200, 1, "dot", job_id="4", node_list="n1", **one),
        ended(0, 100, 200, 1, "eve", job_id="5", node_list="n3", **one),
        ended(100, 130, 200, 1, "ann", job_id="1", attempt=2, node_list="n1", **one),
    ).filter(state="PREEMPTED")
    assert got.select("lost_work", "freed_for").row(0) == (200.0, "2, 3")


@pytest.mark.parametrize(
    ("change", "lost", "preempted", "suspended"),
    [
        ({"state": "PREEMPTED"}, 40.0, 1, 0),
        ({"state": "REQUEUED"}, 40.0, 1, 0),
        ({"suspended_s": 7}, 0.0, 0, 7),
        ({"state": "NODE_FAIL"}, None, None, None),
    ],
)
def test_users_have_their_lost_work_and_suspended_time(
    change: dict[str, Any],
    lost: float | None,
    preempted: int | None,
    suspended: int | None,
) -> None:
    records = [{**ended(0, 0, 20, 2, "ann"), **change}, ended(0, 20, 30, 1, "ann")]
    held = described(*records).with_columns(re_unfairness=pl.lit(0.0))
    row = by_entity(held, "user").row(0, named=True)
    assert (row["lost_work"], row["preempted"], row["suspended_s"]) == (lost, preempted, suspended)


def test_a_preempted_job_is_one_row_from_its_first_arrival_to_its_last_end() -> None:
    records = (
        ended(0, 10, 15, 2, "ann", job_id="1", state="PREEMPTED"),
        ended(20, 30, 37, 2, "ann", job_id="1", attempt=2, state="PREEMPTED"),
        ended(40, 50, 90, 2, "ann", job_id="1", attempt=3, state="COMPLETED"),
        ended(0, 10, 15, 1, "bob", job_id="2", state="REQUEUED"),
        ended(20, 30, 35, 1, "bob", job_id="2", attempt=2, state="COMPLETED"),
        ended(0, 10, 15, 1, "cem", job_id="3", state="PREEMPTED"),
    )
    known = describe(frame(list(records)), [POOL])
    columns = ("job_id", "attempt", "arrival_time", "start_time", "end_time", "occupancy_s", "runs")
    wanted = [
        ("1", 1, 0, 10, 90, 40, 3),
        ("2", 1, 0, 10, 15, 5, 1),  # requeued for another reason: two rows
        ("2", 2, 20, 30, 35, 5, 1),
        ("3", 1, 0, 10, 15, 5, 1),
    ]
    assert sorted(whole_jobs(known).select(columns).rows()) == wanted
    assert sorted(whole_jobs(known.reverse()).select(columns).rows()) == wanted
    assert whole_jobs(known).columns == [*known.columns, "runs"]
