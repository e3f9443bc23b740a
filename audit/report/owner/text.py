"""The sentences on the page of one user or account."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES
from audit.registry.passed import PassedWhy
from audit.registry.requested import BEYONDS
from audit.report import wording
from audit.report.contents import Who
from audit.report.figures import Figure
from audit.report.first_page import amounts
from audit.report.owner.record import (
    FairshareCourse,
    LongWait,
    OwnerContents,
    OwnerPart,
    ShorterClass,
    WaitPart,
)
from audit.report.part import time_passed
from audit.report.sections import predicted as wait_ends
from audit.report.sections.advice import section as advice
from audit.report.sections.causes.section import after_own_end
from audit.report.sections.causes.shown import FULL_OF
from audit.report.sections.changes.section import Difference, changed
from audit.report.sections.who.section import FEWEST
from audit.scenario.predict.calibration import Bounds

THEIR: Final = "their"
"""Of an entity that is named."""
_SIMILAR: Final = "jobs of this size and time limit"
_AT_ONCE_S: Final = 1
_ABOUT: Final = 0.8
"""Least ratio of waits that are about the same."""
_WALLTIMES: Final = {**advice.WALLTIMES, "unknown": "an unknown time"}
_MUCH: Final = 1 / 3
"""Least share of all waiting for which a single wait is mentioned."""
_MOSTLY: Final = 0.5
_LISTED: Final = 0.01
_NO_REASON: Final = "unexplained"
_BECAUSE: Final = {
    "held": "a begin time, dependency, hold, array throttle or licence",
    "unavailable": "an outage or too small a machine",
    "rule": "limits or closed hours",
    "nodes": "too little on single nodes",
    "own": "{their} own jobs",
    "claimed": "jobs ahead that were about to start",
    "kept": "capacity kept for bigger jobs ahead",
    "earlier": "a machine full of earlier jobs",
    "later": "a machine full of later jobs",
    "full": "a full machine",
    "cycle": "the scheduler’s pauses",
}
"""Causes of waiting in the middle of a sentence; the others are not known."""
_FULL: Final = replace(
    next(cause for cause in CAUSES if cause.key == "earlier"),
    key="full",
    legend="machine full",
    meanwhile="behind running jobs of others",
)
_SHORT_NAME: Final = 8
_FEW: Final = 5
"""With fewer jobs, no single wait is mentioned."""


class Answer(NamedTuple):
    """One of the three figures at the top."""

    title: str
    big: str
    text: str
    difference: Difference | None = None


def owner(who: Who) -> str:
    """Return the entity of a page, in the middle of a sentence."""
    return f"{who.kind} {wording.name(who.name, 40)}"


def possessive(who: Who) -> str:
    """Return whose jobs those on a page are, for its reader."""
    return "your" if who.kind == "user" else "its"


def verdict(of: OwnerPart, who: Who, *, named: bool = False) -> str:
    """Return the typical wait of an entity, that of similar jobs, and the main cause.

    ``named``: whether to use the name, where others than the user may read it.
    """
    their = THEIR if named else possessive(who)
    return " ".join(filter(None, (typically(of, who, named=named), mostly(of, their))))


def typically(of: OwnerPart, who: Who, *, named: bool = False) -> str:
    """Return how long an entity typically waited, and jobs of the same published classes."""
    name, their = "You" if who.kind == "user" else "The account", possessive(who)
    if named:
        name, their = wording.first_upper(owner(who)), THEIR
    if not of.attempts or of.typical is None:
        nothing = "No job started and ended in this period"
        return f"{name}: {wording.first_lower(nothing)}." if named else f"{nothing}."
    own, similar, compared = of.typical
    waited = f"{name} typically {_waited(own)}"
    if similar is None:
        if compared >= FEWEST:
            return f"{waited}. Most of {their} jobs have too few others to compare with."
        return f"{waited}. {_why_not(of)}."
    if max(own, similar) < _AT_ONCE_S:
        said = f"{waited}, as {_SIMILAR}."
    elif max(own, similar) * _ABOUT <= min(own, similar):
        said = f"{name} waited about as long as {_SIMILAR}: {amounts.short_time(own)}."
    else:
        said = f"{waited}; {_SIMILAR} {_waited(similar)}."
    if compared < of.attempts:
        number, every = map(wording.count, (compared, of.attempts))
        said += f" Compared: {number} of {their} {every} jobs."
    return said


def _waited(seconds: float, verb: str = "waited ") -> str:
    """Return how long jobs waited; ``started at once`` below a second."""
    if seconds < _AT_ONCE_S:
        return "started at once"
    return f"{verb}{amounts.short_time(seconds)}"


def mostly(of: OwnerPart, their: str = THEIR) -> str:
    """Return the main cause of the waiting in sentences; empty if it is not known."""
    if not of.parts or of.typical is None or of.typical.own < _AT_ONCE_S:
        return ""
    most, none = main_cause(of), next(part for part in of.parts if part.cause.key == _NO_REASON)
    share = wording.rough_percent(most.share)
    unknown = f" For {wording.rough_percent(none.share)} the log gives no reason."
    if most.cause.key not in _BECAUSE:
        return f"For {share} of {their} waiting time, the log gives no reason."
    because = _BECAUSE[most.cause.key].format(their=their)
    if most.share < _MOSTLY:
        said = f"The largest cause was {because}: {share} of {their} waiting time."
    else:
        said = f"Mostly because of {because}: {share} of {their} waiting time."
    return said + (unknown if none.share >= _LISTED else "")


def main_cause(of: OwnerPart) -> WaitPart:
    """Return the largest cause, in which a machine full of earlier and of later jobs is one."""
    full = [part for part in of.parts if part.cause.key in FULL_OF and part.share]
    parts = [part for part in of.parts if part not in full or len(full) == 1]
    if len(full) == len(FULL_OF):
        share, of_all = (sum(each) for each in zip(*(part[1:] for part in full), strict=True))
        parts.append(WaitPart(_FULL, round(share, 2), of_all))
    return max(parts, key=lambda part: part.share)


def notes(of: OwnerPart, their: str = THEIR) -> tuple[str, ...]:
    """Return what to know besides the three figures."""
    longest, one_wait = of.longest[0].wait_s if of.longest else 0, ""
    if of.attempts >= _FEW and longest and longest >= _MUCH * of.waited_s:
        share = wording.rough_percent(longest / of.waited_s)
        one_wait = (
            f"One wait of {wording.rough_duration(longest)} is {share} of all {their} waiting "
            "time: look at it first."
        )
    return tuple(filter(None, (one_wait, _both_true(of, their), _order(of, their))))


def _order(of: OwnerPart, their: str) -> str:
    """Return whether later jobs overtook them more often than others, or why none is named."""
    if of.passed:
        return (
            f"Later jobs of the same queue, at least as large and long, overtook {their} jobs "
            "significantly more often than those of others."
        )
    if of.passed_why is None:
        return ""
    why = PassedWhy(of.passed_why)
    if why.tested:
        whose = wording.first_upper(their)
        return f"{whose} jobs are not listed as overtaken more often than others: {why.phrase}."
    return f"The log cannot tell whether later jobs overtook {their} jobs more often: {why.phrase}."


def starts(of: OwnerContents) -> list[str]:
    """Return when pending jobs should start, one sentence per job."""
    return [
        wait_ends.expected(one.job_id, Bounds(*one[2:]), one.made_at, of.span.zone)
        for one in of.starts
    ]


def nothing(of: OwnerContents) -> str:
    """Return why there are no figures for the period."""
    name = wording.first_upper(owner(of.who))
    if of.brief:
        return f"{name}: so far, the log covers too few days of this period."
    return f"{name}: no job ended in this period."


def short(of: OwnerContents, *, trend: bool = True) -> str:
    """Return the verdict in a few words, for the subject of a mail; ``trend``: and the change."""
    name = owner(of.who)
    if not of.parts:
        return f"{name}: {'too few covered days' if of.brief else 'no job ended'}"
    part = of.parts[0]
    change = changed(part.trend, "wait_mean", "time") if trend else None
    if change is None or change.better is None:
        return f"{name} {_shortly(part)}"
    side = "shorter" if change.better else "longer"
    return f"{name} {_shortly(part)}; {side} than {part.trend.before}"


def shortest(of: OwnerContents) -> Iterator[str]:
    """Yield the verdict on a user or account in the fewest words, then with a part of its name."""
    adverb, waited = "", "had no job that ended"
    if any(part.passed for part in of.parts):
        waited = "was overtaken more often"
    elif of.parts:
        adverb, waited = _alone(of.parts[0])
    yield f"{owner(of.who)} {adverb}{waited}"
    yield f"{of.who.kind} {wording.name(of.who.name, _SHORT_NAME)} {waited}"


def _shortly(of: OwnerPart) -> str:
    if of.passed:
        return "was overtaken more often than others"
    said = "".join(_alone(of))
    if not of.attempts or of.typical is None or of.typical.similar is None:
        return said
    return f"{said}, similar jobs {_waited(of.typical.similar, verb='')}"


def _alone(of: OwnerPart) -> tuple[str, str]:
    """Return an adverb, and how long jobs waited."""
    if not of.attempts:
        return "", "had no job that started"
    if of.typical is None:
        return "", f"waited {wording.rough(of.wait_mean)} per job"
    return "typically ", _waited(of.typical.own)


def fairshare(of: FairshareCourse, zone: str) -> str:
    """Return how a user's FairShare and usage changed within the period."""

    def day(as_of: int) -> str:
        return wording.day(as_of - 1, zone)  # the day that ended then

    where = "" if of.account is None else f" in account {wording.name(of.account)}"
    if of.partition is not None:
        where += f", partition {wording.name(of.partition)}"
    lowest = ""
    if of.lowest < min(of.first, of.last):
        lowest = f" (lowest: {wording.number(of.lowest)} on {day(of.lowest_as_of)})"
    begun, ended = (f"{usage / 3600:,.0f}" for usage in (of.first_usage, of.last_usage))
    return (
        f"FairShare{where}: {wording.number(of.first)} at the end of {day(of.first_as_of)}, "
        f"{wording.number(of.last)} at the end of {day(of.last_as_of)}{lowest}. Decayed usage: "
        f"{begun} billing-hours, then {ended}."
    )


