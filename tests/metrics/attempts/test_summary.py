from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from audit.metrics.attempts import passed_over
from audit.metrics.attempts.parts import SUMMARY_SCHEMA
from audit.metrics.attempts.performance import array_spans, overtakes
from audit.metrics.attempts.population import around, describe, in_period
from audit.metrics.attempts.resource_equality import overall, resource_equality
from audit.metrics.attempts.summary import (
    KINDS,
    EarlierResults,
    SummaryOptions,
    conservation_of,
    summarise,
)
from audit.metrics.attempts.users import by_entity
from audit.metrics.dominant_share import beside
from audit.model import Period, Pool, Resource
from tests.examples import examples
from tests.metrics.attempts.booked import booked
from tests.naive import attempts as naive
from tests.strategies import EPOCH, NOW, ended, frame, workloads

POOL = Pool("main", Resource.cpus, 4)
BERLIN = ZoneInfo("Europe/Berlin")
QUICK = SummaryOptions(resamples=20)
WEEK = 7 * 86_400


def summary(
    attempts: pl.DataFrame, period: Period | None = None, now: int = NOW, seed: int = 1
) -> pl.DataFrame:
    described = describe(attempts, [POOL])
    complete = booked(overtakes(resource_equality(described, now)), POOL, now)
    whole = Period("all", EPOCH, now)
    return summarise(complete, POOL, period or whole, now, BERLIN, seed, QUICK)


def values(rows: pl.DataFrame, dimension: str = "all") -> dict[Any, float | None]:
    """metric → value, or (metric, value of the dimension) → value."""
    held = rows.filter(dimension=dimension)
    return {
        row["metric"] if dimension == "all" else (row["metric"], row["dimension_value"]): row[
            "value"
        ]
        for row in held.to_dicts()
    }


def complete(rows: pl.DataFrame) -> None:
    assert rows.schema == SUMMARY_SCHEMA
    assert rows.select((pl.col("lower") <= pl.col("upper")).all()).item()
    assert rows["lower"].is_null().equals(rows["upper"].is_null())
    assert rows["unit"].null_count() == 0
    assert rows.select("metric", "dimension", "dimension_value").is_unique().all()


def use_unknown(population: Sequence[naive.Attempt]) -> bool:
    ran = any(one.standing == "start_unknown" for one in population)
    return ran and all(one.start is None for one in population)


@given(workloads(most=20))
@settings(max_examples=examples(20))
def test_figures_are_those_of_the_definitions(attempts: pl.DataFrame) -> None:
    complete(rows := summary(attempts))
    got = values(rows)
    population = naive.described(attempts.to_dicts())
    subjects = [one for one in population if one.ended]
    lives = [one for one in (naive.life(a, NOW) for a in population) if one is not None]
    assert got["attempts"] == len(subjects)
    assert got["never_started"] == sum(one.standing == "never_started" for one in population)
    assert got["arrival_unknown"] == sum(one.arrival is None for one in population)
    assert got["arrivals_clipped"] == sum(one.clipped for one in population)
    assert got["size_unknown"] == sum(one.size is None for one in population)
    assert got["exceeds_capacity"] == sum((one.size or 0) > 4 for one in population)
    left_out = sum(
        one.standing == "pending" and (one.size is None or walltime is None)
        for one, walltime in zip(population, attempts["walltime_s"], strict=True)
    )
    assert got.get("pending_left_out", 0) == left_out
    if use_unknown(population):
        assert (got["utilization"], got["loss_of_capacity"]) == (None, None)
        return
    assert naive.close(got["utilization"], naive.utilization(lives, 4, EPOCH, NOW))
    undated = any(one.standing == "arrival_unknown" for one in population)
    if undated and all(one.arrival is None for one in population if one.start is not None):
        assert (got["loss_of_capacity"], got["queued_mean"]) == (None, None)
    else:
        lost = naive.loss_of_capacity(lives, 4, EPOCH, NOW)
        assert naive.close(got["loss_of_capacity"], lost)
    if not subjects:
        assert got["wait_mean"] is None
        assert got["re_unfairness"] is None
        return
    waits = [one.wait for one in subjects]
    assert got["wait_mean"] == pytest.approx(sum(waits) / len(waits), rel=1e-15)
    assert got["wait_p90"] == naive.nearest_rank(waits, Fraction(9, 10))
    assert got["wait_max"] == max(waits)
    slowdowns = [naive.bounded_slowdown(one) for one in subjects]
    assert naive.close(got["bounded_slowdown_mean"], sum(slowdowns, Fraction()) / len(slowdowns))
    assert naive.close(
        got["bounded_slowdown_median"], naive.nearest_rank(slowdowns, Fraction(1, 2))
    )
    passed = [naive.overtakes(population, one)[0] for one in subjects]
    assert naive.close(got["overtaken_by_mean"], Fraction(sum(passed), len(passed)))
    assert naive.close(got["overtaken_share"], Fraction(sum(n > 0 for n in passed), len(passed)))
    by_class = values(rows, "width_class")
    for width in {naive.width_class(one.size) for one in subjects}:
        theirs = [one.wait for one in subjects if naive.width_class(one.size) == width]
        assert by_class["wait_mean", width] == pytest.approx(sum(theirs) / len(theirs), rel=1e-15)
    scale = sum(one.size * (one.end - one.arrival) for one in lives)
    sized = [one for one in subjects if one.size is not None]
    if not sized:
        assert got["re_unfairness"] is None
        return
    unfairness = [
        naive.equality(life, lives).unfairness
        for one in sized
        if (life := naive.life(one, NOW)) is not None
    ]
    unfair = sum((max(u, Fraction()) for u in unfairness), Fraction())
    assert naive.close(got["re_unfairness"], unfair / len(sized), scale)
    assert naive.close(got["re_unfairness_net"], sum(unfairness, Fraction()) / len(sized), scale)
    held = [(one.size or 0) * ((one.end or 0) - (one.start or 0)) for one in sized]
    assert got["consumed"] == sum(held)
    treated = sum(u > 0 for u in unfairness)
    assert got["re_treated_unfairly_share"] == pytest.approx(treated / len(sized), rel=1e-15)


