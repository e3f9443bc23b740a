"""Erases a person: a random token takes the place of a user's name in all that a site keeps.

A new store, history and archived files are written beside the old ones, so that no unused page
keeps the name; one rename puts them in place. Figures are copied, never computed. Reports of the
clusters that had the user are then made again from the store, and the database is published. Until
the rename, all is as it was, except that reports which cannot be made again are gone; after it, the
next run does what is left if this is killed.
"""

import base64
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from audit.config import Cluster
from audit.config.places import Site
from audit.errors import StoreError, UsageError, refusals, withholding
from audit.files import folders, replace, state_folder
from audit.files.state_folder import HISTORY, STORE
from audit.ingest import people
from audit.nightly import due, history
from audit.nightly.history import RunHistory
from audit.nightly.keeping import archiving
from audit.nightly.keeping.renaming import Changed, Renaming, copy
from audit.nightly.stages import Night, Work, own_state
from audit.pipeline import drawing
from audit.pipeline.drawing import HTML, PDF
from audit.progress import silent
from audit.report.contents import Who
from audit.store import archive, database, migrations, publish, queries
from audit.store.archive import Month
from audit.store.database import Connection

STAGE: Final = "erase"
"""Its name in the history of runs."""

_DIGITS: Final = 12
_NEW: Final = "erased"  # the new store, within the connection to the old one
_ENCODED: Final = re.compile(r"[\w+/-]{8,}={0,2}", re.ASCII)


@dataclass
class Erased:
    """What was done."""

    token: str
    """The name that the user has now."""
    records: int = 0
    lines: int = 0
    """Refused and doubtful records with the name."""
    months: int = 0
    """Archived months of which a file was written anew."""
    shared: tuple[str, ...] = ()
    """Kinds of names, account or group, that were the user's but are also of others, and stay."""
    removed: list[Path] = field(default_factory=list)
    """Files of reports that name the user, but whose figures are no longer in the store."""
    night: Night = field(default_factory=Night)
    """Reports that were made again, and failures."""


def erase(site: Site, user: str, now: int) -> Erased:
    """Replace a user's name in store, history, archive, published database and reports.

    Args:
        user: the name in the logs, or its pseudonym.
        now: epoch s, for the history.

    Raises:
        UsageError: there is no store, or it has no such user.
        LockedError: a run is at work.
        StoreError: something cannot be read or written.
    """
    state, begun = own_state(site), time.monotonic()
    if not state_folder.begun(state):
        raise UsageError(f"{state}: there is no store yet; 'fairaudit run' creates it")

    def clock() -> int:
        return now + int(time.monotonic() - begun)

    done = Erased(f"erased-{secrets.token_hex(_DIGITS // 2)}")
    with (
        withholding(when=site.config.hides()),
        state_folder.held(state, f"fairaudit {STAGE}") as store,
    ):
        with state_folder.scratch(state) as place:
            made = _Making(site, user, done)
            affected = made.write(store, place)
            (new := place / "new").mkdir()
            for name in (STORE, HISTORY):
                (place / name).rename(new / name)
            with closing(RunHistory(new, clock)) as past:
                number = past.begin(STAGE)
            for name in (STORE, HISTORY):
                replace.sync(new / name)
            done.removed += _remove(made.old_reports())
            _remove([site.index])  # it links to the user's pages
            state_folder.replace(state, new)
        with (
            closing(RunHistory(state, clock)) as past,
            past.ending(number, done.night.failures),
            migrations.migrated(
                store, site.config.store.memory_limit, base=site.database.parent
            ) as con,
        ):
            past.resume(number)
            work = Work(
                con, site, now, None, done.night, silent, ("report",), past, number, lambda: False
            )
            _show(work, made.renaming, affected)
    return done


