"""When slurmctld recalculated: told, fitted to what ``sshare`` printed, or taken to be just now."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from audit.errors import UsageError
from audit.formats.slurm import slurm_conf
from audit.metrics.fairshare.trees import Floats, Tree
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm.usage import SlurmUsage, fit_phase
from audit.oneoff.sshare.request import Request, instant, text_of
from audit.oneoff.sshare.site import Site


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
