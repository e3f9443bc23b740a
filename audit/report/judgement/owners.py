"""What is found about users and accounts, beside others with jobs alike."""

from collections.abc import Iterator
from typing import Final

from audit.report.judgement.finding import Cause, Finding
from audit.report.judgement.place import Place
from audit.report.record.page import Contents, Who
from audit.report.record.pool import Breakdown, Entities, Entity, PoolPart
from audit.report.text import wording

_PARTS: Final = {
    "room": "with room for its jobs",
    "shared": "with room that others could claim first",
    "own": "behind jobs of its own",
    "earlier": "behind those who had come before",
    "later": "behind those who came later",
    "down": "while the machine was too small",
}
"""What a part of a wait was, said of one user or account."""


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


def of_owners(place: Place) -> Iterator[Finding]:
    """Who waits longer than others with jobs alike, beyond chance; and who does so by floods."""
    of = compared(place.pool)
    for part in of.longer:
        yield _longer(place, of, part)
    if of.floods:
        yield _floods(place, of)


def entity(of: Entities, name: str) -> Entity | None:
    """What is known of the user or account of that name."""
    return next((row for row in of.rows if row.name == name), None)


def what_happened(place: Place, of: Entities, part: Breakdown) -> str:
    """In what most of its waiting passed; and how it can wait long and still have got much."""
    shares = {name: part.figure(f"wait_{name}_share").value or 0.0 for name in _PARTS}
    name, share = max(shares.items(), key=lambda item: item[1])
    told = f"{wording.rough_percent(share)} of its waiting was {_PARTS[name]}" if share else ""
    row = entity(of, part.label)
    if row is None or not row.re_unfairness_net or row.re_unfairness_net >= 0:
        return told
    got = wording.amount(-row.re_unfairness_net, place.pool.resource)
    # both can be true: peers compare waiting with others' waiting, equal sharing what was held
    beyond = f"while it ran it had {got} beyond an equal share: many jobs at a time"
    return f"{told}; {beyond}" if told else beyond


def _longer(place: Place, of: Entities, part: Breakdown) -> Finding:
    ratio, excess = part.figure("peer_ratio"), part.figure("excess_wait")
    text = (
        f"{_subject(of, part)} waits {wording.rough(ratio)} times as long as others with jobs "
        f"alike ({wording.rough_interval(ratio)}), {wording.rough(excess)} more in all."
    )
    action = f"Ask why: limits, priorities or holds of this {of.kind}."
    return _finding(place, of, part, Cause.UNEQUAL_WAITS, text, action)


def _floods(place: Place, of: Entities) -> Finding:
    most, others = of.floods[0], len(of.floods) - 1
    text = (
        f"{_subject(of, most)} waits {wording.rough(most.figure('peer_ratio'))} times as long as "
        f"others, {wording.rough(most.figure('excess_wait'))} in all, but only in floods of its own"
    )
    if others:
        text += f"; so {'does' if others == 1 else 'do'} {wording.plural(others, 'other')}"
    action = f"Talk to this {of.kind} about spreading submissions, or cap what it has running."
    return _finding(place, of, most, Cause.OWN_FLOOD, f"{text}.", action)


def _subject(of: Entities, part: Breakdown) -> str:
    return f"{wording.first_upper(of.kind)} {wording.name(part.label, 30)}"


def _finding(
    place: Place, of: Entities, part: Breakdown, cause: Cause, text: str, action: str
) -> Finding:
    ratio = part.figure("peer_ratio")
    return Finding(
        subject=_subject(of, part),
        about=of.kind,
        name=part.label,
        measure="peer_ratio",
        figure=ratio,
        effect=_beyond(ratio.value),
        sure=_beyond(ratio.lower),
        part=_part(place, of, part.label),
        cause=cause,
        action=action,
        anchor=place.anchor("peers"),
        sql=place.owners_sql(of.kind, "peer_ratio"),
        text=place.text(text),
    )


def _beyond(ratio: float | None) -> float:
    """The part of its waiting that a ratio to peers puts beyond theirs."""
    return 1 - 1 / ratio if ratio and ratio > 0 else 0.0


def _part(place: Place, of: Entities, name: str) -> float:
    row = entity(of, name)
    whole = sum(each.tusa for each in of.rows)
    return row.tusa / whole if row is not None and whole else 0.0
