"""Fairshare as ``sshare -alP`` prints it, for any instant and any settings.

Jobs come from what ``sacct`` printed or from the published database, everything else from what
Slurm's other programs printed. The figures are those of ``metrics.slurm``.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit import config, periods
from audit.cluster import fairshare, spans
from audit.cluster.fairshare import Fairshare
from audit.errors import LogError, UsageError
from audit.formats.dialects import PLAIN, Reading
from audit.formats.instants import LATEST
from audit.formats.sacct import text as sacct
from audit.formats.slurm import sacctmgr, scontrol, slurm_conf, tres
from audit.formats.slurm.sacctmgr import Association, Fault
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.ingest import files
from audit.ingest.attempts import resolve
from audit.ingest.ingest import Opened, Progress, called_by, open_logs
from audit.metrics.fairshare.trees import Floats, Ints, Tree
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm import shares as slurm_shares
from audit.metrics.slurm import usage as slurm
from audit.metrics.slurm.shares import Shares
from audit.metrics.slurm.usage import SlurmUsage
from audit.progress import printable
from audit.store import database, queries
from audit.words import Algorithm

COLUMNS: Final = (
    *("Account", "User", "RawShares", "NormShares", "RawUsage", "NormUsage", "EffectvUsage"),
    *("FairShare", "LevelFS", "GrpTRESMins", "TRESRunMins"),
)
"""Those of ``sshare -alP``; classic fairshare has no LevelFS."""

_ALLOCATED: Final = "AllocTRES"
_OPEN_END: Final = LATEST << 1
_EXAMPLES: Final = 5
_MOST: Final = 20
_FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠")  # noqa: RUF001
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """What ``fairaudit sshare`` was asked for; None lets the configuration or Slurm decide."""

    sacct: Sequence[Path] = ()
    """What sacct printed; none: jobs come from the database that ``config`` publishes."""
    associations: Path | None = None
    qos: Path | None = None
    partitions: Path | None = None
    slurm_conf: Path | None = None
    as_of: str | None = None
    half_life: str | None = None
    algorithm: Algorithm | None = None
    phase: str | None = None
    sample: Path | None = None
    sample_time: str | None = None
    cluster: str | None = None
    zone: str | None = None
    reading: Reading = PLAIN
    by_partition: bool = False
    """Whether a column Partition is added (``sshare -m``)."""


class Row(NamedTuple):
    """One line of ``sshare``."""

    depth: int
    account: str
    user: str
    partition: str
    raw_shares: str
    norm_shares: float
    raw_usage: float
    norm_usage: float
    effective_usage: float
    fairshare: float
    level_fs: float
    grp_tres_mins: str
    tres_run_mins: str


@dataclass(frozen=True)
class Outcome:
    """What would have been printed, and what has to be said about it."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    facts: tuple[str, ...]
    """What was used, in words."""
    warnings: tuple[str, ...]


