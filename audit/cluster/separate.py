"""Partitions that have hardware of their own by what ran, where the log names no nodes (SPEC §12).

A partition with its own hardware has a constant peak in use, and its jobs wait while others have
room. So does one with a limit, but then the others share the hardware, and their peak varies. If
the peaks of all partitions are constant and add up to the cluster's capacity, none shares hardware.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.cluster import hardware
from audit.cluster.inference import Fact, claimed
from audit.formats.dialects import Header
from audit.model import Node, Resource
from audit.rule_text import amount
from audit.words import plural

FULL: Final = 0.9
"""Least share of the waiting during which a partition did not have the request left of its peak."""
ROOM: Final = 0.05
"""Least share of the waiting during which the other partitions had room for the request, too."""
NEAR: Final = 0.95
"""Part of the peak in use that counts as reached."""
REACHED: Final = 0.5
"""Least share of the days with such waiting on which the peak was reached."""
HALF: Final = 0.5
"""Least share of their waiting during which the other partitions had used up their peak, too."""
SELDOM: Final = 0.01
"""Share of all waiting up to which the waiting of the others does not matter."""
LEAST_DAYS: Final = 5
LEAST_USERS: Final = 3
LEAST_JOBS: Final = 20
SUM: Final = 0.98
"""Least sum of constant peaks in use, as a share of the cluster's capacity."""
PARTS: Final = 4
"""Equal parts of its time in each of which a partition reaches a constant peak."""
MOST_PARTITIONS: Final = 12
"""Those with most waiting are looked at, alone and in pairs."""
MOST_REQUESTS: Final = 16
"""Different requests, those with most waiting, that are looked at."""

DAY_S: Final = 86_400


class Separate(NamedTuple):
    """Partitions that share hardware with no other, as it seems."""

    partitions: tuple[str, ...]
    resource: str
    peak: int  # most in use at one time
    reached: int
    days: int
    """Days of arrival of jobs that waited while others had room; on ``reached`` the peak was."""
    waited_s: int  # waiting during which others had room

    @property
    def evidence(self) -> str:
        """The evidence in words."""
        return (
            f"{' and '.join(self.partitions)} (never more than "
            f"{amount(self.peak, self.resource)}, almost reached on {self.reached:,} of "
            f"{plural(self.days, 'day')}; {round(self.waited_s / 3_600):,} h of waiting)"
        )


def pools(
    attempts: pl.DataFrame,
    shapes: Sequence[Node] = (),
    resource: Resource | None = None,
    headers: Sequence[Header] = (),
) -> tuple[list[list[str | None]], Fact | None]:
    """Return partitions by pools, and from what they are divided; None: there is one pool.

    Where nodes are known, partitions that share some are one pool.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of a cluster.
        shapes: its declared nodes.
        resource: the counted resource; None: see ``hardware.counted``.
        headers: those of its logs.
    """
    groups, source, warning = hardware.partition_groups(attempts, shapes), "shared nodes", None
    if len(groups) == 1 and not shapes:
        counted = resource or hardware.counted(attempts)
        if found := _by_peaks(attempts, counted.value, claimed(headers, counted)):
            groups, source = _groups(attempts, found[0]), "peaks in use"
            warning = (
                f"pools are inferred from constant peaks in use, {found[1]}. If partitions share "
                "hardware, say so (--pool-size, or clusters.pools)"
            )
    if len(groups) == 1:
        return groups, None
    listed = "; ".join(", ".join(name or "no partition" for name in group) for group in groups)
    return groups, Fact("pools", listed, source, warning)


def _by_peaks(
    attempts: pl.DataFrame, resource: str, capacity: int
) -> tuple[list[tuple[str, ...]], str] | None:
    """Return the partitions of all pools but one, and why they are divided; None: they are not."""
    if peaks := ceilings(attempts, resource, capacity):
        *smaller, _ = sorted(peaks, key=lambda name: (peaks[name], name))
        seen = ", ".join(f"{name} ({amount(peak, resource)})" for name, peak in peaks.items())
        whole = amount(capacity, resource)
        return [(name,) for name in smaller], f"which add up to the header's {whole}: {seen}"
    if found := separate(attempts, resource):
        seen = ", ".join(one.evidence for one in found)
        why = f"at which jobs waited while enough was free in other partitions: {seen}"
        return [one.partitions for one in found], why
    return None


