"""The facts of one wait in the log, without a model: parts of a ``Story``."""

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.metrics.attempts import account as accounts
from audit.metrics.attempts.contention import amounts, capacity_steps
from audit.metrics.attempts.similar import similar_waits
from audit.metrics.waits.plan import UNLIMITED, Passes
from audit.metrics.waits.queue import NEVER, queued
from audit.model import Pool, Standing
from audit.oneoff.explain.story import (
    Crossing,
    Crowd,
    ExplainedAttempt,
    Idling,
    LineCause,
    Passer,
    TimelineLine,
    Use,
    WaitCauses,
)
from audit.registry.causes import COLUMNS
from audit.registry.reasons import INFERRED_HOLDS
from audit.report.sections.causes.record import Reservations
from audit.scenario.releases import chains
from audit.scenario.releases.chains import OwnEnd
from audit.scenario.releases.holds import NOT_HOLDING, Holding, inferred_holds

PASSERS: Final = 10  # largest number of listed attempts that arrived later and started earlier
_AS_DESCRIBED: Final = (
    *("cluster", "job_id", "attempt", "user", "account", "partition", "qos", "state", "reason"),
    *("standing", "size", "walltime_s"),
)


class PoolScene(NamedTuple):
    """A pool's attempts, and the one that is explained."""

    subject: ExplainedAttempt
    queue: pl.DataFrame
    """In the order of the queue, with ``before``, ``own`` (of the same user) and ``subject``."""
    steps: tuple[Ints, Ints]
    """Times of capacity steps, and the levels of the counted resource before and after them."""


def scene(described: pl.DataFrame, pool: Pool, now: int, zone: str, row: int) -> PoolScene:
    """Return the scene of the attempt in row ``row``, whose arrival is known."""
    one = described.row(row, named=True)
    instants = (one["start_time"], one["end_time"], now)
    subject = ExplainedAttempt(
        **{name: one[name] for name in _AS_DESCRIBED},
        zone=zone,
        pool=pool,
        arrival=one["arrival_time"],
        start=one["start_time"],
        end=one["end_time"],
        until=next(instant for instant in instants if instant is not None),
    )
    queue = queued(described.with_row_index("row"), now, pl.col("size") > 0)
    is_subject = pl.col("row") == row
    before = pl.col("arrival_time") <= subject.arrival
    if queue.rows.select(is_subject.any()).item():
        before = ~is_subject.cum_max()
    own = is_subject | (pl.col("user") == pl.lit(subject.user, pl.String))
    rows = queue.rows.with_columns(
        size=pl.col("size").fill_null(0),
        before=before,
        own=own.fill_null(value=False),
        subject=is_subject,
    )
    steps = capacity_steps(pool, queue.reserved)
    capacity = amounts(pool)[0] + np.concatenate(([0], steps.change[:, 0].cumsum()))
    return PoolScene(subject, rows, (steps.time, capacity))


def running(found: PoolScene) -> Crowd:
    """Return the attempts that ran when the subject arrived."""
    at = found.subject.arrival
    return _crowd(found, (pl.col("start_time") < at) & (pl.col("end") > at))


def ahead(found: PoolScene) -> Crowd:
    """Return the attempts that waited ahead of the subject when it arrived."""
    at = found.subject.arrival
    return _crowd(found, pl.col("waits") & pl.col("before") & (pl.col("leave") >= at))


def _crowd(found: PoolScene, which: pl.Expr) -> Crowd:
    crowd = found.queue.filter(which, ~pl.col("subject"))
    return Crowd(crowd.height, int(crowd["size"].sum()), int(crowd["own"].sum()))


def passers(found: PoolScene) -> tuple[tuple[Passer, ...], int]:
    """Return the attempts of most use that arrived later and started earlier; and their number."""
    passed = found.queue.filter(
        ~pl.col("before"), ~pl.col("subject"), pl.col("start_time") < found.subject.until
    )
    used = pl.col("size") * (pl.col("end") - pl.col("start_time"))
    most = passed.sort(used, descending=True, nulls_last=True, maintain_order=True).head(PASSERS)
    columns = ("job_id", "user", "arrival_time", "start_time", "size", "walltime_s")
    return tuple(Passer(*row) for row in most.select(columns).iter_rows()), passed.height


