"""How fair start times under a policy are computed from a workload, in ranges and by night.

They are computed attempt by attempt, in ranges that are independent of each other. Results go back
into the rows of the scenario's frame; those of an earlier run are reused while their *basis* is the
same.

A basis is a fingerprint of what a fair start time depends on: the policy, every attempt in an
attempt's snapshot, that attempt itself, and the capacity until its fair start times. Hashes of 64
bits are added, so that snapshots are running sums.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import __version__
from audit.array_types import Bools, Ints
from audit.model import BY_USAGE, Order, Policy
from audit.scenario import ownership
from audit.scenario.machines import Machines
from audit.scenario.workload import KEYS, NEVER, Workload, gone, in_snapshots
from audit.workers.executors import IN_TURN, Executor, computed

OnProgress = Callable[[int, int], None]
"""Called with the number of attempts done, and of all."""
Hashes = NDArray[np.uint64]

Asked = TypeVar("Asked", bound="Request")
Space = TypeVar("Space")
Found = TypeVar("Found", bound=tuple[Any, ...])


class Effort(NamedTuple):
    """The executor, its progress and its limits."""

    executor: Executor = IN_TURN  # the result does not depend on it
    on_progress: OnProgress = lambda done, of: None
    budget_s: float | None = None
    """CPU seconds, as ``scenario.budget`` estimates them; beyond it, a sample is computed. None: no
    bound."""
    wanted: pl.Expr | None = None
    """Selects the attempts to compute, by columns of ``model.DESCRIBED``; None: all."""


ALL: Final = Effort()


class Range(NamedTuple):
    """Indices from ``low`` up to, but not including, ``high``."""

    low: int
    high: int


class RangeCut(NamedTuple):
    """The part of a request that matters to a range."""

    request: Any
    part: Range  # in that request


def moved(part: Range, kept: Bools) -> Range:
    """Return where a range is among the ``kept`` attempts, which include it."""
    low = int(np.count_nonzero(kept[: part.low]))
    return Range(low, low + part.high - part.low)


class Request(Protocol):
    """A computation by ranges; it can be divided if no range needs all attempts."""

    @property
    def divisible(self) -> bool:
        """Whether ``cut`` leaves anything out."""

    def cut(self, part: Range) -> RangeCut:
        """Return what matters to a range."""


class _Piece:
    """A range to compute. Another process gets only what matters to the range."""

    def __init__(self, common: "_Common", part: Range) -> None:
        self._common, self._part = common, part

    def __call__(self) -> tuple[Any, ...]:
        """Return the results."""
        found: tuple[Any, ...] = self._common.computation(self._part)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (self._common.prepare, *self._common.request.cut(self._part))


def _sent(prepare: Any, request: Any, part: Range) -> _Piece:
    return _Piece(_Common(prepare, request), part)


class _Common:
    """The request and its computation, which the pieces in one process share."""

    def __init__(self, prepare: Any, request: Any) -> None:
        self.prepare, self.request = prepare, request
        self._lock = threading.Lock()
        self._computation: Any = None

    @property
    def computation(self) -> Any:
        """The function that computes a range."""
        with self._lock:
            if self._computation is None:
                self._computation = self.prepare(self.request)
        return self._computation


def compute(
    prepare: Callable[[Asked], Callable[[Range], Found]],
    request: Asked,
    chosen: Bools,
    out: Found,
    effort: Effort,
) -> None:
    """Write the results of the ``chosen`` attempts to the arrays ``out``, [n] each.

    The executor computes ranges that hold about equally many of them. ``prepare(request)`` returns
    the function that computes a range.
    """
    subjects = np.flatnonzero(chosen)
    if len(subjects) == 0:
        return
    each = -(-len(subjects) // effort.executor.parts)
    groups = (subjects[low : low + each] for low in range(0, len(subjects), each))
    ranges = [Range(int(group[0]), int(group[-1]) + 1) for group in groups]
    total = sum(high - low for low, high in ranges)
    done = 0
    for part, found in _computed(prepare, request, ranges, effort.executor):
        here = slice(*part)
        for all_found, some in zip(out, found, strict=True):
            np.copyto(all_found[here], some, where=chosen[here])
        done += part.high - part.low
        effort.on_progress(done, total)


def _computed(
    prepare: Callable[[Asked], Callable[[Range], Found]],
    request: Asked,
    ranges: Sequence[Range],
    executor: Executor,
) -> Iterator[tuple[Range, Found]]:
    """Yield ranges with their results, in any order."""
    if not request.divisible:
        for number, found in executor.each(prepare, request, ranges):
            yield ranges[number], found
        return
    common = _Common(prepare, request)
    pieces = [_Piece(common, part) for part in ranges]
    for number, results in executor.each(computed, None, pieces):
        yield ranges[number], cast("Found", results)


def by_thread(
    space: Callable[[], Space], kernel: Callable[[Space, Range], None], out: Found
) -> Callable[[Range], Found]:
    """Return what runs ``kernel`` on a range and returns views of ``out``, which it fills.

    A working ``space`` is as large as the log, so each thread makes one and keeps it.
    """
    own = threading.local()

    def computed(part: Range) -> Found:
        if not hasattr(own, "space"):
            own.space = space()
        kernel(own.space, part)
        views = [array[slice(*part)] for array in out]
        return type(out)(*views)

    return computed


def chosen_of(count: int, subjects: Ints | None) -> Bools:
    """Return whether each of ``count`` attempts is a subject; None: all are."""
    chosen = np.zeros(count, np.bool_)
    chosen[slice(None) if subjects is None else subjects] = True
    return chosen


def nevers(count: int) -> Ints:
    """Return NEVER for each of ``count`` attempts."""
    return np.full(count, NEVER)


def recalled(
    known: pl.DataFrame | None,
    keys: pl.DataFrame,
    columns: Sequence[str],
    basis: str,
    basis_at: Callable[[Ints], Ints],
    subject: Bools,
) -> tuple[list[Ints], Bools]:
    """Return two instants of an earlier result for each attempt, and whether they still hold.

    Args:
        known: that result, with ``KEYS``, the two ``columns`` and ``basis``, or None.
        keys: ``KEYS`` of the attempts, row for row.
        basis_at: returns today's bases of results whose later instant is given.
        subject: attempts of which results are wanted; those of others do not hold.

    Returns:
        Arrays with NEVER where nothing holds or the instant does not come.
    """
    count = keys.height
    if known is None or known.is_empty():
        return [nevers(count), nevers(count)], np.zeros(count, np.bool_)
    earlier = keys.join(
        known.select(*KEYS, *columns, basis),
        on=KEYS,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    found = [
        np.ascontiguousarray(earlier[name].fill_null(NEVER).to_numpy(), np.int64)
        for name in columns
    ]
    same = earlier[basis] == pl.Series(basis_at(np.maximum(*found)))
    holds = subject & same.fill_null(False).to_numpy()
    return [np.where(holds, each, NEVER) for each in found], holds


def places(height: int, rows: Ints, subject: Bools) -> pl.Series:
    """Return the place of each of ``height`` rows in the workload; null if it is not a subject."""
    of_row = np.full(height, -1)
    of_row[rows[subject]] = np.flatnonzero(subject)
    return pl.Series(of_row).replace(-1, None)


class Bases:
    """The bases of the attempts of a workload."""

    def __init__(
        self, work: Workload, rows: Ints, described: pl.DataFrame, policy: Policy, fair_order: Order
    ) -> None:
        """Compute all but the capacity steps; ``described`` is the frame of the workload."""
        by_usage = policy.order in BY_USAGE or fair_order in BY_USAGE
        columns = [*_properties(work), *_sequence(rows, described)]
        ranking = ""
        if by_usage:
            owners = work.owners
            amounts = (owners.charge.view(np.int64), owners.used.view(np.int64))
            columns += [owners.fingerprint, *amounts]
            if owners.priorities is not None:
                columns += [owners.priorities.fixed.view(np.int64), owners.priorities.tier]
            # recalculations are counted from the first arrival
            ranking = f"{ownership.settings(owners)} {work.arrival.min(initial=0)}"
        columns += work.limits.marks
        attempts = _hashes(columns)
        # planners look at all planned steps, however far ahead
        foreseen = np.flatnonzero(work.step_planned)
        ahead = (work.step_time[foreseen].tolist(), work.step_change[foreseen].tolist())
        settings = f"{__version__} {policy} {work.capacity.tolist()} {ahead}"
        settings += f" {fair_order.value} {ranking} {work.limits.settings}"
        if work.machines is not None:
            settings += f" {work.machines.settings}"
        if policy.interval_s:  # passes are counted from the first arrival
            settings += f" {work.arrival.min(initial=0)}"
        constant = np.frombuffer(hashlib.sha256(settings.encode()).digest()[:8], np.uint64)[0]
        with np.errstate(over="ignore"):
            context = in_snapshots(work, attempts)
            if by_usage:  # all that has ended before counts as well
                started = np.where(work.has_started, attempts, np.uint64(0))
                context = context + gone(work, started)
            self._fixed = _hashes([context.view(np.int64), attempts.view(np.int64)]) + constant
        changes = work.step_change.reshape(len(work.step_time), len(work.capacity)).T
        self._steps = _hashes([work.step_time, *changes, work.step_planned.astype(np.int64)])
        self._step_time = work.step_time

    def until(self, instants: Ints) -> Ints:
        """Return the bases where fair start times lie at ``instants``: no later step matters."""
        totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(self._steps, dtype=np.uint64)))
        steps_taken = np.searchsorted(self._step_time, instants, side="right")
        bases: Ints = (self._fixed + totals[steps_taken]).view(np.int64)
        return bases


def _properties(work: Workload) -> list[Ints]:
    """Return the properties of attempts that matter to a snapshot."""
    request = work.request.reshape(len(work.arrival), len(work.capacity))
    flags = (work.blocked, work.open, work.assumed, work.preempted, work.queued, ~work.sized)
    return [
        *(work.arrival, work.start, work.end, work.occupancy, work.estimate),
        *request.T,
        work.priority.view(np.int64),
        *([] if work.machines is None else _on_nodes(work.machines, len(work.arrival))),
        sum((flag.astype(np.int64) << bit for bit, flag in enumerate(flags)), start=np.int64(0)),
    ]


def _on_nodes(nodes: Machines, count: int) -> list[Ints]:
    """Return what the first ``count`` attempts request of nodes, and what they used there."""
    hashes = _hashes([nodes.node, *nodes.amount])
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)))
    first, held = nodes.first[:count], nodes.held[:count]
    used = (sums[first + held] - sums[first]).view(np.int64)
    columns = (nodes.set_of, nodes.wide, *nodes.part, nodes.parts, nodes.most, nodes.bound)
    return [*(column[:count].astype(np.int64) for column in columns), used]


def _sequence(rows: Ints, described: pl.DataFrame) -> list[Ints]:
    """Return what breaks ties; the position in the log only where numbers do not."""
    names = ("submit_time", "job_number", "array_task", "het_offset", "line", "attempt")
    # taken out of the frame, in which a column may be one value for all its rows
    submit, number, task, offset, line, attempt = (
        described.select(pl.col(name).gather(rows).fill_null(-1))[name].to_numpy() for name in names
    )
    return [submit, number, task, offset, np.where(number == -1, line, 0), attempt]


def _hashes(columns: list[Ints]) -> Hashes:
    """Return a 64-bit hash of each row, by splitmix64's finaliser (Steele et al. 2014)."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            hashes += np.ascontiguousarray(column, np.int64).view(np.uint64)
            hashes += np.uint64(0x9E3779B97F4A7C15)
            hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            hashes ^= hashes >> np.uint64(31)
    return hashes