class _Making:
    """Writes the new store and history."""

    renaming: Renaming

    def __init__(self, site: Site, user: str, done: Erased) -> None:
        self.site = site
        self.user = user
        self.done = done
        self.due: set[Path] = set()  # folders of the reports that are made again

    def write(self, store: Path, place: Path) -> frozenset[str]:
        """Write both into an empty folder; return the clusters that had the user."""
        site, done = self.site, self.done
        limit, base = site.config.store.memory_limit, site.database.parent
        with migrations.migrated(store, limit, base=base) as con:
            archiving.claim(con, site)
            before = {*queries.failed_checks(con)}
            self._find(con)
            database.attach(con, place / STORE, _NEW)
            changes = copy(con, self.renaming, _NEW)
            clusters = {name for one in changes.values() for name in one.clusters}
            for month, instead in self._months(con):
                new = archive.rewrite(
                    con, month, base, [one and one.sql for one in instead], with_group=site.shared
                )
                self._note(con, new)
                clusters.add(month.cluster)
                done.months += 1
                done.records += instead[0].rows if instead[0] else 0
            if not clusters and not changes:
                raise UsageError(
                    "--user: the store has no such user. If an erasure was interrupted, 'fairaudit "
                    "run' finishes it"
                )
            rows = {table: change.rows for table, change in changes.items()}
            done.records += rows.get("records", 0)
            done.lines = rows.get("refused", 0) + rows.get("doubtful", 0)
            self._forget_reports(con, clusters)
            # the views name files of the archive
            database.execute(con, f"DELETE FROM {_NEW}.main.migrations WHERE number = 0")  # noqa: S608
            database.execute(con, f"DETACH {_NEW}")
        with migrations.migrated(place / STORE, limit, base=base) as con:
            if worse := {*queries.failed_checks(con)} - before:
                raise StoreError(f"the new store does not pass the checks {', '.join(worse)}")
        if (log := place / f"{STORE}.wal").exists():
            raise StoreError(f"{log}: still exists: the new store is incomplete")
        history.copy_to(history.path_in(site.state), place / HISTORY, self.renaming.outside)
        return frozenset(clusters)

    def _find(self, con: Connection) -> None:
        """Find out what the person is called, and which names of others contain that."""
        names, self.done.shared = _own(con, self.site, self.user)
        every = sorted({name for of in names.values() for name in of})
        of_records = [
            f'SELECT "{kind}" AS name FROM {table}'  # noqa: S608
            for kind in names
            for table in ("all_records", "doubtful")
        ]
        others = database.rows(
            con,
            f"SELECT DISTINCT name FROM ({' UNION ALL '.join(of_records)}) "  # noqa: S608
            "WHERE list_bool_or([contains(name, own) FOR own IN $names::VARCHAR[]])",
            {"names": every},
        )
        of_others = [name for (name,) in others if name not in every]
        addresses = [to.lower() for of in self.site.config.recipients for to in of.addresses]
        self.renaming = Renaming(names, self.done.token, of_others, addresses)

    def _months(self, con: Connection) -> Iterator[tuple[Month, Sequence[Changed | None]]]:
        """Yield the archived months with the name, and how to read their files without it."""
        for month in archive.months(con):
            read = [f"read_parquet({database.quote_text(file)})" for file in month.files]
            tables = archive.OVER_ARCHIVE.values()
            instead = [
                self.renaming.changed(con, table, file)
                for table, file in zip(tables, read, strict=True)
            ]
            if any(instead):
                yield month, instead

    def _note(self, con: Connection, month: Month) -> None:
        files = ("records_file", "results_file", "records_sha256", "results_sha256")
        named = ", ".join(f"{name} = ?" for name in files)
        update = f"UPDATE {_NEW}.main.archived SET {named} WHERE cluster = ? AND to_time = ?"  # noqa: S608
        values = [*month.files, *month.sha256, month.cluster, month.to_time]
        database.execute(con, update, values)

    def _forget_reports(self, con: Connection, clusters: set[str]) -> None:
        """Make reports of these clusters due that are still kept."""
        where = "stage = 'report' AND cluster = ? AND period = ?"
        for name in clusters & {cluster.name for cluster in self.site.config.clusters}:
            for period, *_ in queries.rows(con, "computed", cluster=name):
                if ((folder := self.site.report(name, period)) / HTML).is_file():
                    self.due.add(folder)
                    delete = f"DELETE FROM {_NEW}.main.run WHERE {where}"  # noqa: S608
                    database.execute(con, delete, [name, period])

    def old_reports(self) -> Iterator[Path]:
        """Yield the files of other reports that name the user."""
        for page in sorted(self.site.reports.glob(f"*/*/{HTML}")):
            folder = page.parent
            if folder in self.due or folder.is_symlink():
                continue
            files = archiving.report_files(folder)
            naming = [file for file in files if _mentions(file, self.renaming)]
            yield from naming
            if page in naming:
                yield folder / PDF


