"""``fairaudit simulate``: what-if schedules of a log, written as SWF or Parquet."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from audit import __version__
from audit.cluster import fairshare
from audit.cluster.inference import Fact
from audit.cluster.setting import ClusterSettings, latest_instant
from audit.config import Cluster
from audit.errors import UsageError, refusals
from audit.files import folders, replace
from audit.formats import swf
from audit.metrics.attempts import performance, population
from audit.metrics.quantiles import MEDIAN, exact_mean, nearest_rank
from audit.model import SEQUENCE, JobState, Policy, Pool, Standing
from audit.oneoff.whatif import plan as whatif
from audit.pipeline.inferring import in_force
from audit.pipeline.opening import Session, open_log
from audit.policies import SETTINGS
from audit.report import wording
from audit.scenario import engine
from audit.scenario.check import check_simulated, require_sound
from audit.scenario.scenario import Scenario, ScenarioChange, all_changed
from audit.scenario.workload import KEYS

SUFFIXES: Final = (".swf", ".parquet")
_OPEN: Final = (Standing.RUNNING.value, Standing.PENDING.value)
_SWF_STATES: Final = (JobState.COMPLETED.value, JobState.CANCELLED.value)
"""States that SWF knows; all other ended attempts have failed."""


@dataclass(frozen=True)
class ScheduleFigures:
    """Figures of a schedule; None where there is nothing to measure."""

    attempts: int
    started: int
    never_started: int
    start_unknown: int
    wait_mean: float | None  # s
    wait_median: float | None  # s
    bounded_slowdown_mean: float | None
    utilization: float | None  # of 1
    span_s: int  # from the first arrival to the last end


@dataclass(frozen=True)
class PoolComparison:
    """A pool as observed, and as simulated."""

    pool: str
    schedule: str
    observed: ScheduleFigures
    simulated: ScheduleFigures


@dataclass(frozen=True)
class SimulateResult:
    """The result of a simulation."""

    comparisons: tuple[PoolComparison, ...]
    warnings: tuple[str, ...]


def simulate(session: Session, change: ScenarioChange, out: Path | None = None) -> SimulateResult:
    """Simulate each pool of a log under a change, and write the schedule to ``out``, if any.

    Pools, steps and policies are those of the configured cluster of this name, if there is one.
    With ``session.fit``, the rules that the log shows are in force beside configured ones. The
    suffix of ``out`` chooses SWF or Parquet; it is written whole or not at all. The same logs and
    configuration give the same bytes.

    Raises:
        AuditError: see ``audit.errors``.
    """
    config, folder, on_progress = session.config, session.folder, session.on_progress
    if out is not None:
        _refuse_unfit(out, session.request.paths)
    log = open_log(session.request, config, on_progress, folder)
    log = in_force(log, on_progress, folder, fit=session.fit)
    setting, cluster = log.setting, log.cluster
    configured = fairshare.of_site(cluster, folder)
    todays = [
        whatif.scenario(log.described, setting, pool, change, configured) for pool in setting.pools
    ]
    changed = [after.of_whole_jobs() for after in all_changed(todays, change)]
    pairs = list(zip(todays, changed, strict=True))
    source = _policy_source(change, cluster)
    names = [(after.pool.name, after.pool.policy.name) for _, after in pairs]
    facts = [Fact(f"policy of pool {pool!r}", policy, source) for pool, policy in names]
    for fact in (*setting.facts, *facts):
        session.on_inferred(fact)
    schedules, comparisons = [], []
    for done, (today, after) in enumerate(pairs):
        on_progress("simulating", done, len(pairs))
        schedule = _simulated(after, config.metrics.tau_s)
        schedules.append(schedule)
        last = latest_instant(schedule) or 0
        observed = _figures(today.attempts, today.attempts, today.pool, today.now)
        simulated = _figures(schedule, after.attempts, after.pool, last)
        comparisons.append(PoolComparison(*names[done], observed, simulated))
    on_progress("simulating", len(pairs), len(pairs))
    if out is not None:
        whole = pl.concat(schedules)
        as_swf = out.suffix.lower() == ".swf"
        with refusals(UsageError, out, "cannot be written", "--out"):
            replace.write(out, to_swf(whole, setting) if as_swf else _parquet(whole))
    return SimulateResult(tuple(comparisons), setting.warnings)


_SHOWN: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "attempts": ("attempts", wording.count),
    "started": ("started", wording.count),
    "never_started": ("never started", wording.count),
    "start_unknown": ("start unknown", wording.count),
    "wait_mean": ("mean wait, s", partial(wording.number, digits=4)),
    "wait_median": ("median wait, s", partial(wording.number, digits=4)),
    "bounded_slowdown_mean": ("mean bounded slowdown", wording.number),
    "utilization": ("utilization", wording.percent),
    "span_s": ("first arrival to last end", wording.duration),
}
"""By field of ``ScheduleFigures``: label and format."""


def table(comparison: PoolComparison) -> str:
    """Return the figures of a pool, observed and simulated, for a terminal."""
    lines = [(f"pool {wording.name(comparison.pool)}", "observed", comparison.schedule)]
    for field, (label, shown) in _SHOWN.items():
        was, would = (getattr(of, field) for of in (comparison.observed, comparison.simulated))
        if field != "start_unknown" or was or would:
            lines.append((label, shown(was), shown(would)))
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "".join(
        f"{label:<{widths[0]}}  {was:>{widths[1]}}  {would:>{widths[2]}}\n"
        for label, was, would in lines
    )


def to_swf(schedule: pl.DataFrame, setting: ClusterSettings) -> bytes:
    """Return a schedule as an SWF log.

    Submit times are arrivals, so that waits are those of the schedule; processors are the pool's
    counted resource. Attempts that are open or of unknown arrival are left out. The header states
    name, zone and pools of ``setting``.
    """
    arrival = pl.min_horizontal("arrival_time", "start_time", "end_time")
    is_open = pl.col("standing").is_in(_OPEN)
    started = pl.col("start_time").is_not_null()
    never = pl.col("standing") == Standing.NEVER_STARTED
    kept = (
        schedule.filter(~is_open, pl.col("arrival_time").is_not_null())
        .sort("arrival_time", "submit_time", *SEQUENCE, maintain_order=True)
        .with_columns(
            submit_time=arrival,
            cpus="size",
            occupancy_s=pl.when(started | ~never).then("occupancy_s"),
            state=pl.when(never)
            .then(pl.lit(str(JobState.CANCELLED)))
            .when(pl.col("state").is_in(_SWF_STATES) | pl.col("state").is_null())
            .then("state")
            .otherwise(pl.lit(str(JobState.FAILED))),
        )
        .sort("submit_time", maintain_order=True)
    )
    frame, comments = swf.numbered(kept)
    left_out = {schedule.height - kept.height} - {0}
    notes = [
        *comments,
        "Note: submit times are arrivals: when the job could have started at the earliest",
        *(f"Note: {_about(pool)}" for pool in setting.pools),
        *(f"Note: {many} attempts, open or of unknown arrival, are left out" for many in left_out),
    ]
    origin = kept["submit_time"].min()
    policies = ", ".join(schedule["schedule"].unique().sort().to_list())
    entries = {
        "Version": "2.2",
        "Computer": setting.cluster,
        "Conversion": f"none: simulated by fairaudit {__version__} ({policies})",
        "MaxJobs": str(kept.height),
        "MaxRecords": str(kept.height),
        "Preemption": "No",
        "UnixStartTime": str(origin or 0),
        "TimeZoneString": setting.zone.key,
    }
    if len({pool.resource for pool in setting.pools}) == 1:
        entries["MaxProcs"] = str(sum(pool.largest for pool in setting.pools))
    return swf.write(frame, entries, notes)


def _parquet(schedule: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    schedule.write_parquet(buffer)
    return buffer.getvalue()


def _refuse_unfit(out: Path, logs: Sequence[Path]) -> None:
    """Raise UsageError where the schedule cannot be written, before the long work."""
    if out.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{out}: name a file that ends in {' or '.join(SUFFIXES)} (--out)")
    if out.is_dir():
        raise UsageError(f"{out}: is a folder; name the file to write (--out)")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder (--out)")
    folders.require(out.parent)
    if out.exists() and any(log.exists() and out.samefile(log) for log in logs):
        raise UsageError(f"{out}: is the log itself; name another file to write (--out)")


def _policy_source(change: ScenarioChange, cluster: Cluster | None) -> str:
    sources = [
        SETTINGS[key].flag if key in SETTINGS else f"--{key}"
        for key in Policy._fields
        if key in change.policy
    ]
    if not {"order", "backfill"} <= change.policy.keys():
        sources.append("default" if cluster is None else "config.toml")
    return ", ".join(sources)


def _simulated(after: Scenario, tau_s: int) -> pl.DataFrame:
    """Return the schedule of a scenario; attempts that ran, but do not start in it, are marked."""
    attempts, pool, now = after.attempts, after.pool, after.now
    schedule = engine.simulate(attempts, pool, now, pool.policy, tau_s, after.fairshare)
    unsound = check_simulated(schedule, attempts, pool, now)
    require_sound(unsound, f"schedule {pool.policy.name!r}")
    ended = attempts.filter(pl.col("standing") == Standing.ENDED)
    ran = ended.select(*KEYS, _ran=pl.lit(value=True))
    joined = schedule.join(ran, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    hindered = pl.col("_ran").is_not_null() & pl.col("start_time").is_null()
    return joined.with_columns(
        standing=pl.when(hindered).then(pl.lit(Standing.NEVER_STARTED.value)).otherwise("standing"),
        occupancy_s=pl.when(~hindered).then("occupancy_s"),
        runtime_s=pl.when(~hindered).then("runtime_s"),
    ).drop("_ran")


def _figures(
    schedule: pl.DataFrame, observed: pl.DataFrame, pool: Pool, now: int
) -> ScheduleFigures:
    """Return figures of a schedule. Open attempts count in the utilization alone."""
    is_open = observed.filter(pl.col("standing").is_in(_OPEN)).select(KEYS)
    closed = schedule.join(is_open, on=KEYS, how="anti", nulls_equal=True)
    started = population.ended(closed)
    waits = np.sort(started["wait_s"].to_numpy().astype(np.float64))
    slowdowns = started["bounded_slowdown"].drop_nulls().to_numpy()
    standings = closed["standing"]
    first = schedule["arrival_time"].min()
    begin = min(first, now) if isinstance(first, int) else now
    edges = sorted({begin, now, *(s.since for s in pool.changes if begin < s.since < now)})
    capacities = [pool.capacity_at(edge) for edge in edges[:-1]]
    activity = performance.activity(schedule, capacities or pool.capacity, edges, now)
    return ScheduleFigures(
        attempts=closed.height,
        started=started.height,
        never_started=int((standings == Standing.NEVER_STARTED).sum()),
        start_unknown=int((standings == Standing.START_UNKNOWN).sum()),
        wait_mean=exact_mean(waits),
        wait_median=nearest_rank(waits, MEDIAN),
        bounded_slowdown_mean=exact_mean(slowdowns),
        utilization=performance.utilization(activity),
        span_s=now - begin,
    )


def _about(pool: Pool) -> str:
    steps = "".join(
        f"; from epoch second {step.since} on {amount}"
        for step in pool.steps
        for resource, amount in step.amounts
        if resource == pool.resource
    )
    return f"pool {pool.name}: processors are {pool.resource.value}, {pool.capacity}{steps}"
