"""Whether nothing is left to be computed, or sent, told without reading attempts or reports.

To work out which periods are due, all attempts of a cluster are read and its pools inferred from
them; to work out which mails are, the state of every report. All that rests on few things. A digest
of these is noted in the history where nothing is left to be done; while it is the same, nothing is.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from audit import __version__, periods
from audit.config import Cluster
from audit.nightly.stages import Work
from audit.store import queries


def figures(work: Work, cluster: Cluster) -> Basis:
    """On what it rests which figures of a cluster are due.

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
    chosen = [
        work.config.model_dump(mode="json", include={"metrics", "uncertainty"}),
        cluster.model_dump(mode="json", exclude={"sources"}),
    ]
    return Basis(work, f"figures of {cluster.name}", chosen, _files(work, cluster), rows, edges)


def mails(work: Work) -> Basis:
    """On what it rests which mails are due: recipients, reports that were made, and the ledger."""
    chosen = work.config.model_dump(mode="json", include={"mail", "recipients"})
    clusters = [
        [
            *(cluster.name, cluster.period),
            queries.rows(work.con, "delivery_reports", cluster=cluster.name, now=work.now),
            queries.rows(work.con, "delivery_ledger", cluster=cluster.name),
        ]
        for cluster in work.config.clusters
    ]
    return Basis(work, "mails", chosen, clusters)


class Basis:
    """On what it rests whether anything is left to be done."""

    def __init__(self, work: Work, what: str, *parts: object) -> None:
        """A digest of ``parts``, which JSON can say, and of the version."""
        text = json.dumps([__version__, *parts])
        self._past = work.past
        self._what = what
        self._digest = hashlib.sha256(text.encode()).hexdigest()

    @property
    def settled(self) -> bool:
        """Whether nothing was left to be done the last time that it was noted, on the same."""
        return self._past.settled(self._what) == self._digest

    def settle(self) -> None:
        """Notes that nothing is left to be done."""
        self._past.settle(self._what, self._digest)


def _files(work: Work, cluster: Cluster) -> list[str | None]:
    """A digest of each file that the configuration of a cluster's usage names."""
    usage = cluster.usage
    named = (usage.associations, usage.qos, usage.partitions, usage.slurm_conf)
    return [name and _digest(work.folder / name) for name in named]


def _digest(file: Path) -> str | None:
    with suppress(OSError):  # who reads it says so
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return None