def uses(found: PoolScene) -> tuple[Use, ...]:
    """Return the use during the wait, by owner and arrival."""
    begin, end = found.subject.arrival, found.subject.until
    if end <= begin:
        return ()
    ran = found.queue.filter(pl.col("start_time") < end, pl.col("end") > begin)
    starts, ends = (
        np.clip(ran[name].to_numpy(), begin, end).astype(np.int64) for name in ("start_time", "end")
    )
    size, own, before = (ran[name].to_numpy() for name in ("size", "own", "before"))
    times, capacity = found.steps
    inside = times[(times > begin) & (times < end)]
    cuts = np.unique(np.concatenate((starts, ends, inside, [begin, end])))
    rows = []
    for which in (own, before & ~own, ~own & ~before):
        amount = np.zeros(len(cuts), np.int64)
        np.add.at(amount, np.searchsorted(cuts, starts[which]), size[which])
        np.add.at(amount, np.searchsorted(cuts, ends[which]), -size[which])
        rows.append(amount.cumsum()[:-1])
    rows.append(capacity[np.searchsorted(times, cuts[:-1], "right")])
    return tuple(Use(*stretch) for stretch in np.stack((cuts[:-1], cuts[1:], *rows), 1).tolist())


class LogEvidence(NamedTuple):
    """Facts about a whole log."""

    log_begin: int | None = None  # epoch s; None: its first end
    holding: Holding = NOT_HOLDING
    """Users whose jobs were held."""
    passes: Passes | None = None
    """How the scheduler goes through its queue; None: as the attempts show."""


NOTHING_KNOWN: Final = LogEvidence()


def booked(
    described: pl.DataFrame,
    found: PoolScene,
    now: int,
    row: int,
    known: LogEvidence = NOTHING_KNOWN,
) -> WaitCauses:
    """Return the account of the wait, beside the waits of similar jobs at any time."""
    pool = found.subject.pool
    holds = inferred_holds(described, pool, now, known.holding)
    made = accounts.account(
        *(described, pool, now),
        log_begin=known.log_begin,
        holds=holds,
        traced=row,
        passes=known.passes,
    )
    one = similar_waits(made.attempts, ()).row(row, named=True)
    causes = {column: one[column] for column in COLUMNS}
    return WaitCauses(
        {} if None in causes.values() else causes,
        one[accounts.RULE_FREE] or 0.0,
        timeline(made.traced, found.queue),
        one["similar_wait_s"],
        idling(made.traced),
        _reservations(made),
    )


def own_end(found: PoolScene, account: WaitCauses) -> OwnEnd | None:
    """Return the end of the same user's job after which a held attempt started."""
    held = {part.by for line in account.timeline for part in line.parts}
    subject = found.subject
    if subject.start is None or subject.user is None or held.isdisjoint(INFERRED_HOLDS):
        return None
    own = found.queue.filter("own").select("job_id", "start_time", end_time="end")
    return chains.own_end(own, subject.job_id, subject.start)


def idling(traced: pl.DataFrame) -> Idling | None:
    """Return the end of a wait through which enough was free, without a reason to wait.

    Args:
        traced: ``account.Account.traced``.
    """
    free = ("unexplained", "cycle")
    last = list(itertools.takewhile(lambda row: row["cause"] in free, traced.to_dicts()[::-1]))
    if not any(row["cause"] == "unexplained" for row in last):
        return None
    began = last[-1]
    return Idling(began["begin"], began["by"] != accounts.LAPSE)


def _reservations(made: accounts.Account) -> Reservations:
    plan, starts = made.plan, made.starts
    most = None if plan.reservations >= UNLIMITED else plan.reservations
    seen = (None, None) if starts is None else (starts.broken, starts.stretches)
    return Reservations(most, plan.strict, *seen)


def crossing(subject: ExplainedAttempt, now: int) -> Crossing | None:
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


# --- the timeline: stretches of the account, merged into a few lines -----------------------------

