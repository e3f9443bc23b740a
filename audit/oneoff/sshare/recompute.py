"""Fairshare as ``sshare -alP`` prints it, for any instant and any settings.

Jobs come from the output of sacct or from the published database, everything else from the output
of Slurm's other programs. ``metrics.slurm`` computes the figures. ``job_of`` returns a job whose
cost is asked: ``sshare --explain USER --job cpus=64,walltime=4h``.
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit import periods, spreadsheets
from audit.array_types import Floats
from audit.cluster.fairshare import share_tree
from audit.config import Config
from audit.errors import UsageError
from audit.formats.instants import LATEST
from audit.formats.slurm import slurm_conf
from audit.formats.slurm.sacctmgr import Association
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import Grouped, by_number
from audit.metrics.slurm.explained import misfits
from audit.metrics.slurm.shares import (
    ChargedNodes,
    Shares,
    places,
    printed,
    run_minutes,
    usage_and_shares,
)
from audit.metrics.slurm.usage import Charged, SlurmUsage, charge, fit_phase
from audit.oneoff.requests import memory, typed_gpus, walltime, whole_number
from audit.oneoff.sshare.inputs import (
    ChargedJobs,
    SshareRequest,
    SshareSite,
    assumed,
    read_jobs,
    read_site,
    text_of,
)
from audit.periods import instant
from audit.progress import OnProgress, printable, silent
from audit.words import Algorithm

OPEN_END: Final = LATEST << 1  # end of attempts that have not ended: after all instants


_COLUMNS: Final = (
    *("Account", "User", "Partition", "RawShares", "NormShares", "RawUsage", "NormUsage"),
    *("EffectvUsage", "FairShare", "LevelFS", "GrpTRESMins", "TRESRunMins"),
)

SshareRow = Mapping[str, Any]
"""A row of ``sshare``, by column: texts and numbers; the account is indented by its depth."""


@dataclass(frozen=True)
class SshareResult:
    """The output of ``sshare``."""

    columns: tuple[str, ...]
    rows: tuple[SshareRow, ...]
    facts: tuple[str, ...]  # the settings that were used
    warnings: tuple[str, ...]

    def cells(self) -> list[list[str]]:
        """Return the header and the rows as texts."""
        return [
            [*self.columns],
            *([_cell(name, row[name]) for name in self.columns] for row in self.rows),
        ]


def _cell(column: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if column == "RawUsage":
        return str(int(value))
    return "" if math.isnan(value) else f"{value:.6f}"


class Ticks(NamedTuple):
    """How usage decays, and when slurmctld recalculates it."""

    method: SlurmUsage
    known: bool  # whether the times of recalculation are those of slurmctld
    fact: str | None = None  # their source


def recompute(
    request: SshareRequest,
    config: Config,
    folder: Path = Path(),
    on_progress: OnProgress = silent,
) -> SshareResult:
    """Return the figures at one instant.

    Raises:
        UsageError: a file is missing or wrong, or settings conflict.
        AuditError: a log or the database cannot be read, see ``audit.errors``.
    """
    basis = prepare(request, config, folder, on_progress)
    site, tree, ticks, at, conf = basis.site, basis.tree, basis.ticks, basis.at, basis.site.conf
    raw_usage, shares = usage_and_shares(
        *(tree, basis.grouped, ticks.method, at),
        algorithm=basis.algorithm,
        dampening=conf.dampening,
        depth_oblivious="DEPTH_OBLIVIOUS" in conf.flags,
        just_recalculated=not ticks.known,
    )
    minutes = np.zeros((len(conf.tres), len(tree.names)))
    if conf.limits_enforced:  # else slurmctld keeps no TRESRunMins
        attempts = basis.charged.attempts
        billed = {"billing": attempts["billing"].floor()}  # if sacct does not print it
        amounts, tick = {**billed, **basis.jobs.amounts}, ticks.method.tick(at)
        minutes = run_minutes(
            *(tree, basis.placed.nodes, attempts, amounts, conf.tres),
            at=at,
            tick=tick,
            period_s=ticks.method.period_s,
        )
    return SshareResult(
        columns(basis.algorithm, by_partition=request.by_partition),
        rows(tree, site.associations, raw_usage, shares, conf.tres, minutes),
        tuple(facts(request, basis)),
        (*assumptions(basis), *without_usage(basis, raw_usage)),
    )


class SshareBasis(NamedTuple):
    """Jobs, shares and settings from which the figures of one instant follow."""

    site: SshareSite
    jobs: ChargedJobs
    tree: Tree
    charged: Charged
    placed: ChargedNodes
    grouped: Grouped
    ticks: Ticks
    algorithm: Algorithm
    at: int
    zone: ZoneInfo


def prepare(
    request: SshareRequest, config: Config, folder: Path, on_progress: OnProgress
) -> SshareBasis:
    """Return what the figures of the requested instant follow from; errors as of ``recompute``."""
    site = read_site(request, config, folder)
    jobs = read_jobs(request, config, folder, site, on_progress)
    site = site.with_partitions(jobs.attempts["partition"].drop_nulls().unique().sort())
    zone = periods.zone(jobs.zone)
    at = instant(request.as_of, zone, "--as-of") if request.as_of else jobs.known_to
    tree = share_tree(site.associations)
    charged = charge(jobs.attempts, jobs.amounts, site.weights, site.factors, site.conf.flags)
    placed = places(tree, charged.attempts)
    grouped = by_number(placed.nodes, len(tree.names), charged.attempts, OPEN_END)
    ticks = _ticks(request, _decay(request, site, zone), grouped, tree, at, zone)
    algorithm = request.algorithm
    if algorithm is None:
        algorithm = Algorithm.fair_tree if site.conf.fair_tree else Algorithm.classic
    return SshareBasis(site, jobs, tree, charged, placed, grouped, ticks, algorithm, at, zone)


def assumptions(basis: SshareBasis) -> list[str]:
    """Return what was assumed, and which settings do not fit together, as sentences."""
    site, jobs, method = basis.site, basis.jobs, basis.ticks.method
    warnings = [*site.warnings, *jobs.warnings]
    if basis.at > jobs.known_to and jobs.run_on:
        warnings.append(
            f"jobs are known only up to {_shown(jobs.known_to, basis.zone)}; those that ran then "
            "are assumed to run on"
        )
    longest = jobs.attempts.select(pl.col("walltime_s").max()).item()
    warnings += misfits(method.half_life_s, method.reset, method.period_s, longest)
    return [*warnings, *assumed(site, jobs, basis.charged, basis.placed)]


def without_usage(basis: SshareBasis, raw_usage: Floats) -> Iterator[str]:
    """Yield a warning if RawUsage is printed as 0 everywhere."""
    if raw_usage.max(initial=0) < 1:
        starts, zone = basis.jobs.attempts["start_time"].drop_nulls(), basis.zone
        yield (
            f"no usage is on record for {_shown(basis.at, zone)}: the first job starts at "
            f"{_shown(int(starts.sort()[0]), zone)}, and the records end at "
            f"{_shown(basis.jobs.known_to, zone)}"
        )


def facts(request: SshareRequest, basis: SshareBasis) -> Iterator[str]:
    """Yield the settings that were used, as sentences."""
    ticks, algorithm, at, zone = basis.ticks, basis.algorithm, basis.at, basis.zone
    yield f"as of {_shown(at, zone)}" + ("" if request.as_of else ", the last known instant")
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


def _decay(request: SshareRequest, site: SshareSite, zone: ZoneInfo) -> SlurmUsage:
    """Return the decay of the request, else that of slurm.conf."""
    half_life = site.conf.half_life_s
    if request.half_life is not None:
        given = slurm_conf.seconds(request.half_life)
        if given is None or given == math.inf:
            raise UsageError(
                f"--half-life {request.half_life!r}: write it as in slurm.conf: minutes, "
                "HH:MM:SS, or days-HH:MM:SS, such as 14-0"
            )
        half_life = given
    try:
        return SlurmUsage(
            half_life_s=half_life, period_s=site.conf.period_s, reset=site.conf.reset, zone=zone
        )
    except ValueError as error:
        raise UsageError(f"sshare: {error} (--half-life, --slurm-conf)") from error


def _ticks(
    request: SshareRequest,
    method: SlurmUsage,
    grouped: Grouped,
    tree: Tree,
    at: int,
    zone: ZoneInfo,
) -> Ticks:
    """Return the recalculations of the request, else one at ``at`` (epoch s)."""
    if request.sample is not None:
        when = instant(request.sample_time, zone, "--sample-time") if request.sample_time else at
        return _fitted(request.sample, when, method, grouped, tree)
    if request.phase is not None:
        return Ticks(replace(method, phase_s=instant(request.phase, zone, "--phase")), known=True)
    fact = "assuming that slurmctld recalculated at this instant (set --phase or --sample)"
    return Ticks(replace(method, phase_s=at), known=False, fact=fact)


def _fitted(sample: Path, when: int, method: SlurmUsage, grouped: Grouped, tree: Tree) -> Ticks:
    """Return the recalculations that reproduce a sample of ``sshare`` best."""
    raw_usage = _sampled(sample, tree)
    users = int(np.isfinite(raw_usage).sum())
    if not users:
        raise UsageError(
            f"{sample}: has no RawUsage of a user in the associations; use the output of 'sshare "
            "-alP'"
        )
    fit = fit_phase(method, grouped, when, raw_usage)
    fact = f"recalculations fitted to {sample}: {fit.agree} of {users} users agree"
    if fit.equals > 1:
        fact += f", as they do under {fit.equals} of {method.period_s} phases"
    return Ticks(replace(method, phase_s=fit.phase_s), known=True, fact=fact)


def _sampled(path: Path, tree: Tree) -> Floats:
    """Return RawUsage by node from the output of ``sshare``; NaN if unknown."""
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    names = [name.strip() for name in lines[0].rstrip("|").split("|")] if lines else []
    missing = [name for name in ("Account", "User", "RawUsage") if name not in names]
    if missing:
        columns = ", ".join(missing)
        raise UsageError(f"{path}:1: no column {columns}: use the output of 'sshare -alP'")
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


# --- the table -----------------------------------------------------------------------------------


def columns(algorithm: Algorithm, *, by_partition: bool = False) -> tuple[str, ...]:
    """Return the columns of ``sshare -alP``, or with partitions of ``sshare -alPm``."""
    shown = {"LevelFS": algorithm is Algorithm.fair_tree, "Partition": by_partition}
    return tuple(name for name in _COLUMNS if shown.get(name, True))


def rows(
    tree: Tree,
    associations: Sequence[Association],
    raw_usage: Floats,
    shares: Shares,
    resources: Sequence[str],
    run_minutes: Floats,
) -> tuple[SshareRow, ...]:
    """Return a row for each node, in the order of ``sshare``.

    ``raw_usage`` and ``shares`` are by node; ``run_minutes`` has a row for each of ``resources``
    (TRESRunMins) and a column for each node.
    """
    limits = {(row.account, row.user, row.partition): row.grp_tres_mins for row in associations}
    depth = [0] * len(tree.names)
    lines = []
    for node in printed(tree):
        name, parent, share = tree.names[node], int(tree.parents[node]), tree.shares[node]
        if parent >= 0:
            depth[node] = depth[parent] + 1
        is_user = tree.kinds[node] == "user"
        account, user = (tree.names[parent], name) if is_user else (name, None)
        minutes = zip(resources, run_minutes[:, node], strict=True)
        values = (
            *(" " * depth[node] + account, user or "", tree.partitions[node] or ""),
            "" if parent < 0 else "parent" if math.isnan(share) else f"{share:g}",
            float(shares.norm_shares[node]),
            float(raw_usage[node]),
            float(shares.norm_usage[node]),
            float(shares.effective_usage[node]),
            float(shares.fairshare[node]),
            float(shares.level_fs[node]),
            limits.get((account, user, tree.partitions[node]), ""),
            ",".join(f"{resource}={int(amount)}" for resource, amount in minutes),
        )
        lines.append(dict(zip(_COLUMNS, values, strict=True)))
    return tuple(lines)


def psv(outcome: SshareResult) -> str:
    """Return the output of ``sshare -alP``; characters that break lines or fields are escaped."""

    def field(text: str) -> str:
        return printable(text).replace("|", "\\x7c")

    return "".join("|".join(map(field, line)) + "\n" for line in outcome.cells())


def comma_separated(outcome: SshareResult) -> str:
    """Return RFC 4180 with LF, with the cells of ``audit.spreadsheets``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(map(spreadsheets.cell, line) for line in outcome.cells())
    return out.getvalue()


