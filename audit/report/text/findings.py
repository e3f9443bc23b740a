"""What a report found, in sentences that a site's manager understands.

Pure functions of :class:`Contents`. The same sentences head the page and are printed by the
command line. They claim no more than the numbers carry: an interval is said where there is one,
a comparison is made only where intervals do not overlap, and what a figure leaves out is said
beside it. Here is what is found of usage and penalties; ``pool_findings`` has the rest.
"""

from dataclasses import dataclass

from audit.report.contents import Contents
from audit.report.text import wording
from audit.report.text.pool_findings import WITHOUT_ARRIVALS, of_pool
from audit.report.usage_contents import (
    DecayedUsage,
    OffTarget,
    PenaltyChoice,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence or two on one subject."""

    subject: str
    text: str


def findings(contents: Contents) -> tuple[Finding, ...]:
    """The main findings; none where the period holds nothing to measure."""
    several = len(contents.pools) > 1
    of_pools = [
        Finding(subject, f"Pool {wording.name(pool.name)}: {text}" if several else text)
        for pool in contents.pools
        for subject, text in of_pool(pool)
        if pool.attempts or (contents.undated and subject in WITHOUT_ARRIVALS)
    ]
    if contents.empty:
        return ()
    of_usage = [
        Finding("Usage and targets", text) for of in contents.usages if (text := _usage(of))
    ]
    if contents.choice is not None and (text := _choice(contents.choice)):
        of_usage.append(Finding("Choice of penalty", text))
    return (*of_pools, *of_usage)


def _usage(of: DecayedUsage) -> str:
    kind = of.accounts if of.accounts.targets else of.users
    if not kind.targets:
        return ""
    said = [
        f"{kind.kind} {wording.name(row.name)} was furthest {side} its "
        f"target, with {wording.percent(row.mean)} of all usage against "
        f"{wording.percent(row.share)}"
        for row, side in ((kind.above, "above"), (kind.below, "below"))
        if row is not None
    ]
    if not said:
        return ""
    targets = wording.plural(kind.targets, kind.kind)
    over = "its days from the first attempt on" if of.from_first else "the period"
    text = f"Of {targets} with a target, in the mean over {over}, {'; '.join(said)}."
    if off := next(
        (row for of_kind in of.off if of_kind.kind == kind.kind for row in of_kind.rows), None
    ):
        text += f" {_off(kind.kind, off)}"
    return (
        f"{text} To use less than one's target is not to be treated unfairly: one may have asked "
        "for less."
        if kind.below
        else text
    )


def _off(kind: str, row: OffTarget) -> str:
    """On how many days one was off its target."""
    sides = [
        f"{side} it on {wording.count(number)}"
        for side, number in (("above", row.above), ("below", row.below))
        if number
    ]
    return (
        f"{kind.capitalize()} {wording.name(row.name)} was off its target on most days: "
        f"{' and '.join(sides)} of {wording.plural(row.days, 'day')}."
    )


def _choice(of: PenaltyChoice) -> str:
    """Who is charged more, and who less, when more than the first penalty's resources count."""
    kind = of.moving
    if not kind.rows:
        return (
            f"It makes no difference whether usage is charged by {' or '.join(of.penalties)}: "
            "everybody has the same part of it."
        )
    most = max(range(len(of.penalties)), key=lambda k: kind.moved[k])
    row = kind.rows[0]
    return (
        f"Charged by {of.penalties[most]} instead of {of.penalties[0]}, "
        f"{wording.percent(kind.moved[most])} of all usage would count to other {kind.kind}s. "
        f"Most changes for {kind.kind} {wording.name(row.name)}: "
        f"{wording.percent(row.parts[row.furthest])} of all usage by "
        f"{of.penalties[row.furthest]}, {wording.percent(row.parts[0])} by {of.penalties[0]}."
    )
