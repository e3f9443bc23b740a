"""The page of one user or account in sentences: pure functions of its record."""

from dataclasses import dataclass, replace
from typing import Final

from audit.report.judgement.owners import how_passed
from audit.report.judgement.questions import Difference, changed
from audit.report.owner.attempts import LEAST_DAYS
from audit.report.record.owner import LongWait, OwnerContents, OwnerPart, Way
from audit.report.record.page import Who
from audit.report.record.pool import Figure
from audit.report.text import wording

_WALLTIMES: Final = {
    "0-1h": "up to 1 h",
    "1-4h": "1–4 h",
    "4-12h": "4–12 h",
    "12-24h": "12–24 h",
    ">24h": "over 24 h",
    "unknown": "an unknown time",
}
_MUCH: Final = 1 / 3
"""A part of all waiting from which on a single wait is spoken of."""
_FEW: Final = 5
"""Jobs; of fewer each makes much of all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the three figures at the top."""

    title: str
    big: str
    text: str
    difference: Difference | None = None


def owner(who: Who) -> str:
    """Return the entity of a page, in the middle of a sentence."""
    return f"{who.kind} {wording.name(who.name, 40)}"


def verdict(of: OwnerPart, who: Who) -> str:
    """Return whether an entity was passed over, else how long it waited beside similar jobs."""
    name = wording.first_upper(owner(who))
    if not of.attempts:
        return f"{name}: none of their jobs started and ended in this period."
    if of.passed is not None:
        what = "waits longer" if of.passed.intended else "was passed over"
        if of.passed.used_much:
            what = "waits longer, and used more than its share"
        return f"{name} {what}: {how_passed(of.passed)}."
    if of.ratio.value is None or of.ratio.lower is None:
        return f"{name} cannot be compared with others: {_why_not(of)}."
    if of.longer:
        times = f"{wording.rough(of.ratio)} times as long as similar jobs"
        return f"{name} waited {times}: {wording.rough(of.excess)} more in all."
    if of.shorter:
        return f"{name} waited less than similar jobs: {wording.rough(of.ratio)} times as long."
    return f"{name} did not wait significantly longer than similar jobs."


def notes(of: OwnerPart) -> tuple[str, ...]:
    """Return what to know beside the three figures."""
    return tuple(note for note in (_one_wait(of), _both_true(of)) if note)


def _one_wait(of: OwnerPart) -> str:
    """Whether one wait makes much of all: then no figure speaks of the others."""
    longest = of.longest[0].wait_s if of.longest else 0
    if of.attempts < _FEW or longest < _MUCH * of.waited_s:
        return ""
    share = wording.rough_percent(longest / of.waited_s)
    return (
        f"One wait, of {wording.rough_duration(longest)}, makes {share} of all their waiting: look "
        "at it first."
    )


def nothing(of: OwnerContents) -> str:
    """Return why there is nothing to say of the period."""
    name = wording.first_upper(owner(of.who))
    if of.brief:
        return f"{name}: the log covers too few days of this period so far."
    return f"{name}: none of their jobs ended in this period."


def short(of: OwnerContents) -> str:
    """Return the verdict in a few words, for the subject of a mail."""
    name = owner(of.who)
    if not of.parts:
        return f"{name}: {'too few days covered so far' if of.brief else 'no job ended'}"
    part = of.parts[0]
    change = changed(part.trend, "wait_mean", "time")
    if change is None or change.better is None or part.trend is None:
        return f"{name} {_shortly(part)}"
    side = "shorter" if change.better else "longer"
    return f"{name} {_shortly(part)}; {side} than {part.trend.before}"


def _shortly(of: OwnerPart) -> str:
    if not of.attempts:
        return "had no job that started"
    if of.passed is not None:
        return "waits longer, as fairshare intends" if of.passed.intended else "was passed over"
    if of.ratio.value is None or of.ratio.lower is None:
        return f"waited {wording.rough(of.wait_mean)} a job"
    if of.longer:
        return f"waited {wording.rough(of.ratio)} × as long as similar jobs"
    return f"waited {'less' if of.shorter else 'no longer'} than similar jobs"


def best_way(of: OwnerPart) -> str:
    """Return the best choice of another width or walltime, or that there is none."""
    return way(of.ways[0], of) if of.ways else no_way(of)


def _why_not(of: OwnerPart) -> str:
    if of.everybody is None:
        return "no week of the period is closed yet, or too few others had jobs"
    if of.ratio.value is None:
        return "too few others had similar jobs in the same weeks"
    return f"their jobs came on fewer than {LEAST_DAYS} days"


def answers(of: OwnerPart) -> tuple[Answer, ...]:
    """Return the three figures at the top."""
    return _how_long(of), _beside(of), _waited_for(of)


def _how_long(of: OwnerPart) -> Answer:
    text = f"per job, mean{_within(of.wait_mean)}"
    if of.everybody is not None:
        mean = wording.rough_duration(of.everybody.wait_mean)
        text += f"; all jobs in closed weeks waited {mean}"
    change = changed(of.trend, "wait_mean", "time")
    return Answer("How long?", wording.rough(of.wait_mean), f"{text}.", change)


