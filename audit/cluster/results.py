"""Stores the results of a cluster, replacing earlier ones."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from audit.cluster import predicted
from audit.cluster.compute import HISTORY, TableRows, Task
from audit.cluster.identity import FIGURE, before, restated
from audit.cluster.setting import ClusterSettings
from audit.cluster.windows import ComputedWindow, edges_of
from audit.errors import StoreError
from audit.metrics import disclosure
from audit.metrics.attempts.population import belongs_at
from audit.model import OBSERVED, Period, Pool, Standing
from audit.on_disk import release, result
from audit.periods import covering
from audit.store import appending, attempts, database, queries
from audit.store.appending import Appending, Histories
from audit.store.database import Connection
from audit.words import gpu_type

BY_PERIOD: Final = (
    *("entity_result", "summary_result", "fidelity_result"),
    *("penalty_result", "charge_result", "course_result"),
    "base_result",
    "overtaken_result",
    *("advice_result", "advice_part", "rule_result", "hold_result", "outage_result"),
    "share_result",
    *("run_note", "run_input", "run"),
)
DESCRIBING: Final = ("clusters", "pools", "node")


def replace(
    con: Connection, task: Task, results: Iterable[TableRows], now: int | None = None
) -> None:
    """Replace the results of a cluster in one transaction, in which they are also computed.

    Args:
        results: those of the attempts and of the due periods; stored as they arrive.
        now: the time to record, epoch s, if any.

    Raises StoreError if the results cannot be stored.
    """
    setting, due = task.setting, task.due
    cluster = setting.cluster
    runs = {**task.kept, **{identity.period: identity.run_id for identity in due}}
    with database.transaction(con):
        old = before(con, cluster)
        for table in DESCRIBING:
            database.delete(con, table, cluster=cluster)
        _clear(con, setting, task.window)
        keep = [period.name for period in task.kept]
        for table in BY_PERIOD:
            database.delete(con, table, cluster=cluster, keep=keep)
        appending.delete_histories(con, cluster=cluster, keep=keep)
        _describe(con, task)
        after = _insert(con, results, runs)
        database.insert(
            con, "coverage_result", queries.run(con, "refused_coverage", cluster=cluster)
        )
        attempts.keep_course(con, cluster, [identity.period for identity in due])
        if task.pages:
            _publish(con, setting)
        for identity in due:
            identity.note(con, "compute", now)
        if after:
            changed = restated(con, old, pl.concat(after), due)
            database.insert(con, "restatement", changed)


def _publish(con: Connection, setting: ClusterSettings) -> None:
    """Store figures about all users for weeks that were completed since the last time.

    A week is complete once an attempt has ended after it. Published figures never change: attempts
    of a published week that arrive later are left out of them.
    """
    cluster = setting.cluster
    release()
    latest = "SELECT max(end_time) FROM job_result WHERE cluster = $cluster"
    ((last_end,),) = database.rows(con, latest, {"cluster": cluster})
    published = queries.run(con, "published_blocks", cluster=cluster, until=None, definition=None)
    for pool in setting.pools:
        of_pool = published.filter(pool=pool.name).select("from_time", "to_time")
        blocks = of_pool.unique().sort("from_time").rows()
        since, until = _first_stretch(blocks)
        of = {
            "cluster": cluster,
            "pool": pool.name,
            "schedule": OBSERVED,
            "ended": Standing.ENDED.value,
        }
        attempts = result(
            *(con, "unpublished_attempts", disclosure.COLUMNS, ()), **of, since=since, until=until
        )
        if attempts.is_empty():
            continue
        ends = attempts["end_time"].to_numpy()
        weeks = covering("week", int(ends.min()), int(ends.max()), setting.zone)
        closed = [
            week
            for week in weeks
            if week.to_time <= last_end
            and not any(begin < week.to_time and end > week.from_time for begin, end in blocks)
        ]
        made = disclosure.publish(attempts, closed)
        same = {"cluster": cluster, "pool": pool.name, "definition": disclosure.DEFINITION}
        database.insert(con, "published_block", made, same)
        for rows in disclosure.waits(attempts, made):
            database.insert(con, "published_wait", rows, same)


def _first_stretch(blocks: Sequence[tuple[int, int]]) -> tuple[int | None, int | None]:
    """Return the begin of the first block, and the end of the last one before a gap."""
    if not blocks:
        return None, None
    since, until = blocks[0]
    for begin, end in blocks:
        if begin <= until:
            until = max(until, end)
    return since, until


def check(con: Connection) -> None:
    """Raise StoreError if the store is inconsistent, which is a defect."""
    if failed := queries.failed_checks(con):
        name, broken = next(iter(failed.items()))
        raise StoreError(f"sql/checks/{name}.sql found {len(broken)} rows: a defect of fairaudit")


def _clear(con: Connection, setting: ClusterSettings, window: ComputedWindow) -> None:
    """Delete the rows of a window's attempts and days, also of attempts that were open before."""
    cluster = setting.cluster
    made = [cluster, predicted.SUBMISSION, predicted.PENDING, setting.now]
    database.execute(con, _CLEAR_PREDICTIONS, [*made, window.from_time, window.to_time])
    if window.whole:
        for table in ("job_result", "stuck_result", "coverage_result"):
            database.delete(con, table, cluster=cluster)
        return
    of = [cluster, window.from_time, window.to_time]
    database.execute(con, _CLEAR_JOBS, of)
    database.execute(con, _CLEAR_STUCK, [cluster])
    database.execute(con, _CLEAR_DAYS, [cluster, *edges_of(window, setting.zone)])


