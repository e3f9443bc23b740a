"""The verdict, straight from the definition: the rows of its table, tried from top to bottom."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple


class Entity(NamedTuple):
    """A user or account with passed time."""

    kind: str
    passed: int
    named: bool | None
    cause: bool


class Figures(NamedTuple):
    """Whole numbers of seconds and jobs."""

    ended: int
    placed: int
    users: int
    waited: int
    unknown: int
    not_judged: int
    occupied: int
    waits: int
    long: int
    long_class: bool
    holds: bool
    entities: Sequence[Entity]


def verdict(
    of: Figures,
    limits: Mapping[str, Any],
    before: Sequence[str],
    part: bool,
    days: bool,
    refused: bool,
) -> str:
    """The word."""

    def share(amount: int) -> Fraction:
        return Fraction(amount, of.waited) if of.waited else Fraction(-1)

    def reached(name: str, amount: int) -> bool:
        bound = Fraction(str(limits[name]))
        if name in before:
            bound *= Fraction(str(limits["held"]))
        return share(amount) >= bound

    def carried(kind: str, named: bool | None) -> int:
        each = Fraction(str(limits["each"]))
        return sum(
            one.passed
            for one in of.entities
            if one.kind == kind
            and one.named == named
            and not one.cause
            and one.passed > 0
            and share(one.passed) >= each
        )

    worse = max(carried("user", True), carried("account", True))
    untested = carried("user", None)
    few = of.long < limits["few_jobs"] or of.long < Fraction(str(limits["few_share"])) * of.waits
    small = of.waited <= Fraction(str(limits["little_waiting"])) * of.occupied
    rows = [
        (of.ended < limits["few_jobs"], "cannot tell"),
        (of.placed * 2 < of.ended, "cannot tell"),
        (of.waited > 0 and of.unknown * 2 >= of.waited, "cannot tell"),
        (of.users == 1, "cannot tell"),
        (part or days or refused, "cannot tell"),
        (few and not of.long_class and small, "quiet"),
        (reached("not_judged", of.not_judged), "cannot tell"),
        (reached("treated_worse", worse) and of.holds, "unfair"),
        (reached("treated_worse", worse), "mixed"),
        (reached("not_tested", untested), "cannot tell"),
        (True, "fair"),
    ]
    return next(word for holds, word in rows if holds)
