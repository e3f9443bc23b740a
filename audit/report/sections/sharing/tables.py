"""The rows of tables about shares."""

from audit.registry.requested import BEYONDS
from audit.report import wording
from audit.report.figures import SMALL_SAMPLE
from audit.report.pool import PoolPart
from audit.report.sections.who.record import Entities, Entity
from audit.report.sections.who.tables import most, net, with_fair_starts


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
