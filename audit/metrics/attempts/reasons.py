"""What attempts waited for other than their turn, by the recorded reason (SPEC §5, §10).

A reason is the last one that was seen. One that a modelled limit covers is no reason of its own:
the model holds the attempt by itself, and its wait is looked at like any other.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.model import Limit, Scope
from audit.rules import KINDS

Bools = NDArray[np.bool_]

BLOCKED: Final = r"(?i)held|hold|limit|dependency|reservation|licen[cs]e|begintime|^assoc|^qos|^max"
"""Recorded reasons of attempts that waited for something other than their turn."""

LIMITING: Final = r"(?i)limit|max|^assoc|^qos"
"""Those of them of attempts that a limit held."""

NOT_MODELLED: Final = r"(?i)min|submit|pernode|array|^partitionnode|grpwall"
"""Those of them whose limit no model has: on sums over time (CPUMinutes, CPUMins) and least
amounts, on what may be queued, on single nodes and arrays, on the nodes of a partition's jobs."""

_WHOSE: Final = r"(?i)per_?(job|user|account|acct)"
_NAMED: Final = {
    None: r"(?i)job",
    "cpus": r"(?i)cpu|proc|core",
    "nodes": r"(?i)node",
    "gpus": r"(?i)gpu|gres",
    "mem_bytes": r"(?i)mem",
}
_WALLTIME: Final = r"(?i)wall|time"
"""By what a reason is told to speak of a limit on attempts, on a resource, or on walltimes."""


def blocked() -> pl.Expr:
    """Whether a recorded reason is something other than the attempt's turn."""
    return pl.col("reason").str.contains(BLOCKED).fill_null(value=False)


def held_up(held: pl.DataFrame, limits: Iterable[Limit]) -> Bools:
    """Which attempts were *blocked*: for a reason that no modelled limit covers, [n].

    Args:
        held: as ``covered``.
        limits: of the pool.

    Source: SPEC §5, *Status*; §10, *Limits*.
    """
    found: Bools = held.select(blocked()).to_series().to_numpy()
    return found & ~covered(held, limits) if found.any() else found


def covered(held: pl.DataFrame, limits: Iterable[Limit]) -> Bools:
    """Whose recorded reason is a limit that is modelled: one that holds them on what it names, [n].

    Args:
        held: as ``in_scope``, and reason.
        limits: of the pool.
    """
    found = np.zeros(held.height, np.bool_)
    reason = pl.col("reason").str.replace_all(_WHOSE, "")
    for limit in limits:
        named = _WALLTIME if limit.walltime_above_s is not None else _NAMED[limit.resource]
        speaks_of_it = held.select(reason.str.contains(named).fill_null(value=False)).to_series()
        theirs = in_scope(held, limit) & ~any_of(held["qos"], limit.exempt_qos)
        found |= speaks_of_it.to_numpy() & theirs
    limiting = pl.col("reason").str.contains(LIMITING) & ~pl.col("reason").str.contains(
        NOT_MODELLED
    )
    found &= held.select(limiting.fill_null(value=False)).to_series().to_numpy()
    return found


def in_scope(held: pl.DataFrame, scope: Scope) -> Bools:
    """Which attempts are in a scope, [n].

    ``held``: columns user, account, qos, partition, walltime_s, occupancy (s), size.
    """
    inside = np.ones(held.height, np.bool_)
    for name in KINDS:
        names = getattr(scope, name)
        if names is not None:
            inside &= any_of(held[name], names)
    if scope.walltime_above_s is not None:
        walltime = held["walltime_s"].fill_null(held["occupancy"]).fill_null(0).to_numpy()
        inside &= walltime > scope.walltime_above_s
    if scope.size_above is not None:
        inside &= held["size"].fill_null(0).to_numpy() > scope.size_above
    if scope.size_up_to is not None:
        inside &= held["size"].fill_null(0).to_numpy() <= scope.size_up_to
    return inside


def any_of(column: pl.Series, names: Sequence[str]) -> Bools:
    """Which elements are one of these names."""
    found: Bools = column.is_in(list(names)).fill_null(value=False).to_numpy()
    return found