def _why_not(of: OwnerPart) -> str:
    if of.everybody is None:
        return "No comparison: no week is closed yet, or too few other users had jobs"
    return "Too few jobs exist to compare"


def answers(of: OwnerPart, their: str = THEIR) -> tuple[Answer, ...]:
    """Return the three figures at the top."""
    text = f"per job, mean{wording.rough_within(of.wait_mean)}"
    if of.everybody is not None:
        mean = wording.rough_duration(of.everybody.wait_mean)
        text += f"; all jobs waited {mean} in the average week"
    change = changed(of.trend, "wait_mean", "time")
    how_long = Answer("How long?", wording.rough(of.wait_mean), f"{text}.", change)
    return how_long, _beside(of), _waited_for(of, their)


def _beside(of: OwnerPart) -> Answer:
    title = "Longer than jobs of the same size and time limit?"
    ratio = of.ratio
    if ratio.value is None:
        text = f"{_why_not(of)}."
        return Answer(title, wording.UNKNOWN, text)
    jobs = wording.plural(ratio.attempts or 0, "job")
    text = f"times as long on average{wording.rough_within(ratio)}, {_more(of.excess)} over {jobs}."
    if ratio.lower is None:
        text += " Too few days to be sure."
    elif of.longer:
        text += " Significant."
    else:
        text += " Significantly less." if of.shorter else " Not significantly longer."
    return Answer(title, wording.rough(ratio), text)