def recompute(
    request: Request,
    chosen: config.Config,
    folder: Path = Path(),
    progress: Progress = lambda what, done, of: None,
) -> Outcome:
    """The figures at one instant.

    Args:
        request: which jobs, settings and instant.
        chosen: the configuration in force.
        folder: what its paths are relative to.
        progress: told how far reading is.

    Raises:
        UsageError: a file is missing or wrong, or settings do not go together; all at once.
        AuditError: a log or the database cannot be read, see ``audit.errors``.
    """
    site = _site(request, chosen, folder)
    jobs = _jobs(request, chosen, folder, site, progress)
    if site.everywhere:
        names = jobs.attempts["partition"].drop_nulls().unique().sort()
        site = replace(site, weights=dict.fromkeys(names, site.everywhere))
    zone = periods.zone(jobs.zone)
    at = instant(request.as_of, zone, "--as-of") if request.as_of else jobs.known_to
    warnings = [*site.warnings, *jobs.warnings]
    facts = [f"as of {_shown(at, zone)}" + ("" if request.as_of else ", the last that is known")]
    is_open = pl.col("start_time").is_not_null() & pl.col("end_time").is_null()
    if at > jobs.known_to and jobs.attempts.filter(is_open).height:
        warnings.append(
            f"the jobs are known up to {_shown(jobs.known_to, zone)} only: what ran then is taken "
            "to run on"
        )
    charged = slurm.charge(jobs.attempts, jobs.amounts, site.weights, site.factors, site.conf.flags)
    tree = fairshare.share_tree(site.associations)
    placed = slurm_shares.places(tree, charged.attempts)
    warnings += _assumed(site, jobs, charged, placed)
    grouped = slurm.by_place(placed.nodes, charged.attempts, len(tree.names), _OPEN_END)
    method = _method(request, site, zone)
    ticks = request.sample is not None or request.phase is not None
    if request.sample is not None:
        method, said = _fitted(request, method, grouped, tree, at, zone)
        facts.append(said)
    elif request.phase is not None:
        method = replace(method, phase_s=instant(request.phase, zone, "--phase"))
    else:
        method = replace(method, phase_s=at)
        facts.append("as if slurmctld recalculated just then (--phase or --sample say when it did)")
    if ticks:
        facts.append(f"last recalculation at {_shown(method.tick(at), zone)}")
    fair_tree = site.conf.fair_tree
    if request.algorithm is not None:
        fair_tree = request.algorithm is Algorithm.fair_tree
    facts.append(_decay_said(method, fair_tree=fair_tree))
    raw, shares = _figures(tree, grouped, method, at, site.conf, fair_tree=fair_tree, ticks=ticks)
    billed = {"billing": charged.attempts["billing"].floor()}  # where sacct does not say it
    running = _run_minutes(
        tree, charged.attempts, placed.nodes, {**billed, **jobs.amounts}, site.conf, method, at
    )
    columns = tuple(name for name in COLUMNS if fair_tree or name != "LevelFS")
    if request.by_partition:
        columns = (*columns[:2], "Partition", *columns[2:])
    return Outcome(
        columns,
        _rows(tree, site.associations, raw, shares, running),
        tuple(facts),
        tuple(warnings),
    )


def psv(outcome: Outcome) -> str:
    """As ``sshare -alP`` prints it; what would break a line or a field in a name is escaped."""
    lines = [outcome.columns, *(_cells(row, outcome.columns) for row in outcome.rows)]
    return "".join("|".join(map(_one_field, line)) + "\n" for line in lines)


