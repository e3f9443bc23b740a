"""Values that a log does not state: its cluster's time zone and the capacity of its pool."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import polars as pl

from audit import arrays
from audit.cluster.hardware import PoolHardware, hardware, without_lost_ends
from audit.cluster.presence import UNSEEN, steps_of
from audit.errors import UsageError
from audit.formats.dialects import Header
from audit.metrics.attempts import performance, population
from audit.model import INFERRED, Declared, Node, Pool, RecordKind, Resource
from audit.rule_text import amount as amount_text
from audit.words import plural

NOTHING = Declared()

PEAK = "the peak in use"
ON_NODES = "the most that ran on each node"
"""Source of nodes that no file describes, and of their sums."""

POOL = "all"
"""Name of a cluster's only pool."""

OF_RECORDS = "the log's records"
"""Source of a name that records state."""

MOSTLY = 0.5
"""Share of time with more in use than a header's capacity that refutes the header."""

REQUEUE_DELAY_S = 121
"""Earliest start of a job requeued by Slurm after its new Submit, once its credential expired."""


@dataclass(frozen=True)
class Fact:
    """A value, and its source."""

    what: str
    value: str
    source: str
    warning: str | None = None
    detail: ClassVar[bool] = False  # whether only ``--verbose`` prints it


class RuleFact(Fact):
    """A policy, a rule or a hold, and its source."""

    detail = True


OF_MAPPING: Final = "the mapping of its columns"


def zone(asked: str | None, headers: Sequence[Header]) -> Fact:
    """Return the cluster's time zone: the requested one, else that of the headers, else UTC."""
    what = "time zone"
    if asked is not None:
        return Fact(what, asked, "--zone")
    naming = [header for header in headers if header.zone is not None]
    named = sorted({str(header.zone) for header in naming})
    if len(named) == 1:
        mapped = all("table" in header.entries for header in naming)
        return Fact(what, named[0], OF_MAPPING if mapped else "the log's header")
    if named:
        listed = ", ".join(named)
        warning = (
            f"the logs' headers name several time zones ({listed}): {named[0]} is used; choose "
            "with --zone"
        )
        return Fact(what, named[0], "the logs' headers", warning)
    local = any(header.local_times for header in headers)
    read = "the log has local times but names no time zone: they are read as UTC; set --zone"
    return Fact(what, "UTC", "default: the log names none", read if local else None)


def pool(
    attempts: pl.DataFrame,
    headers: Sequence[Header],
    resource: Resource | None,
    asked: int | None,
    now: int,
    name: str = POOL,
    declared: Declared = NOTHING,
) -> tuple[Pool, list[Fact]]:
    """Return a pool of some attempts, and what was inferred about it.

    Without ``resource`` and ``asked``, all resources that limit starts count, on the nodes if these
    are known. Declared nodes win over ``asked`` and the headers.

    Args:
        attempts: all attempts of the pool, columns of ``model.ATTEMPTS``.
        resource: the counted resource; None: CPUs, or GPUs if nearly all attempts request some.
        asked: the capacity; None: see ``capacity``.
        declared: its nodes, and whether the scheduler allocates memory.

    Raises:
        UsageError: no attempt has an amount of the counted resource.
    """
    shapes = declared.nodes
    if not shapes and (resource is not None or asked is not None):
        counted = resource or Resource.cpus
        amount, fact = capacity(attempts, headers, counted, asked, now, name)
        return Pool(name, counted, amount, amounts=((counted.value, amount),)), [fact]
    found = hardware(attempts, shapes, resource, declared.counts_memory)
    what, source = f"capacity of pool {name!r}", ON_NODES if found.nodes else PEAK
    if shapes:
        amount, source = max(found.amounts[found.counted], 1), "its declared nodes"
        facts = [Fact(what, amount_text(amount, found.counted), source)]
    else:
        on_nodes = found.amounts[found.counted] if found.nodes else 0
        amount, fact = capacity(attempts, headers, found.counted, None, now, name, on_nodes)
        facts = [fact]
    others = [(kind, most) for kind, most in found.amounts.items() if kind != found.counted]
    facts += [Fact(what, amount_text(most, kind), source) for kind, most in others]
    facts += nodes_of(name, found, shapes)
    amounts = tuple(sorted([(found.counted.value, amount), *others]))
    made = Pool(name, found.counted, amount, amounts=amounts, nodes=found.nodes)
    unseen = [one for one in found.absences if one.why == UNSEEN]
    steps = steps_of(amounts, found.nodes, unseen)
    return made._replace(absences=found.absences, unseen=steps), facts


def nodes_of(name: str, found: PoolHardware, shapes: Sequence[Node]) -> list[Fact]:
    """Return how many nodes a pool has, by source, and what contradicts that."""
    what = f"nodes of pool {name!r}"
    counts = Counter(node.source for node in (found.nodes or shapes))
    shown = {INFERRED: ON_NODES}
    facts = [Fact(what, f"{count:,}", shown.get(of, of)) for of, count in sorted(counts.items())]
    ends = [one.end for one in found.absences if one.why == UNSEEN]
    late, gone = len(ends) - ends.count(None), ends.count(None)
    whens = ((late, "not from the begin of the log on"), (gone, "not until its end"))
    if ends:
        value = ", ".join(f"{plural(count, 'node')} {when}" for count, when in whens if count)
        facts.append(Fact(what, value, "their first and last jobs"))
    return [*facts, *(Fact(what, "contradicted", "the log", why) for why in found.cautions)]


