"""Statements of the scheduler at instants: files that are new or look different, and commands."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from audit.config import Cluster, EvidenceConfig, places
from audit.errors import AuditError, withholding
from audit.files.folders import readable
from audit.ingest import streams
from audit.nightly import sources
from audit.nightly.stages import Work
from audit.store import database, queries


def pull(work: Work, cluster: Cluster) -> None:
    """Read the evidence of a cluster; what cannot be read is a failure, and the rest is read."""
    for number, origin in enumerate(cluster.evidence):
        _Pulled(work, cluster, origin, number).pull()


@dataclass(frozen=True)
class _Pulled:
    """Samples or logs of a cluster's scheduler."""

    work: Work
    cluster: Cluster
    origin: EvidenceConfig
    number: int

    def pull(self) -> None:
        """Read the command's output, or the files that are new or look different.

        An unreadable file is a failure; the rest is read.
        """
        work, origin, site = self.work, self.origin, self.work.site
        if origin.command is None:
            paths = sources.files(origin, site.folder)
            if not paths:
                why = f"cluster {self.cluster.name!r}: no file matches {origin.files!r}"
                work.night.warnings.append(why)
            for path in paths:
                self._unless_wrong(partial(self._changed, path))
            return
        name = f"{places.file_name(self.cluster.name)}-evidence-{self.number}.txt"
        spool = site.state / name
        with withholding(when=site.config.hides(self.cluster.name)):
            self._unless_wrong(partial(self._printed, spool))

    def _printed(self, spool: Path) -> None:
        work, zone = self.work, self.cluster.zone
        watch = partial(work.progress, f"pulling {self.cluster.name}", 0, 1)
        with sources.printed(self.origin, work.site.folder, spool, zone, watch=watch) as path:
            self._take(path, work.now)

    def _changed(self, path: Path) -> None:
        """Read a file unless it looks as it did when it was last read."""
        look = streams.check_is_file(path)
        key = {"cluster": self.cluster.name, "kind": self.origin.kind, "path": readable(path)}
        looks = {"size": look.st_size, "modified_ns": look.st_mtime_ns}
        if queries.rows(self.work.con, "evidence_seen", **key) != [tuple(looks.values())]:
            self._take(path, None)
            database.put(self.work.con, "evidence_seen", key, looks)

    def _take(self, path: Path, taken: int | None) -> None:
        from audit.ingest.evidence import EvidenceFile, take_in  # an idle run loads no frames

        of = (self.cluster.name, EvidenceFile(self.origin.kind, path), self.cluster.zone)
        doubt = take_in(self.work.con, *of, taken)
        if doubt is not None:
            self.work.night.warnings.append(f"cluster {self.cluster.name!r}: {doubt}")

    def _unless_wrong(self, do: Callable[[], None]) -> None:
        try:
            do()
        except AuditError as error:
            self.work.night.failures.append(error)
