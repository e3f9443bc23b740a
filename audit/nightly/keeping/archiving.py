"""Archives a cluster's months, claims the archive folder, and removes old data ([retention]).

The store and ``now`` decide what is removed, so that removing can be repeated. Figures are never
removed.
"""

from __future__ import annotations

import itertools
import os
import platform
import re
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from audit import periods
from audit.config import Cluster, Retention, places
from audit.config.places import Site
from audit.config.sections import ConfigSection
from audit.errors import AuditError, StoreError, UsageError, refusals, unpublished
from audit.files import folders, lock, privacy, replace, state_folder
from audit.nightly.history import RunHistory
from audit.nightly.stages import Work, own_state
from audit.store import archive, database, migrations, queries, snapshots
from audit.store.archive import Month
from audit.store.database import Connection, transaction

if TYPE_CHECKING:
    from audit.cluster.setting import ClusterSettings, Extent
    from audit.model import Period


def check_pools(cluster: Cluster, extent: Extent) -> None:
    """Raise UsageError unless all pools are known without reading all attempts.

    The capacity of each, and the pool of each partition, must be configured.
    """
    where = f"cluster {cluster.name!r}: its old months are archived (retention.archive_months), so"
    for pool in cluster.pools:
        if getattr(pool.capacity, pool.resource.value) is None:
            raise UsageError(
                f"{where} the capacity of pool {pool.name!r} must be configured "
                f"(clusters.pools.capacity.{pool.resource})"
            )
        if pool.by_nodes and not pool.nodes:
            raise UsageError(
                f"{where} the nodes of pool {pool.name!r} cannot be inferred; remove by_nodes"
            )
    named = {part for pool in cluster.pools for part in pool.partitions}
    strays = sorted({part or "(none)" for part in extent.partitions} - named)
    if strays and all(pool.partitions for pool in cluster.pools):
        raise UsageError(
            f"{where} each partition needs a pool (clusters.pools); these have none: "
            + ", ".join(strays)
        )


def put_away(
    work: Work, cluster: Cluster, setting: ClusterSettings, done: Sequence[Period]
) -> list[Month]:
    """Archive the months that ended long enough before the log does.

    A boundary is where a period ends. ``done`` has the periods whose figures are computed, in
    order.
    """
    con, site = work.con, work.site
    months = site.config.retention.archive_months
    if not months:
        return []
    zone = setting.zone
    limit = _month_start(periods.day_of(min(setting.now, work.now), zone), -months, zone)
    ends = [period.to_time for period in done if period.to_time <= limit]
    until = archive.archived_until(con, cluster.name)
    if not ends or (until is not None and ends[-1] <= until):
        return []
    begin = min(period.from_time for period in done) if until is None else until
    edges, first = [begin], periods.day_of(begin, zone)
    for later in itertools.count(1):
        edge = _month_start(first, later, zone)
        if edge >= ends[-1]:
            break
        edges.append(edge)
    folder, place = site.database.parent, site.cluster_archive(cluster.name)
    edges.append(ends[-1])
    return archive.move(con, cluster.name, edges, folder, place, with_group=site.shared)


