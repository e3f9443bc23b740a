"""Changes in the account of waits by each file of the recorded scheduler.

    python -m bench.modern.evidence    # the table of docs/report/evidence.md

squeue is sampled every ``GIVEN`` th time, so that it can be compared with the samples between. The
log is that of ``SlurmctldDebug=info``, or of debug with DebugFlags=Backfill.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.cluster import declared, fairshare
from audit.cluster.delivered import agreed, held_until
from audit.cluster.fairshare import FairshareInputs
from audit.formats.evidence.read import read
from audit.metrics.attempts.account import account
from audit.metrics.attempts.reasons import NO_HOLDS
from audit.metrics.attempts.recorded import with_evidence
from audit.model import EVIDENCE
from audit.pipeline.inferring import compared_with
from audit.pipeline.opening import ClusterLog
from audit.registry.causes import COLUMNS
from audit.words import EvidenceKind
from bench.modern import reasons
from bench.modern.captured import CAPTURES, Capture
from bench.modern.record import CLUSTERS

GIVEN: Final = 6
"""Samples are every 10 s: one a minute is given."""
SQUEUE: Final = "JOBID|JOBID|ST|REASON|PRIORITY|NODELIST|-|START_TIME|PARTITION|USER|QOS"
SPRIO: Final = "JOBID|PARTITION|USER|PRIORITY|AGE|FAIRSHARE|JOBSIZE|-|QOS|NICE"
"""Headings of the recorded columns."""
NOTHING, SAMPLED, ALL = "none", "squeue", "all of these"
COMPARED: Final = (NOTHING, SAMPLED, ALL)
_NEVER: Final = pl.lit(None, pl.Int64)
_OF_DEBUG: Final = ("debug:", "BACKFILL", "_dump_job_sched")


class Files(NamedTuple):
    """The files of a recording as evidence: columns of ``model.EVIDENCE``."""

    squeue: pl.DataFrame
    sprio: pl.DataFrame
    log: pl.DataFrame
    debug: pl.DataFrame


def files(capture: Capture) -> Files:
    samples = [SQUEUE]
    for number, (at, said) in enumerate(capture.blocks("squeue.txt")):
        if number % GIVEN == 0:
            samples += [str(at), *said.splitlines()]
    log = capture.text("slurmctld.log").splitlines()
    info = [line for line in log if not any(word in line for word in _OF_DEBUG)]
    texts = {
        EvidenceKind.SQUEUE: samples,
        EvidenceKind.SPRIO: [SPRIO, *capture.text("sprio.txt").splitlines()],
        EvidenceKind.CTLD_LOG: info,
    }
    squeue, sprio, short = (read(kind, lines, "UTC").rows for kind, lines in texts.items())
    return Files(squeue, sprio, short, read(EvidenceKind.CTLD_LOG, log, "UTC").rows)


class Row(NamedTuple):
    """The account with some evidence."""

    unexplained: float  # share of all waiting
    with_squeue: float | None
    """Share of the waiting time in the class of squeue's reason, at instants not given."""
    agreement: float | None  # A
    agreement_nodes: float | None
    drains: tuple[int, ...]
    """When drains begin, epoch s."""


def unexplained(log: ClusterLog) -> float:
    """Return the share of all waiting that is unexplained."""
    (pool,) = log.setting.pools
    made = account(log.described, pool, log.setting.now).attempts
    share = pl.col("cause_unexplained_s").sum() / pl.sum_horizontal(pl.col(COLUMNS).sum())
    return float(made.select(share).item())


def drains(log: ClusterLog) -> tuple[int, ...]:
    """Return when drains begin, epoch s."""
    (pool,) = log.setting.pools
    return tuple(one.begin for one in pool.absences if one.why == "drained")


def with_files(log: ClusterLog, said: pl.DataFrame, *, limits: bool = True) -> ClusterLog:
    """Return the log with evidence, as ``pipeline.opening`` reads it.

    Without ``limits``, those of the site are unknown.
    """
    of_nodes = said.filter(pl.col("node").is_not_null()).sort("instant")
    nodes = declared.dated(log.setting.declared, of_nodes)
    pools = tuple(pool._replace(absences=nodes.absences) for pool in log.setting.pools)
    if not limits:
        pools = tuple(pool._replace(limits=(), windows=()) for pool in pools)
    setting = replace(log.setting, declared=nodes, pools=pools)
    return replace(log, described=with_evidence(log.described, said), setting=setting)


def row(log: ClusterLog, usage: FairshareInputs, said: pl.DataFrame, *, limits: bool = True) -> Row:
    """Return the figures of a log with evidence, but for the agreement with squeue."""
    log = with_files(log, said, limits=limits)
    (pool,) = log.setting.pools
    scenario = compared_with(log.described, pool, log.setting, usage)
    until = held_until(log.described, pool, NO_HOLDS)
    found = agreed(scenario, until)
    return Row(
        unexplained(log),
        None,
        found.compared["agreement"][0],
        found.on_nodes,
        drains(log),
    )


def as_squeue(capture: Capture, log: ClusterLog, said: pl.DataFrame) -> float:
    """Return ``Row.with_squeue``; it takes minutes."""
    samples = enumerate(reasons.by_sample(capture, with_files(log, said)))
    return reasons.agreement([one for number, each in samples if number % GIVEN for one in each])


def rows(
    capture: Capture, folder: Path, *, limits: bool = True, compare: bool = False
) -> Iterator[tuple[str, Row]]:
    """Yield the account with each file; ``compare`` adds the agreement with squeue of some."""
    log, of = capture.site(folder), files(capture)
    usage = fairshare.of_site(log.cluster, folder)
    everything = pl.concat([of.squeue, of.sprio, of.debug])
    for name, said in (
        (NOTHING, pl.DataFrame(schema=EVIDENCE)),
        ("sprio", of.sprio),
        (SAMPLED, of.squeue),
        ("slurmctld.log (info)", of.log),
        ("slurmctld.log (debug, Backfill)", of.debug),
        ("squeue, sprio, slurmctld.log (info)", pl.concat([of.squeue, of.sprio, of.log])),
        ("all of these but planned starts", everything.with_columns(expected_start=_NEVER)),
        (ALL, everything),
    ):
        found = row(log, usage, said, limits=limits)
        if compare and name in COMPARED:
            found = found._replace(with_squeue=as_squeue(capture, log, said))
        yield name, found


def main() -> None:
    for limits in (True, False):
        for cluster in sys.argv[1:] or CLUSTERS:
            print(f"\n{cluster}, limits {'from sacctmgr' if limits else 'unknown'}\n")
            print(
                "| further files | unexplained | as squeue | A | A_nodes |\n|---|---|---|---|---|"
            )
            with tempfile.TemporaryDirectory() as folder:
                capture = Capture(CAPTURES / cluster)
                for name, one in rows(capture, Path(folder), limits=limits, compare=limits):
                    shares = " | ".join("–" if x is None else f"{x:.1%}" for x in one[:4])
                    print(f"| {name} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
