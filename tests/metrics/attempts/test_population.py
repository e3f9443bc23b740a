import itertools
import math
from collections.abc import Iterator
from unittest.mock import Mock

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts import population
from audit.metrics.attempts.population import (
    around,
    compact,
    describe,
    ended,
    gave_up_total,
    gave_up_wait,
    in_period,
    occupied,
    only,
    ordered,
    width_class,
    width_classes,
)
from audit.model import ATTEMPTS, DESCRIBED, Period, Pool, Resource
from tests.naive import attempts as naive
from tests.strategies import EPOCH, frame, workloads
from tests.strategies import ended as record

POOL = Pool("main", Resource.cpus, 100)


@pytest.fixture(autouse=True, scope="module")
def small_frames_count() -> Iterator[None]:
    """Frames of so few rows that tests are quick are made compact, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "LEAST", 1_000)
        yield


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 2), st.integers(0, 2)), max_size=9),
    st.integers(1, 4),
)
def test_order_is_seen_across_pieces(rows: list[tuple[int | None, int]], at_once: int) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64}, orient="row")
    sorted_ = frame.sort("a", "b", maintain_order=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(population, "_PIECE", at_once)
        assert ordered(frame, "a", "b").equals(sorted_)
        assert ordered(sorted_, "a", "b") is sorted_


@given(workloads(), st.sampled_from([1, 10]))
def test_describes_as_defined(attempts: pl.DataFrame, tau: int) -> None:
    described = describe(attempts, [POOL], tau_s=tau)
    assert described.schema == DESCRIBED
    rows = {(row["job_id"], row["attempt"]): row for row in described.to_dicts()}
    assert len(rows) == attempts.height
    for one in naive.described(attempts.to_dicts()):
        row = rows[one.key]
        assert (row["standing"], row["size"]) == (one.standing, one.size)
        assert (row["arrival_time"], row["arrival_clipped"]) == (one.arrival, one.clipped)
        assert row["runtime_s"] == one.runtime
        assert row["width_class"] == naive.width_class(one.size)
        waited = one.start is not None and one.arrival is not None
        assert row["wait_s"] == (one.wait if waited else None)
        slowdown = naive.bounded_slowdown(one, tau) if one.ended else None
        assert naive.close(row["bounded_slowdown"], slowdown)


@given(workloads(), st.randoms(use_true_random=False))
def test_the_order_of_rows_is_forgotten(attempts: pl.DataFrame, random: st.DataObject) -> None:
    order = list(range(attempts.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert describe(attempts[order], [POOL]).equals(describe(attempts, [POOL]))


def test_bounded_slowdown_by_hand() -> None:
    # Waits 20 s and runs 4 s: 24 / max(4, 10) = 2.4; with τ = 1 s, 24/4 = 6.
    # Runs 30 s of which 10 suspended, no wait: 30/20 = 1.5. Runs at once for 2 s: max(1, 2/10) = 1.
    attempts = frame(
        [
            record(0, 20, 24, 1),
            record(0, 0, 30, 1, suspended_s=10),
            record(1, 1, 3, 1),
        ]
    )
    assert describe(attempts, [POOL])["bounded_slowdown"].to_list() == [2.4, 1.5, 1.0]
    assert describe(attempts, [POOL], tau_s=1)["bounded_slowdown"][0] == 6.0


@given(workloads())
def test_every_attempt_is_of_one_period(attempts: pl.DataFrame) -> None:
    described = describe(attempts, [POOL])
    cuts = [EPOCH - 1, EPOCH + 10, EPOCH + 20, EPOCH + 100]
    months = [Period("m", a, b) for a, b in itertools.pairwise(cuts)]
    held = pl.concat([in_period(described, month) for month in months])
    placed = described.filter(pl.coalesce("end_time", "arrival_time", "start_time").is_not_null())
    assert held.sort("line").equals(placed.sort("line"))
    assert in_period(described, Period("all", 0, 1)).equals(described)


def test_a_period_is_half_open_and_holds_what_ended_in_it() -> None:
    attempts = frame([record(0, 0, end, 1) for end in (9, 10, 19, 20)])
    held = in_period(describe(attempts, [POOL]), Period("ten", 10, 20))
    assert held["end_time"].to_list() == [10, 19]


def test_waits_before_giving_up() -> None:
    gone = {"submit_time": 5, "end_time": 12, "state": "CANCELLED"}
    records = [record(0, 3, 9, 1), {**gone, "end_time": 1}, gone, {**gone, "eligible_time": 90}]
    described = describe(frame(records), [POOL])
    assert described.select(gave_up_wait()).to_series().to_list() == [0, 0, 7, 0]
    assert described["arrival_time"].to_list() == [0, 1, 5, 12]  # at most its end
    assert ended(described)["job_id"].to_list() == ["1"]
    assert described["wait_s"].to_list() == [3, None, None, None]


def test_who_arrived_nobody_knows_when_has_no_wait_and_is_no_subject() -> None:
    undated = {**record(0, 3, 9, 4), "submit_time": None}
    gone = {"end_time": 12, "state": "CANCELLED"}
    described = describe(frame([record(2, 3, 9, 4), undated, gone]), [POOL])
    unknown = described.filter(pl.col("arrival_time").is_null())
    assert unknown["standing"].to_list() == ["arrival_unknown", "never_started"]
    for name in ("wait_s", "bounded_slowdown"):
        assert unknown[name].null_count() == 2
    assert ended(described)["job_id"].to_list() == ["1"]
    assert described.filter(occupied())["job_id"].sort().to_list() == ["1", "2"]
    assert described.select(gave_up_total()).item() is None
    # an instant of eligibility is as good
    eligible = describe(frame([{**undated, "eligible_time": 1}]), [POOL])
    assert (eligible["standing"].item(), eligible["wait_s"].item()) == ("ended", 2)


def test_each_pool_counts_its_own_resource() -> None:
    attempts = frame(
        [
            record(0, 0, 1, 4, partition="batch", gpus=9),
            record(0, 0, 1, 4, partition="vision", gpus=2),
            record(0, 0, 1, 4, partition=None, nodes=3),
        ]
    )
    pools = [Pool("b", Resource.cpus, 9), Pool("v", Resource.gpus, 9), Pool("n", Resource.nodes, 9)]
    by_partition = {"batch": "b", "vision": "v", None: "n"}
    described = describe(attempts, pools, by_partition)
    assert described.select("pool", "size").rows() == [("b", 4), ("n", 3), ("v", 2)]
    with pytest.raises(ValueError, match="'vision' has no pool"):
        describe(attempts, pools, {"batch": "b", None: "n"})


def test_refuses_an_end_before_the_start() -> None:
    with pytest.raises(ValueError, match="job 1 ends before it starts"):
        describe(frame([record(0, 5, 4, 1)]), [POOL])


def test_nothing() -> None:
    assert describe(frame([]), [POOL]).schema == DESCRIBED


def test_who_is_around_a_period() -> None:
    attempts = frame(
        [
            record(0, 1, 9, 1),  # gone before any other came
            record(0, 1, 12, 1),  # still there when the first of the period came
            record(10, 25, 30, 1),  # of the period
            record(18, 35, 45, 1),  # runs into it from within and ends later
            record(40, 41, 42, 1),  # comes later
        ]
    )
    described = describe(attempts, [POOL])
    period = Period("part", 20, 40)
    assert in_period(described, period)["line"].to_list() == [3]
    assert around(described, period)["line"].to_list() == [2, 3, 4]
    assert around(described, Period("all", 20, 40)) is described


def test_many_periods_look_at_each_attempt_a_few_times() -> None:
    jobs = [record(10 * k, 10 * k + 3, 10 * k + 9, 1) for k in range(1_000)]
    described = describe(frame(jobs), [POOL])
    months = [Period(f"part {k}", 100 * k, 100 * k + 100) for k in range(100)]
    assert sum(around(described, month).height for month in months) < 2 * len(jobs)


@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 1), st.sampled_from(["x", "y", None]), st.booleans()),
        max_size=3,
    )
)
def test_what_all_rows_say_is_held_once(rows: list[tuple[int | None, str | None, bool]]) -> None:
    schema = {"number": pl.Int64, "name": pl.String, "yes": pl.Boolean}
    told = pl.DataFrame(rows, schema=schema, orient="row")
    many = pl.concat([told] * 1_000)
    held = compact(many)
    assert held.equals(many)
    assert held.schema == many.schema
    for name in schema if rows else ():
        alike = len({row[name] for row in told.to_dicts()}) == 1
        assert (compact(many).select(name).estimated_size() < 100) == alike


@pytest.mark.parametrize("text", [None, ""])
def test_columns_without_any_text_are_held_once(
    text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their sizes, which leave out 16 bytes for each text, do not show that they are not."""
    full = pl.Series("text", [text] * 1_000, pl.String).to_frame()
    made = Mock(wraps=pl.lit)
    monkeypatch.setattr(pl, "lit", made)
    assert compact(full).equals(full)
    made.assert_any_call(text, pl.String())


