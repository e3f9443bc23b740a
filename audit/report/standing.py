"""How much of its period a report covers."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from audit.metrics.verdict import Because, Word
from audit.report import part, wording
from audit.report.contents import Contents
from audit.report.first_page import phrases
from audit.report.sections.records.section import MISSING_SHOWN, reasons_missing
from audit.report.sections.registry import notices

_DAY_S: Final = 86_400
_STALE_S: Final = 31 * _DAY_S
"""A period may still run when it is reported: records may end this long before it does."""
_STALE_NOW_S: Final = 3 * _DAY_S
"""The same if the time of reading is known: records may arrive a night or two late."""


class State(StrEnum):
    """How much of its period a report covers."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    EMPTY = "empty"
    STALE = "stale"


class ReportStanding(NamedTuple):
    """The state of a report and the reason, in a sentence or two."""

    state: State
    text: str


def standing(contents: Contents, now: int | None = None) -> ReportStanding:
    """Return how much of its period the report covers.

    Args:
        now: epoch s, when the report is sent. None for the page itself, which must not depend on
            the clock: if records end before the period does, it is partial, unless they end more
            than a month before.
    """
    if contents.empty and contents.unplaced:
        return ReportStanding(State.EMPTY, unplaced(contents))
    if contents.empty:
        return ReportStanding(
            State.EMPTY,
            "No job ended in this period, so nothing could be measured "
            f"({wording.plural(contents.records, 'record')} read, "
            f"{wording.count(contents.refused)} refused).",
        )
    span = contents.span
    last, end = span.until, span.to_time if now is None else min(now, span.to_time)
    if last is not None and end - last > (_STALE_S if now is None else _STALE_NOW_S):
        until = "the period ends" if now is None or now > span.to_time else "now"
        return ReportStanding(
            State.STALE,
            f"The newest record is from {wording.instant(last, span.zone)}, "
            f"{wording.duration(end - last)} before {until}. The report covers nothing after it.",
        )
    if lacking := lacks(contents):
        return ReportStanding(State.PARTIAL, f"The report is incomplete: {'; '.join(lacking)}.")
    return ReportStanding(State.COMPLETE, "Records cover the whole period, and none was refused.")


def no_verdict(contents: Contents) -> str:
    """Return the verdict on a period without figures of waits, and the reason."""
    why = "No job ended in this period."
    if contents.brief:
        days = wording.plural(contents.covered_days, "day")
        why = f"Only {days} of this period {'is' if contents.covered_days == 1 else 'are'} covered."
    elif contents.unplaced:
        why = phrases.CANNOT[Because.FEW_STARTS]
    return f"{phrases.WORDS[Word.CANNOT_TELL]}: {why}"


def unplaced(contents: Contents) -> str:
    """Return what is unknown, and what is not, if no start of any job is known."""
    jobs = wording.plural(sum(of.jobs for of in contents.unplaced), "job")
    return (
        f"The log does not say when any of the {jobs} of this period started. Waits, their causes, "
        "fair start times and utilization are therefore unknown. The report states usage only: "
        "size × run time, by user and account."
    )


_UNCOUNTED: Final = {
    State.COMPLETE: "Records cover the whole period.",
    State.PARTIAL: "Some records of this period are missing.",
    State.EMPTY: "There are no records of jobs that ended in this period.",
    State.STALE: "There are no records of the end of this period.",
}


def uncounted(of: ReportStanding) -> ReportStanding:
    """Return the same without numbers and times, which are about the jobs of other users."""
    return ReportStanding(of.state, _UNCOUNTED[of.state])


def lacks(contents: Contents) -> tuple[str, ...]:
    """Return what keeps a report from being complete, each in a few words."""
    return tuple(_lacking(contents))


def _lacking(contents: Contents) -> Iterator[str]:
    span, coverage = contents.span, contents.coverage
    if contents.part:
        yield part.VERDICT
    if contents.missing:
        first, *others = (wording.name(log.file) for log in contents.missing)
        more = f"logs {first} and {wording.count(len(others))} more are missing"
        yield more if others else f"log {first} is missing"
    if contents.refused:
        yield f"{wording.plural(contents.refused, 'line')} refused"
    if coverage.empty:
        yield (
            f"no job ended on {wording.count(coverage.empty)} of the "
            f"{wording.plural(coverage.days, 'day')} from the first end of a job to the last"
        )
    if not span.whole_log and span.log_begin is not None:
        late_s = span.log_begin - span.from_time
        if late_s >= _DAY_S:
            begin = wording.instant(span.log_begin, span.zone)
            yield f"the log begins on {begin}, {wording.duration(late_s)} after the period begins"
    if not span.whole_log and span.until is not None:
        early_s = span.to_time - span.until
        if early_s >= _DAY_S:
            end = wording.instant(span.until, span.zone)
            yield f"records end on {end}, {wording.duration(early_s)} before the period ends"
    for pool in contents.pools:
        if not pool.attempts:
            known = " with a known arrival" if contents.undated else ""
            yield f"no attempt{known} ended in pool {wording.name(pool.name)}"
        elif not pool.has_fair_starts:
            yield f"no fair start times in pool {wording.name(pool.name)}"
    if not contents.usages:
        yield "no usage over time"
    stated = min(len(reasons_missing(contents)), MISSING_SHOWN + 1) + bool(contents.part)
    grave = sum(notice.grave for notice in notices(contents)) - stated
    if grave > 0:
        yield wording.plural(grave, "caution") + " below"
