"""What a report found, in sentences that a site's manager understands.

Pure functions of :class:`Contents`. The same sentences head the page and are printed by the
command line. They claim no more than the numbers carry: an interval is said where there is one,
a comparison is made only where intervals do not overlap, and what a figure leaves out is said
beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from audit.model import COUNTED, FstStatus
from audit.report.contents import (
    SMALL_SAMPLE,
    Breakdown,
    Contents,
    Coverage,
    DecayedUsage,
    Entities,
    Figure,
    OffTarget,
    PenaltyChoice,
    PoolPart,
)
from audit.report.text import belief, tables, wording
from audit.report.text.belief import Fit
from audit.report.text.doubts import doubts


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence or two on one subject."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know before reading on."""

    grave: bool
    text: str


class State(StrEnum):
    """How far a report as a whole can be trusted to speak of its period."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    EMPTY = "empty"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a report, and why it is that."""

    state: State
    text: str


# A mean this many times the upper quartile is ruled by a few entities, whatever the rest do.
_RULED_BY_FEW: Final = 2
# Of the days of a log, this part may be without records before that is worth a notice.
_MANY_EMPTY: Final = 0.1
# Of the attempts, this part may have no fair start time that counts, or a provisional one.
_MANY_LEFT_OUT: Final = 0.1
_DAY_S: Final = 86_400
# Records that end so long before the period does are not merely of a period that still runs.
_STALE_S: Final = 31 * _DAY_S
# The same where the time of reading is known: a night or two may pass before records arrive.
_STALE_NOW_S: Final = 3 * _DAY_S


def state(contents: Contents, now: int | None = None) -> str:
    """``complete``, ``partial``, ``empty`` or ``stale``; see :func:`standing`."""
    return standing(contents, now).state.value


def standing(contents: Contents, now: int | None = None) -> Standing:
    """Whether the report speaks of all of its period, in one sentence or two.

    Args:
        contents: what it says.
        now: epoch s, for who hands it on and may read the clock; None for what stands on the page,
            which must be the same on any day. Without it, records that end before the period does
            may be those of a period that still runs: partial, unless they end a month before.
    """
    if contents.empty:
        records = wording.plural(contents.records, "record")
        return Standing(
            State.EMPTY,
            "No attempt ended in this period, so nothing could be measured "
            f"({records} read, {wording.count(contents.refused)} refused).",
        )
    span = contents.span
    last, end = span.last_end, span.to_time if now is None else min(now, span.to_time)
    missing_s = 0 if last is None else end - last
    if missing_s > (_STALE_S if now is None else _STALE_NOW_S):
        newest = wording.instant(last, span.zone)
        before = "the period does" if now is None or now > span.to_time else "now"
        return Standing(
            State.STALE,
            f"The newest record is of {newest}, {wording.duration(missing_s)} before {before}: "
            "nothing here speaks of the time since.",
        )
    if lacking := tuple(_lacking(contents)):
        return Standing(State.PARTIAL, f"Not all of it could be measured: {'; '.join(lacking)}.")
    return Standing(State.COMPLETE, "Records cover the whole period, and none was refused.")


def _lacking(contents: Contents) -> Iterator[str]:
    """What keeps a report from being complete."""
    span, coverage = contents.span, contents.coverage
    if contents.refused:
        yield f"{wording.plural(contents.refused, 'line')} refused"
    if coverage.empty:
        yield f"no record ended on {wording.count(coverage.empty)} of " + wording.plural(
            coverage.days, "day"
        )
    if not span.whole_log and span.first_arrival is not None:
        late_s = span.first_arrival - span.from_time
        if late_s >= _DAY_S:
            begin = wording.instant(span.first_arrival, span.zone)
            yield f"records begin on {begin}, {wording.duration(late_s)} after the period"
    if not span.whole_log and span.last_end is not None:
        early_s = span.to_time - span.last_end
        if early_s >= _DAY_S:
            end = wording.instant(span.last_end, span.zone)
            yield f"records end on {end}, {wording.duration(early_s)} before the period"
    for pool in contents.pools:
        if not pool.attempts:
            dated = ", of which the log says when it arrived," if contents.undated else ""
            yield f"no attempt{dated} ended in pool {wording.name(pool.name)}"
        elif not pool.has_fair_starts:
            yield f"no fair start times in pool {wording.name(pool.name)}"
    if not contents.usages:
        yield "no usage over time"
    if grave := sum(notice.grave for notice in notices(contents)):
        yield wording.plural(grave, "caution") + " below"


_WITHOUT_ARRIVALS: Final = ("The machine", "Resources", "Never started")
"""What can be said of a pool although nobody knows when its attempts arrived."""


