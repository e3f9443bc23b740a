"""Which months of a cluster are put away, and how they come back: retention.archive_months."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from audit import periods
from audit.cluster.setting import Setting, Told
from audit.config import Cluster, Config, places
from audit.config.sections import Section
from audit.errors import AuditError, UsageError
from audit.files import lock, privacy, replace, state_folder
from audit.ingest.quarantine import weigh_dates
from audit.model import Period
from audit.nightly.stages import Work, own_state
from audit.store import archive, database, migrations
from audit.store.archive import Month
from audit.store.database import Connection, transaction


def check_pools(cluster: Cluster, told: Told) -> None:
    """Checks that all pools are known without looking at all attempts.

    Raises:
        UsageError: the capacity of one, or where a partition belongs, is not configured.
    """
    named = {part for pool in cluster.pools for part in pool.partitions}
    rest = [pool for pool in cluster.pools if not pool.partitions]
    where = f"cluster {cluster.name!r}: its old months are archived (retention.archive_months), so"
    for pool in cluster.pools:
        if getattr(pool.capacity, pool.resource.value) is None:
            raise UsageError(
                f"{where} the capacity of pool {pool.name!r} must be configured "
                f"(clusters.pools.capacity.{pool.resource})"
            )
    strays = sorted({part or "(none)" for part in told.partitions} - named)
    if strays and not rest:
        raise UsageError(
            f"{where} each partition needs a pool (clusters.pools); there is none for: "
            + ", ".join(strays)
        )


def put_away(work: Work, cluster: Cluster, setting: Setting, done: Sequence[Period]) -> list[Month]:
    """Archives the months that ended long enough before the log does.

    A boundary lies where a period ends. Fair start times that a budget left for a next night stay
    left: figures of such a month are of a sample.

    Args:
        done: the periods whose figures are computed, in order.
    """
    con, config = work.con, work.config
    if not config.retention.archive_months:
        return []
    limit = _months_before(setting, min(setting.now, work.now), config.retention.archive_months)
    ends = [period.to_time for period in done if period.to_time <= limit]
    until = archive.archived_until(con, cluster.name)
    if not ends or (until is not None and ends[-1] <= until):
        return []
    begin = min(period.from_time for period in done) if until is None else until
    edges = _month_edges(begin, ends[-1], setting)
    return archive.move(
        con,
        cluster.name,
        edges,
        places.published_folder(config, work.folder),
        places.of_archive(config, work.folder, cluster.name),
        with_group=config.output.shared_with_group,
    )


def bring_back(config: Config, folder: Path, cluster: str, since: date) -> list[Month]:
    """Puts months back into the store, by hand; the next run computes them anew.

    Args:
        since: the first day that is to be there; months come back whole.

    Raises:
        UsageError: there is no such cluster.
        LockedError: a run is at work.
        StoreError: a file is missing.
    """
    zones = {each.name: periods.zone(each.zone) for each in config.clusters}
    if cluster not in zones:
        raise UsageError(f"--cluster {cluster!r}: config.toml has: {', '.join(zones)}")
    state = own_state(config, folder)
    base = places.published_folder(config, folder)
    with (
        state_folder.held(state, "fairaudit archive") as store,
        migrations.migrated(store, config.store.memory_limit, base=base) as con,
        transaction(con),
    ):
        back = archive.bring_back(con, cluster, periods.day_start(since, zones[cluster]))
        weigh_dates(con, cluster, {}, None)  # what came late waits no longer
    return back


def listed(config: Config, folder: Path, cluster: str | None) -> list[str]:
    """What is archived of a cluster, or of all, in lines to be shown; of what was published.

    Raises:
        UsageError: nothing is published yet.
    """
    published = folder / config.output.database
    if not published.is_file():
        raise UsageError(f"{published}: nothing is published yet; 'fairaudit run' does so")
    with closing(database.open_snapshot(published, tables_only=True)) as con:
        months = archive.months(con, cluster)
    zones = {one.name: one.zone for one in config.clusters}
    lines = []
    for month in months:
        zone = periods.zone(zones.get(month.cluster, "UTC"))
        there = [path for file in month.files if (path := published.parent / file).is_file()]
        size = sum(path.stat().st_size for path in there) / (1 << 20)
        lines.append(
            f"{month.cluster}  before {periods.day_of(month.to_time, zone)}  "
            f"{month.records:>12,} records  {size:>8,.0f} MiB"
        )
    return lines


def _months_before(setting: Setting, instant: int, months: int) -> int:
    """When the month began that lies so many before that of an instant, epoch s."""
    day = periods.day_of(instant, setting.zone)
    number = day.year * 12 + day.month - 1 - months
    return periods.day_start(date(number // 12, number % 12 + 1, 1), setting.zone)


def _month_edges(begin: int, end: int, setting: Setting) -> list[int]:
    """The instants from ``begin`` to ``end``, both included, and when a month begins between."""
    edges, day = [begin], periods.day_of(begin, setting.zone)
    while True:
        number = day.year * 12 + day.month
        day = date(number // 12, number % 12 + 1, 1)
        edge = periods.day_start(day, setting.zone)
        if edge >= end:
            return [*edges, end]
        if edge > begin:
            edges.append(edge)


CLAIM: Final = ".fairaudit-store"
"""In the folder of an archive."""

_LARGEST: Final = 10_000
"""Bytes of CLAIM that are read."""


class Owner(Section):
    """A store, as CLAIM names it."""

    store: str
    """Its identity."""
    host: str
    state: str
    """Its state folder, relative to the archive's, so that both can be moved together."""


