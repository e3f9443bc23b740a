"""The stages ``compute`` and ``report``: the figures and reports of a cluster that are due.

Figures of a period are due where what they rest on is not what those in the store were made of, or
where fair start times were left for the next night; a report is, where the run that made its
period's figures has made none.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
import polars as pl

from audit import periods
from audit.cluster import fairshare
from audit.cluster.fairshare import Fairshare
from audit.cluster.identity import Identity
from audit.cluster.setting import Setting, configured
from audit.config import Cluster, Config, Threshold, places
from audit.errors import UsageError
from audit.files import privacy
from audit.model import Period
from audit.nightly import setting_aside
from audit.nightly.stages import Night, Work
from audit.pipeline import drawing, owners, published
from audit.pipeline.computing import Task, compute_and_keep
from audit.report import verdicts
from audit.report.contents import Contents
from audit.report.owner.who import Who
from audit.report.text.notices import notices
from audit.store import database, queries
from audit.store.attempts import read_attempts
from audit.store.database import Connection


def compute(work: Work, cluster: Cluster) -> bool:
    """Computes the periods whose figures are not of what the store holds now.

    Returns:
        Whether there was anything to compute of, and no fair start time is left for the next night.

    Raises:
        UsageError: there is no such period as the one that was asked for.
        ConfigError: files that the configuration names are wrong.
    """
    con, config, only, night = work.con, work.config, work.only, work.night
    attempts = read_attempts(con, cluster.name)
    if attempts.is_empty():
        night.warnings.append(f"cluster {cluster.name!r}: no records yet, so nothing to report")
        return False
    setting = configured(cluster, attempts, published.headers(con, cluster.name))
    current = dict.fromkeys(_periods(attempts, cluster, setting))
    if only is not None and only not in {period.name for period in current}:
        names = [period.name for period in current]
        raise UsageError(
            f"--period {only!r}: cluster {cluster.name!r} has {names[0]} to {names[-1]}"
        )
    computed = {
        Period(name, start, end): run_id
        for name, start, end, run_id in queries.run(
            con, "computed", cluster=cluster.name
        ).iter_rows()
    }
    settings = fairshare.read(cluster.usage, work.folder, cluster.name)
    in_force = _in_force(config, cluster, setting, settings)
    lost = setting_aside.by_period(con, cluster.name, list(current))
    identities = [
        Identity.of(con, cluster.name, period, _as_json({**in_force, **lost.get(period, {})}))
        for period in current
    ]
    named = [each for each in identities if only in (None, each.period.name)]
    stale = {each.run_id for each in named if computed.get(each.period) != each.run_id}
    due = [each for each in identities if each.run_id in stale | _unfinished(con, cluster)]
    kept = {
        period: run_id
        for period, run_id in computed.items()
        if period in current and period not in {identity.period for identity in due}
    }
    if not due and len(kept) == len(computed):
        return True
    work.prepare()
    compute_and_keep(
        con,
        Task(attempts, setting, settings, due, kept),
        config,
        work.now,
        lambda what, done, of: work.progress(f"{cluster.name}: {what}", done, of),
    )
    night.warnings += [f"cluster {cluster.name!r}: {warning}" for warning in setting.warnings]
    night.computed += [f"{cluster.name} {identity.period.name}" for identity in due]
    for threshold in config.thresholds:
        for identity in due:
            night.exceeded += _exceeded(con, identity, threshold)
    return not _unfinished(con, cluster)


def report(work: Work, cluster: Cluster, due: Sequence[tuple[str, int, int, str]]) -> None:
    """Makes the reports that are missing; they replace what was there in one step each.

    Args:
        work: what a run is told.
        cluster: whose reports.
        due: name, start and end (epoch s) of each period, and the run that computed it.
    """
    con, config, night = work.con, work.config, work.night
    what = f"reports of {cluster.name}"
    names = owners.names(con, cluster.name)
    asked = [
        who
        for recipient in config.recipients
        if recipient.gets(cluster.name, cluster.period)
        for who in itertools.starmap(Who, recipient.owners)
        if who in names
    ]
    for number, (name, start, end, run_id) in enumerate(due):
        work.progress(what, number, len(due))
        folder = places.of_report(config, work.folder, cluster.name, name)
        privacy.shared_folder(folder, with_group=config.output.shared_with_group)
        period = Period(name, start, end)
        report_made = drawing.draw(
            con, config, cluster.name, period, folder, pdf=config.report.pdf, asked=asked
        )
        if report_made.failure is not None:
            night.failures.append(report_made.failure)
            continue
        verdicts.keep(con, report_made.contents)
        _note_report(con, cluster.name, name, run_id, work.now)
        night.reports.append(report_made.html)
        _warn(night, f"{cluster.name} {name}", report_made.contents)
    if due:
        work.progress(what, len(due), len(due))


def _in_force(
    config: Config, cluster: Cluster, setting: Setting, settings: Fairshare
) -> dict[str, object]:
    """All of the configuration that figures rest on."""
    return {
        "config": config.model_dump(mode="json", include={"metrics", "uncertainty"}),
        "cluster": cluster.model_dump(mode="json", exclude={"sources"}),
        "pools": setting.pools,
        **({"files": settings.in_force} if settings.in_force else {}),
    }


def _as_json(in_force: dict[str, object]) -> str:
    return json.dumps(in_force, sort_keys=True)


def _unfinished(con: Connection, cluster: Cluster) -> set[str]:
    """The runs that a budget kept from computing all fair start times."""
    return set(queries.run(con, "unfinished", cluster=cluster.name)["run_id"])


def _exceeded(con: Connection, identity: Identity, limit: Threshold) -> list[str]:
    rows = queries.run(
        con,
        "exceeded",
        cluster=identity.cluster,
        period=identity.period.name,
        metric=limit.metric,
        dimension=limit.dimension,
        above=limit.above,
    )
    return [
        f"{identity.cluster} {identity.period.name}, pool {pool}: {limit.metric}"
        f"{'' if part is None else f' of {limit.dimension} {part}'} is {value:g} {unit}, "
        f"above {limit.above:g}"
        for pool, part, value, unit in rows.iter_rows()
    ]


def _warn(night: Night, report: str, contents: Contents) -> None:
    """Says of a report that was made what its reader should know before reading."""
    if contents.empty:
        night.warnings.append(f"{report}: no attempt ended in this period")
    night.warnings += [f"{report}: {notice.text}" for notice in notices(contents) if notice.grave]


def _note_report(con: Connection, cluster: str, period: str, run_id: str, now: int) -> None:
    with database.transaction(con):
        database.execute(
            con,
            "DELETE FROM run WHERE cluster = ? AND period = ? AND stage = 'report'",
            [cluster, period],
        )
        database.execute(
            con,
            "INSERT INTO run SELECT * REPLACE ('report' AS stage, ? AS ended_at) FROM run "
            "WHERE cluster = ? AND period = ? AND stage = 'compute' AND run_id = ?",
            [now, cluster, period, run_id],
        )


def _periods(attempts: pl.DataFrame, cluster: Cluster, setting: Setting) -> list[Period]:
    """The periods in which an attempt ended or left the queue, or is known last of.

    Where nothing did, there is nothing to compute, draw or mail: one wrong date decades away would
    otherwise make thousands of empty days.
    """
    instant = pl.coalesce("end_time", "start_time", "eligible_time", "submit_time").alias("at")
    instants = attempts.select(instant)["at"].drop_nulls().sort().to_numpy()
    if not len(instants):
        return []
    every = periods.covering(cluster.period, int(instants[0]), int(instants[-1]), setting.zone)
    begins = np.searchsorted(instants, [period.from_time for period in every])
    ends = np.searchsorted(instants, [period.to_time for period in every])
    return [period for period, begin, end in zip(every, begins, ends, strict=True) if begin < end]