def test_a_zero_keeps_its_sign() -> None:
    zeros = compact(pl.DataFrame({"x": [0.0, -0.0] * 500}))["x"]
    assert [math.copysign(1, zero) for zero in zeros] == [1, -1] * 500


def test_nothing_is_copied_where_all_are_chosen() -> None:
    described = describe(frame([record(0, 1, 2, 1), record(0, 1, 2, 0)]), [POOL])
    assert only(described, pl.col("wait_s") == 1) is described
    assert only(described, pl.col("size") > 0).height == 1
    assert only(described, pl.Series([False, True])).height == 1


def classes(sizes: list[int | None], top: int = 128) -> list[str | None]:
    frame = pl.DataFrame({"size": pl.Series(sizes, dtype=pl.Int64)})
    return frame.select(width_class(pl.col("size"), top)).to_series().to_list()


def test_classes_of_the_paper() -> None:
    assert width_classes() == [
        "0",
        "1",
        "2",
        "3-4",
        "5-8",
        "9-16",
        "17-32",
        "33-64",
        "65-128",
        ">128",
    ]
    sizes: list[int | None] = [None, *range(300), 10**9]
    assert classes(sizes) == [naive.width_class(size) for size in sizes]


def test_more_classes_where_requested() -> None:
    assert width_classes(256)[-3:] == ["65-128", "129-256", ">256"]
    assert width_classes(1) == ["0", "1", ">1"]
    assert classes([128, 129, 256, 257], 256) == ["65-128", "129-256", "129-256", ">256"]


