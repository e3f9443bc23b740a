"""What a log does not say outright: its cluster's zone and the size of its pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from audit.errors import UsageError
from audit.formats.dialects import Header
from audit.metrics.attempts import performance, population
from audit.model import Pool, RecordKind, Resource

POOL = "all"
"""Name of the pool where the log gives no reason to tell several apart."""

MOSTLY = 0.5
"""A log that exceeds its header's capacity for more of the time than this refutes the header."""

REQUEUE_DELAY_S = 121
"""So long after its new Submit Slurm lets a requeued job start: when its credential expired."""


@dataclass(frozen=True)
class Fact:
    """One thing that was found out, and from what."""

    what: str
    value: str
    source: str
    warning: str | None = None


def zone(asked: str | None, headers: Sequence[Header]) -> Fact:
    """The cluster's time zone: as asked, else as the logs' headers say, else UTC."""
    if asked is not None:
        return Fact("time zone", asked, "--zone")
    named = sorted({header.zone for header in headers if header.zone is not None})
    if len(named) > 1:
        return Fact(
            "time zone",
            named[0],
            "the logs' headers",
            f"the logs' headers name several time zones ({', '.join(named)}): {named[0]} is used; "
            "choose with --zone",
        )
    if named:
        return Fact("time zone", named[0], "the log's header")
    local = any(header.local_times for header in headers)
    return Fact(
        "time zone",
        "UTC",
        "default: the log names none",
        "the log's times are local ones, and nothing says of which zone: they are read as UTC; "
        "say --zone"
        if local
        else None,
    )


def pool(
    attempts: pl.DataFrame,
    headers: Sequence[Header],
    resource: Resource,
    asked: int | None,
    now: int,
    name: str = POOL,
) -> tuple[Pool, Fact]:
    """The pool's capacity: as asked, else the header's, else the peak in use.

    A header is not believed where the log refutes it: one attempt was allocated more than it says
    there is, or more than that was in use for most of the time. Then the observed peak is used.
    (More in use than the capacity for a short while does not refute it: nodes may be shared, and
    times are rounded. That time is reported.)

    Args:
        attempts: all attempts, columns of ``model.ATTEMPTS``.

    Raises:
        UsageError: the logs do not give the counted resource for any attempt.
    """
    if attempts[resource].drop_nulls().is_empty():
        present = [kind for kind in Resource if not attempts[kind].drop_nulls().is_empty()]
        raise UsageError(
            f"the log gives no {resource} for any attempt; it has: {', '.join(present) or 'none'} "
            "(--resource)"
        )
    claimed = max((header.capacity.get(resource, 0) for header in headers), default=0)
    what = f"capacity of pool {name!r}"
    if asked is not None:
        return _whole(name, resource, asked), Fact(what, f"{asked:,} {resource}", "--pool-size")
    trial = _whole(name, resource, max(claimed, 1))
    described = population.describe(attempts, [trial])
    ran = described.filter(pl.col("start_time").is_not_null())
    activity = performance.activity(described, trial.capacity, _span(described, now), now)
    peak = max(activity.peak, 1)
    if not claimed:
        fact = Fact(what, f"{peak:,} {resource}", "the peak in use: the log's header names none")
        return _whole(name, resource, peak), fact
    largest = ran.select(pl.col("size").max().fill_null(0)).item()
    over = performance.over_capacity_time(activity) or 0.0
    if largest > claimed or over > MOSTLY:
        proof = (
            f"one attempt ran on {largest:,}"
            if largest > claimed
            else f"more was in use for {over:.0%} of the time"
        )
        return _whole(name, resource, peak), Fact(
            what,
            f"{peak:,} {resource}",
            "the peak in use",
            f"the log's header says {claimed:,} {resource}, but {proof}: the observed peak of "
            f"{peak:,} is used instead; --pool-size {claimed} insists on the header",
        )
    return trial, Fact(what, f"{claimed:,} {resource}", "the log's header")


def same_machine(headers: Mapping[str, Header]) -> str | None:
    """A warning where logs that are audited as one cluster name different computers."""
    named = {
        file: f"{header.entries.get('Computer', '')}, {header.entries.get('Installation', '')}"
        for file, header in headers.items()
        if "Computer" in header.entries or "Installation" in header.entries
    }
    if len(set(named.values())) < 2:
        return None
    listed = "; ".join(f"{file}: {name}" for file, name in sorted(named.items()))
    return f"the logs name different computers but are audited as one cluster ({listed})"


def missing_runs(attempts: pl.DataFrame, headers: Mapping[str, Header]) -> str | None:
    """A warning where jobs were requeued of which the logs hold the last run alone.

    That is how sacct prints them without `-D`. A requeued job may start 121 s after its Submit at
    the earliest (Slurm waits until the job's credential, of 120 s, has expired), which stands in
    Eligible; newer versions count Restarts. Nothing is said where any job has several runs.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of the cluster.
    """
    executions = attempts.filter(pl.col("kind") == RecordKind.EXECUTION)
    taken_whole = (pl.col("attempt") > 1).any() | (pl.col("state") == "REQUEUED").any()
    if executions.is_empty() or executions.select(taken_whole).item():
        return None
    waited = pl.col("eligible_time") - pl.col("submit_time")
    requeued = int(executions.select((waited == REQUEUE_DELAY_S).sum()).item())
    restarted = sum(int(header.entries.get("restarted", 0)) for header in headers.values())
    count = max(requeued, restarted)
    if not count:
        return None
    jobs = "job was" if count == 1 else "jobs were"
    return (
        f"{count:,} {jobs} requeued, but the logs hold the last run alone: the runs before it, "
        "what they used and how long they waited, are missing; take the log with sacct -D"
    )


def _whole(name: str, resource: Resource, capacity: int) -> Pool:
    return Pool(name, resource, capacity, amounts=((resource.value, capacity),))


def _span(described: pl.DataFrame, now: int) -> list[int]:
    first = described.select(pl.coalesce("arrival_time", "start_time").min()).item()
    return [first, now] if isinstance(first, int) and first < now else [now]