_CLEAR_PREDICTIONS: Final = """
    DELETE FROM prediction_result AS made
    WHERE cluster = $1 AND CASE kind
        WHEN $2 THEN NOT EXISTS (
            SELECT 1 FROM job_result AS job
            WHERE job.cluster = made.cluster AND job.pool = made.pool
                AND job.job_id = made.job_id AND job.attempt = made.attempt
                AND (end_time < $5::BIGINT OR end_time >= $6::BIGINT
                    OR end_time IS NULL AND $6::BIGINT IS NOT NULL)
        )
        WHEN $3 THEN made_at > $4
        ELSE true
    END
"""
"""Those of pending jobs stay, except those made at this instant or, with fewer logs, after it."""
_CLEAR_JOBS: Final = """
    DELETE FROM job_result
    WHERE cluster = $1 AND CASE
        WHEN end_time IS NOT NULL
            THEN coalesce(end_time >= $2::BIGINT, true) AND coalesce(end_time < $3::BIGINT, true)
        ELSE $3::BIGINT IS NULL OR (job_id, attempt) IN (
            SELECT (job_id, attempt) FROM records
            WHERE cluster = $1 AND NOT superseded
                AND end_time < $3::BIGINT AND coalesce(end_time >= $2::BIGINT, true)
        )
    END
"""
_CLEAR_STUCK: Final = """
    DELETE FROM stuck_result AS stuck
    WHERE cluster = $1 AND NOT EXISTS (
        SELECT 1 FROM job_result AS job
        WHERE job.cluster = stuck.cluster AND job.pool = stuck.pool
            AND job.job_id = stuck.job_id AND job.attempt = stuck.attempt
    )
"""
_CLEAR_DAYS: Final = """
    DELETE FROM coverage_result
    WHERE cluster = $1 AND (
        day IS NULL OR coalesce(day >= $2::DATE, true) AND coalesce(day < $3::DATE, true)
    )
"""


def _describe(con: Connection, task: Task) -> None:
    """Store the cluster, its pools, and the notes of the runs."""
    setting = task.newest or task.setting
    cluster = {"cluster": setting.cluster}
    of_cluster = {**cluster, "zone": setting.zone.key}
    of_runs = [
        {
            **of_cluster,
            "notes": _notes(task.of(run.period)),
            "period": run.period.name,
            "run_id": run.run_id,
        }
        for run in task.due
    ]
    pools = [
        {**cluster, "pool": pool.name, "resource": pool.resource.value, "capacity": pool.capacity}
        for pool in setting.pools
    ]
    clusters = [{**of_cluster, "notes": _notes(setting)}]
    for table, rows in (("clusters", clusters), ("run_note", of_runs), ("pools", pools)):
        database.insert(con, table, pl.DataFrame(rows))
    database.insert(con, "node", _nodes(setting.pools), cluster)


def _notes(setting: ClusterSettings) -> str:
    """Return the notes of a cluster, or of a period, as JSON."""
    notes = [f"{fact.what}: {fact.value} ({fact.source})" for fact in setting.facts]
    more = {"part": setting.part, "announced": setting.announced, "gaps": setting.gaps}
    known = {key: value for key, value in more.items() if value}
    return json.dumps({"notes": notes, "warnings": setting.warnings, **known})


def _nodes(pools: Sequence[Pool]) -> pl.DataFrame:
    rows = []
    for pool in pools:
        for node in pool.nodes:
            amounts = dict(node.amounts)
            types = {gpu_type(name) for name, amount in node.amounts if amount} - {""}
            kind = ",".join(sorted(types)) or None
            known = [amounts.get(name) for name in ("cpus", "mem_bytes", "gpus")]
            features = None if node.features is None else list(node.features)
            rows.append([pool.name, node.name, *known, kind, features, node.source])
    return pl.DataFrame(rows, _NODE, orient="row")


_NODE: Final = pl.Schema(
    [
        ("pool", pl.String),
        ("node", pl.String),
        ("cpus", pl.Int64),
        ("mem_bytes", pl.Int64),
        ("gpus", pl.Int64),
        ("gpu_type", pl.String),
        ("features", pl.List(pl.String)),
        ("source", pl.String),
    ]
)
"""Columns of the table ``node``, without its cluster."""


def _insert(
    con: Connection, results: Iterable[TableRows], runs: Mapping[Period, str]
) -> list[pl.DataFrame]:
    """Insert results with their run; return the figures of summaries."""
    waiting = Appending(con)
    days = Histories(con, waiting)
    figures = []
    for table, period, rows in results:
        if period is not None:
            rows = rows.with_columns(run_id=pl.lit(runs[period]))  # noqa: PLW2901
        elif table == "job_result":
            rows = rows.with_columns(run_id=_run_of(rows, runs))  # noqa: PLW2901
        if table == HISTORY:
            days.add(rows)
        else:
            waiting.add(table, rows)
        if table == "summary_result":
            figures.append(rows.select(*FIGURE, "run_id", new_value="value"))
        del rows  # before more is made
    waiting.finish()
    return figures


def _run_of(jobs: pl.DataFrame, runs: Mapping[Period, str]) -> pl.Expr | pl.Series:
    if len(runs) == 1:
        return pl.lit(next(iter(runs.values())))
    starts = sorted((period.from_time, run_id) for period, run_id in runs.items())
    instant = belongs_at().fill_null(0)
    at = jobs.select(instant).to_series().to_numpy()
    place = np.searchsorted([start for start, _ in starts], at, side="right") - 1
    # attempts before the first current period (--from) belong to its run
    return pl.Series([run_id for _, run_id in starts]).gather(np.maximum(place, 0))