def _beside(of: OwnerPart) -> Answer:
    title = "Longer than similar jobs?"
    ratio = of.ratio
    if ratio.value is None:
        text = f"Cannot tell: {_why_not(of)}."
        return Answer(title, wording.UNKNOWN, text)
    jobs = wording.plural(ratio.attempts or 0, "job")
    text = f"times as long{_within(ratio)}, {_more(of.excess)} over {jobs}."
    if ratio.lower is None:
        text += " Too few days to be sure."
    elif of.longer:
        text += " Significant."
    else:
        text += " Significantly less." if of.shorter else " Not significantly longer."
    if of.contested.value is not None:
        times = f"{wording.rough(of.contested)} times as long{_within(of.contested)}"
        text += f" Without time behind own jobs, held, under rules or in outages: {times}."
    return Answer(title, wording.rough(ratio), text)


def _more(excess: Figure) -> str:
    """Return the time waited beyond similar jobs in all; or how much less."""
    if (excess.value or 0.0) >= 0:
        return f"{wording.rough(excess)} more in all{_within(excess)},"
    upper, lower = (None if side is None else -side for side in (excess.lower, excess.upper))
    less = replace(excess, value=-(excess.value or 0.0), lower=lower, upper=upper)
    return f"{wording.rough(less)} less in all{_within(less)},"


def _waited_for(of: OwnerPart) -> Answer:
    title = "What did they wait for?"
    if not of.parts:
        text = "Cannot tell: their jobs did not wait in a closed week with enough other users."
        return Answer(title, wording.UNKNOWN, text)
    most = max(of.parts, key=lambda part: part.share)
    text = (
        f"of their waiting passed {most.cause.meanwhile}; "
        f"{wording.rough_percent(most.of_all)} of all waiting did."
    )
    return Answer(title, wording.rough_percent(most.share), text)


def _both_true(of: OwnerPart) -> str:
    """Return how two measures that seem to disagree are both true; nothing if they agree."""
    mean = of.wait_mean.lower
    if of.everybody is None or of.ratio.lower is None or of.longer or mean is None:
        return ""
    if mean <= of.everybody.wait_mean:
        return ""
    return (
        "Their mean wait is longer than that of all jobs, and yet not significantly longer than "
        "that of similar jobs: jobs of this width and walltime wait long here, whoever submits "
        "them."
    )


def used(of: OwnerPart) -> str:
    """Return how much of all usage was theirs, in one sentence; nothing where that is unknown."""
    if of.used_share is None:
        return ""
    share = wording.rough_percent(of.used_share)
    unit = wording.resource(of.pool.resource)
    return f"Their jobs used {share} of the {unit}-hours that all jobs used in closed weeks."


def way(of: Way, part: OwnerPart) -> str:
    """Return which other choice similar jobs waited less with."""
    unit = wording.resource(part.pool.resource)

    def width(label: str) -> str:
        return f"{wording.width(label)} {unit}{'' if label == '1' else 's'}"

    often = f"in {of.shorter} of {wording.plural(of.blocks, 'closed week')}"
    gain = f"waited {wording.rough(of.gain)} less on average than"
    if of.lever == "width":
        narrower = _narrow(of.better) < _narrow(of.mine)
        return (
            f"Jobs of {width(of.better)} {gain} jobs of {width(of.mine)}, {often}; both requested "
            f"{_WALLTIMES[of.walltime]}. "
            + (
                "A narrower job runs longer: weigh both."
                if narrower
                else "Request more only where a job can use it."
            )
        )
    text = (
        f"Jobs that requested {_WALLTIMES[of.better]} {gain} jobs that requested "
        f"{_WALLTIMES[of.mine]}, {often}; both were of {width(of.width)}."
    )
    if of.fitting is not None:
        text += (
            f" {wording.first_upper(wording.one_in(of.fitting))} of their own jobs of this kind "
            "ran no longer."
        )
    return text


def _narrow(label: str) -> float:
    """The least width of a class."""
    lowest = label.partition("-")[0]
    return int(lowest) if lowest.isdecimal() else float("inf")


def no_way(of: OwnerPart) -> str:
    """Return what to say where no choice is significantly better."""
    if not of.tried:
        return (
            "Too few others had jobs of other widths or walltimes in closed weeks: there is "
            "nothing to compare."
        )
    return (
        f"The report compared {wording.plural(of.tried, 'other choice')} of width or walltime; "
        "with none did similar jobs wait significantly less."
    )


def long_title(of: LongWait, part: OwnerPart, zone: str) -> str:
    """Which wait it is."""
    job = "A job" if of.job_id is None else f"Job {wording.name(of.job_id, 40)}"
    unit = wording.resource(part.pool.resource)
    size = "" if of.size is None else f", {wording.plural(of.size, unit)}"
    asked = f" for up to {wording.duration(of.walltime_s)}" if of.walltime_s else ""
    when = wording.instant(of.arrival, zone)
    return f"{wording.duration(of.wait_s)}: {job[0].lower() + job[1:]}{size}{asked}, from {when}"


def explained(of: LongWait, who: Who, part: OwnerPart) -> tuple[str, ...]:
    """Return what it compares with, in sentences."""
    sentences = [_meanwhile(of, who, part)]
    if of.similar_wait_s is not None:
        similar = wording.rough_duration(of.similar_wait_s)
        sentences.append(f"Similar jobs waited {similar} on average in the same weeks.")
    return tuple(sentences)


def _meanwhile(of: LongWait, who: Who, part: OwnerPart) -> str:
    if not of.held:
        return f"Meanwhile no job of this {who.kind} ran."
    unit = wording.resource(part.pool.resource)
    held = wording.two_digits(of.held)
    return f"Meanwhile jobs of this {who.kind} held {held} {unit}{'' if held == '1' else 's'}."


def _within(figure: Figure) -> str:
    said = wording.rough_interval(figure)
    return f" ({said})" if said else ""