def comma_separated(outcome: Outcome) -> str:
    """RFC 4180 with LF; what a spreadsheet takes for a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(outcome.columns)
    for row in outcome.rows:
        cells = _cells(row, outcome.columns)
        writer.writerow("'" + cell if cell.startswith(_FORMULA) else cell for cell in cells)
    return out.getvalue()


def instant(text: str, zone: ZoneInfo, flag: str) -> int:
    """An instant as the user writes it: epoch seconds, a day, or ``2026-10-25T12:00[:00]``.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(r"[0-9]{1,10}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{flag} {text!r}: write it as 2026-10-25, 2026-10-25T12:00:00 or epoch seconds"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return int(moment.timestamp())


# what the site's files say ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Site:
    """What Slurm's programs printed of accounts and settings."""

    associations: tuple[Association, ...]
    factors: Mapping[str, float]
    weights: Mapping[str, Mapping[str, float]]
    """TRESBillingWeights by partition."""
    everywhere: Mapping[str, float]
    """The same for all partitions, where nothing is said of single ones."""
    conf: SlurmConf
    cluster: config.Cluster | None
    warnings: tuple[str, ...] = ()


def _site(request: Request, chosen: config.Config, folder: Path) -> _Site:
    """What the files of the flags say; where there is none, what the configuration says.

    Raises:
        UsageError: files are missing or wrong, or nothing says who belongs where.
    """
    cluster = _cluster(request, chosen)
    base = fairshare.read(cluster.usage, folder, cluster.name) if cluster else None
    faults: list[str] = []
    warnings: list[str] = []

    def read(path: Path | None, reader: Callable[[str], tuple[T, Sequence[Fault]]]) -> T | None:
        if path is None:
            return None
        found, wrong = reader(_text(path))
        faults.extend(f"{path}:{fault.line or 1}: {fault.text}" for fault in wrong)
        return found

    conf = read(request.slurm_conf, lambda text: (found := slurm_conf.read(text), found.faults))
    name = request.cluster or (cluster.name if cluster else None)
    if name is None and conf is not None:
        name = conf.cluster
    rows = read(request.associations, lambda text: sacctmgr.associations(text, name))
    qos = read(request.qos, sacctmgr.qualities)
    listed = read(request.partitions, _partitions)
    if faults:
        more = f"\n  and {len(faults) - _MOST} more" if len(faults) > _MOST else ""
        raise UsageError("sshare:\n  " + "\n  ".join(faults[:_MOST]) + more)
    factors: Mapping[str, float] | None = None
    if qos is not None:
        factors = {one.name: one.usage_factor for one in qos}
    weights: Mapping[str, Mapping[str, float]] | None = listed
    everywhere: Mapping[str, float] = {}
    if base is not None:
        rows = base.associations if rows is None else rows
        factors = base.factors if factors is None else factors
        weights = base.partitions if weights is None else weights
        if conf is None:
            conf = base.conf or _of_config(base)
        if not weights:
            everywhere = _by_base_unit(base.chosen.billing_weights.given)
    if not rows:
        raise UsageError(
            "sshare: nothing says who belongs to which account: --assoc FILE with what "
            f"'sacctmgr -P show assoc format={sacctmgr.FORMAT}' prints, or "
            "clusters.usage.associations in config.toml"
        )
    if conf is None:
        conf = SlurmConf()
        warnings.append(
            "without --slurm-conf Slurm's defaults are used: half-life 7 days, recalculated every "
            "5 minutes, no reset, Fair Tree"
        )
    warnings += [f"{request.slurm_conf}: {note}" for note in conf.notes]
    if not factors:
        warnings.append("without --qos every QOS has usage factor 1")
    weights = weights or conf.partitions
    if not (weights or everywhere):
        warnings.append("without --partitions jobs are billed their CPUs")
    return _Site(rows, factors or {}, weights, everywhere, conf, cluster, tuple(warnings))


def _of_config(base: Fairshare) -> SlurmConf | None:
    """What the configuration says in the place of slurm.conf; None if it is of another method."""
    if base.chosen.method != "slurm":
        return None
    return SlurmConf(
        half_life_s=base.half_life_s,
        period_s=base.period_s,
        reset=base.reset,
        dampening=base.dampening,
        flags=base.flags | ({"NO_FAIR_TREE"} if base.chosen.operator == "classic" else set()),
    )


def _by_base_unit(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights by the columns of attempts as Slurm counts these resources."""
    columns = {column: (name, part) for name, (column, part) in slurm.COUNTED.items()}
    return {columns[key][0]: weight / columns[key][1] for key, weight in weights.items()}


def _cluster(request: Request, chosen: config.Config) -> config.Cluster | None:
    """The cluster of the configuration that is meant; None where jobs come from files.

    Raises:
        UsageError: there is no such one, or it is not said which.
    """
    named = {cluster.name: cluster for cluster in chosen.clusters}
    if request.cluster in named:
        return named[request.cluster]
    if request.sacct:
        return next(iter(named.values())) if len(named) == 1 and not request.cluster else None
    if not named:
        raise UsageError(
            "sshare: whose? Give --sacct and --assoc files, or --config with a cluster"
        )
    if request.cluster is not None or len(named) > 1:
        raise UsageError(f"sshare: choose a cluster with --cluster: {', '.join(sorted(named))}")
    return next(iter(named.values()))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _partitions(text: str) -> tuple[dict[str, Mapping[str, float]], list[Fault]]:
    listing = scontrol.read(text)
    faults = [Fault(0, said) for said in listing.problems if "TRESBillingWeights" in said]
    if not listing.partitions:
        faults.append(Fault(0, "no partition: is it what 'scontrol show partition' prints?"))
    return {one.name: one.billing_weights for one in listing.partitions}, faults


# jobs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Jobs:
    """Attempts of one cluster."""

    attempts: pl.DataFrame
    amounts: Mapping[str, pl.Series]
    """What each was allocated, by Slurm's name of the resource."""
    known_to: int
    zone: str
    warnings: tuple[str, ...] = field(default=())


def _jobs(
    request: Request, chosen: config.Config, folder: Path, site: _Site, progress: Progress
) -> _Jobs:
    wanted = {"cpu", "mem", "node", "billing", "gres/gpu", *site.conf.tres}
    wanted |= {name for own in (*site.weights.values(), site.everywhere) for name in own}
    found = (
        _from_files(request, chosen, site, sorted(wanted), progress)
        if request.sacct
        else _from_database(chosen, folder, site)
    )
    started = found.attempts.filter(pl.col("start_time").is_not_null())
    if started.is_empty():
        raise UsageError("sshare: no job has started, so there is no usage")
    return found


def _from_files(
    request: Request,
    chosen: config.Config,
    site: _Site,
    wanted: Sequence[str],
    progress: Progress,
) -> _Jobs:
    zone = request.zone or (site.cluster.zone if site.cluster else None)
    reading = replace(request.reading, zone=zone)
    logs = open_logs(request.sacct, sacct.DIALECT.name, reading)
    frames, refused, warnings = [], [], []
    for done, log in enumerate(logs):
        progress("reading sacct", done, len(logs))
        records, wrong = _records(log)
        frames.append(records.with_columns(input_id=pl.lit(log.source.sha256)))
        limit, count = chosen.ingest.refused_limit, len(records) + len(wrong)
        if len(wrong) > limit * count:
            lines = "".join(f"\n  {log.source.path}:{n}: {why}" for n, why in wrong[:_EXAMPLES])
            raise LogError(
                f"{log.source.path}: {len(wrong):,} of {count:,} records were refused, more than "
                f"the limit of {limit:.0%} (ingest.refused_limit). The first of them:{lines}"
            )
        refused += [f"{log.source.path}:{n}: {why}" for n, why in wrong]
        warnings += [f"{log.source.path}: {problem}" for problem in log.header.problems]
        if log.header.local_times:
            warnings.append(f"{log.source.path}: times are read as UTC; --zone says otherwise")
    progress("reading sacct", len(logs), len(logs))
    records = pl.concat(frames)
    names = records["cluster"].drop_nulls().unique().sort().to_list()
    asked = request.cluster or site.conf.cluster
    called = called_by(asked, names, "--cluster")
    if called is not None:
        records = records.filter((pl.col("cluster") == called).fill_null(value=True))
    attempts = _attempts(records.with_columns(cluster=pl.lit(called or "")))
    if refused:
        warnings.append(f"{len(refused):,} records were refused, the first: {refused[0]}")
    texts = attempts[_ALLOCATED]
    if texts.null_count() == len(texts):
        warnings.append(
            f"the log has no column {_ALLOCATED}: only CPUs, nodes, GPUs and memory are known"
        )
        amounts = slurm.stored(attempts)
    else:
        amounts = tres.columns(texts, wanted)
    known_to = spans.latest_instant(attempts)
    return _Jobs(attempts, amounts, known_to or 0, zone or "UTC", tuple(warnings))


def _records(log: Opened) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Each record with what it was allocated, as sacct wrote it; and what was refused."""
    header = log.header

    def whole(data: bytes) -> int:
        return log.dialect.whole(data, header)

    found, refused = [], []
    for block in files.blocks(log.source.path, log.dialect.block_bytes, whole):
        parsed = sacct.parse(block, header, (_ALLOCATED,))
        header = parsed.header or header
        found.append(parsed.records)
        refused += list(parsed.refusals.select("line", "reason").iter_rows())
    return pl.concat(found), refused


def _attempts(records: pl.DataFrame) -> pl.DataFrame:
    """Of several records of one execution the one that knows most, as in the store."""
    repeated = pl.len().over("job_id") > 1
    settled = resolve(records.filter(repeated)).filter(~pl.col("superseded"))
    single = records.filter(~repeated)
    return pl.concat([single, settled.select(single.columns)])


def _from_database(chosen: config.Config, folder: Path, site: _Site) -> _Jobs:
    assert site.cluster is not None  # seen to by _cluster
    con = database.open_snapshot(folder / chosen.output.database)
    try:
        attempts = queries.run(con, "attempts", cluster=site.cluster.name)
    finally:
        con.close()
    if attempts.is_empty():
        raise UsageError(
            f"{folder / chosen.output.database}: holds no job of cluster {site.cluster.name!r}; "
            "'fairaudit run' reads its logs"
        )
    known_to = spans.latest_instant(attempts)
    return _Jobs(attempts, slurm.stored(attempts), known_to or 0, site.cluster.zone)


def _assumed(
    site: _Site, jobs: _Jobs, charged: slurm.Charged, placed: slurm_shares.Places
) -> list[str]:
    """What had to be assumed of jobs, in words."""
    said = []
    if lost := slurm.uncounted(site.weights, jobs.amounts):
        said.append(
            f"not counted, since the database does not know them: {', '.join(lost)} "
            "(--sacct reads them)"
        )
    if charged.unknown_partitions and site.weights:
        said.append(
            f"billed their CPUs, of unknown partitions: {_many(charged.unknown_partitions)}"
        )
    if charged.unknown_qos and site.factors:
        said.append(f"usage factor 1, of unknown QOS: {_many(charged.unknown_qos)}")
    if placed.strange_users:
        said.append(
            "charged to the account alone, of users who have no association there: "
            + _many(placed.strange_users)
        )
    if placed.strange_accounts:
        said.append(f"charged to root alone, of unknown accounts: {_many(placed.strange_accounts)}")
    if placed.nameless:
        said.append(f"charged to nobody, since no account is known: {placed.nameless:,} jobs")
    return said


def _many(counts: Mapping[str, int]) -> str:
    shown = [f"{printable(name)} ({many:,})" for name, many in list(counts.items())[:_EXAMPLES]]
    more = f" and {len(counts) - _EXAMPLES} more" if len(counts) > _EXAMPLES else ""
    return f"{sum(counts.values()):,} jobs, of {', '.join(shown)}{more}"


# figures ---------------------------------------------------------------------------------------


def _method(request: Request, site: _Site, zone: ZoneInfo) -> SlurmUsage:
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


def _fitted(
    request: Request,
    method: SlurmUsage,
    grouped: Grouped,
    tree: Tree,
    at: int,
    zone: ZoneInfo,
) -> tuple[SlurmUsage, str]:
    """The phase under which a sample of ``sshare`` comes out best."""
    assert request.sample is not None  # its caller asks first
    when = instant(request.sample_time, zone, "--sample-time") if request.sample_time else at
    seen = _sampled(request.sample, tree)
    own = np.isfinite(seen)
    if not own.any():
        raise UsageError(
            f"{request.sample}: names no user with RawUsage that the associations have; let "
            "'sshare -alP' write it"
        )
    fit = slurm.fit_phase(method, grouped, when, seen.tolist())
    told = f"ticks fitted to {request.sample}: {fit.agree} of {int(own.sum())} users agree"
    if fit.equals > 1:
        told += f", as they do under {fit.equals} of {method.period_s} phases"
    return replace(method, phase_s=fit.phase_s), told


def _sampled(path: Path, tree: Tree) -> Floats:
    """RawUsage of users in the output of ``sshare``; NaN where it is not told."""
    lines = [line for line in _text(path).splitlines() if line.strip()]
    names = [name.strip() for name in lines[0].rstrip("|").split("|")] if lines else []
    missing = [name for name in ("Account", "User", "RawUsage") if name not in names]
    if missing:
        raise UsageError(f"{path}:1: no column {', '.join(missing)}: let 'sshare -alP' write it")
    column = {name: place for place, name in enumerate(names)}
    node_of: dict[tuple[str, str], list[int]] = {}
    for node, kind in enumerate(tree.kinds):
        if kind == "user":
            key = tree.names[tree.parents[node]], tree.names[node]
            node_of.setdefault(key, []).append(node)
    seen = np.full(len(tree.names), math.nan)
    for number, line in enumerate(lines[1:], 2):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < len(names):
            raise UsageError(f"{path}:{number}: {len(cells)} fields, not {len(names)}")
        nodes = node_of.get((cells[column["Account"]], cells[column["User"]]), [])
        if "Partition" in column:
            nodes = [n for n in nodes if (tree.partitions[n] or "") == cells[column["Partition"]]]
        if len(nodes) == 1 and cells[column["RawUsage"]].isdecimal():
            seen[nodes[0]] = float(cells[column["RawUsage"]])
    return seen


def _figures(
    tree: Tree,
    grouped: Grouped,
    method: SlurmUsage,
    at: int,
    conf: SlurmConf,
    *,
    fair_tree: bool,
    ticks: bool,
) -> tuple[Floats, Shares]:
    """RawUsage at the instant, and what slurmctld had made of it when it last recalculated."""
    tick = method.tick(at)
    before = tick - 1 if ticks else tick  # that tick had booked nothing yet
    instants = sorted({before, tick, at})
    swept = slurm_shares.summed(tree, method.sweep(grouped, np.array(instants, np.int64))[0])
    usage = dict(zip(instants, swept, strict=True))
    if fair_tree:
        return usage[at], slurm_shares.fair_tree(tree, usage[tick])
    return usage[at], slurm_shares.classic(
        tree,
        usage[at],
        conf.dampening,
        depth_oblivious="DEPTH_OBLIVIOUS" in conf.flags,
        accounts=usage[before],
    )


def _run_minutes(
    tree: Tree,
    attempts: pl.DataFrame,
    nodes: Ints,
    amounts: Mapping[str, pl.Series],
    conf: SlurmConf,
    method: SlurmUsage,
    at: int,
) -> tuple[str, ...]:
    """TRESRunMins: what running jobs may still use up to their walltime, as of the last tick."""
    names = conf.tres
    left = np.zeros((len(names), len(tree.names)))
    if conf.limits_enforced:
        frame = attempts.select(
            "start_time",
            "walltime_s",
            "usage_factor",
            end=pl.col("end_time").fill_null(_OPEN_END),
        )
        start = frame["start_time"].fill_null(_OPEN_END).to_numpy()
        runs = np.flatnonzero((start <= at) & (frame["end"].to_numpy() > at) & (nodes >= 0))
        walltime = frame["walltime_s"].fill_null(0).to_numpy()[runs]
        passed = np.maximum(method.tick(at) - start[runs], 0)
        seconds = np.maximum(walltime - passed, 0) * frame["usage_factor"].to_numpy()[runs]
        for place, name in enumerate(names):
            if name in amounts:
                amount = amounts[name].fill_null(0.0).to_numpy()[runs]
                np.add.at(left[place], nodes[runs], np.floor(amount * seconds))
    minutes = slurm_shares.summed(tree, left) // 60
    return tuple(
        ",".join(f"{name}={int(minutes[place, node])}" for place, name in enumerate(names))
        for node in range(len(tree.names))
    )


def _rows(
    tree: Tree,
    associations: Sequence[Association],
    raw: Floats,
    shares: Shares,
    running: Sequence[str],
) -> tuple[Row, ...]:
    limits = {(row.account, row.user, row.partition): row.grp_tres_mins for row in associations}
    depth = [0] * len(tree.names)
    rows = []
    for node in slurm_shares.printed(tree):
        name, parent = tree.names[node], int(tree.parents[node])
        is_user = tree.kinds[node] == "user"
        if parent >= 0:
            depth[node] = depth[parent] + 1
        account = tree.names[parent] if is_user else name
        user = name if is_user else None
        share = tree.shares[node]
        rows.append(
            Row(
                depth[node],
                account,
                user or "",
                tree.partitions[node] or "",
                "" if parent < 0 else "parent" if math.isnan(share) else f"{share:g}",
                float(shares.norm_shares[node]),
                float(raw[node]),
                float(shares.norm_usage[node]),
                float(shares.effective_usage[node]),
                float(shares.fairshare[node]),
                float(shares.level_fs[node]),
                limits.get((account, user, tree.partitions[node]), ""),
                running[node],
            )
        )
    return tuple(rows)


# text ------------------------------------------------------------------------------------------


def _cells(row: Row, columns: Sequence[str]) -> list[str]:
    by_name = {
        "Account": " " * row.depth + row.account,
        "User": row.user,
        "Partition": row.partition,
        "RawShares": row.raw_shares,
        "NormShares": _six(row.norm_shares),
        "RawUsage": str(int(row.raw_usage)),
        "NormUsage": _six(row.norm_usage),
        "EffectvUsage": _six(row.effective_usage),
        "FairShare": _six(row.fairshare),
        "LevelFS": _six(row.level_fs),
        "GrpTRESMins": row.grp_tres_mins,
        "TRESRunMins": row.tres_run_mins,
    }
    return [by_name[name] for name in columns]


def _six(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6f}"


def _one_field(text: str) -> str:
    escaped = printable(text).replace("\n", "\\n")
    return escaped.replace("|", "\\x7c")


def _shown(at: int, zone: ZoneInfo) -> str:
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%dT%H:%M:%S} ({zone.key})"


def _decay_said(method: SlurmUsage, *, fair_tree: bool) -> str:
    name = "Fair Tree" if fair_tree else "classic fairshare"
    decay = f"half-life {method.half_life_s:,.0f} s" if method.half_life_s else "no decay"
    reset = f", reset {method.reset}" if method.reset != "none" else ""
    return f"{name}, {decay}, recalculated every {method.period_s} s{reset}"