def findings(contents: Contents) -> tuple[Finding, ...]:
    """The main findings; none where the period holds nothing to measure."""
    several = len(contents.pools) > 1
    of_pools = [
        Finding(found.subject, f"Pool {wording.name(pool.name)}: {found.text}")
        if several
        else found
        for pool in contents.pools
        for found in _of_pool(pool)
        if pool.attempts or (contents.undated and found.subject in _WITHOUT_ARRIVALS)
    ]
    if contents.empty:
        return ()
    of_usage = [
        Finding("Usage and targets", text) for of in contents.usages if (text := _usage(of))
    ]
    if contents.choice is not None and (text := _choice(contents.choice)):
        of_usage.append(Finding("Choice of penalty", text))
    return (*of_pools, *of_usage)


def _of_pool(pool: PoolPart) -> Iterator[Finding]:
    for subject, text in (
        ("Equal sharing", _sharing(pool)),
        ("Wide and narrow", _widths(pool)),
        ("Fair start times", _fair_start(pool)),
        ("Who started late", _late(pool)),
        ("Model fidelity", _fidelity(pool)),
        ("Users", _users(pool)),
        ("Waits", _waits(pool)),
        ("Wait for work done", _nuwt(pool)),
        ("The machine", _machine(pool)),
        ("Resources", _resources(pool)),
        ("Never started", _never_started(pool)),
    ):
        if text:
            yield Finding(subject, text)


def _sharing(pool: PoolPart) -> str:
    mean = pool.figure("re_unfairness")
    if mean.value is None:
        return ""
    share = pool.figure("re_unfairness_share")
    treated = pool.figure("re_treated_unfairly_share")
    text = (
        f"{wording.percent(treated.value)} of the {wording.plural(pool.attempts, 'attempt')} got "
        "less than an equal share of the pool would have given them. What they went short of is "
        f"{wording.value(mean, pool.resource)} for each attempt of the pool{_within(mean)}"
    )
    if share.value is not None:
        text += f", or {wording.percent(share.value)} of all that was consumed{_within(share)}"
    return text + "."


def _widths(pool: PoolPart) -> str:
    metric = "re_unfairness_share"
    extremes = _extremes(pool, metric)
    if extremes is None:
        return ""
    resource = wording.resource(pool.resource)
    most, least = extremes
    high, low = most.figure(metric), least.figure(metric)
    text = (
        f"Attempts of {wording.width(most.label)} {resource}s went short most: by "
        f"{wording.percent(high.value)} of what they consumed{_within(high)}. Those of "
        f"{wording.width(least.label)} went short least, by {wording.percent(low.value)}"
        f"{_within(low)}."
    )
    return text + _compared(high, low)


def _extremes(pool: PoolPart, metric: str) -> tuple[Breakdown, Breakdown] | None:
    """The width classes with most and with least, of those with attempts enough."""
    sound = [
        part
        for part in pool.widths
        if part.figure(metric).value is not None and _attempts(part, metric) >= SMALL_SAMPLE
    ]
    if len(sound) < 2:
        return None
    ordered = sorted(sound, key=lambda part: part.figure(metric).value or 0.0)
    return ordered[-1], ordered[0]


def _compared(high: Figure, low: Figure) -> str:
    if not (_has_interval(high) and _has_interval(low)):
        return ""
    if _above(high, low):
        return " These intervals lie apart: chance hardly explains the difference."
    return " These intervals overlap: the difference may be chance."


def _fair_start(pool: PoolPart) -> str:
    share, mean = pool.figure("missed_strict_share"), pool.figure("miss_strict_mean")
    if mean.value is None:
        return ""
    relaxed = pool.figure("miss_relaxed_mean")
    attempts = wording.plural(mean.attempts or 0, "attempt")
    beyond = belief.tolerance(pool.fair_start)
    if share.value:
        text = (
            f"{wording.percent(share.value)} of the {attempts} that can be judged started more "
            f"than {beyond} later than they would have, had nobody arrived after them; these by "
            f"{wording.duration(pool.figure('missed_strict_mean').value)} in the mean. "
        )
    else:
        text = (
            f"None of the {attempts} that can be judged started more than {beyond} later than it "
            "would have, had nobody arrived after it. "
        )
    early = wording.percent(pool.figure("preferred_strict_share").value)
    text += belief.judged(pool.fair_start.fidelity)
    return (
        f"{text}{early} started that much earlier. Over all, the miss per attempt is "
        f"{wording.duration(mean.value)}{_within(mean)}, and {wording.duration(relaxed.value)}"
        f"{_within(relaxed)} where nobody may slip past those ahead (relaxed). "
        f"{belief.caveat(pool)}"
    )


