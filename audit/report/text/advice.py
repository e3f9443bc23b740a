"""What a report advises, in words.

Where the model does not decide as the site did (SPEC §10), a change is a thing to try, and is
worded as one.
"""

from typing import Final

from audit.report.record.pool import Advice, Advised, Figure, Loser
from audit.report.text import wording

_TITLE: Final = 160
_NAMED: Final = 2
"""So many classes that would lose are named; of others their number."""


def doubt(advised: Advised) -> str:
    """What to know before believing any of it; nothing where the model decides as the site did."""
    sentences = [_never(advised)]
    if advised.tried and not advised.believed:
        known = "How well the model fits this log is not known"
        if advised.agreement is not None:
            agreement = wording.percent(advised.agreement)
            known = f"Of the jobs that waited, the model started {agreement} when the site did"
        sentences.append(f"{known}: take these as things to try.")
    return " ".join(filter(None, sentences))


def _never(advised: Advised) -> str:
    """Which changes were dropped because jobs would never start; nothing where none was."""
    if not advised.never_start:
        return ""
    title, count = max(advised.never_start, key=lambda one: one[1])
    jobs = wording.plural(count, "job")
    more = len(advised.never_start) - 1
    others = f", and others under {wording.plural(more, 'other change')}" if more else ""
    worst = wording.name(f"{title[:1].lower()}{title[1:]}", _TITLE)
    return f"{jobs} would never start if you {worst}{others}: not advised."


def nothing(advised: Advised) -> str:
    """That no change is supported, and how many were tried; nothing where one is."""
    if advised.changes:
        return ""
    if not advised.tried and advised.not_tried:
        return f"No change was tried: the budget allows none of {len(advised.not_tried)}."
    if not advised.tried:
        return "No change was tried: too few jobs waited, or no advice was asked for."
    tried = wording.plural(len(advised.tried), "change")
    if not advised.reproduced:
        missed = "a replay of today's rules misses the observed mean wait by more than a quarter"
        return f"No change is advised: {missed}."
    none = f"No change supported: of {tried} replayed on this log, none has a significant benefit."
    return " ".join(filter(None, (_never(advised), none)))


def sentences(advice: Advice, *, believed: bool) -> str:
    """The advice in two sentences: what to change, and who would wait how much less or more."""
    title = wording.name(advice.title, _TITLE)
    if not believed:
        title = f"Try this: {title[:1].lower()}{title[1:]}"
    whom = "jobs" if advice.width is None else jobs(advice, advice.width)
    whom = wording.first_upper(whom) if believed else f"In replays, {whom}"
    value, between = rounded(advice.gain)
    told = [f"{whom} wait {value} less{between and f' ({between})'}"]
    for loser in advice.losers[:_NAMED]:
        perhaps = "" if loser.certain else "perhaps "
        told.append(f"{perhaps}{_losing(advice, loser)} {rounded(loser.wait)[0]} more")
    more = len(advice.losers) - _NAMED
    if more > 0:
        told.append(f"{more} other class{'es' if more > 1 else ''} longer too")
    return f"{title}. {', '.join(told)}.{_error(advice)}"


def _error(advice: Advice) -> str:
    """How far the replay of today is from the observed wait; nothing where that is not known."""
    if not advice.observed_s or advice.today_s is None:
        return ""
    error = advice.today_s / advice.observed_s - 1
    size = f"{wording.rough_percent(abs(error))} {'longer' if error > 0 else 'shorter'}"
    if abs(error) < 0.005:
        size = "equal"
    observed = wording.rough_duration(advice.observed_s)
    return f" (Observed: {observed}; a replay of today's rules gives {size} waits.)"


def _losing(advice: Advice, loser: Loser) -> str:
    """The jobs of a class, such as ``1-CPU jobs``, ``jobs that ask for 1–4 h wait``."""
    if loser.dimension == "width_class":
        return jobs(advice, loser.label)
    return _ASKING.get(loser.label, "jobs that ask for no known time wait")


_ASKING: Final = {
    "0-1h": "jobs that ask for up to 1 h wait",
    "1-4h": "jobs that ask for 1–4 h wait",
    "4-12h": "jobs that ask for 4–12 h wait",
    "12-24h": "jobs that ask for 12–24 h wait",
    ">24h": "jobs that ask for over 24 h wait",
}


def jobs(advice: Advice, width: str) -> str:
    """The jobs of a width class, such as ``65–128-CPU jobs``."""
    label, kind = wording.width(width), wording.resource(advice.resource)
    if label.startswith("over"):
        return f"jobs of {label} {wording.resources(advice.resource)}"
    return f"{label}-{kind} jobs"


def rounded(change: Figure) -> tuple[str, str]:
    """A length of time to two digits, and its interval in the same unit: ``13 h``, ``4–16 h``.

    The interval is empty where there is none.
    """
    return wording.rough(change), wording.rough_interval(change)
