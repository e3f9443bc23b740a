"""That the registry knows every measure, and that what is made from it is what is there."""

import re
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from audit import resources
from audit.metrics import columns, measures
from audit.metrics.attempts import fidelity
from audit.metrics.attempts.anatomy import anatomy
from audit.metrics.attempts.parts import row
from audit.metrics.attempts.performance import overtakes
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.summary import Options, summarise
from audit.metrics.columns import Column
from audit.model import Period, Pool, Resource
from tests.metrics.attempts.fair_starts import with_starts
from tests.strategies import ended, frame

DAY_S = 86_400
ONE_RESOURCE = Pool("main", Resource.cpus, 4)
AMOUNTS = (("cpus", 4), ("nodes", 2), ("gpus", 2), ("mem_bytes", 1 << 30))
SEVERAL = Pool("main", Resource.cpus, 4, amounts=AMOUNTS)


def log() -> pl.DataFrame:
    """Attempts of two users, one after another; then one a day for ten days."""
    return frame(
        [
            ended(k * 60, k * 120, k * 120 + 90, 1 + k % 3, "ann" if k % 2 else "bob")
            for k in range(9)
        ]
        + [ended(day * DAY_S, day * DAY_S, day * DAY_S + 1, 1, account="x") for day in range(10)]
    )


def summary(described: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    period = Period("all", 0, 10 * DAY_S)
    return summarise(described, pool, period, DAY_S, ZoneInfo("UTC"), 1, Options(resamples=20))


def complete(pool: Pool) -> pl.DataFrame:
    return overtakes(resource_equality(describe(log(), [pool]), DAY_S))


def judged(pool: Pool) -> pl.DataFrame:
    described = anatomy(complete(pool), pool, DAY_S).with_columns(peer_wait_s=pl.lit(1.0))
    arrivals = described["arrival_time"].to_list()
    fair = with_starts(described, arrivals, arrivals, ["final"] * len(arrivals))
    return fair.with_columns(
        *(pl.lit(0).alias(name) for name in ("overtaken_s", "overtaken_own_s", "unmodelled_s")),
        *(pl.lit(0).alias(name) for name in ("kept_s", "idle_s")),
        start_modelled="start_time",
        decision=pl.lit("on_time"),
        idle_because=pl.lit(None, pl.String),
    )


def test_the_registry_knows_each_figure_of_a_summary_its_unit_and_dimensions() -> None:
    rows = summary(judged(SEVERAL), SEVERAL)
    dimensions = {str(metric): set(of["dimension"]) for (metric,), of in rows.group_by("metric")}
    assert dimensions == {key: set(one.dimensions) for key, one in measures.SUMMARY.items()}
    for metric, value, unit in rows.select("metric", "dimension_value", "unit").iter_rows():
        assert unit == measures.unit_of(metric, value)


def test_what_is_not_always_there_says_when() -> None:
    always = set(summary(complete(ONE_RESOURCE), ONE_RESOURCE)["metric"])
    assert always == {key for key, one in measures.SUMMARY.items() if not one.when}


def test_the_registry_knows_each_figure_of_fidelity() -> None:
    held = judged(ONE_RESOURCE)
    replayed = held.select(*fidelity.KEY, replayed_start_time="start_time")
    rows = fidelity.fidelity(held, replayed)
    assert rows["metric"].to_list() == list(measures.FIDELITY)
    assert rows["unit"].to_list() == [one.unit for one in measures.FIDELITY.values()]


def test_a_figure_without_an_entry_is_refused() -> None:
    with pytest.raises(KeyError, match="wait_p95"):
        row("wait_p95", "all", None, 1.0, 1)


def test_shares_are_shown_as_such() -> None:
    shares = {
        key
        for key, one in {**measures.SUMMARY, **measures.FIDELITY}.items()
        if one.unit == measures.ONE and ("_share" in key or one.meaning.startswith("share"))
    }
    shown = {
        key
        for key, one in {**measures.SUMMARY, **measures.FIDELITY}.items()
        if one.shown is measures.Shown.SHARE
    }
    assert shares <= shown
    assert all(measures.unit_of(key) == measures.ONE for key in shown)


@pytest.mark.parametrize(
    ("view", "listed"),
    [
        ("job_fairness", columns.OF_ATTEMPTS),
        ("user_fairness", columns.OF_OWNERS),
        ("account_fairness", columns.OF_OWNERS),
    ],
)
def test_columns_of_views_say_what_the_registry_says(view: str, listed: tuple[Column, ...]) -> None:
    comments = commented(view)
    for column in listed:
        assert comments[column.key] == column.comment


def test_the_summary_names_its_dimensions() -> None:
    named = commented("summary")["dimension"].partition(": ")[2].split(", ")
    assert set(named) == {
        dimension for one in measures.SUMMARY.values() for dimension in one.dimensions
    }


def commented(view: str) -> dict[str, str]:
    """The comment of each column, as sql/views writes it."""
    [text] = [
        found
        for file in resources.files("sql/views", ".sql")
        if f"VIEW {view} AS" in (found := file.read_text(encoding="utf-8"))
    ]
    return dict(re.findall(rf"COMMENT ON COLUMN {view}\.\"?(\w+)\"? IS '(.*)';", text))
