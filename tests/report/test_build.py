import json
import re
from collections.abc import Sequence
from contextlib import closing
from functools import cache

import polars as pl
import pytest

from audit.config import Metrics
from audit.errors import AuditError, ReportError
from audit.metrics.attempts import fidelity, performance, summary, users
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.model import ATTEMPTS, DESCRIBED, Period, Pool, RecordKind, Resource
from audit.periods import zone
from audit.registry.passed import PassedWhy
from audit.report.build import build, settings_of
from audit.report.contents import Contents, Options, Settings
from audit.report.render import page as render
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.passed_over import OrderTest
from audit.report.sections.registry import notices
from audit.report.sections.resources import Resources
from audit.store import database
from audit.store.database import Connection
from tests import stores
from tests.report.rows import add, add_run
from tests.report.sample import present

_FROM, _TO = 1790805600, 1793487600  # October 2026 in Berlin
_PERIOD = Period("2026-10", _FROM, _TO)
_POOL = Pool("batch", Resource.cpus, 4)


def _attempts(rows: int) -> pl.DataFrame:
    """Attempts of three users, one of them unnamed; every tenth never starts."""
    frame = pl.DataFrame({"line": range(1, rows + 1)}, schema={"line": pl.Int64}).with_columns(
        cluster=pl.lit("demo"),
        kind=pl.lit(RecordKind.JOB.value),
        job_id=pl.col("line").cast(pl.String),
        job_number="line",
        attempt=pl.lit(1),
        user=pl.when(pl.col("line") % 3 > 0).then(pl.format("u{}", pl.col("line") % 3)),
        account=pl.lit("physics"),
        cpus=pl.col("line") % 4 + 1,
        submit_time=_FROM + pl.col("line") * 1_000,
        start_time=pl.when(pl.col("line") % 10 > 0).then(_FROM + pl.col("line") * 1_100),
        end_time=_FROM + pl.col("line") * 1_100 + 900,
        state=pl.lit("COMPLETED"),
    )
    missing = [name for name in ATTEMPTS if name not in frame.columns]
    return frame.with_columns(**dict.fromkeys(missing)).select(
        pl.col(name).cast(dtype) for name, dtype in ATTEMPTS.items()
    )


@cache
def _tables(rows: int) -> Sequence[tuple[str, pl.DataFrame]]:
    """The rows of each table that attempts leave."""
    described = describe(_attempts(rows), [_POOL])
    done = performance.overtakes(resource_equality(described, _TO))
    key = {"cluster": "demo", "pool": "batch", "schedule": "observed", "period": "2026-10"}
    marked = {name: pl.lit(value) for name, value in {**key, "run_id": "run-1"}.items()}
    figures = summary.summarise(
        done, _POOL, _PERIOD, _TO, zone("Europe/Berlin"), 1, summary.SummaryOptions(resamples=50)
    )
    entities = [users.by_entity(done, kind) for kind in summary.KINDS]
    only = set(DESCRIBED) & {
        *("cluster", "pool", "schedule", "job_id", "attempt", "standing"),
        *("arrival_time", "start_time", "end_time"),
    }
    policy = {name: pl.lit("") for name in ("order", "backfill", "fair_order")}
    log = Period("all", _FROM - 900, _TO)
    begin = fidelity.edges(done, log, _PERIOD, by_end=True).with_columns(**marked, **policy)
    return (
        ("summary_result", figures.with_columns(**marked)),
        *(("entity_result", one.with_columns(**marked)) for one in entities),
        ("job_result", done.select(sorted(only)).with_columns(run_id=pl.lit("run-1"))),
        ("fidelity_result", begin.drop("schedule")),
    )


def _fill(con: Connection, rows: int) -> None:
    for table, found in _tables(rows):
        database.insert(con, table, found)


