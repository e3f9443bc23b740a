"""The base of a verdict, from a few attempts made by hand."""

from itertools import count
from typing import Any

import polars as pl
import pytest

from audit.config import VerdictConfig
from audit.metrics.attempts import base
from audit.metrics.attempts.passed_over import RESULT_SCHEMA
from audit.metrics.verdict import KnownCause
from audit.model import Period
from audit.periods import zone

DAY = 86_400
UTC = zone("UTC")
NUMBERS = count()
CAUSES = ("outside", "unavailable", "held", "rule", "unexplained")


def job(day: int, wait: int, **more: Any) -> dict[str, Any]:
    """An attempt that arrived on a day, waited so long, and ran for 100 s."""
    parts = {f"cause_{name}_s": float(more.pop(name, 0)) for name in CAUSES}
    arrived = day * DAY
    made = {
        "job_id": str(next(NUMBERS)), "standing": "ended", "user": "anna", "account": "z",
        "submit_time": arrived, "arrival_time": arrived,
        "start_time": arrived + wait, "end_time": arrived + wait + 100, "wait_s": wait,
        "occupancy_s": 100, "width_class": "1", "gpus": 0, "unstartable_from": None,
        "eligible_time": None, "reason": None, "priority": None,
    }  # fmt: skip
    return made | parts | more


SCHEMA = {
    **dict.fromkeys(("user", "reason"), pl.String),
    **dict.fromkeys(("unstartable_from", "eligible_time", "gpus"), pl.Int64),
    "priority": pl.Float64,
}
PASSED = pl.DataFrame(schema=RESULT_SCHEMA)


def of(*jobs: dict[str, Any], passed: pl.DataFrame = PASSED) -> dict[str, Any]:
    frame = pl.DataFrame(list(jobs), schema_overrides=SCHEMA)
    all_ = Period("all", 0, 10**9)
    return base.of_base(frame, all_, passed, VerdictConfig(), UTC, 1, 100).row(0, named=True)


def test_a_period_shorter_than_91_days_is_judged_by_the_days_before_too() -> None:
    log = Period("all", 0, 1_000 * DAY)
    month = Period("m", 500 * DAY, 530 * DAY)
    assert base.base_of(month, log, UTC) == Period("base", 439 * DAY, 530 * DAY)
    long = Period("y", 400 * DAY, 530 * DAY)
    assert base.base_of(long, log, UTC) == long
    assert base.base_of(log, log, UTC) == log
    young = Period("all", 490 * DAY, 1_000 * DAY)
    assert base.base_of(month, young, UTC).from_time == 490 * DAY
    assert base.base_of(month, Period("all", 510 * DAY, 999 * DAY), UTC) == month


def test_waiting_before_the_log_begins_is_left_out() -> None:
    made = of(job(1, 1_000, outside=400, unexplained=100), job(2, 200, unexplained=200))
    assert (made["waited_s"], made["no_reason_s"], made["not_judged_s"]) == (800.0, 300.0, 300.0)


def test_of_marked_attempts_nothing_but_what_is_known_is_judged() -> None:
    marked = job(
        1, 1_000, outside=100, unavailable=50, held=20, rule=30, unexplained=300, unstartable_from=5
    )
    made = of(marked, job(2, 500))
    assert made["no_reason_s"] == 300.0
    assert made["not_judged_s"] == 800.0
    assert made["waited_s"] == 1_400.0


def test_counts() -> None:
    unknown = job(3, 900, user=None)
    ran = job(4, 0, standing="start_unknown", start_time=None, wait_s=None)
    undated = job(5, 0, standing="arrival_unknown", wait_s=None)
    gone = job(6, 0, standing="never_started", start_time=None, wait_s=None)
    made = of(job(1, 600), job(2, 601, user="ben"), unknown, ran, undated, gone)
    assert (made["ended"], made["placed"], made["users"]) == (5, 4, 2)
    assert (made["waits"], made["long_waits"], made["occupied_s"]) == (3, 2, 300.0)
    assert made["unknown_users_s"] == 900.0
    assert made["wait_p90"] == 900