def _more(excess: Figure) -> str:
    """Return the total time waited beyond similar jobs, or how much less."""
    if (excess.value or 0.0) >= 0:
        return f"{wording.rough(excess)} more in total{wording.rough_within(excess)},"
    upper, lower = (None if side is None else -side for side in (excess.lower, excess.upper))
    less = replace(excess, value=-(excess.value or 0.0), lower=lower, upper=upper)
    return f"{wording.rough(less)} less in total{wording.rough_within(less)},"


def _waited_for(of: OwnerPart, their: str) -> Answer:
    title = f"What did {their} jobs wait for?"
    if not of.parts:
        text = "Cannot tell: no job waited in a closed week with enough other users."
        return Answer(title, wording.UNKNOWN, text)
    most = main_cause(of)
    text = (
        f"of {their} waiting time passed {time_passed(most.cause, part=of.pool.part)}; "
        f"for all users, {wording.rough_percent(most.of_all)} did in the average week."
    )
    return Answer(title, wording.rough_percent(most.share), text)


def _both_true(of: OwnerPart, their: str) -> str:
    """Return why two measures that seem to disagree can both be true; empty if they agree."""
    mean = of.wait_mean.lower
    if of.everybody is None or of.ratio.lower is None or of.longer or mean is None:
        return ""
    if mean <= of.everybody.wait_mean:
        return ""
    return (
        f"{wording.first_upper(their)} mean wait is longer than that of all jobs, but not "
        f"significantly longer than that of {_SIMILAR}. Such jobs wait long here for all users."
    )


