"""Whether nothing is left to be computed or mailed, found out without reading attempts or reports.

To find out which periods are due, a run reads all attempts of a cluster and infers its pools; to
find out which mails are, it reads the state of every report. All of that depends on a few things,
and the history keeps a digest of them once no work is left. While the digest is the same, none is.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from audit import __version__, periods
from audit.config import Cluster
from audit.nightly.history import History
from audit.nightly.stages import Work
from audit.store import queries


@dataclass(frozen=True)
class Basis:
    """The facts that decide whether any work of one kind is left."""

    past: History
    what: str
    digest: str

    @property
    def settled(self) -> bool:
        """Whether no work was left when this basis was last recorded."""
        return self.past.settled(self.what) == self.digest

    def settle(self) -> None:
        """Record that no work is left."""
        self.past.settle(self.what, self.digest)


def figures(work: Work, cluster: Cluster) -> Basis:
    """The facts that decide which figures of a cluster are due.

    The version, the configuration and the files that it names, the inputs that were taken in, what
    was computed of them, and when the days of the cluster's zone begin.
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
    files = [name and _digest(work.site.folder / name) for name in named]
    return _basis(work, f"figures of {cluster.name}", [*chosen.values()], files, rows, edges)


def in_force(work: Work, cluster: Cluster) -> dict[str, object]:
    """The part of the configuration that a cluster's figures depend on."""
    config = work.site.config
    return {
        "config": config.model_dump(mode="json", include={"metrics", "uncertainty"}),
        "cluster": cluster.model_dump(mode="json", exclude={"sources"}),
    }


def mails(work: Work) -> Basis:
    """The facts that decide which mails are due: recipients, reports, and the ledger."""
    chosen = work.site.config.model_dump(mode="json", include={"mail", "recipients"})
    clusters = [
        [
            *(cluster.name, cluster.period),
            queries.rows(work.con, "delivery_reports", cluster=cluster.name, now=work.now),
            queries.rows(work.con, "delivery_ledger", cluster=cluster.name),
        ]
        for cluster in work.site.config.clusters
    ]
    return _basis(work, "mails", chosen, clusters)


def _basis(work: Work, what: str, *parts: object) -> Basis:
    text = json.dumps([__version__, *parts])
    return Basis(work.past, what, hashlib.sha256(text.encode()).hexdigest())


def _digest(file: Path) -> str | None:
    with suppress(OSError):  # the reader of the file reports it
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return None
