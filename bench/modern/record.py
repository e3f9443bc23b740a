"""Runs the site twice, side by side, and records the output of Slurm's programs.

    python -m bench.modern.record FOLDER CAPTURES   # as root; 50 minutes

Both clusters get the same submissions. The second gets them later, so that the phase of its passes
and priority recalculations differs. CAPTURES then holds a folder for each cluster (see its README).
"""

import argparse
import gzip
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from bench.modern import site, workload
from bench.modern.workload import Act, Job
from tests.slurm.lab import Cluster, Lab

CLUSTERS: Final = {"north": 0, "south": 37}
"""Delay of all events of each cluster, s."""

LONGEST_S: Final = 2_700
"""Jobs that have not ended by then are cancelled."""

SEPARATOR: Final = "\x1f"
SAMPLE_S: Final = 10
SPRIO_S: Final = 60
SHARES_S: Final = 180

SQUEUE: Final = "%A|%i|%t|%r|%Q|%N|%Y|%S|%P|%u|%q"
SPRIO: Final = "%i|%r|%u|%Y|%A|%F|%J|%P|%Q|%N"

JOBS: Final = ("sacct", "-a", "-X", "-D", "-P", f"--delimiter={SEPARATOR}")
FINAL: Final = {
    "sacct.txt": (*JOBS, "-S", "now-3hours", "-E", "now", "--format=ALL"),
    "sacct-steps.txt": (
        *("sacct", "-a", "-D", "-P", f"--delimiter={SEPARATOR}", "-S", "now-3hours", "-E", "now"),
        "--format=ALL",
    ),
    "sacct.json": ("sacct", "-a", "-D", "-S", "now-3hours", "-E", "now", "--json"),
    "assoc.psv": (
        *("sacctmgr", "-P", "show", "assoc", "cluster={name}"),
        "format=Cluster,Account,User,Partition,Share,ParentName,GrpTRESMins,GrpJobs,GrpTRES,"
        "MaxJobs,MaxTRES,MaxWall,QOS,DefaultQOS",
    ),
    "qos.psv": ("sacctmgr", "-P", "show", "qos"),
    "events.psv": (
        *("sacctmgr", "-P", "show", "event", "cluster={name}", "start=now-3hours"),
        "format=Cluster,NodeName,Start,End,State,Reason,User,TRES",
    ),
    "reservations.psv": (
        *("sacctmgr", "-P", "show", "reservation", "cluster={name}", "start=now-3hours"),
        "format=Cluster,Name,TRES,Start,End,Flags,Assoc,NodeNames",
    ),
    "config.txt": ("scontrol", "show", "config"),
    "partitions.txt": ("scontrol", "show", "partition"),
    "nodes.txt": ("scontrol", "show", "node", "-o"),
    "sinfo.json": ("sinfo", "--json"),
    "sinfo.psv": ("sinfo", "-a", "-N", "-o", "%all"),
    "sshare.psv": ("sshare", "-a", "-l", "-P"),
    "sprio-weights.txt": ("sprio", "-w"),
}
"""Commands that are run at the end, by the file of their output."""