def _late(pool: PoolPart) -> str:
    metric = "miss_strict_mean"
    extremes = _extremes(pool, metric)
    said = []
    if extremes is not None and extremes[0].figure(metric).value:
        most, least = extremes
        high, low = most.figure(metric), least.figure(metric)
        said.append(
            f"Attempts of {wording.width(most.label)} {wording.resource(pool.resource)}s started "
            f"latest, {wording.duration(high.value)}{_within(high)} after their fair start times "
            f"in the mean; those of {wording.width(least.label)}, "
            f"{wording.duration(low.value)}{_within(low)}.{_compared(high, low)}"
        )
    ends = [
        (row, side)
        for rows, side in (
            (tables.lost(pool.users, 1), "lost most"),
            (tables.gained(pool.users, 1), "gained most"),
        )
        for row in rows
    ]
    told = [
        f"user {wording.name(row.name)} {side}, {wording.duration(abs(row.missed.net_s))} over "
        f"{wording.plural(row.missed.attempts, 'attempt')}"
        for row, side in ends
        if row.missed is not None
    ]
    if told:
        said.append(f"Late starts less early ones, in sum: {'; '.join(told)}.")
    if said and not belief.good_fit(pool):
        said.append(belief.caveat(pool))
    return " ".join(said)


def _fidelity(pool: PoolPart) -> str:
    if not pool.has_fair_starts:
        return ""
    reasons = belief.reasons(pool)
    return f"{reasons} {belief.fit_line(pool)}" if reasons else belief.fit_line(pool)


def _users(pool: PoolPart) -> str:
    rows = [row for row in pool.users.named if row.re_unfairness_net is not None]
    if len(rows) < 2:
        return ""
    net = {row.name: row.re_unfairness_net or 0.0 for row in rows}
    ranked = sorted(rows, key=lambda row: net[row.name], reverse=True)
    most, best = ranked[0], ranked[-1]
    said = []
    if net[most.name] > 0:
        said.append(
            f"user {wording.name(most.name)} went short most, "
            f"by {wording.amount(net[most.name], pool.resource)} over "
            f"{wording.plural(most.attempts, 'attempt')}"
        )
    if net[best.name] < 0:
        said.append(
            f"user {wording.name(best.name)} got most beyond an equal share, "
            f"{wording.amount(-net[best.name], pool.resource)} over "
            f"{wording.plural(best.attempts, 'attempt')}"
        )
    if not said:
        return ""
    return (
        f"Of {wording.plural(len(rows), 'user')}, {'; '.join(said)}. "
        "Such sums grow with how much a user ran; the tables below give counts beside them."
    )


def _waits(pool: PoolPart) -> str:
    median = pool.figure("wait_median")
    if median.value is None:
        return ""
    mean = pool.figure("wait_mean")
    return (
        f"Half of the attempts waited {_at_most(median.value)}, one in ten longer than "
        f"{wording.duration(pool.figure('wait_p90').value)}, one in a hundred longer than "
        f"{wording.duration(pool.figure('wait_p99').value)}. The mean wait is "
        f"{wording.duration(mean.value)}{_within(mean)}."
    )


def _at_most(seconds: float) -> str:
    return "not at all" if seconds == 0 else f"{wording.duration(seconds)} or less"


def _nuwt(pool: PoolPart) -> str:
    users = pool.users
    median = users.figure("nuwt_median")
    uwt = users.figure("uwt")
    if median.value is None or uwt.value is None:
        return ""
    upper = users.figure("nuwt_q3").value
    unit = f"{wording.resource(pool.resource)}-second"
    text = (
        f"For each {unit} that they used, the median user waited {wording.number(median.value)} s "
        f"(quartiles {wording.number(users.figure('nuwt_q1').value)} and "
        f"{wording.number(upper)}); over all users together it is "
        f"{wording.number(users.figure('nuwt_pooled').value)} s. The mean over users, UWT, is "
        f"{wording.number(uwt.value)}{_within(uwt)}, with a standard deviation of "
        f"{wording.number(users.figure('nuwt_deviation').value)}"
    )
    if upper is not None and uwt.value > _RULED_BY_FEW * upper:
        text += ": a few users rule it, so the median says more"
    return f"{text}. {_left_out(users)}".strip()


def _left_out(of: Entities) -> str:
    single = of.figure("nuwt_single_job").value or 0
    unused = of.figure("nuwt_no_usage").value or 0
    if not single and not unused:
        return ""
    return (
        f"Left out: {wording.plural(single, of.kind)} with fewer than two started jobs, "
        f"{wording.count(unused)} without usage."
    )


