"""Texts about users and accounts that are not passed over, or cannot be tested (SPEC §11)."""

from collections import Counter
from typing import Final

from audit.registry.passed import PassedWhy
from audit.report import wording
from audit.report.pool import PoolPart
from audit.report.sections.passed_over.record import OrderTest, PassedOver

MOST_REASONS: Final = 3
"""Number of reasons that a text lists."""


def passed_notes(pool: PoolPart) -> tuple[str, ...]:
    """Return sentences: why others are not named, or not tested, and the order in the log."""
    return (*filter(None, (not_named(pool), untested(pool))), *used_more(pool), *ahead(pool))


def cannot_test(pool: PoolPart) -> str:
    """Return why too few could be tested, as a clause."""
    reasons = Counter({why: n for why, n in pool.passed_why.items() if not why.tested})
    if not reasons:
        return "the log does not name several users"
    return _listed(reasons)


def untested(pool: PoolPart) -> str:
    """Return how many could not be tested, and why; empty: all could."""
    reasons = Counter({why: n for why, n in pool.passed_why.items() if not why.tested})
    if not reasons:
        return ""
    return f"{wording.count(reasons.total())} could not be tested: {_listed(reasons)}."


def not_named(pool: PoolPart) -> str:
    """Return why entities are not named that lost significantly more pairs; empty: there are none.

    ``used_more`` returns those of whom the order by usage is known.
    """
    apart = (PassedWhy.USUAL, PassedWhy.USAGE)
    reasons = Counter(
        {why: n for why, n in pool.passed_why.items() if why.tested and why not in apart}
    )
    if not reasons:
        return ""
    others = f"{wording.count(reasons.total())} more {'is' if reasons.total() == 1 else 'are'}"
    return (
        f"{others} not named, although later jobs started first significantly more often: "
        f"{_listed(reasons)}."
    )


def _listed(reasons: Counter[PassedWhy]) -> str:
    """Return the most frequent reasons: ``a (of 9); b (of 3)``."""
    if len(reasons) == 1:
        (why,) = reasons
        return why.phrase
    parts = [
        f"{why.phrase} (of {wording.count(n)})" for why, n in reasons.most_common(MOST_REASONS)
    ]
    return "; ".join(parts)


def used_more(pool: PoolPart) -> tuple[str, ...]:
    """Return who waits longer because the order follows recent usage; the first alone."""
    if not pool[OrderTest].used_more:
        return ()
    first, *others = pool[OrderTest].used_more
    text = f"{_subject(first, start=True)} waits longer: {PassedWhy.USAGE.phrase}, and it "
    text += f"{used(first)}."
    if others:
        text += f" So do {wording.count(len(others))} others."
    return (text,)


def used(one: PassedOver) -> str:
    """Return its usage compared with its share: ``used 2.3 times its share``."""
    multiple = one.figure("usage_multiple").value
    return "" if multiple is None else f"used {wording.two_digits(multiple)} times its share"


def ahead(pool: PoolPart) -> tuple[str, ...]:
    """Return the order of partitions and QOS that the log shows."""
    return tuple(
        f"Later jobs of {_subject(one)} started first in "
        f"{wording.rough(one.figure('passed_ahead'))} of the pairs."
        for one in pool[OrderTest].ahead
    )


def _subject(one: PassedOver, *, start: bool = False) -> str:
    word = "QOS" if one.kind == "qos" else wording.first_upper(one.kind) if start else one.kind
    return f"{word} {wording.name(one.name, 30)}"