def used(of: OwnerPart, their: str = THEIR) -> str:
    """Return the part of all usage in a sentence; empty if it is unknown."""
    if of.used_share is None:
        return ""
    share = wording.rough_percent(of.used_share)
    unit = wording.resource(of.pool.resource)
    jobs = f"{wording.first_upper(their)} jobs"
    return f"{jobs} used {share} of the {unit}-hours that all jobs used in closed weeks."


def beyond(of: OwnerPart, their: str = THEIR) -> str:
    """Return what the jobs were allocated beyond their requests; empty if it is little."""
    if of.beyond is None:
        return ""
    reason = next(one for one in BEYONDS if one.key == of.beyond.reason)
    return (
        f"{wording.rough_percent(of.beyond.share)} of the CPU time of {their} jobs was allocated "
        f"beyond the CPUs that they requested, mostly {reason.words}. {reason.action}"
    )


def way(of: ShorterClass, part: OwnerPart, their: str = THEIR) -> str:
    """Return a width or walltime with which similar jobs waited less."""

    def width(label: str) -> str:
        return wording.width_units(label, part.pool.resource)

    often = f"in {of.shorter} of {wording.plural(of.blocks, 'closed week')}"
    gain = f"waited {wording.rough(of.gain)} less on average than"
    if of.lever == "width":
        narrower = _narrow(of.better) < _narrow(of.mine)
        return (
            f"Jobs of {width(of.better)} {gain} jobs of {width(of.mine)}, {often}; both requested "
            f"{_WALLTIMES[of.walltime]}. "
            + (
                "A narrower job usually runs longer."
                if narrower
                else "Request more only if a job can use it."
            )
        )
    text = (
        f"Jobs that requested {_WALLTIMES[of.better]} {gain} jobs that requested "
        f"{_WALLTIMES[of.mine]}, {often}; both were of {width(of.width)}."
    )
    if of.fitting is not None:
        text += (
            f" {wording.first_upper(wording.one_in(of.fitting))} of {their} own jobs of this "
            "kind would have ended in that time."
        )
    return text


def _narrow(label: str) -> float:
    lowest = label.partition("-")[0]
    return int(lowest) if lowest.isdecimal() else float("inf")


def no_way(of: OwnerPart) -> str:
    """Return why no other width or walltime is recommended."""
    if not of.tried:
        return (
            "Too few other users had jobs of other sizes or time limits in closed weeks to compare "
            "with."
        )
    return (
        f"The report compared {wording.plural(of.tried, 'other choice')} of size or time limit. "
        "Jobs waited significantly less with none of them."
    )


def long_title(of: LongWait, part: OwnerPart, zone: str) -> str:
    """Return the wait, its job and its time."""
    job = "A job" if of.job_id is None else f"Job {wording.name(of.job_id, 40)}"
    unit = wording.resource(part.pool.resource)
    size = "" if of.size is None else f", {wording.plural(of.size, unit)}"
    limit = f" for up to {wording.duration(of.walltime_s)}" if of.walltime_s else ""
    when = wording.instant(of.arrival, zone)
    return f"{wording.duration(of.wait_s)}: {wording.first_lower(job)}{size}{limit}, from {when}"


def explained(of: LongWait, who: Who, part: OwnerPart) -> tuple[str, ...]:
    """Return sentences on what other jobs did during a long wait."""
    sentences = [f"No job of this {who.kind} ran during that time."]
    if of.held:
        held = wording.two_digits(of.held)
        unit = f"{wording.resource(part.pool.resource)}{'' if held == '1' else 's'}"
        sentences = [f"Other jobs of this {who.kind} used {held} {unit} meanwhile."]
    if of.similar_wait_s is not None:
        similar = wording.rough_duration(of.similar_wait_s)
        sentences.append(
            f"{wording.first_upper(_SIMILAR)} waited {similar} on average in the same weeks."
        )
    if of.job_id is not None and of.own_end is not None:
        sentences.append(after_own_end(of.job_id, of.own_end, "this user"))
    return tuple(sentences)