def _machine(pool: PoolPart) -> str:
    busy = pool.figure("utilization")
    if busy.value is None:
        return ""
    text = (
        f"The pool of {wording.plural(pool.capacity, wording.resource(pool.resource))} was "
        f"{wording.percent(busy.value)} busy{_within(busy)}"
    )
    lost = pool.figure("loss_of_capacity")
    if lost.value is not None:
        text += (
            f". On average {wording.percent(lost.value)} of it{_within(lost)} stood idle while "
            "the queue asked for as much. Not all of this could have been used: a queued attempt "
            "may be wider than what is idle"
        )
    return text + "."


def _resources(pool: PoolPart) -> str:
    busy = [
        f"{wording.percent(of.utilization)} of the {wording.resources(of.resource)}"
        for of in pool.resources
        if of.utilization is not None and of.used
    ]
    if len(busy) < 2:
        return ""
    most = [
        f"user {wording.name(of.users[0].name)} had {wording.percent(of.users[0].share)} of the "
        f"{wording.resources(of.resource)}"
        for of in pool.resources
        if of.resource != pool.resource and of.users and of.users[0].name is not None
    ]
    text = f"Busy over the period: {', '.join(busy)}."
    return f"{text} Of all that was used, {', '.join(most)}." if most else text


def _usage(of: DecayedUsage) -> str:
    kind = of.accounts if of.accounts.targets else of.users
    if not kind.targets:
        return ""
    said = [
        f"{kind.kind} {wording.name(row.name)} was furthest {side} its "
        f"target, with {wording.percent(row.mean)} of all usage against "
        f"{wording.percent(row.share)}"
        for row, side in ((kind.above, "above"), (kind.below, "below"))
        if row is not None
    ]
    if not said:
        return ""
    targets = wording.plural(kind.targets, kind.kind)
    text = f"Of {targets} with a target, in the mean over the period, {'; '.join(said)}."
    if off := next(
        (row for of_kind in of.off if of_kind.kind == kind.kind for row in of_kind.rows), None
    ):
        text += f" {_off(kind.kind, off)}"
    return (
        f"{text} To use less than one's target is not to be treated unfairly: one may have asked "
        "for less."
        if kind.below
        else text
    )


def _off(kind: str, row: OffTarget) -> str:
    """On how many days one was off its target."""
    sides = [
        f"{side} it on {wording.count(number)}"
        for side, number in (("above", row.above), ("below", row.below))
        if number
    ]
    return (
        f"{kind.capitalize()} {wording.name(row.name)} was off its target on most days: "
        f"{' and '.join(sides)} of {wording.plural(row.days, 'day')}."
    )


def _choice(of: PenaltyChoice) -> str:
    """Who is charged more, and who less, when more than the first penalty's resources count."""
    kind = of.moving
    if not kind.rows:
        return (
            f"It makes no difference whether usage is charged by {' or '.join(of.penalties)}: "
            "everybody has the same part of it."
        )
    most = max(range(len(of.penalties)), key=lambda k: kind.moved[k])
    row = kind.rows[0]
    return (
        f"Charged by {of.penalties[most]} instead of {of.penalties[0]}, "
        f"{wording.percent(kind.moved[most])} of all usage would count to other {kind.kind}s. "
        f"Most changes for {kind.kind} {wording.name(row.name)}: "
        f"{wording.percent(row.parts[row.furthest])} of all usage by "
        f"{of.penalties[row.furthest]}, {wording.percent(row.parts[0])} by {of.penalties[0]}."
    )


def _never_started(pool: PoolPart) -> str:
    never = pool.figure("never_started").value
    if not never:
        return ""
    gave_up = pool.figure("gave_up_wait_s").value
    waited = "" if gave_up is None else f", after {wording.duration(gave_up)} of waiting in sum"
    return (
        f"{wording.plural(never, 'attempt')} left the queue without having started{waited}. "
        "No figure above counts them."
    )


def _within(figure: Figure) -> str:
    said = wording.interval(figure)
    return f" (95 % interval {said})" if said else ""


def _has_interval(figure: Figure) -> bool:
    return figure.lower is not None and figure.upper is not None


def _above(high: Figure, low: Figure) -> bool:
    return high.lower is not None and low.upper is not None and high.lower > low.upper


def _attempts(part: Breakdown, metric: str) -> int:
    return part.figure(metric).attempts or 0