def claimed(headers: Sequence[Header], resource: Resource) -> int:
    """Return the capacity of a cluster by its logs' headers; 0 if none states it."""
    return max((header.capacity.get(resource, 0) for header in headers), default=0)


def capacity(
    attempts: pl.DataFrame,
    headers: Sequence[Header],
    resource: Resource,
    asked: int | None,
    now: int,
    name: str = POOL,
    on_nodes: int = 0,
) -> tuple[int, Fact]:
    """Return the requested capacity of a pool, else the header's, its nodes', or the peak in use.

    The log refutes a header if one attempt was allocated more, or more was in use for most of the
    time; then the peak is used. Shorter excesses do not refute it, as nodes may be shared and times
    are rounded; they are reported. Where the peak would be used and nodes are known, the most that
    ran on each, ``on_nodes`` together, counts instead.

    Takes all attempts. Raises UsageError if none has an amount of the counted resource.
    """
    if attempts[resource].drop_nulls().is_empty():
        present = [kind for kind in Resource if not attempts[kind].drop_nulls().is_empty()]
        remedy = (
            f"it has {' and '.join(present)}: pass --resource {present[0]}"
            if present
            else "it needs a column with the CPUs or nodes of each job, as sacct's AllocTRES"
        )
        raise UsageError(f"the log gives no {resource} for any attempt; {remedy}")

    def found(amount: int, source: str, warning: str | None = None) -> tuple[int, Fact]:
        text = amount_text(amount, resource)
        return amount, Fact(f"capacity of pool {name!r}", text, source, warning)

    if asked is not None:
        return found(asked, "--pool-size")
    in_header = claimed(headers, resource)
    trial = Pool(name, resource, max(in_header, 1))
    described = population.describe(without_lost_ends(attempts), [trial])
    first = described.select(pl.coalesce("arrival_time", "start_time").min()).item()
    span = [first, now] if isinstance(first, int) and first < now else [now]
    activity = performance.activity(described, trial.capacity, span, now)
    of_started = pl.col("size").filter(pl.col("start_time").is_not_null())
    largest = described.select(of_started.max().fill_null(0)).item()
    peak = activity.peak or max(largest, 1)  # nothing ran for a second of the log
    source, seen = PEAK, f"the observed peak of {peak:,}"
    if on_nodes >= peak:
        peak, source, seen = on_nodes, ON_NODES, f"{ON_NODES}, {on_nodes:,} together,"
    if not in_header:
        why = ": the log's header names none" if headers else ""  # it is about all pools
        return found(peak, f"{source}{why}")
    over = performance.over_capacity_time(activity) or 0.0
    if largest <= in_header and over <= MOSTLY:
        return found(in_header, "the log's header")
    proof = f"more was in use for {100 * over:.0f} % of the time"
    if largest > in_header:
        proof = f"one attempt ran on {largest:,}"
    warning = (
        f"the log's header says {amount_text(in_header, resource)}, but {proof}: {seen} "
        f"is used instead; --pool-size {in_header} insists on the header"
    )
    return found(peak, source, warning)


def same_machine(headers: Mapping[str, Header]) -> str | None:
    """Return a warning if logs that are audited as one cluster name different computers."""
    named = {
        file: f"{header.entries.get('Computer', '')}, {header.entries.get('Installation', '')}"
        for file, header in headers.items()
        if "Computer" in header.entries or "Installation" in header.entries
    }
    if len(set(named.values())) < 2:
        return None
    listed = "; ".join(f"{file}: {name}" for file, name in sorted(named.items()))
    return f"the logs name different computers but are audited as one cluster ({listed})"


def too_many_tasks(attempts: pl.DataFrame) -> str | None:
    """Return a warning if records stand for more tasks than a schedule holds."""
    more = int((attempts["tasks"].fill_null(1) - 1).sum())
    if more <= arrays.LARGEST:
        return None
    return (
        f"records of arrays stand for {more:,} further tasks that never started or wait; figures "
        f"cover only {arrays.LARGEST:,} of these, so queues are a lower bound"
    )


def missing_runs(attempts: pl.DataFrame, headers: Mapping[str, Header]) -> str | None:
    """Return a warning if jobs were requeued, and the logs hold only the last run of each job.

    sacct prints such logs without `-D`. In them, the Eligible of a requeued job is 121 s after its
    Submit, when the job's credential has expired; newer versions count Restarts. Takes all
    attempts of the cluster.
    """
    executions = attempts.filter(pl.col("kind") == RecordKind.EXECUTION)
    several = (pl.col("attempt") > 1).any() | (pl.col("state") == "REQUEUED").any()
    if executions.is_empty() or executions.select(several).item():
        return None
    waited = pl.col("eligible_time") - pl.col("submit_time")
    requeued = int(executions.select((waited == REQUEUE_DELAY_S).sum()).item())
    restarted = sum(int(header.entries.get("restarted", 0)) for header in headers.values())
    count = max(requeued, restarted)
    if not count:
        return None
    jobs = "job was" if count == 1 else "jobs were"
    return (
        f"{count:,} {jobs} requeued, but the logs contain only the last run of each job. Usage "
        "and waits of earlier runs are missing; take the log with sacct -D"
    )