def _of_the_log(con: Connection) -> Connection:
    """Add what the store has of a log besides its attempts."""
    said = json.dumps({"notes": ["pool size: 4 (given)"], "warnings": ["the header lied"]})
    for table, row in (
        ("clusters", {"cluster": "demo", "zone": "Europe/Berlin", "notes": said}),
        ("pools", {"cluster": "demo", "pool": "batch", "resource": "cpus", "capacity": 4}),
        (
            "inputs",
            {
                "input_id": "i",
                "cluster": "demo",
                "file": "demo.swf",
                "dialect": "swf",
                "content_sha256": "ab" * 32,
                "bytes": 9,
                "records": 103,
                "refused": 3,
                "duplicates": 0,
                "header": "{}",
            },
        ),
        (
            "records",
            {
                "cluster": "demo",
                "job_id": "1",
                "kind": "job",
                "end_time": _FROM + 1,
                "line": 1,
                "byte_offset": 0,
                "attempt": 1,
                "superseded": False,
                "input_id": "i",
            },
        ),
    ):
        add(con, table, row)
    add_run(con, {})
    lines = [("short", 7), ("long", 9), ("short", 3)]
    refused = [{"line": n, "reason": reason, "text": f"text {n}"} for reason, n in lines]
    of = {"cluster": "demo", "input_id": "i", "file": "demo.swf", "byte_offset": 0}
    add(con, "refused", *refused, **of)
    return con


@pytest.fixture
def con(bare: Connection) -> Connection:
    return _of_the_log(bare)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    with closing(stores.new(tmp_path_factory.mktemp("said") / "audit.duckdb")) as con:
        _fill(_of_the_log(con), 100)
        return build(con, "demo", _PERIOD)


def test_every_part_of_the_record_is_filled(said: Contents) -> None:
    (pool,) = said.pools
    assert (pool.name, pool.resource, pool.capacity) == ("batch", "cpus", 4)
    assert said.attempts == pool.attempts == 90
    assert [part.label for part in pool.widths] == ["1", "2", "3-4"]
    assert len(pool.days) == 31
    assert [part.label for part in pool.days] == sorted(part.label for part in pool.days)
    assert [int(part.label) for part in pool.hours] == sorted(int(p.label) for p in pool.hours)
    assert pool.figure("never_started").value == 10
    assert pool.users.figure("uwt").value is not None
    assert pool.accounts.figure("nuwt_entities").value == 1
    assert said.span.log_begin == _FROM - 900
    assert said.provenance.run_id == "run-1"


def test_users_come_with_those_that_the_log_does_not_name(said: Contents) -> None:
    (pool,) = said.pools
    assert {row.name for row in pool.users.rows} == {"u1", "u2", None}
    nets = [row.re_unfairness_net or 0.0 for row in pool.users.rows]
    assert nets == sorted(nets, reverse=True)
    assert sum(row.never_started for row in pool.users.rows) == 10


def test_refused_lines_come_by_reason_with_the_first_of_each(said: Contents) -> None:
    assert [(refusal.reason, refusal.lines) for refusal in said.refusals] == [
        ("short", 2),
        ("long", 1),
    ]
    assert [line.line for line in said.refusals[0].examples] == [3, 7]


def test_examples_are_as_many_as_requested(con: Connection) -> None:
    made = build(con, "demo", _PERIOD, Options(examples=1))
    assert [len(refusal.examples) for refusal in made.refusals] == [1, 1]


def test_warnings_of_the_log_reach_page_one(said: Contents) -> None:
    assert said.notes == ("pool size: 4 (given)",)
    assert notices(said)[0].text == "the header lied"


def test_a_period_that_holds_nothing_is_empty(con: Connection) -> None:
    _fill(con, 0)
    made = build(con, "demo", _PERIOD)
    assert made.empty
    assert "Cannot tell: No job ended in this period." in render.render_html(made)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("summary_result SET upper = 'inf'", "OverflowError, audit.report."),
        ("entity_result SET tuwt_s = NULL", "TypeError, audit.report."),
        ("summary_result SET dimension_value = '<b>' WHERE dimension = 'hour_of_week'", "'<b>'"),
        ('run SET config = \'{"assumed": {"batch": 3}}\'', "AttributeError, audit.report.build:"),
    ],
)
def test_damaged_results_are_an_error_of_the_database(
    con: Connection, damage: str, why: str
) -> None:
    _fill(con, 100)
    database.execute(con, f"UPDATE {damage}")
    with pytest.raises(AuditError, match=re.escape(why)):
        render.render_html(build(con, "demo", _PERIOD))


def test_a_period_that_was_never_computed_is_empty(con: Connection) -> None:
    made = build(con, "demo", Period("2026-11", _TO, _TO + 86_400))
    assert made.empty
    assert made.provenance.run_id == "unknown"


