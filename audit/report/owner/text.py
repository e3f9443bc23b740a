"""The page of one user or account in sentences: pure functions of its record."""

from dataclasses import dataclass, replace
from typing import Final

from audit.report.contents import Figure
from audit.report.judgement.levels import Level
from audit.report.judgement.questions import Difference, changed
from audit.report.owner.contents import FEWEST, LongWait, Meanwhile, OwnerContents, OwnerPart, Way
from audit.report.owner.who import Who
from audit.report.text import wording

PARTS: Final = {
    "room": "with room for the job, even after all that waited before it took theirs",
    "shared": "with room for the job that others before it could claim",
    "own": "behind running jobs of the same {kind}",
    "earlier": "behind running jobs of others that had come before it",
    "later": "behind running jobs of others that came after it",
    "down": "while the pool had less than the job asked for",
}
"""What happened in each part of a wait; ``own`` takes the kind of owner."""
_WALLTIMES: Final = {
    "0-1h": "up to 1 h",
    "1-4h": "1–4 h",
    "4-12h": "4–12 h",
    "12-24h": "12–24 h",
    ">24h": "over 24 h",
    "unknown": "an unknown time",
}
_HOURS: Final = {
    "peak": "on workdays from 8 to 17 h",
    "off_peak": "on workdays before 8 or after 17 h",
    "weekend": "at weekends",
}
_NOTABLE: Final = 0.1
"""A part of what was held from which on an equal share is spoken of."""
_HALF: Final = 0.5
_MUCH: Final = 1 / 3
"""A part of all waiting from which on a single wait is spoken of."""
_FEW: Final = 5
"""Jobs; of fewer each makes much of all."""
_LITTLE: Final = 0.001
"""A part of the pool below which nothing is counted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the three figures at the top."""

    title: str
    level: Level
    big: str
    text: str
    difference: Difference | None = None


def owner(who: Who) -> str:
    """Whose page it is, in the middle of a sentence."""
    return f"{who.kind} {wording.name(who.name, 40)}"


def verdict(of: OwnerPart, who: Who) -> str:
    """Whether the owner waits longer than others with jobs alike, in one sentence."""
    name = wording.first_upper(owner(who))
    ratio, excess = of.figure("peer_ratio"), of.figure("excess_wait")
    if not of.attempts:
        return f"{name}: no job of theirs started and ended in this period."
    if ratio.value is None or ratio.lower is None or not of.peers_told:
        return f"{name} cannot be compared with others: {_why_not(of, ratio)}."
    times = f"{wording.rough(ratio)} times as long as others with jobs alike"
    if of.named:
        return f"{name} waits {times}, beyond chance: {wording.rough(excess)} more in all."
    if of.flood:
        return (
            f"{name} waits {times}, {wording.rough(excess)} more in all, but only in floods of "
            "their own: jobs that came when nothing else of theirs was there did not wait longer, "
            "beyond chance."
        )
    if ratio.upper is not None and ratio.upper < 1:
        return (
            f"{name} waits less than others with jobs alike: {wording.rough(ratio)} times as long."
        )
    return f"{name} does not wait longer than others with jobs alike, beyond chance."


def one_wait(of: OwnerPart) -> str:
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
    """What is said where there is nothing to tell of the period."""
    name = wording.first_upper(owner(of.who))
    if of.covered_days is None:
        return f"{name}: no job of theirs ended in this period."
    return (
        f"{name}: the log covers only {wording.plural(of.covered_days, 'day')} of this period so "
        "far, too few to speak of."
    )


def short(of: OwnerContents) -> str:
    """The verdict in a few words, as the subject of a mail takes it."""
    name = owner(of.who)
    if not of.parts:
        if of.covered_days is None:
            return f"{name}: no job ended"
        return f"{name}: only {wording.plural(of.covered_days, 'day')} covered so far"
    part = of.parts[0]
    change = changed(part.trend, "wait_mean", "time")
    if change is None or change.better is None or part.trend is None:
        return f"{name} {_shortly(part)}"
    side = "shorter" if change.better else "longer"
    return f"{name} {_shortly(part)}; {side} than {part.trend.before}"


def _shortly(of: OwnerPart) -> str:
    ratio = of.figure("peer_ratio")
    if not of.attempts:
        return "had no job that started"
    if ratio.value is None or ratio.lower is None or not of.peers_told:
        return f"waits {wording.rough(of.wait_mean)} a job"
    if of.named or of.flood:
        flood = "" if of.named else ", in floods of its own"
        return f"waits {wording.rough(ratio)} × as long as jobs alike{flood}"
    less = ratio.upper is not None and ratio.upper < 1
    return f"waits {'less' if less else 'no longer'} than jobs alike"


def best_way(of: OwnerPart) -> str:
    """What can be done, in a sentence or two: the first way, or that there is none."""
    return way(of.ways[0], of) if of.ways else no_way(of)


