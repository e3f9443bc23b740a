"""A made cluster whose partitions overlap: CPUs of GPU nodes for others, and a scavenger."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from audit.config import Config
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from audit.pipeline.published import open_published
from audit.store import database
from tests import stores
from tests.cluster.test_hardware import CPUS, DAY, GPUS, Job, clock

CPU_NODES, GPU_NODES, LENT = 12, 4, 32
"""Jobs of the partition ``lent`` use at most ``LENT`` CPUs of each GPU node."""
REQUEUED_S: Final = 120
"""Seconds after which a preempted job may start again."""

MAY: Final = {
    "batch": [f"c{k:02}" for k in range(CPU_NODES)],
    "gpu": [f"g{k}" for k in range(GPU_NODES)],
    "lent": [f"g{k}" for k in range(GPU_NODES)],
}
MAY["scavenger"] = [*MAY["batch"], *MAY["gpu"]]

SHARES: Final = """
    SELECT
        sum(wait_s) AS waited,
        sum(cause_cycle_s + cause_unexplained_s + cause_claimed_s + cause_kept_s) AS fitted,
    FROM job_fairness
    WHERE partition = 'gpu'
"""


@dataclass(eq=False)
class Run:
    """One attempt of a job."""

    job: Job
    submit: int
    start: int
    node: str
    end: int
    state: str = "COMPLETED"


def jobs(random: Random) -> list[Job]:
    """Return two weeks of jobs that ask for 90 % of the GPUs; scavengers take what others leave."""
    found: list[Job] = []
    at = 0
    while at < 14 * DAY:
        at += random.randrange(1, 500)
        kind = random.choices([*MAY], [30, 42, 8, 20])[0]
        gpus = random.choice([1, 1, 2, 4]) if kind == "gpu" else 0
        length = random.randrange(600, 7_000 if gpus else 9 * 3_600)
        cpus = 8 * gpus or random.choice([1, 4, 16, 32])
        found.append(Job(len(found) + 1, at, kind, cpus, gpus, length))
    return found


class Site:
    """Its partitions start their jobs in the order of arrival; others preempt scavengers."""

    def __init__(self) -> None:
        self.running: list[Run] = []
        self.fitted: Counter[int] = Counter()
        """By job: seconds in which it waited, although it would have fitted."""
        self.fitted_beside: Counter[int] = Counter()
        """The same beside all scavengers, which it might have preempted."""

    def fits(self, job: Job, node: str, spared: Collection[Run] = ()) -> bool:
        """Return whether a job fits on a node; scavengers outside ``spared`` do not count."""
        here = [
            run
            for run in self.running
            if run.node == node
            and (run.job.partition != "scavenger" or job.partition == "scavenger" or run in spared)
        ]
        cpus, gpus = CPUS, GPUS if node[0] == "g" else 0
        cpus -= sum(run.job.cpus for run in here)
        gpus -= sum(run.job.gpus for run in here)
        lent = sum(run.job.cpus for run in here if run.job.partition == "lent")
        if job.partition == "lent" and lent + job.cpus > LENT:
            return False
        return cpus >= job.cpus and gpus >= job.gpus

    def victims(self, job: Job, node: str) -> list[Run]:
        """Return the scavengers that must go, the latest first."""
        runs = [r for r in self.running if r.node == node and r.job.partition == "scavenger"]
        runs.sort(key=lambda run: (run.start, run.job.number))
        gone: list[Run] = []
        while not self.fits(job, node, [run for run in runs if run not in gone]):
            gone.append([run for run in runs if run not in gone][-1])
        return gone

    def run(self, coming: list[Job]) -> Iterator[Run]:
        """Yield each attempt when it ends."""
        arriving = [(job.submit, job.number, job.submit, job) for job in coming]
        queue: dict[str, list[tuple[int, Job]]] = {partition: [] for partition in MAY}
        now = 0
        while arriving or self.running:
            then = min([run.end for run in self.running] + [at for at, *_ in arriving])
            for waiting in queue.values():
                for _, job in waiting:
                    nodes = MAY[job.partition]
                    if any(self.fits(job, node) for node in nodes):
                        self.fitted[job.number] += then - now
                    if any(self.fits(job, node, self.running) for node in nodes):
                        self.fitted_beside[job.number] += then - now
            now = then
            yield from [run for run in self.running if run.end == now]
            self.running = [run for run in self.running if run.end > now]
            for one in sorted(one for one in arriving if one[0] == now):
                arriving.remove(one)
                queue[one[3].partition].append((one[2], one[3]))
            for partition, waiting in queue.items():
                while waiting:
                    submit, job = waiting[0]
                    turn = job.number % len(MAY[partition])
                    order = MAY[partition][turn:] + MAY[partition][:turn]
                    node = next((name for name in order if self.fits(job, name)), None)
                    if node is None:
                        break
                    for run in self.victims(job, node) if partition != "scavenger" else []:
                        self.running.remove(run)
                        arriving.append((now + REQUEUED_S, run.job.number, now, run.job))
                        if run.start < now:
                            run.end, run.state = now, "PREEMPTED"
                            yield run
                    waiting.pop(0)
                    self.running.append(Run(job, submit, now, node, now + job.length))


def write_log(folder: Path, runs: list[Run]) -> Path:
    """Write the log as sacct -D -P would."""
    columns = "JobID|User|Account|Partition|State|Submit|Eligible|Start|End|Timelimit|AllocTRES"
    lines = [f"{columns}|NodeList"]
    for run in sorted(runs, key=lambda run: (run.job.number, run.submit)):
        job = run.job
        tres = f"billing={job.cpus},cpu={job.cpus},node=1"
        tres += f",gres/gpu={job.gpus}" if job.gpus else ""
        ready = run.submit if run.submit == job.submit else run.submit + REQUEUED_S
        times = "|".join(clock(t) for t in (run.submit, ready, run.start, run.end))
        who = f"{job.number}|u{job.number * 7 % 61}|a{job.number % 3}|{job.partition}|{run.state}"
        lines.append(f"{who}|{times}|10:00:00|{tres}|{run.node}")
    path = folder / "scavenged.psv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.thorough
def test_overlapping_partitions_and_a_scavenger(tmp_path: Path) -> None:
    """One pool; waits for GPUs within a point of the truth; no rule; nothing above 100 %."""
    site = Site()
    runs = list(site.run(jobs(Random(7))))
    log = write_log(tmp_path, runs)
    settings = Config()
    outcome = audit(
        Session(LogRequest(logs=[log]), settings, fit=True), AuditOptions(out=tmp_path, pdf=False)
    )
    (pool,) = open_published(outcome.database, settings).setting.pools
    assert dict(pool.amounts)["gpus"] == GPU_NODES * GPUS
    assert len(pool.nodes) == CPU_NODES + GPU_NODES
    gpu = [run for run in runs if run.job.gpus]
    with stores.published(outcome.database) as con:
        [(waited, fitted)] = database.rows(con, SHARES)
        assert database.rows(con, "SELECT rule FROM rules") == []
        used = "SELECT value FROM summary WHERE metric LIKE 'utilization%' AND value > 1"
        assert database.rows(con, used) == []
        [(preempted,)] = database.rows(
            con, "SELECT count(*) FROM job_fairness WHERE state = 'PREEMPTED'"
        )
    assert preempted == sum(run.state == "PREEMPTED" for run in runs) > 50
    assert waited == sum(run.start - run.submit for run in gpu) > 0
    # whether or not capacity that scavengers hold counts as free
    least, most = (
        sum(of[run.job.number] for run in gpu) for of in (site.fitted_beside, site.fitted)
    )
    assert least - 0.01 * waited < fitted < most + 0.01 * waited
    assert most - least < 0.05 * waited
