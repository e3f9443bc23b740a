"""The rows of tables about shares, and findings about unequal ones."""

from collections.abc import Iterator
from typing import Final

from audit.registry.requested import BEYONDS, MATERIAL
from audit.report import wording
from audit.report.contents import Contents
from audit.report.figures import SMALL_SAMPLE
from audit.report.finding import Kind, Subject, whole, worst_width
from audit.report.place import SHORTFALL, Place
from audit.report.pool import PoolPart
from audit.report.sections.who.entities import most, net, with_fair_starts
from audit.report.sections.who.record import Entities, Entity


def beyond(reason: str) -> str:
    """Return why jobs were allocated more CPUs than they requested."""
    return next(one.words for one in BEYONDS if one.key == reason)


def contrary(pool: PoolPart) -> str:
    """Return a sentence on users whom two measures rate differently, if there are any."""
    judged = [
        (row.re_unfairness_net, net(row))
        for row in with_fair_starts(pool.users)
        if row.re_unfairness_net is not None and row.attempts >= SMALL_SAMPLE
    ]
    number = sum(short * late < 0 for short, late in judged)
    if not number:
        return ""
    return (
        f"Of {wording.plural(len(judged), 'user')} with at least {SMALL_SAMPLE} jobs, "
        f"{wording.count(number)} received more than an equal share but started later than fair, "
        "or the reverse. Both can be true: resource equality compares amounts of resources, fair "
        "start times compare starts."
    )


def worst(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Return those with the largest net shortfall, largest first."""
    return most(of.named, lambda row: row.re_unfairness_net or 0.0, rows)


def best(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Return those with the largest net surplus, largest first."""
    return most(of.named, lambda row: -(row.re_unfairness_net or 0.0), rows)


def hidden(of: Entities, rows: int) -> int:
    """Return the number of named entities that :func:`worst` and :func:`best` leave out."""
    return len(of.named) - len(worst(of, rows)) - len(best(of, rows))


def beyond_requests(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the pool as a whole, with the main reason for allocating more than was requested."""
    pool = place.pool
    main = max(BEYONDS, key=lambda one: pool.figure(one.share).value or 0.0)
    for subject in whole(contents, place, measure):
        yield subject._replace(words={"reason": main.words, "remedy": main.action})


KINDS: Final = (
    Kind(
        whole,
        SHORTFALL,
        "unequal shares of the machine",
        "sharing",
        "{re_treated_unfairly_share:one in} jobs received less than an equal share; the shortfall "
        "is {re_unfairness_share} of all consumption ({re_unfairness_share:within}).",
        "Check which widths and users have the largest shortfall.",
    ),
    Kind(
        worst_width,
        SHORTFALL,
        "unequal shares of the machine",
        "sharing",
        "{subject} have the largest shortfall: {re_unfairness_share} of what they consumed "
        "({re_unfairness_share:within}).",
        "Check why these jobs waited. Compare other rules with fairaudit whatif before a change.",
    ),
    Kind(
        beyond_requests,
        "beyond_request_share",
        "allocated beyond requests",
        "sharing",
        "{beyond_request_share} of all CPU time ({beyond_request_share:within}) was allocated "
        "beyond the CPUs that jobs requested, mostly {reason}.",
        "{remedy}",
        MATERIAL,
    ),
)