def _why_not(of: OwnerPart, ratio: Figure) -> str:
    if ratio.value is None:
        return "nobody else had enough jobs alike at the time"
    if not of.peers_told:
        return f"jobs alike were of fewer than {FEWEST} others, of whom nothing is told"
    return "their jobs came on fewer than ten days"


def answers(of: OwnerPart, who: Who) -> tuple[Answer, ...]:
    """How long, whether longer than others with jobs alike, and what stood in the way."""
    return _how_long(of, who), _beside(of), _in_the_way(of, who)


def _how_long(of: OwnerPart, who: Who) -> Answer:
    text = f"a job in the mean{_within(of.wait_mean)}"
    if of.placed is not None and of.placed.longer.value is not None:
        at = of.placed.longer
        share = Figure("wait_room_share", at.value, at.lower, at.upper)
        if at.lower == at.upper:
            share = Figure("wait_room_share", at.value)
        others = wording.plural(of.placed.others, f"other {who.kind}")
        text += (
            f"; longer than {wording.rough(share)}{_within(share)} of {others} with 30 jobs or more"
        )
    change = changed(of.trend, "wait_mean", "time")
    return Answer("How long?", Level.UNKNOWN, wording.rough(of.wait_mean), f"{text}.", change)


def _beside(of: OwnerPart) -> Answer:
    title = "Longer than others with jobs alike?"
    ratio, excess = of.figure("peer_ratio"), of.figure("excess_wait")
    if ratio.value is None or not of.peers_told:
        text = f"Cannot tell: {_why_not(of, ratio)}."
        return Answer(title, Level.UNKNOWN, wording.UNKNOWN, text)
    text = (
        f"times as long{_within(ratio)}, {_more(excess)} over "
        f"{wording.plural(ratio.attempts or 0, 'job')}."
    )
    if ratio.lower is None:
        return Answer(
            title, Level.UNKNOWN, wording.rough(ratio), f"{text} Too few days to be sure."
        )
    if of.named:
        return Answer(title, Level.FAIL, wording.rough(ratio), f"{text} Chance does not make that.")
    if of.flood:
        text += " Only in floods of their own."
        return Answer(title, Level.WARN, wording.rough(ratio), text)
    if ratio.upper is not None and ratio.upper < 1:
        return Answer(
            title, Level.PASS, wording.rough(ratio), f"{text} That is less, beyond chance."
        )
    return Answer(title, Level.PASS, wording.rough(ratio), f"{text} Chance alone may make that.")


def _more(excess: Figure) -> str:
    """What was waited beyond jobs alike, in all; or less than they."""
    if (excess.value or 0.0) >= 0:
        return f"{wording.rough(excess)} more in all{_within(excess)},"
    upper, lower = (None if side is None else -side for side in (excess.lower, excess.upper))
    less = replace(excess, value=-(excess.value or 0.0), lower=lower, upper=upper)
    return f"{wording.rough(less)} less in all{_within(less)},"


def _in_the_way(of: OwnerPart, who: Who) -> Answer:
    title = "What stood in the way?"
    if not of.parts:
        return Answer(title, Level.UNKNOWN, wording.UNKNOWN, "No wait could be taken apart.")
    most = max(of.parts, key=lambda part: part.share)
    text = f"of their waiting passed {part_of_wait(most.key, who)}"
    if most.of_all is not None:
        text += f"; {wording.rough_percent(most.of_all)} of all waiting did"
    return Answer(title, Level.UNKNOWN, wording.rough_percent(most.share), f"{text}.")


def part_of_wait(key: str, who: Who) -> str:
    """What a part of a wait was."""
    return PARTS[key].format(kind=who.kind)


def both_true(of: OwnerPart) -> str:
    """Where measures seem to disagree, one sentence: how both can be true. Else nothing."""
    ratio, consumed = of.figure("peer_ratio"), of.figure("consumed").value or 0.0
    if not of.peers_told or ratio.value is None or ratio.lower is None:
        return ""
    longer, beyond = of.named or of.flood, of.beyond_equal or 0.0
    got = wording.amount(abs(beyond), of.pool.resource)
    if longer and beyond > _NOTABLE * consumed:
        return (
            f"Their jobs waited longer than jobs alike, and yet held {got} beyond an equal share: "
            "both are true, for who has many jobs at a time has much running while the rest waits, "
            "and one measure counts waiting, the other what was held."
        )
    if not longer and of.placed is not None and (of.placed.longer.lower or 0.0) > _HALF:
        return (
            "Their mean wait is long among all, and yet not beyond jobs alike: both are true, for "
            "jobs of this kind (by width, walltime and time) wait long here, whoever asks."
        )
    if not longer and -beyond > _NOTABLE * consumed:
        return (
            f"Their jobs waited no longer than jobs alike beyond chance, and yet held {got} less "
            "than an equal share: both are true, for an equal share heeds neither width nor "
            "walltime, and jobs alike went short as well."
        )
    return ""


