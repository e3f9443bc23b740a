"""What is found about users and accounts, beside others with jobs alike."""

from audit.registry.causes import CAUSES
from audit.report.judgement.place import Place
from audit.report.record.page import Contents, Who
from audit.report.record.pool import Breakdown, Entities, Entity, PoolPart
from audit.report.text import wording


def compared(pool: PoolPart) -> Entities:
    """Users; accounts where the log names no user who can be compared with others."""
    return pool.users if pool.users.peered else pool.accounts


def named(contents: Contents) -> tuple[Who, ...]:
    """Whom the report says to wait longer than others, beyond chance or in floods of their own.

    As many of each pool as its table shows.
    """
    rows = contents.options.rows
    found = [
        Who(of.kind, part.label)
        for of in map(compared, contents.pools)
        for part in (*of.longer, *of.floods)[:rows]
    ]
    return tuple(dict.fromkeys(found))


def entity(of: Entities, name: str) -> Entity | None:
    """What is known of the user or account of that name."""
    return next((row for row in of.rows if row.name == name), None)


def what_happened(place: Place, of: Entities, part: Breakdown) -> str:
    """In what most of its waiting passed; and how it can wait long and still have got much."""
    shares = [(part.figure(cause.share).value or 0.0, cause) for cause in CAUSES]
    share, cause = max(shares, key=lambda one: one[0])
    told = f"{wording.rough_percent(share)} of its waiting was {cause.verdict}" if share else ""
    row = entity(of, part.label)
    if row is None or not row.re_unfairness_net or row.re_unfairness_net >= 0:
        return told
    got = wording.amount(-row.re_unfairness_net, place.pool.resource)
    # both can be true: peers compare waiting with others' waiting, equal sharing what was held
    beyond = f"while it ran it had {got} beyond an equal share: many jobs at a time"
    return f"{told}; {beyond}" if told else beyond


def subject_of(kind: str, name: str | None) -> str:
    """A user or account at the start of a sentence."""
    return f"{wording.first_upper(kind)} {wording.name(name, 30)}"