def test_attempts_of_a_job_are_one_job() -> None:
    """Each of 16 jobs ran twice, and each attempt waited long."""
    jobs = [job(k, 700, job_id=str(k % 16)) for k in range(32)]
    made = of(*jobs)
    assert (made["ended"], made["placed"], made["waits"], made["long_waits"]) == (16, 16, 16, 16)
    assert made["long_class"] is False
    assert of(*(job(k, 700, job_id=str(k % 30)) for k in range(60)))["long_class"] is True
    passed = pl.DataFrame([entity("anna")], RESULT_SCHEMA)
    frame = pl.DataFrame(jobs, schema_overrides=SCHEMA)
    assert base.overtaken(frame, Period("all", 0, 10**9), passed, {})["jobs"].to_list() == [16]


@pytest.mark.parametrize(("waits", "long"), [((601,) * 30, True), ((600,) * 30, False)])
def test_a_class_that_typically_waits_long(waits: tuple[int, ...], long: bool) -> None:
    rest = [job(2, 0, width_class="2") for _ in range(100)]
    assert of(*(job(1, wait) for wait in waits), *rest)["long_class"] is long
    assert of(*(job(1, wait) for wait in waits[:29]), *rest)["long_class"] is False
    gpus = [job(1, wait, gpus=2, width_class="2") for wait in waits]
    assert of(*gpus, *rest)["long_class"] is long


def test_records_hold_reasons_where_nearly_all_starts_have_them() -> None:
    some = [job(1, 0, reason="None") for _ in range(19)]
    assert of(*some, job(1, 0))["holds"] is True
    assert of(*some, job(1, 0), job(1, 0))["holds"] is False
    assert of(job(1, 0, eligible_time=5))["holds"] is True
    assert of(job(1, 0, priority=1.0))["holds"] is True


def entity(name: str, kind: str = "user", **more: Any) -> dict[str, Any]:
    made = dict.fromkeys(RESULT_SCHEMA.names()) | {
        "entity_kind": kind, "entity": name, "attempts": 50, "days": 9, "pairs": 5.0, "lost": 1.0,
        "passed_s": 100, "passed_jobs": 3, "named": True,
    }  # fmt: skip
    return made | more


def test_known_causes_and_who_was_tested() -> None:
    rows = [
        entity("a"),
        entity("b", held_share=0.25),
        entity("c", held_share=0.24, usage_multiple=1.6),
        entity("d", named=None, why="few_jobs"),
        entity("e", named=False, why="usual"),
        entity("f", usage_multiple=1.6),
        entity("p", "account", held_share=0.4),
        entity("q", "account", held_share=0.5),
        entity("none", attempts=0, named=None, why="no_others"),
        entity("long", "partition"),
    ]
    passed = pl.DataFrame(rows, RESULT_SCHEMA)
    jobs = [job(1, 100, user=name) for name in "abcdef"]
    jobs += [job(day, 0, user="b", account="p") for day in (1, 99)]
    jobs += [job(1, 0, user="e", account="q"), job(1, 0, user="e", account="q", standing="pending")]
    frame = pl.DataFrame(jobs, schema_overrides=SCHEMA)
    made = base.overtaken(frame, Period("base", 0, 9 * DAY), passed, {"user": ["b", "f", "p"]})
    of_all = {"a": 1, "b": 2, "c": 1, "d": 1, "e": 2, "f": 1, "p": 1, "q": 1}
    assert dict(made.select("entity", "jobs").iter_rows()) == of_all
    causes = dict(made.select("entity", "cause").iter_rows())
    held, usage, lower = (
        one.value for one in (KnownCause.HELD, KnownCause.USAGE, KnownCause.PRIORITY)
    )
    none = dict.fromkeys(("a", "d", "e", "p"))
    assert causes == {**none, "b": held, "c": usage, "f": lower, "q": held}
    found = of(*jobs[:5], passed=passed)
    assert (found["tested"], found["tested_s"]) == (5, 400.0)
    figures = base.figures(found, made)
    assert figures.waited_s == 500.0
    assert [one.named for one in figures.overtaken] == [
        *(True, True, True, None, False, True, True, True)
    ]
