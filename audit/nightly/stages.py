"""The stages of a run: their input, their results, and how the history records them.

To find out which periods are due, a run reads all attempts of a cluster and infers its pools; for
the mails that are due, it reads the state of every report. Once no work is left, the history keeps
a digest of everything that these depend on (``WorkBasis``), so a run that finds nothing new ends
early.
"""

import errno
import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from audit import __version__, memory, periods
from audit.config import Cluster
from audit.config.places import Site
from audit.errors import UNWRITABLE, AuditError, UsageError, failed, refusals, withholding
from audit.files import caches, folders, privacy
from audit.files.state_folder import STORE
from audit.nightly.history import RunHistory
from audit.progress import OnProgress
from audit.store import database, queries
from audit.store.database import Connection

STAGES: Final = ("ingest", "compute", "report", "publish", "deliver")
"""The stages of a run, in order."""


class StoppedError(KeyboardInterrupt):
    """The run was stopped on request; the next one continues from here."""


@dataclass
class Night:
    """The results of a run; filled while it runs."""

    read: list[str] = field(default_factory=list)  # logs that were taken in
    computed: list[str] = field(default_factory=list)  # cluster and period
    sent: list[str] = field(default_factory=list)  # report and address of each mail
    reports: list[Path] = field(default_factory=list)
    published: bool = False
    warnings: list[str] = field(default_factory=list)
    exceeded: list[str] = field(default_factory=list)
    """Figures of the computed periods that are above a threshold of config.toml."""
    failures: list[AuditError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Faults without consequences for figures, which the history keeps with the stage."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return max((failure.exit_code for failure in self.failures), default=0)


@dataclass(frozen=True)
class Work:
    """The input of the stages of a run."""

    con: Connection
    site: Site
    now: int  # epoch s, to record when things were done
    only: str | None  # the one period to compute and report; None: all
    night: Night
    progress: OnProgress
    stages: Sequence[str]  # those of STAGES to do
    past: RunHistory
    number: int  # of the run, in the history
    stopping: Callable[[], bool]

    def prepare(self) -> None:
        """Start in the background what reports need; call it when there is something new."""
        from audit.pipeline import drawing

        if "report" in self.stages:
            drawing.prepare(self.site.config, pdf=self.site.config.report.pdf)

    def stage(self, name: str, cluster: str | None, do: Callable[[], None]) -> bool:
        """Do a stage and record its outcome; return whether it ran to its end."""
        if name not in self.stages:
            return True
        if self.stopping():
            raise StoppedError
        failures, notes = self.night.failures, self.night.notes
        before, known = len(failures), len(notes)
        row = self.past.begin(name, cluster, self.only, self.number)
        ended = False
        try:
            with withholding(when=self.site.config.hides(cluster)):
                do()
            ended = True
        except AuditError as error:
            if not database.usable(self.con):  # nothing else can be done, or kept
                self.past.break_off(row, error)
                raise
            failures.append(error)
        except OSError as error:
            failures.append(failed(name, error))
        except BaseException as error:
            shortage = memory.shortage(error) if isinstance(error, Exception) else None
            self.past.break_off(row, shortage or error)
            if shortage is None:
                raise
            raise shortage from error
        self.past.conclude(row, failures[before:], notes[known:])
        return ended


def require_own_config(path: Path) -> None:
    """Raise UsageError if another user can change this config.toml."""
    try:
        folders.require(path)
    except OSError as error:
        why = error.strerror
        raise UsageError(f"{path}: the commands in it run as this user, but {why}") from error


def require_own_outputs(site: Site) -> None:
    """Raise UsageError if runs cannot use a folder of output, or another user can change it."""
    if site.database.resolve() == (site.state / STORE).resolve():
        raise UsageError(
            f"{site.database}: is the store itself: name another file (output.database)"
        )
    for key, place in (
        ("state", site.state),
        ("database", site.database.parent),
        ("reports", site.reports),
        ("archive", site.archive),
    ):
        with refusals(UsageError, place, "cannot be used", f"output.{key}"):
            folders.require(place)
            if place.exists() and not place.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "it is not a folder")