def notices(contents: Contents) -> tuple[Notice, ...]:
    """What a reader must know before believing the figures, gravest first."""
    found = [
        *(Notice(True, wording.name(text, 400)) for text in contents.warnings),
        *_of_reading(contents),
        *_of_coverage(contents.coverage),
        *(notice for pool in contents.pools for notice in _of_measuring(pool, contents)),
        *(notice for pool in contents.pools for notice in _of_fair_starts(pool, contents)),
        *(Notice(doubt.grave, doubt.text) for doubt in doubts(contents)),
    ]
    return tuple(sorted(found, key=lambda notice: not notice.grave))


def _of_reading(contents: Contents) -> Iterator[Notice]:
    if contents.refused:
        share = contents.refused / contents.records if contents.records else 0.0
        lines = wording.plural(contents.refused, "line")
        yield Notice(
            share > 0.01,
            f"{lines} of {wording.count(contents.records)} could not be taken "
            f"({wording.percent(share)}); the reasons stand under Records.",
        )


def _of_coverage(coverage: Coverage) -> Iterator[Notice]:
    if coverage.empty > _MANY_EMPTY * coverage.days:
        share = coverage.empty / coverage.days
        yield Notice(
            False,
            f"On {wording.count(coverage.empty)} of {wording.plural(coverage.days, 'day')} "
            f"({wording.percent(share)}) no record ended: either nothing ran, or records are "
            "missing; the longest gaps stand under Records.",
        )


def _of_measuring(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    where = f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""
    over = pool.figure("over_capacity_time").value or 0
    if over > 0:
        yield Notice(
            over > 0.01,
            f"During {wording.percent(over)} of the time{where} more was in use (at most "
            f"{wording.count(pool.figure('peak_in_use').value)}) than the "
            f"{wording.plural(pool.capacity, wording.resource(pool.resource))} of the pool: either "
            "its size, or what the log says was allocated, is wrong then.",
        )
    for metric, text in _COUNTS:
        number = pool.figure(metric).value or 0
        if number:
            yield Notice(False, f"{text}{where}: {wording.plural(number, 'attempt')}.")
    conservation = pool.figure("re_conservation").value
    if conservation is not None and conservation > 1e-6:
        yield Notice(
            True,
            f"Resource equality{where} does not add up to zero (off by "
            f"{wording.number(conservation)} of what was consumed): this is a defect, "
            "please report it.",
        )
    if pool.attempts and not pool.users.named:
        yield Notice(
            False, f"The log names no users{where}: figures by user have nothing to speak of."
        )
    if 0 < pool.attempts < SMALL_SAMPLE:
        attempts = wording.plural(pool.attempts, "attempt")
        yield Notice(
            True, f"Only {attempts}{where} ended in the period: read each figure as an anecdote."
        )


def _of_fair_starts(pool: PoolPart, contents: Contents) -> Iterator[Notice]:
    if not pool.attempts:
        return
    where = f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""
    fair = pool.fair_start
    if not fair.statuses and not pool.has_fair_starts:
        yield Notice(
            False,
            f"No fair start times were computed{where}: nothing below says whether anybody "
            "started later than fair.",
        )
        return
    left_out = fair.subjects - fair.counted
    if left_out > _MANY_LEFT_OUT * fair.subjects:
        reasons = ", ".join(
            f"{tables.status(row.status)[0]} {wording.count(row.attempts)}"
            for row in fair.statuses
            if row.status not in COUNTED
        )
        yield Notice(
            left_out > fair.subjects / 2,
            f"{wording.count(left_out)} of {wording.plural(fair.subjects, 'attempt')} "
            f"({wording.percent(left_out / fair.subjects)}){where} are in no figure of fair start "
            f"times: {reasons}.",
        )
    pending = sum(row.attempts for row in fair.statuses if row.status == FstStatus.PROVISIONAL)
    if pending > _MANY_LEFT_OUT * fair.subjects:
        yield Notice(
            False,
            f"The fair start times of {wording.plural(pending, 'attempt')} "
            f"({wording.percent(pending / fair.subjects)}){where} are provisional: later logs may "
            "change them.",
        )
    if pool.has_fair_starts and belief.fit(fair.fidelity) in {Fit.POOR, Fit.UNKNOWN}:
        yield Notice(False, f"Fair start times{where}: {belief.verdict(pool)}")


_COUNTS: Final = (
    ("exceeds_capacity", "Larger than the whole pool, whose size may therefore be wrong"),
    ("start_unknown", "Start not known, and so in no figure"),
    (
        "arrival_unknown",
        "The log does not say when they arrived, so their waits are unknown, and they are in no "
        "figure of waits, fair start times or resource equality",
    ),
    ("size_unknown", "Size not known, and counted as 0"),
    ("arrivals_clipped", "Started before the log says they arrived, and counted as arriving then"),
)