@pytest.mark.parametrize("top", [0, -2, 3, 100])
def test_refuses_what_is_no_power_of_two(top: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        width_classes(top)


WAITING = {"submit_time": 0, "state": "PENDING", "cpus": 1}


def test_a_record_of_several_tasks_is_a_row_for_each() -> None:
    records = [
        {**WAITING, "job_id": "3_[0-1,...]", "array_tasks": "0-1,+2", "tasks": 4},
        {**WAITING, "job_id": "7[].srv", "array_tasks": "4,6", "tasks": 2},
        {**WAITING, "job_id": "12", "array_tasks": "1-2", "tasks": 2, "end_time": 5, "state": "X"},
        {**WAITING, "job_id": "9", "tasks": None},
    ]
    names = ("job_id", "array_task", "tasks", "array_tasks", "standing", "arrival_time", "size")
    described = describe(frame(records), [POOL]).select(names)
    alike = (None, "pending", 0, 1)
    assert described.rows() == [
        ("3_[0-1,...]", 0, 4, *alike),
        ("3_1", 1, 0, *alike),
        ("3_2", 2, 0, *alike),
        ("3_3", 3, 0, *alike),
        ("7[].srv", 4, 2, *alike),
        ("7[6].srv", 6, 0, *alike),
        ("12", 1, 2, None, "never_started", 0, 1),
        ("12[2]", 2, 0, None, "never_started", 0, 1),
        ("9", None, 1, *alike),
    ]


def test_rows_of_tasks_are_not_divided_again() -> None:
    """A simulated schedule is described like the observed one."""
    record = {**WAITING, "job_id": "3_[0-3]", "array_tasks": "0-3", "tasks": 4}
    once = describe(frame([record]), [POOL])
    again = describe(once.select(ATTEMPTS.names()), [POOL])
    assert once.height == 4
    assert again.equals(once, null_equal=True)


def test_ids_that_a_log_repeats_stay_apart() -> None:
    listed = {"array_tasks": "0-1", "tasks": 2}
    records = [
        {**WAITING, "job_id": "3_1"},
        {**WAITING, "job_id": "3_[0-1]", **listed},
        {**WAITING, "job_id": "3_[0-1%2]", **listed},
    ]
    ids = describe(frame(records), [POOL])["job_id"]
    assert ids.to_list() == ["3_1", "3_[0-1]", "3_[0-1]#1", "3_[0-1%2]", "3_[0-1%2]#1"]


def test_a_schedule_grows_by_no_more_tasks_than_an_array_can_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("audit.arrays.LARGEST", 5)
    listed = {**WAITING, "array_tasks": "0-3", "tasks": 4}
    records = [{**listed, "job_id": f"{job}_[0-3]"} for job in (1, 2, 3)]
    described = describe(frame(records), [POOL])
    assert described.height == 3 + 5
    assert described["tasks"].sum() == 12  # as stored
    assert described.filter(pl.col("tasks") > 0)["job_number"].to_list() == [1, 2, 3]


@pytest.mark.parametrize("rows", [10, 2_000])
def test_only_keeps_columns_of_a_single_value_so(rows: int) -> None:
    frame = pl.DataFrame({"at": range(rows), "odd": [k % 2 for k in range(rows)]}).with_columns(
        name=pl.lit("x"), none=pl.lit(None, pl.Int64)
    )
    some = population.only(frame, pl.col("odd") == 1)
    assert population.is_single(some, "none") is (rows > 1_000)
    for least in (rows // 2, rows, 0):
        found = population.only(frame, pl.col("at") >= least)
        assert found.equals(frame.filter(pl.col("at") >= least))
        assert found.schema == frame.schema
    alone = frame.select("none")
    assert population.only(alone, pl.lit(value=False)).height == 0
