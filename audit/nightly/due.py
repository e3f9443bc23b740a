"""The stage ``compute``: the figures of a cluster that are due.

Figures of a period are due where what they rest on is not what those in the store were made of, or
where fair start times were left for the next night. Of a cluster whose old months are archived
only as much is read as the due periods need, a few periods at a time; of others, all of it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit import periods
from audit.cluster import fairshare, results
from audit.cluster.fairshare import Fairshare
from audit.cluster.identity import Identity
from audit.cluster.setting import Setting, configured
from audit.cluster.windows import AFTER_S, Stretch, Window, stretches
from audit.config import Cluster, Config, Threshold
from audit.errors import UsageError
from audit.metrics.attempts.peers import LEAD_S
from audit.model import ATTEMPTS, Period
from audit.nightly import setting_aside
from audit.nightly.keeping import archiving
from audit.nightly.stages import Work
from audit.pipeline import published
from audit.pipeline.computing import Task, compute_and_keep
from audit.store import archive, queries
from audit.store.attempts import first_arrival, read_attempts
from audit.store.database import Connection

AT_ONCE = 2_000_000
"""About so many attempts are computed together, where not all are read."""


@dataclass(frozen=True)
class _Held:
    """What the store holds of a cluster."""

    setting: Setting
    periods: Mapping[Period, int]
    """The current ones, in order, and how many attempts are in each."""
    attempts: pl.DataFrame | None
    """All of them; None: to be read as they are needed."""
    log: Period | None
    """From when to when its log speaks; None: as all its attempts do."""


def compute(work: Work, cluster: Cluster) -> bool:
    """Computes the periods whose figures are not of what the store holds now.

    Returns:
        Whether there was anything to compute of, and no fair start time is left for the next night.

    Raises:
        UsageError: there is no such period as the one that was asked for, or its pools are not
            known well enough to archive it.
        ConfigError: files that the configuration names are wrong.
    """
    con, config, only, night = work.con, work.config, work.only, work.night
    held = _held(work, cluster)
    if held is None:
        night.warnings.append(f"cluster {cluster.name!r}: no records yet, so nothing to report")
        return False
    setting, current = held.setting, held.periods
    _check_period(work, cluster, list(current))
    computed = {
        Period(name, start, end): run_id
        for name, start, end, run_id in queries.run(
            con, "computed", cluster=cluster.name
        ).iter_rows()
    }
    settings = fairshare.read(cluster.usage, work.folder, cluster.name)
    identities = _identities(work, cluster, held, settings)
    named = [each for each in identities if only in (None, each.period.name)]
    stale = {each.run_id for each in named if computed.get(each.period) != each.run_id}
    due = [each for each in identities if each.run_id in stale | _unfinished(con, cluster)]
    archived = archive.archived_until(con, cluster.name)
    stays = {
        period: run_id
        for period, run_id in computed.items()
        if period in current or (archived is not None and period.to_time <= archived)
    }
    if not due and len(stays) == len(computed):
        _put_away(work, cluster, held, stays, [])
        return True
    work.prepare()
    of_period = {each.period: each for each in due}
    most = None if held.attempts is not None else AT_ONCE
    for stretch in stretches(current, tuple(of_period), most):
        part = [of_period[period] for period in stretch.periods if period in of_period]
        _compute_part(work, cluster, held, settings, stretch, part, stays)
        stays |= {each.period: each.run_id for each in part}
        for each in part:
            del of_period[each.period]
        _put_away(work, cluster, held, stays, of_period)
    results.check(con)
    night.warnings += [f"cluster {cluster.name!r}: {warning}" for warning in setting.warnings]
    night.computed += [f"{cluster.name} {identity.period.name}" for identity in due]
    for threshold in config.thresholds:
        for identity in due:
            night.exceeded += _exceeded(con, identity, threshold)
    return not _unfinished(con, cluster)


def _identities(work: Work, cluster: Cluster, held: _Held, settings: Fairshare) -> list[Identity]:
    """What each current period's figures are to be made of."""
    con, name, current = work.con, cluster.name, list(held.periods)
    in_force = _in_force(work.config, cluster, held.setting, settings)
    if not current:  # what is left of archived months alone: an open job, say
        return []
    lost = setting_aside.by_period(con, name, current)
    begins = min(period.from_time for period in current)
    since = first_arrival(con, name, begins, None)
    since = begins if since is None else min(begins, since)
    return [
        Identity.of(con, name, period, _as_json({**in_force, **lost.get(period, {})}), since)
        for period in current
    ]


def _check_period(work: Work, cluster: Cluster, current: Sequence[Period]) -> None:
    names = [period.name for period in current]
    if work.only is None or work.only in names:
        return
    archived = archive.archived_until(work.con, cluster.name)
    raise UsageError(
        f"--period {work.only!r}: cluster {cluster.name!r} has {names[0]} to {names[-1]}"
        + ("" if archived is None else " that are not archived ('fairaudit archive' lists those)")
    )