def way(of: Way, part: OwnerPart) -> str:
    """What others with another choice waited less."""
    unit = wording.resource(part.pool.resource)

    def width(label: str) -> str:
        return f"{wording.width(label)} {unit}{'' if label == '1' else 's'}"

    gain = f"{wording.rough(of.gain)} less ({wording.rough_interval(of.gain)}) in the median than"
    if of.lever == "width":
        narrower = _narrow(of.better) < _narrow(of.mine)
        return (
            f"Jobs of {width(of.better)} waited {gain} those of {width(of.mine)}, of those that "
            f"asked for {_WALLTIMES[of.walltime]}. "
            + (
                "A narrower job runs longer: weigh both."
                if narrower
                else "Ask for more only where a job can use it."
            )
        )
    if of.lever == "walltime":
        text = (
            f"Jobs that asked for {_WALLTIMES[of.better]} waited {gain} those that asked for "
            f"{_WALLTIMES[of.mine]}, of those of {width(of.width)}."
        )
        if of.fitting is not None:
            text += (
                f" {wording.first_upper(wording.one_in(of.fitting))} of their own jobs of this "
                "kind ran no longer."
            )
        return text
    return (
        f"Jobs that came {_HOURS[of.better]} waited {gain} those that came {_HOURS[of.mine]}, of "
        f"those of {width(of.width)} that asked for {_WALLTIMES[of.walltime]}."
    )


def _narrow(label: str) -> float:
    """The least width of a class."""
    lowest = label.partition("-")[0]
    return int(lowest) if lowest.isdecimal() else float("inf")


def no_way(of: OwnerPart) -> str:
    """What is said where no choice gains beyond chance."""
    if not of.tried:
        return (
            "Too few others had jobs alike that differ in width, walltime or hour: nothing to say."
        )
    tried = wording.plural(of.tried, "other choice")
    return (
        f"{wording.first_upper(tried)} of width, walltime or hour of arrival "
        f"{'was' if of.tried == 1 else 'were'} compared; with none did others wait less, beyond "
        "chance."
    )


def long_title(of: LongWait, part: OwnerPart, zone: str) -> str:
    """Which wait it is."""
    job = "A job" if of.job_id is None else f"Job {wording.name(of.job_id, 40)}"
    unit = wording.resource(part.pool.resource)
    size = "" if of.size is None else f", {wording.plural(of.size, unit)}"
    asked = f" for up to {wording.duration(of.walltime_s)}" if of.walltime_s else ""
    when = wording.instant(of.arrival, zone)
    return f"{wording.duration(of.wait_s)}: {job[0].lower() + job[1:]}{size}{asked}, from {when}"


def explained(of: LongWait, who: Who) -> tuple[str, ...]:
    """Why it waited, and what ran meanwhile, in sentences."""
    told = [_apart(of, who), _meanwhile(of.meanwhile, who)]
    if of.peer_wait_s is not None:
        told.append(
            f"Jobs alike, of {FEWEST} other users or more, waited "
            f"{wording.rough_duration(of.peer_wait_s)} in the mean at about that time."
        )
    if of.overtaken_s:
        cost = wording.rough_duration(abs(of.overtaken_s))
        told.append(
            f"By the model of the scheduler, those that came later cost it {cost}."
            if of.overtaken_s > 0
            else f"By the model of the scheduler, those that came later let it start {cost} sooner."
        )
    return tuple(text for text in told if text)


def _apart(of: LongWait, who: Who) -> str:
    if not of.parts:
        return "This wait could not be taken apart."
    shares = sorted(((s / of.wait_s, key) for key, s in of.parts.items()), reverse=True)
    told = [
        f"{wording.rough_percent(share)} {part_of_wait(key, who)}"
        for share, key in shares
        if share >= 0.01
    ]
    return f"Of this wait passed {'; '.join(told)}."


def _meanwhile(of: Meanwhile, who: Who) -> str:
    own = f"jobs of this {who.kind} held {wording.rough_percent(of.own)} of the pool in the mean"
    if 0 < of.own < _LITTLE:
        own = f"jobs of this {who.kind} held next to nothing of the pool"
    elif not of.own:
        own = f"no job of this {who.kind} ran"
    if of.others is None or of.users is None:
        return f"Meanwhile {own}; others who ran were fewer than {FEWEST}, of whom nothing is told."
    share = wording.rough_percent(of.others)
    held = share if of.own >= _LITTLE else f"held {share} of the pool in the mean"
    text = f"Meanwhile {own}, and those of {wording.plural(of.users, 'other user')} {held}"
    if of.earlier is not None and of.later is not None:
        text += (
            f" ({wording.rough_percent(of.earlier)} by jobs that had come before, "
            f"{wording.rough_percent(of.later)} by jobs that came after)"
        )
    return f"{text}."


def _within(figure: Figure) -> str:
    said = wording.rough_interval(figure)
    return f" ({said})" if said else ""