MIB: Final = 1 << 20  # the base unit of memory in TRESBillingWeights
NAMES: Final = ("cpus", "nodes", "mem", "gpus", "walltime", "partition", "qos")


class SharedJob(NamedTuple):
    """A job as slurmctld would charge it."""

    words: str
    lasts_s: int
    penalty: float  # billing × UsageFactor


def job_of(text: str, basis: SshareBasis) -> SharedJob:
    """Return the job that ``NAME=VALUE,…`` requests, charged by the site's weights and factors.

    Without a partition it is in the one that most of the jobs ran in; likewise its QOS.

    Raises UsageError if the text is malformed, or names an unknown partition or QOS.
    """
    given: dict[str, str] = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        if name not in NAMES or not value:
            raise UsageError(f"--job {text!r}: write NAME=VALUE,…; NAME is {', '.join(NAMES)}")
        given[name] = value
    if not {"cpus", "walltime"} <= given.keys():
        raise UsageError(f"--job {text!r}: needs at least cpus=N and walltime=LENGTH")
    lasts = walltime(given["walltime"])
    kept = {name: _usual(basis, name, given.get(name)) for name in ("partition", "qos")}
    gpus, typed = typed_gpus(given.get("gpus"))
    held = memory(given.get("mem"))
    amounts = {
        "cpu": whole_number("cpus", given["cpus"]),
        "node": whole_number("nodes", given.get("nodes", "1")),
        "mem": None if held is None else held // MIB,
        "gres/gpu": gpus,
    }
    if typed is not None:
        amounts[f"gres/gpu:{typed.partition(':')[0]}"] = gpus
    known = {name: amount for name, amount in amounts.items() if amount is not None}
    row = pl.DataFrame(
        {**{name: [value] for name, value in kept.items()}, "start_time": [basis.at]},
        schema={"partition": pl.String, "qos": pl.String, "start_time": pl.Int64},
    )
    found = charge(
        row,
        {name: pl.Series([float(amount)]) for name, amount in known.items()},
        *(basis.site.weights, basis.site.factors, basis.site.conf.flags),
    )
    where = ", ".join(f"{name} {printable(value)}" for name, value in kept.items() if value)
    asked = ", ".join(
        f"{name}={printable(given[name])}" for name in given if name not in ("partition", "qos")
    )
    words = f"A job of {asked}" + (f" ({where})" if where else "")
    return SharedJob(words, lasts, float(found.attempts["penalty"][0]))


def _usual(basis: SshareBasis, column: str, given: str | None) -> str | None:
    known = basis.jobs.attempts[column].drop_nulls()
    configured = basis.site.weights if column == "partition" else basis.site.factors
    if given is None:
        return None if known.is_empty() else str(known.mode().sort()[0])
    if given not in configured and not (known == given).any():
        listed = ", ".join(map(printable, sorted({*configured, *known.unique()})[:20]))
        raise UsageError(f"--job: there is no {column} {printable(given)}; there is: {listed}")
    return given