@given(workloads(most=20))
@settings(max_examples=examples(20))
def test_responses_are_those_of_the_definitions(attempts: pl.DataFrame) -> None:
    got = values(summary(attempts))
    subjects = [one for one in naive.described(attempts.to_dicts()) if one.ended]
    spans = [
        (one.end - one.start, one.end - one.arrival, one.size)
        for one in subjects
        if one.end is not None and one.start is not None and one.arrival is not None
    ]
    occupied = sum(length for length, _, _ in spans)
    responses = sum(response for _, response, _ in spans)
    assert naive.close(got["stretch"], Fraction(responses, occupied) if occupied else None)
    areas = [(length * size, response) for length, response, size in spans if size is not None]
    area = sum(area for area, _ in areas)
    weighted = sum(area * response for area, response in areas)
    assert naive.close(got["response_weighted"], Fraction(weighted, area) if area else None)


@given(workloads(most=12), st.randoms(use_true_random=False))
@settings(max_examples=examples(15))
def test_rows_and_names_and_the_week_change_no_bit(
    attempts: pl.DataFrame, random: st.DataObject
) -> None:
    order = list(range(attempts.height))
    random.shuffle(order)  # type: ignore[attr-defined]
    before = summary(attempts)
    assert summary(attempts[order]).equals(before)
    shifted = attempts.with_columns(pl.col("^.*_time$") + WEEK)
    after = summary(shifted, Period("all", EPOCH + WEEK, NOW + WEEK), NOW + WEEK)
    same = pl.col("dimension") != "day"
    assert after.filter(same).equals(before.filter(same))
    new = {"ann": "zoe", "bob": "yan", "cem": "xia", "dot": "wim"}  # sorts the other way round
    other = attempts.with_columns(pl.col("user").replace(new))
    same = pl.col("dimension") != "user"
    assert summary(other).filter(same).equals(before.filter(same))


def test_days_and_hours_are_the_clusters() -> None:
    # 2001-09-09 01:46:40 UTC is a Sunday, 03:46:40 in Berlin: hour 6·24 + 3 of the week.
    # The period has 20 h 13 min 20 s = 72,800 s of that day and all of the next.
    period = Period("two days", EPOCH, EPOCH + 72_800 + 86_400)
    end = EPOCH + 72_800 + 21_600
    rows = summary(frame([ended(EPOCH, EPOCH + 60, end, 2)]), period, period.to_time)
    by_hour = values(rows, "hour_of_week")
    assert {hour for _, hour in by_hour} == {"147"}
    assert by_hour["wait_mean", "147"] == 60.0
    days = values(rows, "day")
    assert days["utilization", "2001-09-09"] == 2 * (72_800 - 60) / (4 * 72_800)
    assert days["utilization", "2001-09-10"] == 0.125
    assert days["queued_mean", "2001-09-09"] == 2 * 60 / 72_800


