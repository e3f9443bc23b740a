"""Fairshare as ``sshare -alP`` prints it, for any instant and any settings.

Jobs come from what ``sacct`` printed or from the published database, everything else from what
Slurm's other programs printed. The figures are those of ``metrics.slurm``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from audit import config, periods
from audit.cluster.fairshare import share_tree
from audit.errors import UsageError
from audit.formats.instants import LATEST
from audit.formats.slurm import slurm_conf
from audit.ingest.ingest import Progress
from audit.metrics.fairshare.trees import Floats, Tree
from audit.metrics.fairshare.usage import Grouped, by_number
from audit.metrics.slurm.shares import Places, places, run_minutes, usage_and_shares
from audit.metrics.slurm.usage import Charged, SlurmUsage, charge, fit_phase
from audit.oneoff.sshare import table
from audit.oneoff.sshare.jobs import Jobs, assumed, read_jobs
from audit.oneoff.sshare.site import Request, Site, instant, read_site, text_of
from audit.oneoff.sshare.table import Outcome
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
    raw_usage, shares = usage_and_shares(
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
    return run_minutes(tree, placed.nodes, charged.attempts, amounts, resources, at, tick)


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


class Ticks(NamedTuple):
    """How usage decays, and when."""

    method: SlurmUsage
    known: bool
    """Whether ticks are those of slurmctld."""
    fact: str | None = None
    """Where they are from, in words."""


def decay(request: Request, site: Site, zone: ZoneInfo) -> SlurmUsage:
    """How usage decays, as asked for, else as slurm.conf says.

    Raises:
        UsageError: it is not understood, or nothing would ever be forgotten.
    """
    half_life = site.conf.half_life_s
    if request.half_life is not None:
        asked = slurm_conf.seconds(request.half_life)
        if asked is None or asked == math.inf:
            raise UsageError(
                f"--half-life {request.half_life!r}: write it as in slurm.conf: minutes, "
                "HH:MM:SS, or days-HH:MM:SS, such as 14-0"
            )
        half_life = asked
    try:
        return SlurmUsage(
            half_life_s=half_life, period_s=site.conf.period_s, reset=site.conf.reset, zone=zone
        )
    except ValueError as error:
        raise UsageError(f"sshare: {error} (--half-life, --slurm-conf)") from error


def find_ticks(
    request: Request, method: SlurmUsage, grouped: Grouped, tree: Tree, at: int, zone: ZoneInfo
) -> Ticks:
    """The ticks that the request tells, or a sample of ``sshare``.

    Args:
        method: how usage decays; its phase is not looked at.
        at: the instant that is asked for, epoch s, which is a tick where nothing is told.

    Raises:
        UsageError: the sample cannot be read, or tells nothing.
    """
    if request.sample is not None:
        when = instant(request.sample_time, zone, "--sample-time") if request.sample_time else at
        return _fitted(request.sample, when, method, grouped, tree)
    if request.phase is not None:
        return Ticks(replace(method, phase_s=instant(request.phase, zone, "--phase")), known=True)
    return Ticks(
        replace(method, phase_s=at),
        known=False,
        fact="as if slurmctld recalculated just then (--phase or --sample say when it did)",
    )


def _fitted(sample: Path, when: int, method: SlurmUsage, grouped: Grouped, tree: Tree) -> Ticks:
    """The phase under which a sample of ``sshare`` comes out best."""
    raw_usage = _sampled(sample, tree)
    users = int(np.isfinite(raw_usage).sum())
    if not users:
        raise UsageError(
            f"{sample}: names no user with RawUsage that the associations have; let "
            "'sshare -alP' write it"
        )
    fit = fit_phase(method, grouped, when, raw_usage)
    fact = f"ticks fitted to {sample}: {fit.agree} of {users} users agree"
    if fit.equals > 1:
        fact += f", as they do under {fit.equals} of {method.period_s} phases"
    return Ticks(replace(method, phase_s=fit.phase_s), known=True, fact=fact)


def _sampled(path: Path, tree: Tree) -> Floats:
    """RawUsage of users in the output of ``sshare``; NaN where it is not told."""
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    names = [name.strip() for name in lines[0].rstrip("|").split("|")] if lines else []
    missing = [name for name in ("Account", "User", "RawUsage") if name not in names]
    if missing:
        raise UsageError(f"{path}:1: no column {', '.join(missing)}: let 'sshare -alP' write it")
    nodes_of: dict[tuple[str, str], list[int]] = {}
    for node in np.flatnonzero(tree.is_user).tolist():
        key = tree.names[tree.parents[node]], tree.names[node]
        nodes_of.setdefault(key, []).append(node)
    raw_usage = np.full(len(tree.names), math.nan)
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < len(names):
            raise UsageError(f"{path}:{number}: {len(cells)} fields, not {len(names)}")
        row = dict(zip(names, cells, strict=False))
        nodes = nodes_of.get((row["Account"], row["User"]), [])
        if "Partition" in row:
            nodes = [node for node in nodes if (tree.partitions[node] or "") == row["Partition"]]
        if len(nodes) == 1 and row["RawUsage"].isdecimal():
            raw_usage[nodes[0]] = float(row["RawUsage"])
    return raw_usage