def test_next_to_nothing_is_still_a_report(con: Connection) -> None:
    _fill(con, 1)
    made = build(con, "demo", _PERIOD)
    page = render.render_html(made)
    assert "Only 1 attempt" in page
    assert render.render_pdf(made).startswith(b"%PDF")


def test_the_record_is_the_same_each_time(con: Connection, said: Contents) -> None:
    _fill(con, 100)
    assert build(con, "demo", _PERIOD) == said


def _cover(con: Connection, *days: tuple[str | None, int, str]) -> None:
    for day, records, state in days:
        row = {"cluster": "demo", "day": day, "records": records, "state": state}
        row["refused"] = records if day is None else 0
        frame = pl.DataFrame([row]).with_columns(pl.col("day").cast(pl.String).str.to_date())
        database.insert(con, "coverage_result", frame)


def test_days_without_records_are_counted_between_those_with_some(con: Connection) -> None:
    empty_days = ("2026-10-02", "2026-10-05", "2026-10-06", "2026-10-31", "2026-11-01")
    _cover(con, ("2026-09-30", 0, "empty"), *((day, 0, "empty") for day in empty_days))
    _cover(con, ("2026-10-01", 5, "full"), ("2026-10-03", 5, "partial"), (None, 3, "partial"))
    _cover(con, ("2026-10-07", 5, "full"))
    cover = build(con, "demo", _PERIOD, Options(gaps=2)).coverage
    assert (cover.days, cover.empty, cover.partial, cover.undated) == (6, 3, 1, 3)
    assert [(gap.first, gap.last, gap.days) for gap in cover.gaps] == [
        ("2026-10-05", "2026-10-06", 2),
        ("2026-10-02", "2026-10-02", 1),
    ]


def test_a_pool_of_one_resource_has_no_part_on_resources(said: Contents) -> None:
    assert said.pools[0][Resources].uses == ()


def test_resources_come_with_those_who_used_most(con: Connection) -> None:
    _fill(con, 10)
    used: dict[str, dict[str | None, float]] = {
        "cpus": {"anna": 6.0, "ben": 2.0, None: 2.0},
        "gpus": {"ben": 3.0, "anna": 0.0, None: 1.0},
        "mem_bytes": {"anna": 0.0},
    }
    rows: list[tuple[object, ...]] = [
        (f"used_{resource}", "user", user, hours, 5)
        for resource, by_user in used.items()
        for user, hours in by_user.items()
    ]
    rows += [("utilization", "resource", resource, 0.5, None) for resource in used]
    names = ("metric", "dimension", "dimension_value", "value", "attempts")
    figures = [dict(zip(names, row, strict=True)) for row in rows]
    key = {"cluster": "demo", "pool": "batch", "schedule": "observed", "period": "2026-10"}
    add(con, "summary_result", *figures, **key, unit="1", run_id="run-1")
    made = build(con, "demo", _PERIOD, Options(rows=2)).pools[0][Resources].uses
    assert [(of.resource, of.utilization, of.used, of.left_out) for of in made] == [
        ("cpus", 0.5, 10.0, 1),
        ("gpus", 0.5, 4.0, 0),
        ("mem_bytes", 0.5, 0.0, 0),
    ]
    assert [(user.name, user.share, user.share_of_counted) for user in made[1].users] == [
        ("ben", 0.75, 0.2),
        (None, 0.25, 0.2),
    ]
    assert made[2].users == ()


def test_a_cluster_that_nobody_knows(con: Connection) -> None:
    with pytest.raises(ReportError, match="'other'"):
        build(con, "other", _PERIOD)


