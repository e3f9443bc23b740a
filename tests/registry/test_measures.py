"""The registry has every measure, and what is generated from it matches the results."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from audit.errors import StoreError
from audit.metrics.attempts import fidelity, passed_over, similar
from audit.metrics.attempts.parts import row
from audit.metrics.attempts.performance import overtakes
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.summary import SummaryOptions, summarise
from audit.metrics.nodes import GUESSED
from audit.metrics.pairs import KINDS, PLACES
from audit.metrics.waits.walk import Plan, Starts
from audit.model import Period, Pool, Resource
from audit.registry import columns, measures
from audit.registry.causes import LACKS
from audit.registry.columns import Column
from audit.registry.measure import (
    DURATION,
    ENDED,
    ONE,
    SECONDS,
    Heading,
    Measure,
    Presentation,
    Quotient,
)
from audit.report import labels
from audit.store import catalogue, migrations, publish, snapshots
from audit.store.database import Connection, execute, rows
from bench.pages import metrics_page
from tests.metrics.attempts.booked import booked
from tests.metrics.attempts.fair_starts import with_delivered, with_starts
from tests.strategies import ended, frame

DAY_S = 86_400
ONE_RESOURCE = Pool("main", Resource.cpus, 4)
AMOUNTS = (("cpus", 4), ("nodes", 2), ("gpus", 2), ("mem_bytes", 1 << 30))
SEVERAL = Pool("main", Resource.cpus, 4, amounts=AMOUNTS, exclusive_nodes=True)


def log(*more: dict[str, Any]) -> pl.DataFrame:
    """Return attempts of two users, one after another; one a day for ten days; and ``more``."""
    return frame(
        [
            ended(
                *(k * 60, k * 120, k * 120 + 90, 1 + k % 3, "ann" if k % 2 else "bob"),
                gpu_types="a100:1" if k == 3 else None,
            )
            for k in range(9)
        ]
        + [ended(day * DAY_S, day * DAY_S, day * DAY_S + 1, 1, account="x") for day in range(10)]
        + [*more]
    )


def summary(described: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    period = Period("all", 0, 10 * DAY_S)
    return summarise(
        described, pool, period, DAY_S, ZoneInfo("UTC"), 1, SummaryOptions(resamples=20)
    )


COMPARED = pl.DataFrame(
    [("fcfs", "easy", False, 0.5, 9, 3)],
    ["order", "backfill", "own_peak", "agreement", "instants", "judged"],
    orient="row",
)


def complete(pool: Pool, *more: dict[str, Any]) -> pl.DataFrame:
    return overtakes(resource_equality(describe(log(*more), [pool]), DAY_S))


def judged(pool: Pool) -> pl.DataFrame:
    pending = {"submit_time": 0, "state": "PENDING"}
    lost = {"submit_time": -9, "start_time": -9, "walltime_s": 8, "cpus": 1, "state": "RUNNING"}
    described = booked(complete(pool, pending, lost), pool, DAY_S).with_columns(
        *(pl.lit(1).alias(name) for name in similar.REFERENCE.values())
    )
    arrivals = described["arrival_time"].to_list()
    fair = with_starts(described, arrivals, arrivals, ["final"] * len(arrivals))
    return with_delivered(fair, arrivals).with_columns(
        *(pl.lit(0.0).alias(lack.column) for lack in LACKS),
        lost_work=pl.lit(1.0),
        preemptible_s=pl.lit(1.0),
        freed_for=pl.lit(None, pl.String),
        beyond_work=pl.lit(1.0),
        beyond_request=pl.lit("whole"),
        charge=pl.lit(1.0),
        beyond_charge=pl.lit(1.0),
        job_number=pl.lit(1, pl.Int64),
        array_task=pl.int_range(pl.len(), dtype=pl.Int64),
    )


def passed() -> pl.DataFrame:
    """Return results for entities that are passed over, and for one that cannot be decided."""
    tested = (20, 8, 9.0, 8.0, 0.8, 0.1, 99, 0.5, 0.0)
    passing = (8, 60, 0.0)
    named = ("x", *tested, True, None, 0.1, 2.0, *(None,) * 3, *passing)
    stated = ("x", *tested, False, "order", None, None, "z", 9.0, 8.0, *passing)
    none = (0, None, None)
    unknown = ("y", 0, 0, 0.0, 0.0, *(None,) * 2, 0, *(None,) * 3, "few_jobs", *(None,) * 5, *none)
    return pl.DataFrame(
        [(kind, *one) for kind in KINDS for one in (stated if kind in PLACES else named, unknown)],
        passed_over.RESULT_SCHEMA,
        orient="row",
    )


def test_each_figure_of_a_summary_has_an_entry_with_unit_and_dimensions() -> None:
    rows = summary(judged(SEVERAL), SEVERAL)
    guessed = [row(name, "all", None, 0.1, 1) for name in GUESSED]
    decided = pl.DataFrame([*passed_over.rows(passed()), *guessed], rows.schema, orient="row")
    rows = pl.concat([rows, decided])
    dimensions = {str(metric): set(of["dimension"]) for (metric,), of in rows.group_by("metric")}
    assert dimensions == {key: set(one.dimensions) for key, one in measures.SUMMARY.items()}
    for metric, value, unit in rows.select("metric", "dimension_value", "unit").iter_rows():
        assert unit == measures.unit_of(metric, value)


def test_conditional_measures_say_when() -> None:
    of_one_user = complete(ONE_RESOURCE).with_columns(user=pl.lit("ann"))
    always = set(summary(of_one_user, ONE_RESOURCE)["metric"])
    assert always == {key for key, one in measures.SUMMARY.items() if not one.when}


def test_each_figure_of_fidelity_has_an_entry() -> None:
    held = judged(ONE_RESOURCE)
    replayed = held.select(*fidelity.KEY, replayed_start_time="start_time")
    log, rule = Period("all", 9, 10 * DAY_S), fidelity.FidelityRule("fcfs", "easy")
    rows = pl.concat(
        [
            fidelity.edges(held, log, log, by_end=True),
            fidelity.of_account(Plan(20), Starts(9, 8, 7, 6, 5, 4, 3), 60),
            fidelity.fidelity(held, replayed),
            fidelity.of_rules(COMPARED, rule, rule, 0.9).drop(fidelity.RULE_SCHEMA.names()),
        ]
    )
    assert rows["metric"].to_list() == list(measures.FIDELITY)
    assert rows["unit"].to_list() == [one.unit for one in measures.FIDELITY.values()]


def test_a_figure_without_an_entry_is_refused() -> None:
    with pytest.raises(KeyError, match="wait_p95"):
        row("wait_p95", "all", None, 1.0, 1)


def test_labels_can_be_understood_alone() -> None:
    labels = [one.label for one in (*measures.SUMMARY.values(), *measures.FIDELITY.values())]
    assert [label for label in labels if label.startswith("…")] == []
    assert [label for label, number in Counter(labels).items() if number > 1] == []


def test_shares_are_shown_as_such() -> None:
    shares = {
        key
        for key, one in {**measures.SUMMARY, **measures.FIDELITY}.items()
        if one.unit == ONE and ("_share" in key or one.meaning.startswith("share"))
    }
    shown = {
        key
        for key, one in {**measures.SUMMARY, **measures.FIDELITY}.items()
        if one.shown is Presentation.SHARE
    }
    assert shares <= shown
    assert all(measures.unit_of(key) == ONE for key in shown)


def test_the_summary_names_its_dimensions(store: Connection) -> None:
    named = commented(store, "summary")["dimension"].partition(": ")[2].split(", ")
    assert set(named) == {
        dimension for one in measures.SUMMARY.values() for dimension in one.dimensions
    }


def commented(con: Connection, view: str) -> dict[str, str]:
    """The comment of each column of a view."""
    asked = "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = $view"
    return dict(rows(con, asked, {"view": view}))


LAXITY = Measure(
    "laxity_mean", "Mean laxity", SECONDS, DURATION, ("all", "width_class"),
    "mean of the laxity", "", Heading.WAITS, figure=Quotient(ENDED, "laxity_s"),
)  # fmt: skip
OF_LAXITY = Column("laxity_s", columns.BIGINT, "walltime − runtime", SECONDS)


@pytest.fixture
def with_laxity(monkeypatch: pytest.MonkeyPatch, store: Connection) -> None:
    """Add a measure and its column to the registry, which made ``store`` before."""
    monkeypatch.setitem(measures.SUMMARY, LAXITY.key, LAXITY)
    monkeypatch.setattr(columns, "OF_ATTEMPTS", (*columns.OF_ATTEMPTS, OF_LAXITY))
    monkeypatch.setattr(catalogue, "_made", {})


@pytest.mark.usefixtures("with_laxity")
def test_an_entry_is_all_that_a_new_measure_needs(store: Connection) -> None:
    """Existing stores get the column as well."""
    execute(store, "INSERT INTO job_result (cluster, pool, schedule, job_id, attempt, standing, "
            "run_id) VALUES ('c', 'p', 'observed', '1', 1, 'ended', 'r')")  # fmt: skip
    migrations.migrate(store)
    assert rows(store, "SELECT job_id, laxity_s FROM job_fairness") == [("1", None)]
    assert commented(store, "job_fairness")["laxity_s"] == "walltime − runtime; s"
    described = complete(ONE_RESOURCE).with_columns(laxity_s=pl.lit(90))
    made = summary(described, ONE_RESOURCE).filter(metric=LAXITY.key)
    assert set(made["dimension"]) == {"all", "width_class"}
    assert set(made["value"]) == {90.0}
    assert set(made["unit"]) == {"s"}
    assert (LAXITY.key, LAXITY.label) in labels.key_figures()
    page = metrics_page.filled(metrics_page.PAGE.read_text(encoding="utf-8"))
    assert "| `laxity_mean` | s | all, width_class | mean of the laxity |" in page
    assert "- `laxity_s`: walltime − runtime; s." in page


def checked(store: Connection, folder: Path) -> int:
    """Check the tables of a published copy of a store."""
    publish.publish(store, folder / "published.duckdb")
    with closing(snapshots.open_snapshot(folder / "published.duckdb", tables_only=True)) as con:
        return catalogue.check_tables(con)


@pytest.mark.usefixtures("with_laxity")
def test_a_store_that_lacks_a_declared_column_is_one_of_fairaudit(
    store: Connection, tmp_path: Path
) -> None:
    before = checked(store, tmp_path)
    execute(store, "ALTER TABLE job_result ADD COLUMN laxity_s BIGINT")
    assert checked(store, tmp_path) == before


@pytest.mark.parametrize(
    "column", ["laxity_s VARCHAR", "laxity_s BIGINT DEFAULT 7", "slack_s BIGINT"]
)
@pytest.mark.usefixtures("with_laxity")
def test_a_column_that_is_not_as_declared_is_foreign(
    store: Connection, tmp_path: Path, column: str
) -> None:
    execute(store, f"ALTER TABLE job_result ADD COLUMN {column}")
    with pytest.raises(StoreError, match="not one of fairaudit"):
        checked(store, tmp_path)