def claim(con: Connection, config: Config, folder: Path) -> None:
    """Note that the archive folder is that of the store ``con``, if the store archives anything.

    Raises:
        UsageError: it belongs to another store, or cannot be written.
        LockedError: another process is noting that it is its own.
    """
    if config.retention.archive_months or archive.months(con):
        note_owner(config, folder, archive.identified(con))


def note_owner(config: Config, folder: Path, store: str) -> None:
    """As ``claim``, for the store with this identity."""
    root = folder / config.output.archive
    mine = _here(config, folder, store)
    if _owner(root) == mine:
        return
    try:
        privacy.shared_folder(root, with_group=config.output.shared_with_group)
        with lock.held(root / CLAIM, "fairaudit", "another store takes this folder"):
            check_owner(config, folder, store)
            replace.write(root / CLAIM, mine.model_dump_json().encode(), alone=True)
    except OSError as error:
        raise UsageError(f"{root}: cannot be written: {error.strerror} (output.archive)") from error


def check_owner(config: Config, folder: Path, store: str | None) -> None:
    """Check that the archive folder belongs to no other store.

    Args:
        store: the identity of the store; None where it has none yet.

    Raises:
        UsageError: it does; the message names both.
    """
    root = folder / config.output.archive
    owner = _owner(root)
    if owner is None:
        return
    mine = _here(config, folder, store or "")
    there = Path(os.path.normpath(root.resolve() / owner.state))
    if (owner.host, owner.state) == (mine.host, mine.state):
        return
    if owner.store == store and not (owner.host == mine.host and state_folder.begun(there)):
        return  # the store was moved or restored to here
    raise UsageError(
        f"{root}: is the archive of the store in {owner.host}:{there}; the store in "
        f"{(folder / config.output.state).resolve()} needs another folder (output.archive). If the "
        f"first store is no longer used, remove {CLAIM} from the folder"
    )


def examine_owner(config: Config, folder: Path) -> str:
    """Return what is to be said of the archive folder, when nothing is to be written.

    Raises:
        UsageError: as ``check``.
    """
    published = folder / config.output.database
    store = None
    if published.is_file():
        with closing(database.open_snapshot(published, tables_only=True)) as con:
            store = archive.identity(con)
    if not config.retention.archive_months and store is None:
        return "nothing is archived (retention.archive_months)"
    check_owner(config, folder, store)
    return str(folder / config.output.archive)


def _here(config: Config, folder: Path, store: str) -> Owner:
    root = (folder / config.output.archive).resolve()
    state = (folder / config.output.state).resolve()
    return Owner(store=store, host=platform.node(), state=os.path.relpath(state, root))


def _owner(root: Path) -> Owner | None:
    """What CLAIM says; None where there is none."""
    try:
        with (root / CLAIM).open("rb") as file:
            return Owner.model_validate_json(file.read(_LARGEST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{root / CLAIM}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise AuditError(
            f"{root / CLAIM}: is damaged; remove it if only one store archives there"
        ) from error