def test_a_period_has_its_own_subjects_and_everyones_context() -> None:
    # Two months of 100 s. A (4) runs 0-100 and belongs to the second month, as its end does not
    # belong to the first; B (4) arrives at 50 and runs 100-150.
    attempts = frame([ended(0, 0, 100, 4), ended(50, 100, 150, 4, "bob")])
    first = values(summary(attempts, Period("first", 0, 100), 200))
    second = values(summary(attempts, Period("second", 100, 200), 200))
    assert (first["attempts"], second["attempts"]) == (0, 2)
    assert (first["utilization"], second["utilization"]) == (1.0, 0.5)
    assert first["loss_of_capacity"] == 0.0
    assert second["re_unfairness"] == 50.0  # B: deserved 50·2 + 50·4, consumed 200; /2


@pytest.mark.thorough
@given(workloads(), st.integers(0, 40), st.integers(1, 40))
@settings(max_examples=examples(20))
def test_a_period_needs_no_attempts_but_those_around_it(
    attempts: pl.DataFrame, begin: int, length: int
) -> None:
    # the queue is unknown if no arrival is known, whatever the period
    known = attempts.filter(pl.coalesce("submit_time", "eligible_time").is_not_null())
    described = overtakes(resource_equality(describe(known, [POOL]), NOW))
    whole = booked(described, POOL, NOW).with_columns(similar_wait_s=pl.col("wait_s") // 2 + 1)
    period = Period("part", EPOCH + begin, EPOCH + begin + length)
    held = around(whole, period)
    # the use of the pool is unknown if what is read has no known start
    assume(held["start_time"].is_null().all() == whole["start_time"].is_null().all())
    span = (period.from_time, period.to_time)
    inside = array_spans(in_period(held, period))
    found = EarlierResults(
        {kind: beside(by_entity(inside, kind), kind, held, POOL, span, NOW)[0] for kind in KINDS},
        conservation_of(whole, NOW),
        passed_over.of_period(held, POOL, period, BERLIN),
    )
    of_period = (POOL, period, NOW, BERLIN, 1, QUICK)
    assert summarise(held, *of_period, known=found).equals(summarise(whole, *of_period))


def test_what_the_pool_did_is_of_the_time_that_the_log_speaks_of() -> None:
    """Of a day of which the log covers an hour, the pool of 4 was half busy in that hour."""
    attempts = describe(frame([ended(3_600, 3_600, 7_200, 2)]), [POOL])
    described = overtakes(resource_equality(attempts, 7_200))
    day = Period("a day", 0, 86_400)
    for covered, busy in (((3_600, 7_200), 0.5), (None, 0.5 / 24)):
        options = QUICK._replace(covered=covered)
        got = values(summarise(described, POOL, day, 7_200, BERLIN, 1, options))
        assert got["utilization"] == pytest.approx(busy)


@pytest.mark.parametrize("exclusive", [False, True])
def test_only_nodes_that_jobs_do_not_share_are_a_resource_in_use(exclusive: bool) -> None:
    """Three jobs on one of two nodes would use it three times over."""
    amounts = (("cpus", 8), ("nodes", 2))
    pool = Pool("all", Resource.cpus, 8, amounts=amounts, exclusive_nodes=exclusive)
    jobs = [ended(0, 0, 10, 1, nodes=1) for _ in range(3)]
    described = overtakes(resource_equality(describe(frame(jobs), [pool]), 10))
    made = summarise(described, pool, Period("all", 0, 10), 10, BERLIN, 1, QUICK)
    used = values(made, "resource")
    assert used.get(("utilization", "nodes")) == (1.5 if exclusive else None)
    assert used.get(("utilization", "cpus")) == (0.375 if exclusive else None)
    assert made.filter(metric="used_nodes").height == exclusive


def test_the_report_divides_as_resource_equality_itself_does() -> None:
    """By the attempts whose size is known."""
    unknown = {**ended(0, 2, 8, 0), "cpus": None}
    attempts = frame([ended(0, 0, 10, 4), ended(5, 10, 20, 4), unknown])
    period = Period("all", 0, 20)
    rows = summary(attempts, period, 20)
    got = values(rows)
    assert overall(resource_equality(describe(attempts, [POOL]), 20)) == 5.0
    assert (got["attempts"], got["size_unknown"], got["re_unfairness"]) == (3, 1, 5.0)
    assert got["re_treated_unfairly_share"] == 0.5
    [behind] = rows.filter(metric="re_unfairness", dimension="all")["attempts"]
    assert behind == 2


def test_attempts_without_a_walltime_are_counted() -> None:
    asked = {**ended(0, 0, 10, 1), "walltime_s": 60}
    running = {"submit_time": 0, "start_time": 0, "cpus": 1}
    for records, unknown in (([ended(0, 0, 10, 1), asked, running], 1), ([asked], 0)):
        got = values(summary(frame(records), Period("all", 0, 20), 20))
        assert got["walltime_unknown"] == unknown


def test_a_period_without_data_says_so() -> None:
    rows = summary(frame([]), Period("none", EPOCH, EPOCH + 86_400))
    got = values(rows)
    assert got["attempts"] == got["users"] == 0
    assert got["utilization"] == 0.0
    assert got["wait_mean"] is None
    assert values(rows, "entity_kind")["uwt", "user"] is None


def test_parts_come_in_the_order_of_their_values() -> None:
    sizes = [129, 2, 16, 1, 128, 3, 0, 9]
    attempts = [ended(k * 86_400, k * 86_400, k * 86_400 + 5, size) for k, size in enumerate(sizes)]
    rows = summary(frame(attempts), Period("all", 0, 86_400 * 9), 86_400 * 9)
    waits = rows.filter(metric="wait_mean")
    widths = waits.filter(dimension="width_class")["dimension_value"].to_list()
    assert widths == ["0", "1", "2", "3-4", "9-16", "65-128", ">128"]
    # 1970-01-01 is a Thursday, 01:00 in Berlin; the eighth day is a Thursday again.
    hours = waits.filter(dimension="hour_of_week")["dimension_value"].to_list()
    assert hours == ["1", "25", "49", "73", "97", "121", "145"]
    days = rows.filter(metric="utilization", dimension="day")["dimension_value"].to_list()
    assert days == sorted(days)


def test_waits_by_type_of_gpus() -> None:
    def job(wait: int, types: str | None, partition: str | None, qos: str | None) -> dict[str, Any]:
        return ended(0, wait, 99, 1, gpu_types=types, partition=partition, qos=qos)

    jobs = [
        *(job(wait, "a100:2", "gpu", "long") for wait in (2, 4, 9)),
        job(7, "a100:1", "gpu", "short"),
        job(5, "a100:1,h100:4", "gpu", "short"),
        job(0, None, None, None),
    ]
    rows = summary(frame(jobs), Period("all", 0, 100), 100).filter(metric="wait_median")
    by = {
        dimension: dict(rows.filter(dimension=dimension).select("dimension_value", "value").rows())
        for dimension in ("gpu_type", "partition_qos_gpu_type", "qos")
    }
    assert by == {
        "gpu_type": {None: 0, "a100": 4, "a100+h100": 5},
        "partition_qos_gpu_type": {
            "- / - / -": 0,
            "gpu / long / a100": 4,
            "gpu / short / a100": 7,
            "gpu / short / a100+h100": 5,
        },
        "qos": {None: 0, "long": 4, "short": 5},
    }


def test_without_types_of_gpus_there_are_no_rows_by_type() -> None:
    jobs = [ended(0, 2, 9, 1, gpus=4, partition=name) for name in ("a", "b", "b")]
    rows = summary(frame(jobs), Period("all", 0, 10), 10).filter(metric="wait_mean")
    assert "gpu_type" not in rows["dimension"]
    queues = rows.filter(dimension="partition_qos_gpu_type")
    assert queues["dimension_value"].to_list() == ["a / - / -", "b / - / -"]
    assert queues["attempts"].to_list() == [1, 2]


def test_one_queue_has_no_rows_of_its_own() -> None:
    jobs = [ended(0, wait, 9, 1, gpus=4, partition="gpu", qos="long") for wait in (2, 3)]
    rows = summary(frame(jobs), Period("all", 0, 10), 10)
    assert "partition_qos_gpu_type" not in rows["dimension"]


def test_ends_that_are_missing_are_counted_a_day_after_the_walltime() -> None:
    open_: dict[str, Any] = {"end_time": None, "state": "RUNNING", "walltime_s": 3_600}
    lost = {**ended(EPOCH, EPOCH, 0, 1), **open_}
    later = {**ended(EPOCH + WEEK, EPOCH + WEEK, EPOCH + WEEK + 60, 1)}
    day = 86_400
    rows, now = frame([lost, later]), EPOCH + WEEK + 60
    assert values(summary(rows, now=now))["overdue"] == 1.0
    for end, overdue in ((EPOCH + day + 3_600, None), (EPOCH + day + 3_601, 1.0)):
        first = Period("first", EPOCH, end)
        assert values(summary(rows, first, now)).get("overdue") == overdue
    second = Period("second", EPOCH + 2 * day, EPOCH + 9 * day)
    assert values(summary(rows, second, now))["overdue"] == 1.0
