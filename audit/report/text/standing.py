"""How far a report as a whole can be trusted to speak of its period."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from audit.report.record.page import Contents
from audit.report.text import wording
from audit.report.text.notices import notices

_DAY_S: Final = 86_400
# Records that end so long before the period does are not merely of a period that still runs.
_STALE_S: Final = 31 * _DAY_S
# The same where the time of reading is known: a night or two may pass before records arrive.
_STALE_NOW_S: Final = 3 * _DAY_S


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
    if lacking := lacks(contents):
        return Standing(State.PARTIAL, f"Not all of it could be measured: {'; '.join(lacking)}.")
    return Standing(State.COMPLETE, "Records cover the whole period, and none was refused.")


_UNCOUNTED: Final = {
    State.COMPLETE: "Records cover the whole period.",
    State.PARTIAL: "Some records of this period are missing.",
    State.EMPTY: "There are no records of jobs that ended in this period.",
    State.STALE: "There are no records of the end of this period.",
}


def uncounted(of: Standing) -> Standing:
    """The same without numbers or times, which tell of everybody's jobs."""
    return Standing(of.state, _UNCOUNTED[of.state])


def lacks(contents: Contents) -> tuple[str, ...]:
    """What keeps a report from being complete, each in a few words; nothing where it is."""
    return tuple(_lacking(contents))


def _lacking(contents: Contents) -> Iterator[str]:
    """What keeps a report from being complete."""
    span, coverage = contents.span, contents.coverage
    if contents.missing:
        first, *others = (wording.name(log.file) for log in contents.missing)
        yield f"log {first} is missing" + (
            f", and {wording.plural(len(others), 'more')}" if others else ""
        )
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
    grave = sum(notice.grave for notice in notices(contents)) - len(contents.missing)
    if grave > 0:
        yield wording.plural(grave, "caution") + " below"
