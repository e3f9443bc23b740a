"""What a log tells of one wait, without a model: the attempts of a pool to parts of a ``Story``."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts import account as accounts
from audit.metrics.attempts.contention import amounts, capacity_steps
from audit.metrics.attempts.peers import contested, peer_waits
from audit.metrics.queue_sweep import Ints, queued
from audit.model import Pool, Standing
from audit.oneoff.explain.story import Account, Crossing, Crowd, Passer, Subject, Use
from audit.oneoff.explain.timeline import timeline
from audit.registry.causes import COLUMNS

PASSERS: Final = 10
"""Most attempts that arrived later and started earlier that are listed."""


class Scene(NamedTuple):
    """A pool's attempts, and the one that is explained."""

    subject: Subject
    queue: pl.DataFrame
    """In the order of the queue, with ``before``, ``own`` (of the same user) and ``subject``."""
    steps: tuple[Ints, Ints]
    """When the capacity changes, and to what, of the counted resource."""


def scene(described: pl.DataFrame, pool: Pool, now: int, zone: str, row: int) -> Scene:
    """Return the scene of the attempt in row ``row``, whose arrival is known."""
    one = described.row(row, named=True)
    instants = (one["start_time"], one["end_time"], now)
    subject = Subject(
        *(one["cluster"], zone, pool, one["job_id"], one["attempt"], one["user"]),
        *(one["account"], one["partition"], one["qos"], one["state"], one["reason"]),
        *(one["standing"], one["size"], one["walltime_s"]),
        *(one["arrival_time"], one["start_time"], one["end_time"]),
        until=next(instant for instant in instants if instant is not None),
    )
    queue = queued(described.with_row_index("row"), now, pl.col("size") > 0)
    is_subject = pl.col("row") == row
    before = pl.col("arrival_time") <= subject.arrival
    if queue.rows.select(is_subject.any()).item():
        before = ~is_subject.cum_max()
    rows = queue.rows.with_columns(
        size=pl.col("size").fill_null(0),
        before=before,
        own=(is_subject | (pl.col("user") == pl.lit(subject.user, pl.String))).fill_null(
            value=False
        ),
        subject=is_subject,
    )
    steps = capacity_steps(pool, queue.reserved)
    capacity = amounts(pool)[0] + np.concatenate(([0], steps.change[:, 0].cumsum()))
    return Scene(subject, rows, (steps.time, capacity))


def running(found: Scene) -> Crowd:
    """Return what ran when the subject arrived."""
    at = found.subject.arrival
    return _crowd(found, (pl.col("start_time") < at) & (pl.col("end") > at))


def ahead(found: Scene) -> Crowd:
    """Return what waited ahead of the subject when it arrived."""
    at = found.subject.arrival
    return _crowd(found, pl.col("waits") & pl.col("before") & (pl.col("leave") >= at))


def _crowd(found: Scene, those: pl.Expr) -> Crowd:
    held = found.queue.filter(those, ~pl.col("subject"))
    return Crowd(held.height, int(held["size"].sum()), int(held["own"].sum()))


def passers(found: Scene) -> tuple[tuple[Passer, ...], int]:
    """Return those that arrived later and started earlier and used most; and how many did."""
    passed = found.queue.filter(
        ~pl.col("before"), ~pl.col("subject"), pl.col("start_time") < found.subject.until
    )
    used = pl.col("size") * (pl.col("end") - pl.col("start_time"))
    most = passed.sort(used, descending=True, nulls_last=True, maintain_order=True).head(PASSERS)
    columns = ("job_id", "user", "arrival_time", "start_time", "size", "walltime_s")
    return tuple(Passer(*row) for row in most.select(columns).iter_rows()), passed.height


def uses(found: Scene) -> tuple[Use, ...]:
    """Return what was in use during the wait, by whose it was."""
    begin, end = found.subject.arrival, found.subject.until
    if end <= begin:
        return ()
    held = found.queue.filter(pl.col("start_time") < end, pl.col("end") > begin)
    starts, ends = (
        np.clip(held[name].to_numpy(), begin, end).astype(np.int64)
        for name in ("start_time", "end")
    )
    size, own, before = (held[name].to_numpy() for name in ("size", "own", "before"))
    times, capacity = found.steps
    inside = times[(times > begin) & (times < end)]
    cuts = np.unique(np.concatenate((starts, ends, inside, [begin, end])))
    rows = []
    for whose in (own, before & ~own, ~own & ~before):
        amount = np.zeros(len(cuts), np.int64)
        np.add.at(amount, np.searchsorted(cuts, starts[whose]), size[whose])
        np.add.at(amount, np.searchsorted(cuts, ends[whose]), -size[whose])
        rows.append(amount.cumsum()[:-1])
    rows.append(capacity[np.searchsorted(times, cuts[:-1], "right")])
    return tuple(
        Use(*(int(value) for value in stretch))
        for stretch in zip(cuts[:-1], cuts[1:], *rows, strict=True)
    )


def booked(described: pl.DataFrame, found: Scene, now: int, row: int, cycle_s: int) -> Account:
    """Return the account of the wait, beside the waits of similar jobs of any time."""
    pool = found.subject.pool
    made = accounts.account(described, pool, now, cycle_s=cycle_s, traced=row)
    beside = peer_waits(made.attempts, (), (*pool.limits, *pool.windows))
    one = beside.with_columns(contested_s=contested()).row(row, named=True)
    causes = {column: one[column] for column in COLUMNS}
    return Account(
        {} if None in causes.values() else causes,
        one[accounts.RULE_FREE] or 0.0,
        timeline(made.traced, found.queue),
        one["contested_s"],
        one["peer_wait_s"],
        one["peer_contested_s"],
    )


def crossing(subject: Subject, now: int) -> Crossing | None:
    """Return the first planned reduction that a pending attempt would cross if it started now."""
    pool = subject.pool
    if subject.standing != Standing.PENDING or subject.walltime_s is None:
        return None
    before = pool.capacity_at(now)
    for step in pool.steps:
        capacity = pool.capacity_at(step.since)
        if step.planned and now < step.since < now + subject.walltime_s and capacity < before:
            ends = (
                later.since
                for later in pool.steps
                if later.since > step.since and pool.capacity_at(later.since) >= before
            )
            return Crossing(step.since, next(ends, None), capacity)
    return None
