"""Findings about limits and closed hours."""

from collections.abc import Iterator
from typing import Final

from audit.report.contents import Contents
from audit.report.finding import Kind, Subject
from audit.report.place import Place
from audit.report.sections.rules.record import BoundRules
from audit.report.sections.rules.text import TELLING, rule_sentence


def rules(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the limits and windows that alone kept jobs waiting."""
    if rule_sentence(place, contents.settings.assumed):
        figure = place.pool.figure(measure)
        words = {"rule": place.pool[BoundRules].rows[0].name}
        effect, sure = figure.value or 0.0, figure.lower or figure.value or 0.0
        yield Subject("pool", None, words, place.pool.figure, effect, sure, 1.0)


KINDS: Final = (
    Kind(
        rules,
        "cause_rule_free_share",
        "limits and closed hours",
        "why",
        "For {cause_rule_free_share} of all waiting time enough was free, and only limits or "
        "closed hours kept the job from starting.",
        "Decide whether this rule should keep jobs waiting while capacity is free: {rule}.",
        TELLING,
    ),
)
