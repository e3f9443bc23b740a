"""How much waiting rules alone cause, in a sentence."""

from collections.abc import Mapping
from typing import Final

from audit.report import wording
from audit.report.contents import Assumed
from audit.report.figures import Figure
from audit.report.place import Place
from audit.report.sections.machine import text as belief
from audit.report.sections.rules.record import BoundRules

TELLING: Final = 0.05
"""Least share of all waiting for which a rule is named."""
_ALONE: Final = 0.95
"""If one rule causes this part of the waiting under rules, it alone is named."""


def rule_sentence(place: Place, assumed: Mapping[str, Assumed]) -> str:
    """Return how much waiting rules alone cause, and which rule most; empty if it is little."""
    pool = place.pool
    free = pool.figure("cause_rule_free_share")
    total = sum(rule.free_s for rule in pool[BoundRules].rows)
    if not total or not free.value or free.value < TELLING:
        return ""
    first = pool[BoundRules].rows[0]
    source = "inferred from the log" if pool.name in assumed else "configured"
    which, more = f"the {first.name} ({source})", ""
    if first.free_s / total < _ALONE:
        which, more = "limits or closed hours", f": mostly {which}"
    text = (
        f"For {wording.rough(free)} of all waiting time{within(free)} enough was free, and only "
        f"{which} kept the job from starting{more}."
    )
    busy = belief.busy(pool)
    return f"{text} The pool was {busy}." if busy else text


def within(figure: Figure) -> str:
    """Return the interval of a figure in brackets; empty if it has none."""
    interval = wording.rough_interval(figure)
    return f" ({interval})" if interval else ""
