"""The advice of a report in words.

No change is replayed if the policy does not agree with the log (SPEC §11).
"""

from dataclasses import replace
from typing import Final

from audit.metrics.attempts.fidelity import KNOWN
from audit.report import part, wording
from audit.report.sections.advice.record import Advice, AdvicePart, Advised

_TITLE: Final = 160
_NAMED: Final = 2
"""Largest number of losing classes that are named; the others are counted."""
_SAME: Final = 0.005


def never(advised: Advised) -> str:
    """Return the changes under which jobs would never start; empty if there are none."""
    if not advised.never_start:
        return ""
    title, count = max(advised.never_start, key=lambda one: one[1])
    more = len(advised.never_start) - 1
    others = ""
    if more:
        others = f", and {wording.plural(more, 'other change')} would also leave such jobs"
    worst = wording.name(wording.first_lower(title), _TITLE)
    return f"{wording.plural(count, 'job')} would never start if you {worst}{others}: not advised."


def nothing(advised: Advised) -> str:
    """Return why no change is advised; empty if one is."""
    if advised.changes:
        return ""
    if advised.part:
        return part.ADVICE
    if not advised.agrees:
        known = "how far the replayed policy agrees with the observed starts is not known"
        if advised.agreement is not None:
            agreement = wording.percent(advised.agreement)
            known = f"the replayed policy agrees with {agreement} of the observed starts"
        return f"No change was tried: {known}, and {wording.percent(KNOWN)} are required."
    if not advised.tried:
        why = "too few jobs waited, or the audit was run without advice"
        if advised.not_tried:
            why = f"the budget was too small for {wording.plural(len(advised.not_tried), 'change')}"
        return f"No change was tried: {why}."
    if not advised.reproduced:
        missed = "a replay of today's rules misses the observed mean wait by more than a quarter"
        return f"No change is advised: {missed}."
    tried = wording.plural(len(advised.tried), "change")
    none = f"No change is advised: replays of {tried} on this log show no significant benefit."
    return " ".join(filter(None, (never(advised), none)))


def sentences(advice: Advice) -> str:
    """Return the change, and how much less or more the affected jobs would wait."""
    title = wording.name(advice.title, _TITLE)
    affected = "jobs" if advice.width is None else _jobs(advice, advice.width)
    affected = wording.first_upper(affected)
    within = wording.rough_interval(advice.gain)
    effects = [f"{affected} wait {wording.rough(advice.gain)} less{within and f' ({within})'}"]
    for loser in advice.losers[:_NAMED]:
        jobs, requested = "jobs without a known walltime wait", WALLTIMES.get(loser.label)
        if loser.dimension == "width_class":
            jobs = _jobs(advice, loser.label)
        elif requested:
            jobs = f"jobs that request {requested} wait"
        perhaps = "" if loser.certain else "perhaps "
        effects.append(f"{perhaps}{jobs} {wording.rough(loser.wait)} more")
    more = len(advice.losers) - _NAMED
    if more > 0:
        effects.append(f"{more} other class{'es' if more > 1 else ''} also longer")
    users = [_of_user(user) for user in advice.by_user]
    named = f" By user: {', '.join(users)}." if users else ""
    cautions = [words for option, words in _CAUTIONS.items() if f"--{option}" in advice.change]
    return f"{title}. {', '.join(effects)}.{named}{''.join(cautions)}{_error(advice)}"


def _of_user(user: AdvicePart) -> str:
    change = user.wait.value or 0.0
    size, more = replace(user.wait, value=abs(change)), "less" if change < 0 else "more"
    return f"{wording.name(user.label)} {wording.rough(size)} {more}"


_CAUTIONS: Final = {
    "walltimes": " Users do not know run times in advance, so the real gain is smaller.",
    "per-node": " This assumes that jobs can use more nodes, and that they then run as long.",
}
"""Facts that a replay cannot know, by option of the change."""


def _error(advice: Advice) -> str:
    """Return the error of the replay of today's rules; empty if it is not known."""
    if not advice.observed_s or advice.today_s is None:
        return ""
    error = advice.today_s / advice.observed_s - 1
    size = f"{wording.rough_percent(abs(error))} {'longer' if error > 0 else 'shorter'}"
    observed = wording.rough_duration(advice.observed_s)
    replayed = "the same" if abs(error) < _SAME else size
    return f" (Observed mean wait: {observed}; in a replay of today's rules: {replayed}.)"


WALLTIMES: Final = {
    "0-1h": "up to 1 h",
    "1-4h": "1–4 h",
    "4-12h": "4–12 h",
    "12-24h": "12–24 h",
    ">24h": "over 24 h",
}
"""Classes of walltimes in words."""


def _jobs(advice: Advice, width: str) -> str:
    """Return the jobs of a width class, such as ``65–128-CPU jobs``."""
    label = wording.width(width)
    if label.startswith("over"):
        return f"jobs of {label} {wording.resources(advice.resource)}"
    return f"{label}-{wording.resource(advice.resource)} jobs"