def _remove(files: Iterable[Path]) -> list[Path]:
    """Remove the files that exist; return them."""
    gone = [file for file in files if file.is_file()]
    for file in gone:
        with refusals(StoreError, file, "cannot be removed", "output.reports"):
            folders.require(file.parent)
            file.unlink()
    return gone


def _own(
    con: Connection, site: Site, user: str
) -> tuple[dict[str, frozenset[str]], tuple[str, ...]]:
    """Return what a person is called, by kind, and the kinds of names that others share.

    These are the name and its pseudonyms. An account or a group of that name is the person's unless
    others have records with it.
    """
    try:
        user.encode()
    except UnicodeEncodeError:
        user = ""
    if not user:
        raise UsageError("--user: not a name")
    filters = [people.filter_of(cluster, site.folder) for cluster in site.config.clusters]
    named = {
        kind: frozenset((user, *(of.pseudonym(kind, user) for of in filters)))
        for kind in ("user", "account", "group")
    }
    shared = []
    for kind in ("account", "group"):
        ((others,),) = database.rows(
            con,
            f'SELECT count(*) FROM all_records WHERE list_contains($names::VARCHAR[], "{kind}") '  # noqa: S608
            "AND NOT list_contains($users::VARCHAR[], coalesce(\"user\", ''))",
            {"names": [*named[kind]], "users": [*named["user"]]},
        )
        if others:
            shared.append(kind)
            named[kind] = frozenset()
    return named, tuple(shared)


def _show(work: Work, renaming: Renaming, affected: frozenset[str]) -> None:
    """Make reports and pages again, publish, and remove files that are no longer named."""
    con, site = work.con, work.site
    for cluster in site.config.clusters:
        if missing := queries.rows(con, "unreported", cluster=cluster.name):
            work.prepare()
            due.report(work, cluster, missing, _pages(site, cluster, missing, renaming))
    due.write_index(con, site)
    work.past.copy(con)
    archiving.remove_drafts(site.database)
    publish.publish(con, site.database, with_group=site.shared)
    for name in affected:
        archive.tidy(con, site.database.parent, site.cluster_archive(name))
    for spool in site.state.glob("*.log"):  # output of commands that killed runs left
        spool.unlink(missing_ok=True)


def _pages(
    site: Site, cluster: Cluster, missing: Sequence[Sequence[object]], renaming: Renaming
) -> dict[str, list[Who]]:
    """Return by period whose pages are made again: those that there are."""
    folders = {str(period): site.report(cluster.name, str(period)) for period, *_ in missing}
    return {
        period: [renaming.who(who) for who in drawing.found(folder).values()]
        for period, folder in folders.items()
    }


def _mentions(file: Path, renaming: Renaming) -> bool:
    """Return whether a page, a card or a table, or an encoded part, contains the name."""
    if file.suffix == ".pdf":
        return False
    text = file.read_text(encoding="utf-8", errors="replace")
    if renaming.in_page(text):
        return True
    for found in _ENCODED.finditer(text):
        with suppress(ValueError):
            plain = base64.b64decode(found[0].translate(_STANDARD) + "==")
            if renaming.in_page(plain.decode(errors="replace")):
                return True
    return False


_STANDARD: Final = str.maketrans("-_", "+/")


def beyond(site: Site, config: Path, user: str) -> Iterator[str]:
    """Yield the places that ``erase`` does not reach, as lines of text."""
    backups = "backups ('fairaudit backup'), and copies of databases and reports"
    yield f"{backups}: make a new backup and delete the older ones"
    if site.config.mail.via != "none":
        outbox = f" ({site.folder / site.config.mail.outbox})"
        yield f"mails that were delivered{outbox if site.config.mail.via == 'outbox' else ''}"
    yield "output of one-off commands, such as 'fairaudit audit'"
    for cluster in site.config.clusters:
        for source in cluster.sources:
            what = source.files or "the output of its command"
            yield f"{cluster.name}: {what}; jobs that it delivers again bring the name back"
    lists = [cluster.people.file for cluster in site.config.clusters]
    for file in dict.fromkeys([config, *(site.folder / name for name in lists if name)]):
        with suppress(OSError):
            if user in file.read_text(encoding="utf-8", errors="replace"):
                yield f"{file}: it contains the name"