@dataclass
class Recorder:
    """Submits the jobs of one cluster, and records its samples."""

    cluster: Cluster
    folder: Path
    begin: float
    """Epoch s."""
    ids: dict[str, str] = field(default_factory=dict)
    _nodes: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)

    def submit(self) -> None:
        """All events of the workload, each at its time."""
        for event in workload.events():
            time.sleep(max(0, self.begin + event.at_s - time.time()))
            words = event.what.words if isinstance(event.what, Act) else self._sbatch(event.what)
            words = tuple(word.format_map(self.ids) for word in words)
            user = event.what.user if isinstance(event.what, Job) else None
            try:
                said = self.cluster.run(*words, user=user)
            except RuntimeError as error:
                self._note("refused.txt", str(error))
                continue
            if isinstance(event.what, Job):
                self.ids[event.what.key] = said.strip().partition(";")[0]
            else:
                self._note("acts.txt", " ".join(words))

    @staticmethod
    def _sbatch(job: Job) -> tuple[str, ...]:
        run = job.run.replace("{", "{{").replace("}", "}}")
        return ("sbatch", "--parsable", "--output=/dev/null", *job.words, f"--wrap={run}")

    def _note(self, name: str, text: str) -> None:
        """Adds output of this moment to a file."""
        self._add(name, f"== {time.time():.1f}\n{text.rstrip()}\n")

    def _add(self, name: str, text: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(text)

    def _ask(self, *words: str) -> str:
        """The output of a program; one that fails must not end the recording."""
        try:
            return self.cluster.run(*words)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self._note("failed.txt", str(error))
            return ""

    def sample(self) -> None:
        """The queue every few seconds, priorities and shares at times, nodes when they change."""
        for number in count():
            wait = self.begin - SAMPLE_S + number * SAMPLE_S - time.time()
            if self.over.wait(max(0, wait)):
                return
            run = self._ask
            self._note("squeue.txt", run("squeue", "-a", "-h", "-r", "-o", SQUEUE))
            if number % (SPRIO_S // SAMPLE_S) == 0:
                self._note("sprio.txt", run("sprio", "-h", "-o", SPRIO))
            if number % (SHARES_S // SAMPLE_S) == 2:
                self._shares()
            states = run("sinfo", "-h", "-N", "-a", "-o", "%N %T %E")
            states = re.sub(r" (idle|mixed|allocated|completing)\S* ", " up ", states)
            if states != self._nodes:
                self._nodes = states
                self._note("nodes-changed.txt", run("scontrol", "show", "node", "-o"))
                self._note("reservations-changed.txt", run("scontrol", "show", "reservation", "-o"))

    def _shares(self) -> None:
        """The output of sshare within one second, and the last tick."""
        for _ in range(5):
            at, tick = int(time.time()), self.cluster.last_tick()
            text = self._ask("sshare", "-a", "-l", "-P")
            if int(time.time()) == at and self.cluster.last_tick() == tick:
                self._add("sshare_samples.txt", f"== {at}\n{text}")
                self._add("ticks.txt", f"{at} {tick}\n")
                return

    def finish(self) -> None:
        """Records the accounting and slurmctld's log at the end."""
        for name, command in FINAL.items():
            self._add(name, self._ask(*(word.format(name=self.cluster.name) for word in command)))
        self._add("slurmctld.log", (self.cluster.folder / "slurmctld.log").read_text())
        self._add("jobs.txt", "".join(f"{key} {job}\n" for key, job in self.ids.items()))
        self._add("begin.txt", f"{self.begin:.1f}\n")

    def compress(self) -> None:
        """All files, without what names this machine."""
        system = os.uname()
        hidden = {
            re.escape(str(self.cluster.lab.folder)): "/lab",
            rf"\b{re.escape(system.nodename.partition('.')[0])}\b": "head",
            re.escape(system.release): "6.1.0",
            re.escape(system.version): "#1 SMP",
        }
        for path in [*self.folder.iterdir()]:
            text = path.read_text()
            for shown, instead in hidden.items():
                text = re.sub(shown, instead, text)
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
            path.unlink()


def _clusters(lab: Lab) -> Iterator[Cluster]:
    for words in site.QUALITIES:
        lab.run("sacctmgr", "--immediate", *words)
    settings = {**site.SETTINGS, "AuthInfo": f"socket={lab.folder}/munge.sock"}
    for name in CLUSTERS:
        lab.load(*site.ASSOCIATIONS.format(name=name).splitlines())
        yield lab.cluster(name, site.NODES, settings)
    for words in site.LIMITS:
        lab.run("sacctmgr", "--immediate", *words)


def record(lab: Lab, captures: Path, longest_s: float) -> None:
    """Both clusters, from the first submission to the last end."""
    clusters = list(_clusters(lab))
    begin = time.time() + 15
    recorders = [
        Recorder(cluster, captures / cluster.name, begin + CLUSTERS[cluster.name])
        for cluster in clusters
    ]
    threads = [
        threading.Thread(target=what) for one in recorders for what in (one.submit, one.sample)
    ]
    for thread in threads:
        thread.start()
    submitting, sampling = threads[::2], threads[1::2]
    for thread in submitting:
        thread.join()
    while any(cluster.active() for cluster in clusters) and time.time() < begin + longest_s:
        time.sleep(5)
    for cluster in clusters:
        cluster.end_jobs()
    time.sleep(130)  # two ticks, and what the accounting is late
    for one, thread in zip(recorders, sampling, strict=True):
        one.over.set()
        thread.join()
        one.finish()
        one.compress()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="an empty folder with a short path")
    parser.add_argument("captures", type=Path)
    parser.add_argument("--longest", type=float, default=LONGEST_S, help="seconds")
    options = parser.parse_args()
    options.folder.mkdir(mode=0o755)
    with Lab(options.folder.absolute()) as lab:
        record(lab, options.captures, options.longest)


if __name__ == "__main__":
    main()
