"""Fingerprints of what fair start times depend on: equal fingerprints, equal times.

A *basis* covers the policy, every attempt in an attempt's snapshot, that attempt itself, and the
capacity until its fair start times; of modelled starts also all arrivals until these. Hashes of 64
bits are added, so that snapshots are running sums.
"""

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import __version__
from audit.model import BY_USAGE, Order, Policy
from audit.scenario import ownership
from audit.scenario.workload import Ints, Workload, gone, in_snapshots

Hashes = NDArray[np.uint64]


class Bases:
    """The bases of the attempts of a workload."""

    def __init__(
        self,
        work: Workload,
        rows: Ints,
        described: pl.DataFrame,
        policy: Policy,
        fair_order: Order,
    ) -> None:
        """Compute all but the capacity steps.

        Args:
            described: the frame of the workload; its columns break ties.
        """
        by_usage = policy.order in BY_USAGE or fair_order in BY_USAGE
        columns = [*_properties(work), *_sequence(rows, described)]
        ranking = ""
        if by_usage:
            owners = work.owners
            columns += [
                owners.fingerprint,
                owners.charge.view(np.int64),
                owners.used.view(np.int64),
            ]
            if owners.priorities is not None:
                columns += [owners.priorities.fixed.view(np.int64), owners.priorities.tier]
            # recalculations are counted from the first arrival
            ranking = f"{ownership.settings(owners)} {work.arrival.min(initial=0)}"
        columns += work.limits.marks
        attempts = _hashes(columns)
        # planners look at planned steps however far ahead they are
        foreseen = np.flatnonzero(work.step_planned)
        ahead = (work.step_time[foreseen].tolist(), work.step_change[foreseen].tolist())
        settings = f"{__version__} {policy} {work.capacity.tolist()} {ahead}"
        settings += f" {fair_order.value} {ranking} {work.limits.settings}"
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
        later = _hashes([attempts.view(np.int64), work.owners.fingerprint])
        comes = work.blocked | (work.queued & work.present)
        self._later = np.append(np.uint64(0), np.cumsum(np.where(comes, later, np.uint64(0))))
        self._arrival, self._whose = work.arrival, work.owners.fingerprint
        self._steps = _hashes([work.step_time, *changes, work.step_planned.astype(np.int64)])
        self._step_time = work.step_time

    def until(self, instants: Ints) -> Ints:
        """Return the bases where fair start times lie at ``instants``: no later step matters."""
        totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(self._steps, dtype=np.uint64)))
        steps_taken = np.searchsorted(self._step_time, instants, side="right")
        bases: Ints = (self._fixed + totals[steps_taken]).view(np.int64)
        return bases

    def forward(self, instants: Ints) -> Ints:
        """Return the bases where modelled starts lie at ``instants``: nothing later matters.

        The owner of an attempt matters to its modelled start without its user's later arrivals.
        """
        arrived = np.searchsorted(self._arrival, instants, side="right")
        later = self._later[arrived] - self._later[1:]  # those up to each, itself included
        rest = self.until(instants)
        return _hashes([rest, later.view(np.int64), self._whose]).view(np.int64)


def _properties(work: Workload) -> list[Ints]:
    """Return what a snapshot knows of its attempts."""
    request = work.request.reshape(len(work.arrival), len(work.capacity))
    return [
        *(work.arrival, work.start, work.end, work.occupancy, work.estimate),
        *request.T,
        work.priority.view(np.int64),
        work.blocked
        + 2 * work.open
        + 4 * work.assumed
        + 8 * work.preempted
        + 16 * work.queued
        + 32 * ~work.sized,
    ]


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