def own_state(site: Site) -> Path:
    """Return the folder of the store, which is made if necessary and private to this user.

    Raises UsageError if it cannot be made or written to, or as ``require_own_outputs``.
    """
    require_own_outputs(site)
    with refusals(UsageError, site.state, "cannot be made", "output.state"):
        privacy.own_folder(site.state)
    refused = caches.refused(site.state)
    if refused is not None and refused.errno in UNWRITABLE:
        why = f"cannot be written to: {refused.strerror} (output.state)"
        raise UsageError(f"{site.state}: {why}")
    return site.state


@dataclass(frozen=True)
class WorkBasis:
    """The facts that decide whether any work of one kind is left."""

    past: RunHistory
    what: str
    digest: str

    @property
    def settled(self) -> bool:
        """Whether no work was left when this basis was last recorded."""
        return self.past.settled(self.what) == self.digest

    @property
    def changed(self) -> bool:
        """Whether another basis was recorded before."""
        return self.past.settled(self.what) not in {None, self.digest}

    def settle(self) -> None:
        """Record that no work is left."""
        self.past.settle(self.what, self.digest)


def figures(work: Work, cluster: Cluster) -> WorkBasis:
    """Return the facts that decide which figures of a cluster are due.

    These are the version, the configuration and the files that it names, the inputs, evidence, the
    figures computed from them, and the beginnings of days in the cluster's zone.
    """
    rows = queries.rows(work.con, "basis", cluster=cluster.name)
    zone = periods.zone(cluster.zone)
    edges = [
        periods.day_start(periods.day_of(edge, zone), zone)
        for row in rows
        for edge in row[2:4]
        if edge is not None
    ]
    usage, chosen = cluster.usage, in_force(work, cluster)
    named = (usage.associations, usage.qos, usage.partitions, usage.slurm_conf)
    named += tuple(cluster.hardware.model_dump().values())
    files = [name and _digest(work.site.folder / name) for name in named]
    said = queries.rows(work.con, "evidence_digest", cluster=cluster.name, until=None)
    since = [str(source.since) for source in cluster.sources]
    known = (files, rows, edges, since, *said)
    return _basis(work, f"figures of {cluster.name}", [*chosen.values()], *known)


def in_force(work: Work, cluster: Cluster) -> dict[str, object]:
    """Return the part of the configuration that a cluster's figures depend on."""
    config = work.site.config
    return {
        "config": config.model_dump(mode="json", include={"metrics", "uncertainty"}),
        **cluster.in_force,
    }


def thresholds(work: Work, cluster: Cluster) -> WorkBasis:
    """Return the thresholds by which the verdicts of a cluster's reports are decided."""
    decide = work.site.config.verdict.model_dump(mode="json", exclude={"fail"})
    return _basis(work, f"verdicts of {cluster.name}", decide)


def index(work: Work) -> WorkBasis:
    """Return the facts that decide whether the index page is due: the reports that were made."""
    return _basis(work, "index", queries.rows(work.con, "reported"))


def mails(work: Work) -> WorkBasis:
    """Return the facts that decide which mails are due: recipients, reports, and the ledger."""
    chosen = work.site.config.model_dump(mode="json", include={"mail", "recipients"})
    clusters = [
        [
            cluster.name,
            cluster.period,
            queries.rows(work.con, "delivery_reports", cluster=cluster.name, now=work.now),
            queries.rows(work.con, "delivery_ledger", cluster=cluster.name),
        ]
        for cluster in work.site.config.clusters
    ]
    return _basis(work, "mails", chosen, clusters)


def _basis(work: Work, what: str, *parts: object) -> WorkBasis:
    text = json.dumps([__version__, *parts])
    return WorkBasis(work.past, what, hashlib.sha256(text.encode()).hexdigest())


def _digest(file: Path) -> str | None:
    with suppress(OSError):  # the reader of the file reports it
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return None
