"""The limits and windows that kept jobs waiting: read, in a sentence, as a finding."""

from collections.abc import Container, Iterator
from typing import Final

from audit.report import wording
from audit.report.contents import Contents
from audit.report.figures import records
from audit.report.finding import Kind, Place, Subject
from audit.report.sections.machine import section as belief
from audit.report.sections.rules.record import BoundRule, BoundRules
from audit.report.source import ReportSection, SectionSource


def read(source: SectionSource) -> dict[str, BoundRules]:
    """Return the limits and windows that kept jobs of each pool waiting."""
    return {
        pool: BoundRules(records(BoundRule, rows))
        for pool, rows in source.by_pool("rules/bound").items()
    }


TELLING: Final = 0.05
"""Least share of all waiting for which a rule is named."""
_ALONE: Final = 0.95
"""If one rule causes this part of the waiting under rules, it alone is named."""


def rule_sentence(place: Place, assumed: Container[str]) -> str:
    """Return how much waiting rules alone cause, and which rule most; empty if it is little.

    ``assumed`` are the pools with rules that were inferred from the log.
    """
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
        f"For {wording.rough(free)} of all waiting time{wording.rough_within(free)} enough was "
        f"free, and only {which} kept the job from starting{more}."
    )
    busy = belief.busy(pool)
    return f"{text} The pool was {busy}." if busy else text


def bound_rules(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the limits and windows that alone kept jobs waiting."""
    if rule_sentence(place, contents.settings.assumed):
        figure = place.pool.figure(measure)
        words = {"rule": place.pool[BoundRules].rows[0].name}
        effect, sure = figure.value or 0.0, figure.lower or figure.value or 0.0
        yield Subject("pool", None, words, place.pool.figure, effect, sure, 1.0)


KINDS: Final = (
    Kind(
        bound_rules,
        "cause_rule_free_share",
        "limits and closed hours",
        "why",
        "For {cause_rule_free_share} of all waiting time enough was free, and only limits or "
        "closed hours kept the job from starting.",
        "Decide whether this rule should keep jobs waiting while capacity is free: {rule}.",
        TELLING,
    ),
)


SECTION: Final = ReportSection(
    "rules", BoundRules, read, in_part=lambda _: BoundRules(), findings=KINDS
)