def _groups(attempts: pl.DataFrame, found: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """Return those found, and the others, in the order of ``partition_groups``."""
    counts = dict(attempts["partition"].value_counts().iter_rows())
    groups: list[list[str | None]] = [[] for _ in (*found, None)]
    for name in sorted(counts, key=lambda name: (name is None, -counts[name], name or "")):
        first = (name or "").split(",")[0]
        homes = [k for k, partitions in enumerate(found) if first in partitions]
        groups[homes[0] if homes else -1].append(name)
    return sorted((group for group in groups if group), key=lambda group: str(group[0]))


def ceilings(attempts: pl.DataFrame, resource: str, capacity: int) -> dict[str, int]:
    """Return the peak in use of each partition, if all are constant and add up to the capacity.

    A constant peak is nearly reached in each part of the partition's time, and on several days.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of a cluster.
        resource: a column of amounts.
        capacity: the cluster's; 0: it is unknown.
    """
    rows = _started(attempts, resource)
    names = sorted(rows["partition"].unique())
    if not capacity or not 1 < len(names) <= MOST_PARTITIONS or hardware.names_nodes(attempts):
        return {}
    use = _use(rows, names)
    in_use = {name: changes.cumsum() for name, changes in use.changes.items()}
    peaks = {name: int(own.max(initial=0)) for name, own in in_use.items()}
    if not all(peaks.values()) or not SUM * capacity <= sum(peaks.values()) <= capacity:
        return {}
    return peaks if all(_constant(use.at, own) for own in in_use.values()) else {}


def _constant(at: Ints, own: Ints) -> bool:
    """Return whether a partition's peak in use is constant."""
    ran, near = at[own > 0], at[own >= NEAR * own.max()]
    part = (near - ran[0]) * PARTS // (ran[-1] - ran[0] + 1)
    return len(np.unique(part)) == PARTS and len(np.unique(near // DAY_S)) >= LEAST_DAYS


class _Use(NamedTuple):
    """The amounts that run from each of some instants on."""

    at: Ints  # instants, ascending, [m]
    changes: dict[str, Ints]  # change of what runs at each instant, by partition, [m]
    in_use: Ints  # in all partitions


def separate(attempts: pl.DataFrame, resource: str) -> list[Separate]:
    """Return partitions that lend and borrow nothing, alone or in pairs.

    Nothing is found if the log names nodes, or if the others wait below their own peak: then they
    share hardware with those that do not, which are under a limit.

    Args:
        attempts: columns of ``model.ATTEMPTS``; all of a cluster.
        resource: a column of amounts.
    """
    rows = _started(attempts, resource)
    waits = _waits(rows)
    by_partition = waits.group_by("partition").agg(pl.col("wait").sum())
    most = by_partition.sort("wait", "partition", descending=[True, False])
    names = sorted(most["partition"].head(MOST_PARTITIONS))
    if rows["partition"].n_unique() < 2 or not names or hardware.names_nodes(attempts):
        return []
    use = _use(rows, names)
    found: list[Separate] = []
    for size in (1, 2):
        taken = {name for one in found for name in one.partitions}
        groups = combinations([name for name in names if name not in taken], size)
        for group in groups:
            if not taken & set(group) and (one := _judged(waits, use, group, resource)):
                found.append(one)
                taken |= set(group)
    others = rows.filter(~pl.col("partition").is_in([name for one in found for name in one[0]]))
    return found if _alone(others, int(waits["wait"].sum())) else []


def _alone(others: pl.DataFrame, waited: int) -> bool:
    waits = _waits(others)
    own = int(waits["wait"].sum())
    if own <= SELDOM * waited:
        return True
    use = _use(others, ())
    full = sum(float(full.sum()) for _, _, full in _meanwhile(waits, use, use.in_use))
    return full >= HALF * own


def _started(attempts: pl.DataFrame, resource: str) -> pl.DataFrame:
    """Return the attempts that started: partition, user, start_time, amount, ready and end."""
    ready = pl.coalesce("eligible_time", "submit_time")
    return attempts.filter(
        pl.col("partition").is_not_null(), (pl.col(resource) > 0), ready <= pl.col("start_time")
    ).select(
        *("partition", "user", "start_time"),
        amount=resource,
        ready=ready,
        end=pl.coalesce("end_time", pl.col("end_time").max()),
    )


def _waits(rows: pl.DataFrame) -> pl.DataFrame:
    waited = rows.with_columns(wait=pl.col("start_time") - pl.col("ready"))
    return waited.filter(pl.col("wait") > 0)


def _use(rows: pl.DataFrame, names: Collection[str]) -> _Use:
    ran = rows.filter(pl.col("end") > pl.col("start_time"))
    begins = ran.select("partition", "amount", at="start_time")
    ends = ran.select("partition", -pl.col("amount"), at="end")
    events = pl.concat([begins, ends])
    at, place = np.unique(events["at"].to_numpy(), return_inverse=True)
    amounts = events["amount"].to_numpy()

    def sums(rows: NDArray[np.bool_] | slice) -> Ints:
        return np.bincount(place[rows], amounts[rows], len(at)).astype(np.int64)

    partition = events["partition"].to_numpy()
    changes = {name: sums(partition == name) for name in names}
    return _Use(at, changes, sums(slice(None)).cumsum())


def _judged(
    waits: pl.DataFrame, use: _Use, group: tuple[str, ...], resource: str
) -> Separate | None:
    """Return the evidence about partitions as a whole; None: not enough."""
    own = sum((use.changes[name] for name in group), np.zeros_like(use.at)).cumsum()
    peak = int(own.max(initial=0))
    here = waits.filter(pl.col("partition").is_in(group))
    waited = int(here["wait"].sum())
    near = np.unique(use.at[own >= NEAR * peak] // DAY_S)
    full_s, room_s, left_s, jobs = 0.0, 0.0, waited, []
    for of_request, room, full in _meanwhile(here, use, own):
        full_s, room_s = full_s + full.sum(), room_s + room.sum()
        left_s -= int(of_request["wait"].sum())
        if full_s + left_s < FULL * waited:
            return None
        jobs.append(of_request.filter(pl.Series(room > 0)))
    if full_s < FULL * waited or room_s < ROOM * waited:
        return None
    evidence = pl.concat(jobs)
    days = np.unique(evidence["ready"].to_numpy() // DAY_S)
    reached = len(np.intersect1d(near, days))
    enough = (
        evidence.height >= LEAST_JOBS
        and evidence["user"].n_unique() >= LEAST_USERS
        and len(days) >= LEAST_DAYS
        and reached >= REACHED * len(days)
    )
    if not enough:
        return None
    return Separate(group, resource, peak, reached, len(days), round(room_s))


def _meanwhile(
    waits: pl.DataFrame, use: _Use, own: Ints
) -> Iterator[tuple[pl.DataFrame, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield jobs of equal requests, with the seconds of each wait while others had room, and full.

    *Full* is a time at which the partitions have not as much left of their peak; the seconds with
    room are part of it.
    """
    peak, peak_of_all = own.max(), use.in_use.max()
    lasts = np.diff(use.at, append=use.at[-1:])
    sums = waits.group_by("amount").agg(pl.col("wait").sum())
    sums = sums.sort("wait", "amount", descending=[True, False])
    for request in sums["amount"].head(MOST_REQUESTS):
        jobs = waits.filter(pl.col("amount") == request)
        full = own + request > peak
        seconds = []
        for chosen in (full & (use.in_use + request <= peak_of_all), full):
            until = np.concatenate(([0], np.cumsum(lasts * chosen)))[:-1]
            begin, end = (
                np.interp(jobs[name].to_numpy(), use.at, until) for name in ("ready", "start_time")
            )
            seconds.append(end - begin)
        yield jobs, seconds[0], seconds[1]