def _month_start(day: date, later: int, zone: ZoneInfo) -> int:
    """Return the start of the month ``later`` months after that of a day, epoch s."""
    number = day.year * 12 + day.month - 1 + later
    return periods.day_start(date(number // 12, number % 12 + 1, 1), zone)


def bring_back(site: Site, cluster: str, since: date) -> list[Month]:
    """Put whole months back into the store, from that of the day ``since`` on.

    The next run computes them anew.

    Raises:
        UsageError: there is no such cluster.
        LockedError: a run is at work.
        StoreError: a file is missing.
    """
    from audit.ingest.quarantine import weigh_dates

    zones = {each.name: periods.zone(each.zone) for each in site.config.clusters}
    if cluster not in zones:
        raise _unknown(cluster, zones)
    own_state(site)
    with migrations.of_site(site, "archive") as con, transaction(con):
        back = archive.bring_back(con, cluster, periods.day_start(since, zones[cluster]))
        weigh_dates(con, cluster, {}, None)  # late records no longer wait
    return back


def _unknown(cluster: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"--cluster {cluster!r}: config.toml has: {', '.join(known)}")


def listed(site: Site, cluster: str | None) -> list[str]:
    """Return the archived months of a cluster (None: of all) as lines of text.

    Raises UsageError if nothing is published yet, or nothing is known of the cluster.
    """
    published = site.database
    if not published.is_file():
        raise unpublished(published)
    with closing(snapshots.open_snapshot(published, tables_only=True)) as con:
        months = archive.months(con, cluster)
    zones = {one.name: one.zone for one in site.config.clusters}
    if not months and cluster is not None and cluster not in zones:
        raise _unknown(cluster, zones)
    lines = []
    for month in months:
        day = periods.day_of(month.to_time, periods.zone(zones.get(month.cluster, "UTC")))
        there = [path for file in month.files if (path := published.parent / file).is_file()]
        size = sum(path.stat().st_size for path in there) / (1 << 20)
        counts = f"{month.records:>12,} records  {size:>8,.0f} MiB"
        lines.append(f"{month.cluster}  before {day}  {counts}")
    return lines


CLAIM: Final = ".fairaudit-store"
"""The file in an archive's folder that names its store."""

_LARGEST: Final = 10_000  # bytes of CLAIM that are read


class Owner(ConfigSection):
    """A store, as CLAIM names it."""

    store: str  # its identity
    host: str
    state: str  # its state folder, relative to the archive's, so that both can be moved together


def claim(con: Connection, site: Site) -> None:
    """Record that the archive folder is that of the store ``con``, if the store archives anything.

    Raises UsageError if it belongs to another store, or cannot be written; LockedError if another
    process is claiming it.
    """
    if site.config.retention.archive_months or archive.months(con):
        note_owner(site, archive.identified(con))


def note_owner(site: Site, store: str) -> None:
    """As ``claim``, for the store with this identity."""
    root, mine = site.archive, _here(site, store)
    if _owner(root) == mine:
        return
    with refusals(UsageError, root, "cannot be written", "output.archive"):
        privacy.shared_folder(root, with_group=site.shared)
        with lock.held(root / CLAIM, "fairaudit", "another store is claiming this folder"):
            check_owner(site, store)
            replace.write(root / CLAIM, mine.model_dump_json().encode(), alone=True)


def check_owner(site: Site, store: str | None) -> None:
    """Raise UsageError if the archive folder belongs to a store with another identity."""
    root = site.archive
    owner = _owner(root)
    if owner is None:
        return
    mine = _here(site, store or "")
    there = Path(os.path.normpath(root.resolve() / owner.state))
    if (owner.host, owner.state) == (mine.host, mine.state):
        return
    if owner.store == store and not (owner.host == mine.host and state_folder.begun(there)):
        return  # the store was moved or restored to here
    raise UsageError(
        f"{root}: is the archive of the store in {owner.host}:{there}; the store in "
        f"{site.state.resolve()} needs another folder (output.archive). If the first store is no "
        f"longer used, remove {CLAIM} from the folder"
    )


def examine_owner(site: Site) -> str:
    """Check the archive folder without writing anything, and describe it; errors as above."""
    store = None
    if site.database.is_file():
        with closing(snapshots.open_snapshot(site.database, tables_only=True)) as con:
            store = archive.identity(con)
    if not site.config.retention.archive_months and store is None:
        return "nothing is archived (retention.archive_months)"
    check_owner(site, store)
    return str(site.archive)


def _here(site: Site, store: str) -> Owner:
    state = os.path.relpath(site.state.resolve(), site.archive.resolve())
    return Owner(store=store, host=platform.node(), state=state)


def _owner(root: Path) -> Owner | None:
    """Return the content of CLAIM; None if there is no such file."""
    path = root / CLAIM
    try:
        with refusals(UsageError, path, "cannot be read"), path.open("rb") as file:
            return Owner.model_validate_json(file.read(_LARGEST))
    except UsageError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return None
        raise
    except ValidationError as error:
        remedy = "remove it if only one store archives there"
        raise AuditError(f"{path}: is damaged; {remedy}") from error


DAY_S: Final = 86_400
_AHEAD_DAYS: Final = 180  # after the newest record and the last run, at which a clock is doubted


def doubtful_clock(con: Connection, past: RunHistory, now: int) -> str | None:
    """Return why nothing may be removed at ``now``; None, and note the instant, if it is credible.

    To a clock that is far ahead, all data would be old enough to be removed.
    """
    ((newest,),) = database.rows(con, "SELECT max(end_time) FROM records")
    last = int(past.settled("retention") or now)
    known = max(newest or 0, last)
    if now - known > _AHEAD_DAYS * DAY_S:
        today, before = (datetime.fromtimestamp(at, UTC).date() for at in (now, known))
        return (
            f"nothing was removed ([retention]): the clock shows {today}, but the newest record "
            f"or run is of {before}; check the clock. If it is right, data is removed again when "
            "newer records are read"
        )
    past.settle("retention", str(max(now, last)))
    return None


def forget(
    con: Connection, past: RunHistory, keep: Retention, clusters: Sequence[Cluster], now: int
) -> None:
    """Remove old entries of the history, old evidence, and the text of lines refused long ago.

    The lines still count, because figures depend on their number.
    """
    if keep.runs_days:
        past.forget(now - keep.runs_days * DAY_S)
    if keep.evidence_days:
        from audit.ingest import evidence  # an idle run loads no frames

        for cluster in clusters:
            before = now - keep.evidence_days * DAY_S
            evidence.remove(con, cluster.name, periods.zone(cluster.zone), before)
    if keep.refused_days:
        update = "UPDATE refused SET text = '' WHERE refused_at < ? AND text <> ''"
        database.execute(con, update, [now - keep.refused_days * DAY_S])


def forget_reports(con: Connection, site: Site, cluster: str, lost: str | None = None) -> None:
    """Make the reports of a cluster due again that are kept and of periods not archived.

    With ``lost``, only the report of that period, archived or not, if it is not there any more.
    """
    archived = archive.archived_until(con, cluster)
    again = [
        period
        for period, _, to_time, _ in queries.rows(con, "computed", cluster=cluster)
        if (lost is not None or archived is None or to_time > archived)
        and lost in {None, period}
        and (lost is None) == (site.report(cluster, period) / _PAGE).exists()
    ]
    of_reports = "cluster = ? AND stage = 'report' AND period IN (SELECT unnest(?))"
    database.execute(con, f"DELETE FROM run WHERE {of_reports}", [cluster, again])  # noqa: S608


def remove_reports(con: Connection, site: Site, now: int) -> list[Path]:
    """Remove the files of reports that are too old or too many; return their folders.

    A folder that holds anything fairaudit did not make stays, with that. A report that was removed
    is only made again if its figures change. Raises StoreError if a file cannot be removed.
    """
    keep = site.config.retention
    if not keep.reports_days and not keep.reports:
        return []
    removed = []
    ended: dict[str, list[tuple[int, str]]] = {}
    for cluster, period, to_time in queries.rows(con, "history_reports"):
        ended.setdefault(cluster, []).append((to_time, period))
    for cluster, each in ended.items():
        for place, (to_time, period) in enumerate(sorted(each, reverse=True)):
            old = keep.reports_days and to_time < now - keep.reports_days * DAY_S
            many = keep.reports and place >= keep.reports
            report = site.report(cluster, period)
            if (old or many) and report.is_dir() and not report.is_symlink():
                with refusals(StoreError, report, "cannot be removed", "retention.reports"):
                    folders.require(report)
                    for file in report_files(report):
                        file.unlink()
                    if not any(report.iterdir()):
                        report.rmdir()
                removed.append(report)
    return removed


_PAGE: Final = "report.html"
_FILES: Final = (
    _PAGE,
    "report.pdf",
    *places.OWNER_PAGES,
    places.OWNER_CARDS,
    "*.csv",
    ".*.draft",
)
"""The files that ``pipeline.drawing`` writes into a report's folder."""


def report_files(folder: Path) -> list[Path]:
    """Return the files of a report in its folder; no other files."""
    return sorted({*itertools.chain.from_iterable(map(folder.glob, _FILES))})


def remove_drafts(target: Path) -> None:
    """Remove the drafts of ``target`` that killed processes left."""
    for draft in target.parent.glob(f".{target.name}.*"):
        if process := re.fullmatch(r"\.(\d+)(\.wal)?", draft.name[len(target.name) + 1 :]):
            # PermissionError: a process of another user, which may still write it
            with suppress(PermissionError, OverflowError):
                try:
                    os.kill(int(process[1]), 0)
                except ProcessLookupError:
                    draft.unlink(missing_ok=True)
