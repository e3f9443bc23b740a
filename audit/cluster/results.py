"""Puts what was computed into the store, in the place of what was there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from audit.cluster.compute import Results
from audit.cluster.identity import Identity
from audit.cluster.setting import Setting
from audit.errors import StoreError
from audit.model import Period
from audit.store import database, queries
from audit.store.database import Connection

BY_PERIOD: Final = (
    *("entity_result", "summary_result", "fairshare_result", "fidelity_result"),
    *("penalty_result", "charge_result"),
    *("run_note", "run"),
)
WHOLE: Final = ("clusters", "pools", "job_result", "coverage_result")


def replace(
    con: Connection,
    setting: Setting,
    results: Results,
    computed: Sequence[Identity],
    kept: Mapping[Period, str],
    now: int | None = None,
) -> None:
    """Replaces the results of a cluster, in one transaction.

    Args:
        con: an open store.
        setting: of the cluster.
        results: of its attempts and of the periods of ``computed``.
        computed: the runs that computed them.
        kept: the other current periods and their run, whose figures stay as they are. What the
            store holds of any other period goes.
        now: when, epoch s; None where no clock may show.

    Raises:
        StoreError: the results contradict one another, which is a defect.
    """
    cluster = setting.cluster
    runs = {**kept, **{identity.period: identity.run_id for identity in computed}}
    names = pl.DataFrame(
        {"period": [period.name for period in runs], "run_id": list(runs.values())}
    )
    with database.transaction(con):
        before = queries.run(con, "summary_of_cluster", cluster=cluster)
        for table in WHOLE:
            database.delete(con, table, cluster=cluster)
        for table in BY_PERIOD:
            database.delete(con, table, cluster=cluster, keep=[period.name for period in kept])
        _describe(con, setting, computed)
        database.insert(con, "coverage_result", results.coverage_result)
        database.insert(
            con, "coverage_result", queries.run(con, "refused_coverage", cluster=cluster)
        )
        database.insert(con, "job_result", _with_runs(results.job_result, runs))
        for table in BY_PERIOD[:-2]:
            rows: pl.DataFrame = getattr(results, table)
            database.insert(con, table, rows.join(names, on="period", maintain_order="left"))
        for identity in computed:
            identity.note(con, "compute", now)
        database.insert(
            con, "restatement", _restated(before, results.summary_result, computed, cluster)
        )
    if failed := queries.failed_checks(con):
        name, broken = next(iter(failed.items()))
        raise StoreError(f"sql/checks/{name}.sql found {len(broken)} rows: a defect of fairaudit")


def _describe(con: Connection, setting: Setting, runs: Sequence[Identity]) -> None:
    """Puts into the store what the report says of the cluster itself."""
    notes = [f"{fact.what}: {fact.value} ({fact.source})" for fact in setting.facts]
    remarks = json.dumps({"notes": notes, "warnings": setting.warnings})
    cluster = {"cluster": setting.cluster}
    described = {**cluster, "zone": setting.zone.key, "notes": remarks}
    database.insert(con, "clusters", pl.DataFrame([described]))
    database.insert(
        con,
        "run_note",
        pl.DataFrame(
            [{**described, "period": run.period.name, "run_id": run.run_id} for run in runs]
        ),
    )
    pools = [
        {**cluster, "pool": pool.name, "resource": pool.resource.value, "capacity": pool.capacity}
        for pool in setting.pools
    ]
    database.insert(con, "pools", pl.DataFrame(pools))


def _with_runs(jobs: pl.DataFrame, runs: Mapping[Period, str]) -> pl.DataFrame:
    """Gives each attempt the run of the period to which it belongs."""
    starts = pl.DataFrame(
        {
            "from_time": [period.from_time for period in runs],
            "run_id": list(runs.values()),
        },
        schema={"from_time": pl.Int64, "run_id": pl.String},
    ).sort("from_time")
    instant = pl.coalesce("end_time", "arrival_time", "start_time", pl.lit(0)).alias("from_time")
    # one that belongs to no current period (--from) gets the first one's
    ordered = jobs.select(instant).with_row_index("row").sort("from_time", "row")
    ordered = ordered.join_asof(starts, on="from_time", strategy="backward").sort("row")
    first = starts["run_id"][0]
    return jobs.with_columns(run_id=ordered["run_id"].fill_null(first))


def _restated(
    before: pl.DataFrame, after: pl.DataFrame, computed: Sequence[Identity], cluster: str
) -> pl.DataFrame:
    """Figures of periods that had been computed before and came out otherwise."""
    key = ["pool", "period", "metric", "dimension", "dimension_value"]
    runs = pl.DataFrame(
        {"period": [m.period.name for m in computed], "run_id": [m.run_id for m in computed]},
        schema={"period": pl.String, "run_id": pl.String},
    )
    old = before.rename({"value": "old_value", "run_id": "old_run_id"})
    new = after.select(*key, new_value="value").join(runs, on="period")
    both = old.join(new, on=key, how="inner", nulls_equal=True)
    changed = both.filter(pl.col("old_value").ne_missing(pl.col("new_value")))
    return changed.select(
        "period",
        "metric",
        "dimension",
        "dimension_value",
        "old_value",
        "new_value",
        "old_run_id",
        "run_id",
        cluster=pl.lit(cluster),
        because=pl.lit("its logs or its configuration changed"),
    ).sort(pl.all())
