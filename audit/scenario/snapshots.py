"""Sums over what each attempt's snapshot holds, without simulating anything (SPEC §5).

Conventions as in ``scenario.workload``.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from audit.scenario.workload import NEVER, Bools, Ints, Workload

Number = TypeVar("Number", np.int64, np.uint64)


def in_snapshots(work: Workload, weight: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``weight`` over those that matter in each attempt's snapshot; sums wrap around.

    These are the queued and the blocked from their arrival on, and those larger than the pool ever
    is from their start on.
    """
    started = work.has_started
    arriving = (work.queued & (started | work.open)) | (work.blocked & started)
    large = started & ~work.queued & ~work.blocked
    there = sum_before(work, np.where(arriving, weight, 0).astype(weight.dtype))
    enters = np.where(large, work.start, NEVER)
    entered = sum_until(enters, np.where(large, weight, 0).astype(weight.dtype), work.arrival - 1)
    return there + entered - gone(work, np.where(arriving | large, weight, 0).astype(weight.dtype))


def sum_before(work: Workload, amounts: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``amounts`` over those before each attempt in the order."""
    sums: NDArray[Number] = np.cumsum(amounts, dtype=amounts.dtype) - amounts
    return sums


def gone(work: Workload, amounts: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``amounts`` over those that a snapshot holds no longer."""
    started = work.has_started
    leaves = np.maximum(np.where(started, work.start, NEVER - 1) + 1, work.end)
    return sum_until(leaves, amounts, work.arrival)


def sum_until(times: Ints, amounts: NDArray[Number], instants: Ints) -> NDArray[Number]:
    """Σ of the ``amounts`` whose time is not after each of ``instants``."""
    order = np.argsort(times, kind="stable")
    totals = np.concatenate(
        (np.zeros(1, amounts.dtype), np.cumsum(amounts[order], dtype=amounts.dtype))
    )
    by_then: NDArray[Number] = totals[np.searchsorted(times[order], instants, side="right")]
    return by_then


def crowd(work: Workload, present: Bools) -> int:
    """The most attempts that a snapshot and its subject can be."""
    amounts = present.astype(np.int64)
    return int((sum_before(work, amounts) - gone(work, amounts)).max(initial=0)) + 1
