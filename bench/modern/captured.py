"""Reads the recording of one cluster; README.md beside the captures describes its files."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit import config
from audit.cluster.declared import NodeFiles
from audit.cluster.slurm_files import SlurmFiles
from audit.pipeline.opening import ClusterLog, LogRequest, open_log
from audit.setup import init
from tests.places import DATA

CAPTURES: Final = DATA / "modern"

OF_SLURM: Final = {
    "partitions": "partitions.txt",
    "associations": "assoc.psv",
    "qos": "qos.psv",
    "slurm_conf": "config.txt",
}
OF_NODES: Final = {
    "nodes": "nodes.txt",
    "events": "events.psv",
    "reservations": "reservations.psv",
}
"""The files that a site passes to `fairaudit init` besides its log, by option."""


@dataclass(frozen=True)
class Waiting:
    """A line of squeue about a job that waits."""

    job: str
    reason: str
    partition: str
    first: bool
    """Whether it is the first task of its record. The tasks of an array share a record until they
    start, with one reason: that of the next task to start."""


@dataclass(frozen=True)
class Capture:
    """The files of one cluster."""

    folder: Path

    def text(self, name: str) -> str:
        return gzip.decompress((self.folder / f"{name}.gz").read_bytes()).decode()

    def blocks(self, name: str) -> Iterator[tuple[float, str]]:
        """The parts of a file of samples, each with its instant (epoch s)."""
        for block in self.text(name).split("== ")[1:]:
            at, _, said = block.partition("\n")
            yield float(at), said

    def queue(self) -> Iterator[tuple[float, list[Waiting]]]:
        """The jobs that squeue showed as pending, at each sample."""
        for at, said in self.blocks("squeue.txt"):
            rows = (line.split("|") for line in said.split("\n") if line)
            records: set[str] = set()
            waiting = []
            for record, job, state, reason, *_, partition, _, _ in rows:
                if state == "PD":
                    waiting.append(Waiting(job, reason, partition, first=record not in records))
                    records.add(record)
            yield at, waiting

    def site(self, folder: Path) -> ClusterLog:
        """Return the log as fairaudit reads it with the configuration that `init` writes."""
        for name in ("sacct.txt", *OF_SLURM.values(), *OF_NODES.values()):
            (folder / name).write_text(self.text(name))
        log = folder / "sacct.txt"
        files = SlurmFiles(**{option: folder / name for option, name in OF_SLURM.items()})
        machines = NodeFiles(**{option: folder / name for option, name in OF_NODES.items()})
        draft = init.infer([log], files, zone="UTC", folder=folder, machines=machines)
        place = folder / "config.toml"
        init.save(place, init.write(draft), force=True)
        return open_log(LogRequest(logs=[log]), config.load(place))

    def keys(self) -> dict[str, str]:
        """The key of each submission in ``workload``, by its id; the same in both clusters."""
        pairs = (line.split() for line in self.text("jobs.txt").splitlines())
        return {job: key for key, job in pairs}

    @property
    def begin(self) -> float:
        """When the first job was submitted (epoch s)."""
        return float(self.text("begin.txt"))