LINES: Final = 8  # largest number of lines
LEAST: Final = 0.02
"""Stretches shorter than this share of the wait are merged with their neighbours."""
_FIRST: Final = 1 / 512

_Cause = tuple[str, str | None]
"""Key of a cause; the rule or the kind of hold."""


@dataclass
class _Group:
    """Consecutive stretches."""

    begin: int
    end: int
    seconds: Counter[_Cause]
    spans: list[tuple[_Cause, int, int]] = field(default_factory=list)

    @property
    def main(self) -> _Cause:
        """The longest cause."""
        return self.seconds.most_common(1)[0][0]

    @property
    def length(self) -> int:
        return self.end - self.begin


def timeline(traced: pl.DataFrame, queue: pl.DataFrame) -> tuple[TimelineLine, ...]:
    """Return the lines of a timeline, ascending, without gaps.

    Args:
        traced: ``account.Account.traced``.
        queue: see ``PoolScene``.
    """
    groups = [
        _Group(begin, end, Counter({(cause, by): end - begin}), [((cause, by), begin, end)])
        for begin, end, cause, by in traced.select("begin", "end", "cause", "by").iter_rows()
    ]
    if not groups:
        return ()
    wait_s = groups[-1].end - groups[0].begin
    least = _FIRST * wait_s
    groups = _merged(_merged(groups, 0), least)
    while least < LEAST * wait_s or len(groups) > LINES:
        least = min(2 * least, LEAST * wait_s) if least < LEAST * wait_s else 2 * least
        groups = _merged(groups, least)
    return tuple(TimelineLine(group.begin, group.end, _parts(group, queue)) for group in groups)


def _merged(groups: list[_Group], least: float) -> list[_Group]:
    """Merge neighbours of one main cause, and those of which one is shorter than ``least`` s."""
    made = groups[:1]
    for group in groups[1:]:
        last = made[-1]
        if last.main == group.main or min(last.length, group.length) < least:
            last.end = group.end
            last.seconds += group.seconds
            last.spans += group.spans
        else:
            made.append(group)
    return made


def _parts(group: _Group, queue: pl.DataFrame) -> tuple[LineCause, ...]:
    made = []
    for cause, seconds in group.seconds.most_common():
        spans = np.array([(begin, end) for of, begin, end in group.spans if of == cause])
        made.append(LineCause(*cause, seconds, _jobs(queue, cause[0], spans)))
    return tuple(made)


_OWN, _BEFORE = pl.col("own"), pl.col("before")
_RUNS: Final = {"own": _OWN, "earlier": _BEFORE & ~_OWN, "later": ~_BEFORE & ~_OWN}
_WAITS: Final = {"own": _OWN & _BEFORE, "claimed": _BEFORE & ~_OWN}
"""Attempts that the subject was behind, by cause: those that ran, and those that waited."""


def _jobs(queue: pl.DataFrame, cause: str, spans: Ints) -> int:
    """Return the number of jobs that the subject was behind in some ascending spans, [k, 2]."""
    found = np.zeros(queue.height, np.bool_)
    leave = pl.when("waits").then("leave").otherwise("arrival_time")
    for those, begin, end in (
        (_RUNS.get(cause), pl.col("start_time"), pl.col("end")),
        (_WAITS.get(cause), pl.col("arrival_time"), leave),
    ):
        if those is not None:
            which, begins, ends = queue.select(
                those & ~pl.col("subject"),
                begin.fill_null(NEVER).alias("_begin"),
                end.fill_null(NEVER).alias("_end"),
            )
            found |= which.to_numpy() & _overlaps(begins.to_numpy(), ends.to_numpy(), spans)
    return int(found.sum())


def _overlaps(begin: Ints, end: Ints, spans: Ints) -> Bools:
    """Return whether each [begin, end) overlaps any of the spans."""
    first = np.searchsorted(spans[:, 1], begin, side="right")
    later = spans[np.minimum(first, len(spans) - 1), 0]
    overlaps: Bools = (first < len(spans)) & (later < end) & (begin < end)
    return overlaps
