"""Fairshare as ``sshare -alP`` prints it, for any instant and any settings.

Jobs come from what ``sacct`` printed or from the published database, everything else from what
Slurm's other programs printed. The figures are those of ``metrics.slurm``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from audit import config, periods
from audit.cluster.fairshare import share_tree
from audit.formats.instants import LATEST
from audit.ingest.ingest import Progress
from audit.metrics.fairshare.trees import Floats, Tree
from audit.metrics.fairshare.usage import by_number
from audit.metrics.slurm import sshare
from audit.metrics.slurm.shares import Places, places
from audit.metrics.slurm.usage import Charged, charge
from audit.oneoff.sshare import table
from audit.oneoff.sshare.jobs import Jobs, assumed, read_jobs
from audit.oneoff.sshare.request import Request, instant
from audit.oneoff.sshare.site import Site, read_site
from audit.oneoff.sshare.table import Outcome
from audit.oneoff.sshare.ticks import Ticks, decay, find_ticks
from audit.words import Algorithm

_OPEN_END: Final = LATEST << 1
"""When attempts end that have not ended: beyond all instants."""


def recompute(
    request: Request,
    chosen: config.Config,
    folder: Path = Path(),
    progress: Progress = lambda what, done, of: None,
) -> Outcome:
    """The figures at one instant.

    Raises:
        UsageError: a file is missing or wrong, or settings do not go together; all at once.
        AuditError: a log or the database cannot be read, see ``audit.errors``.
    """
    site = read_site(request, chosen, folder)
    jobs = read_jobs(request, chosen, folder, site, progress)
    site = site.with_partitions(jobs.attempts["partition"].drop_nulls().unique().sort())
    conf, zone = site.conf, periods.zone(jobs.zone)
    at = instant(request.as_of, zone, "--as-of") if request.as_of else jobs.known_to
    tree = share_tree(site.associations)
    charged = charge(jobs.attempts, jobs.amounts, site.weights, site.factors, conf.flags)
    placed = places(tree, charged.attempts)
    grouped = by_number(placed.nodes, len(tree.names), charged.attempts, _OPEN_END)
    ticks = find_ticks(request, decay(request, site, zone), grouped, tree, at, zone)
    algorithm = request.algorithm
    if algorithm is None:
        algorithm = Algorithm.fair_tree if conf.fair_tree else Algorithm.classic
    raw_usage, shares = sshare.usage_and_shares(
        tree,
        grouped,
        ticks.method,
        at,
        algorithm=algorithm,
        dampening=conf.dampening,
        depth_oblivious="DEPTH_OBLIVIOUS" in conf.flags,
        just_recalculated=not ticks.known,
    )
    minutes = _run_minutes(tree, site, jobs, charged, placed, at, ticks)
    warnings = [*site.warnings, *jobs.warnings]
    if at > jobs.known_to and jobs.run_on:
        warnings.append(
            f"the jobs are known up to {_shown(jobs.known_to, zone)} only: what ran then is taken "
            "to run on"
        )
    return Outcome(
        table.columns(algorithm, by_partition=request.by_partition),
        table.rows(tree, site.associations, raw_usage, shares, conf.tres, minutes),
        tuple(_facts(request, ticks, algorithm, at, zone)),
        (*warnings, *assumed(site, jobs, charged, placed)),
    )


def _run_minutes(
    tree: Tree, site: Site, jobs: Jobs, charged: Charged, placed: Places, at: int, ticks: Ticks
) -> Floats:
    """TRESRunMins; nothing where slurmctld keeps no account of them."""
    resources = site.conf.tres
    if not site.conf.limits_enforced:
        return np.zeros((len(resources), len(tree.names)))
    billed = {"billing": charged.attempts["billing"].floor()}  # where sacct does not say it
    amounts = {**billed, **jobs.amounts}
    tick = ticks.method.tick(at)
    return sshare.run_minutes(tree, placed.nodes, charged.attempts, amounts, resources, at, tick)


def _facts(
    request: Request, ticks: Ticks, algorithm: Algorithm, at: int, zone: ZoneInfo
) -> Iterator[str]:
    """What was used, in words."""
    yield f"as of {_shown(at, zone)}" + ("" if request.as_of else ", the last that is known")
    if ticks.fact is not None:
        yield ticks.fact
    method = ticks.method
    if ticks.known:
        yield f"last recalculation at {_shown(method.tick(at), zone)}"
    name = "Fair Tree" if algorithm is Algorithm.fair_tree else "classic fairshare"
    half_life = f"half-life {method.half_life_s:,.0f} s" if method.half_life_s else "no decay"
    reset = f", reset {method.reset}" if method.reset != "none" else ""
    yield f"{name}, {half_life}, recalculated every {method.period_s} s{reset}"


def _shown(at: int, zone: ZoneInfo) -> str:
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%dT%H:%M:%S} ({zone.key})"