def test_who_is_passed_over_is_listed_by_how_long(con: Connection) -> None:
    _fill(con, 10)
    figures = {
        "u1": {"passed_named": 1.0, "passed_share": 0.4, "passed_s": 50.0},
        "u2": {"passed_named": 1.0, "passed_share": 0.3, "passed_s": 90.0},
        "u3": {"passed_named": 0.0, "passed_share": 0.2, "passed_s": 99.0},
    }
    key = {"cluster": "demo", "pool": "batch", "schedule": "observed", "period": "2026-10"}
    rows = [
        {"metric": metric, "dimension_value": user, "value": value}
        for user, of_user in figures.items()
        for metric, value in of_user.items()
    ]
    database.execute(con, "DELETE FROM summary_result WHERE starts_with(metric, 'passed_')")
    add(con, "summary_result", *rows, **key, dimension="user", unit="1", run_id="run-1")
    more = {"dimension": "user", "dimension_value": "u3", "metric": "usage_multiple", "value": 2.1}
    ahead = {"dimension": "qos", "dimension_value": "q", "metric": "passed_ahead", "value": 0.6}
    add(con, "summary_result", more, ahead, **key, unit="1", run_id="run-1")
    why = "UPDATE entity_result SET passed_why = 'usage' WHERE entity_kind = 'user'"
    database.execute(con, why)
    (part,) = build(con, "demo", _PERIOD).pools
    assert [(one.kind, one.name) for one in part[OrderTest].used_more] == [("user", "u3")]
    assert [(one.kind, one.name) for one in part[OrderTest].ahead] == [("qos", "q")]
    assert part.passed_why == {PassedWhy.USAGE: len(part.users.named)} != {PassedWhy.USAGE: 0}
    assert [(one.kind, one.name) for one in part[OrderTest].passed] == [
        ("user", "u2"),
        ("user", "u1"),
    ]
    assert part[OrderTest].tested == {"user": 3}
    assert part[OrderTest].passed[0].figure("passed_share").value == 0.3


def test_stuck_jobs_of_a_period_are_listed_those_that_wait_first(con: Connection) -> None:
    _fill(con, 20)
    database.execute(con, "UPDATE job_result SET end_time = NULL WHERE job_id IN ('1', '2')")
    waited = {"1": 50, "2": 70, "3": 900, "4": 800}
    rows = [{"job_id": job, "waited_s": wait} for job, wait in waited.items()]
    of = {"cluster": "demo", "pool": "batch", "attempt": 1, "similar_p95_s": 10, "similar_jobs": 25}
    add(con, "stuck_result", *rows, **of, cause="room")
    (part,) = build(con, "demo", _PERIOD).pools
    stuck = present(part[OrderTest].stuck)
    assert (stuck.waiting, stuck.gave_up) == (2, 2)
    assert [(row.job_id, row.waiting) for row in stuck.rows] == [
        ("2", True),
        ("1", True),
        ("3", False),
        ("4", False),
    ]


def test_the_most_delayed_of_a_period_are_listed(con: Connection) -> None:
    _fill(con, 30)
    database.execute(
        con,
        "UPDATE job_result SET miss_delivered_s = if(job_id = '27', 0, job_id::INT), "
        "miss_cautious_s = 1, wait_s = 100",
    )
    (part,) = build(con, "demo", _PERIOD).pools
    assert [one.job_id for one in part[FairStart].delayed] == [
        str(job) for job in (30, 29, 28, *range(26, 19, -1))
    ]
    one = part[FairStart].delayed[0]
    assert (one.wait_s, one.miss_delivered_s, one.miss_cautious_s) == (100, 30, 1)


# --- settings


def test_settings_are_those_of_the_run(bare: Connection) -> None:
    usage = {"method": "windows", "penalty": "max"}
    chosen = {"metrics": {"tau_s": 30}, "uncertainty": {"resamples": 200}}
    add_run(bare, {"config": chosen, "cluster": {"usage": usage}})
    assert settings_of(bare, "demo", _PERIOD) == Settings(Metrics(tau_s=30), 200, usage, known=True)


@pytest.mark.parametrize("config", [None, {}, [], {"config": {"metrics": {"tau_s": "x"}}}])
def test_what_the_database_does_not_say_is_the_default(bare: Connection, config: object) -> None:
    if config is not None:
        add_run(bare, config)
    assert settings_of(bare, "demo", _PERIOD) == Settings()


def test_the_page_states_them(bare: Connection) -> None:
    cluster = {"cluster": "demo", "zone": "Europe/Berlin", "notes": "{}"}
    add(bare, "clusters", cluster)
    metrics = {"tau_s": 30, "resource_equality_weights": "jobs"}
    add_run(bare, {"config": {"metrics": metrics, "uncertainty": {"resamples": 200}}})
    page = render.render_html(build(bare, "demo", _PERIOD))
    assert "Runs shorter than 30\u00a0s count as 30\u00a0s" in page
    assert "used / number of active attempts" in page
    assert "bootstrap intervals from 200 resamples" in page