def _held(work: Work, cluster: Cluster) -> _Held | None:
    """What the store holds of a cluster; None where that is nothing."""
    con, name = work.con, cluster.name
    hours = queries.run(con, "instants", cluster=name)
    if hours.is_empty():
        return None
    headers = published.headers(con, name)
    months = archive.months(con, name)
    if not months and not work.config.retention.archive_months:
        attempts = read_attempts(con, name)
        setting = configured(cluster, attempts, headers)
        return _Held(setting, _periods(hours, cluster, setting, None), attempts, None)
    told = published.told(con, name)
    latest = told.now
    archiving.check_pools(cluster, told)
    setting = configured(cluster, pl.DataFrame(schema=ATTEMPTS), headers, told)
    until = months[-1].to_time if months else None
    first = first_arrival(con, name, until, None)
    begins = [month.first_arrival for month in months if month.first_arrival is not None]
    log = Period("all", min([*begins, *([] if first is None else [first])], default=latest), latest)
    return _Held(setting, _periods(hours, cluster, setting, until), None, log)


def _compute_part(
    work: Work,
    cluster: Cluster,
    held: _Held,
    settings: Fairshare,
    stretch: Stretch,
    part: Sequence[Identity],
    stays: Mapping[Period, str],
) -> None:
    """Computes some periods; what is read grows until no forward start lies beyond it."""
    con, setting = work.con, held.setting
    first_hot = archive.archived_until(con, cluster.name)
    window = stretch.window._replace(log=held.log)
    if window.from_time is None:
        window = window._replace(from_time=first_hot)
    mine = {each.period for each in part}
    kept = {period: run_id for period, run_id in stays.items() if period not in mine}
    after = AFTER_S
    while True:
        until = None if window.to_time is None else window.to_time + after
        attempts = held.attempts
        if attempts is None:
            since = _needed_since(con, cluster.name, window, fairshare.lead_s(settings, setting))
            attempts = read_attempts(con, cluster.name, since, until)
        compute_and_keep(
            con,
            Task(attempts, setting, settings, part, kept, window),
            work.config,
            work.now,
            lambda what, done, of: work.progress(f"{cluster.name}: {what}", done, of),
        )
        if held.attempts is not None or until is None or until > setting.now:
            return
        ((latest,),) = queries.rows(
            con,
            "latest_modelled",
            cluster=cluster.name,
            from_time=window.from_time,
            to_time=window.to_time,
        )
        if latest is None or latest < until:
            return
        after *= 2


def _put_away(
    work: Work,
    cluster: Cluster,
    held: _Held,
    computed: Collection[Period],
    due: Collection[Period],
) -> None:
    """Archives what is old enough, up to the first period whose figures are not of what is held."""
    if work.only is not None:  # whether other periods are due was not looked at
        return
    done = itertools.takewhile(lambda one: one in computed and one not in due, held.periods)
    archiving.put_away(work, cluster, held.setting, list(done))


def _needed_since(con: Connection, cluster: str, window: Window, usage_s: int) -> int | None:
    """Since when attempts must have ended to matter to a window: use, and peers."""
    if window.from_time is None:
        return None
    first = first_arrival(con, cluster, window.from_time, window.to_time)
    since = window.from_time if first is None else min(first, window.from_time)
    return min(since - LEAD_S, window.from_time - usage_s)


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
    return json.dumps(in_force, sort_keys=True, default=lambda rule: rule.model_dump(mode="json"))


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


def _periods(
    hours: pl.DataFrame, cluster: Cluster, setting: Setting, archived: int | None
) -> dict[Period, int]:
    """The periods in which an attempt ended or left the queue, or is known last of.

    Where nothing did, there is nothing to compute, draw or mail: one wrong date decades away would
    otherwise make thousands of empty days.

    Args:
        cluster: whose; says how long a period is.
        archived: epoch s; periods that begin before it are not current. None: all are.

    Returns:
        Each with about how many attempts it has.
    """
    known = sorted({*hours["first"].to_list(), *hours["last"].to_list()})
    every = periods.covering(cluster.period, known[0], known[-1], setting.zone)
    from_times = [period.from_time for period in every]
    begins = np.searchsorted(known, from_times)
    ends = np.searchsorted(known, [period.to_time for period in every])
    place = np.searchsorted(from_times, hours["first"].to_numpy(), side="right") - 1
    counts = np.bincount(place, hours["attempts"].to_numpy(), len(every)).astype(int)
    return {
        period: int(count)
        for period, begin, end, count in zip(every, begins, ends, counts, strict=True)
        if begin < end and (archived is None or period.from_time >= archived)
    }
