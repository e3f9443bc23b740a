"""What a log and a model tell of one wait: the attempts of a pool to a ``Story``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts import anatomy
from audit.metrics.attempts.peers.waits import peer_waits
from audit.model import Pool, Standing
from audit.oneoff.explain.story import Crowd, Passer, Subject, Use
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.workload import NEVER, Bools, Ints, Workload, workload_of_rows

PASSERS: Final = 10
"""So many of those that passed are named."""


class Scene(NamedTuple):
    """A pool's attempts as a scheduler meets them, and the one that is explained."""

    work: Workload
    rows: Ints
    """Row of each of its attempts in ``described``."""
    described: pl.DataFrame
    place: int | None
    """Of the subject among them; None: a scheduler never meets it."""
    row: int
    """Of the subject in ``described``."""
    subject: Subject


def scene(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    zone: str,
    row: int,
    fairshare: Fairshare = EQUAL_SHARES,
) -> Scene:
    """What the attempt in row ``row`` came to.

    Args:
        pool: that one.
        zone: of the cluster.
        row: the attempt, whose arrival is known.
    """
    work, rows = workload_of_rows(described, pool, now, fairshare)
    found = np.flatnonzero(rows == row)
    one = described.row(row, named=True)
    instants = (one["start_time"], one["end_time"], now)
    subject = Subject(
        *(one["cluster"], zone, pool, one["job_id"], one["attempt"], one["user"]),
        *(one["account"], one["partition"], one["qos"], one["state"], one["reason"]),
        *(one["standing"], one["size"], one["walltime_s"]),
        *(one["arrival_time"], one["start_time"], one["end_time"]),
        until=next(instant for instant in instants if instant is not None),
    )
    place = int(found[0]) if len(found) else None
    return Scene(work, rows, described, place, row, subject)


def counted(work: Workload) -> Ints:
    """What each attempt asks for of the counted resource, [n]."""
    request: Ints = work.request.reshape(-1, len(work.capacity))[:, 0]
    return request


def running(found: Scene) -> Crowd:
    """What ran when the subject arrived: start < arrival < end."""
    work, at = found.work, found.subject.arrival
    runs = (work.start < at) & (work.end > at)
    left = np.maximum(np.where(runs, work.start, 0) + work.estimate - at, 1)
    return _crowd(found, runs, left)


def queued(found: Scene) -> Crowd:
    """What waited before the subject when it arrived: before it in the order, start ≥ arrival."""
    work = found.work
    known = work.has_started | work.open  # of the others nobody knows when they left the queue
    waits = _before(found) & (work.start >= found.subject.arrival) & work.queued & known
    return _crowd(found, waits, work.estimate)


def passers(found: Scene) -> tuple[tuple[Passer, ...], int]:
    """Who arrived later and started earlier: those that used most, and how many in all."""
    work, subject = found.work, found.subject
    passed = ~_before(found) & (work.start < subject.until) & (work.arrival > subject.arrival)
    size = counted(work)
    places = np.flatnonzero(passed)
    order = np.argsort(-(size * work.occupancy)[places], kind="stable")[:PASSERS]
    names = found.described.select("job_id", "user")[found.rows[places[order]]].rows()
    told = tuple(
        Passer(
            job_id,
            user,
            arrival=int(work.arrival[k]),
            start=int(work.start[k]),
            size=int(size[k]),
            estimate_s=int(work.estimate[k]),
            occupancy_s=int(work.occupancy[k]),
        )
        for (job_id, user), k in zip(names, places[order].tolist(), strict=True)
    )
    return told, len(places)


def uses(found: Scene) -> tuple[Use, ...]:
    """What was in use while the subject waited, by whose it was."""
    work, subject = found.work, found.subject
    begin, end = subject.arrival, subject.until
    if end <= begin:
        return ()
    known = (work.start != NEVER) & (work.start < end) & (work.end > begin)
    size, owner = counted(work)[known], _owned(found)[known]
    starts, ends = work.start[known], work.end[known]
    earlier = _before(found)[known] & ~owner
    steps = work.step_time[(work.step_time > begin) & (work.step_time < end)]
    cuts = np.unique(np.clip(np.concatenate((starts, ends, steps, [begin, end])), begin, end))
    capacity = _capacity(work, cuts[:-1])
    rows = [capacity]
    for whose in (owner, earlier, ~owner & ~earlier):
        amount = np.zeros(len(cuts), np.int64)
        np.add.at(amount, np.searchsorted(cuts, np.clip(starts[whose], begin, end)), size[whose])
        np.add.at(amount, np.searchsorted(cuts, np.clip(ends[whose], begin, end)), -size[whose])
        rows.append(amount.cumsum()[:-1])
    return tuple(
        Use(*(int(value) for value in stretch))
        for stretch in zip(cuts[:-1], cuts[1:], *rows[1:], rows[0], strict=True)
    )


def not_modelled(found: Scene) -> str:
    """Why a model of the scheduler says nothing of the subject; empty where it does."""
    subject, place = found.subject, found.place
    if subject.standing in _STANDINGS:
        return _STANDINGS[Standing(subject.standing)]
    if place is None:
        return "it ran in an advance reservation"
    if found.work.blocked[place]:
        return f"it waited for something other than its turn ({subject.reason})"
    if not found.work.queued[place]:
        return "it asked for more than the pool, or a limit of it, ever allows"
    return ""


_STANDINGS: Final = {
    Standing.NEVER_STARTED: "it left the queue without having started",
    Standing.PENDING: "it had not started when the log was taken",
    Standing.RUNNING: "it had not ended when the log was taken",
    Standing.START_UNKNOWN: "the log does not say when it started",
}


def without_model(found: Scene, now: int) -> tuple[Mapping[str, float], float | None]:
    """The wait taken apart, in s, by ``anatomy.COLUMNS``, and what peers waited, s.

    The former is empty where it cannot be taken apart; peers are those of any time.
    """
    taken = anatomy.anatomy(found.described, found.subject.pool, now)
    beside = peer_waits(taken, ())
    parts = beside.select(anatomy.COLUMNS).row(found.row, named=True)
    peer_wait_s: float | None = beside["peer_wait_s"][found.row]
    return ({} if None in parts.values() else parts), peer_wait_s


def _crowd(found: Scene, those: Bools, left_s: Ints) -> Crowd:
    size = counted(found.work)[those]
    own = int(_owned(found)[those].sum())
    return Crowd(int(those.sum()), int(size.sum()), int((size * left_s[those]).sum()), own)


def _before(found: Scene) -> Bools:
    """Who comes before the subject in the order."""
    arrival = found.work.arrival
    if found.place is None:
        by_then: Bools = arrival <= found.subject.arrival
        return by_then
    before: Bools = np.arange(len(arrival)) < found.place
    return before


def _owned(found: Scene) -> Bools:
    """Whose owner is the subject's; where nobody is named, nobody else is."""
    user = found.subject.user
    if user is None:
        alone = np.zeros(len(found.rows), np.bool_)
        if found.place is not None:
            alone[found.place] = True
        return alone
    same = (found.described["user"] == user).fill_null(False).gather(found.rows)
    owned: Bools = same.to_numpy()
    return owned


def _capacity(work: Workload, instants: Ints) -> Ints:
    """The counted resource at each instant."""
    change = work.step_change.reshape(-1, len(work.capacity))[:, 0]
    totals = np.concatenate((np.zeros(1, np.int64), change.cumsum()))
    there: Ints = work.capacity[0] + totals[np.searchsorted(work.step_time, instants, "right")]
    return there
