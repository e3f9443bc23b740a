"""What changed, in sentences."""

from typing import Final, NamedTuple

from audit.report import part, wording
from audit.report.place import Place
from audit.report.pool import PoolPart
from audit.report.sections.changes.record import CauseChange, Trend
from audit.report.sections.passed_over.record import OrderTest
from audit.report.sections.rules.record import BoundRules

MOST: Final = 0.5
"""Least part of all waiting for which a partition is named."""
_MOST_CAUSES: Final = 3
_LEAST_OF_CHANGE: Final = 0.1
"""Causes with a smaller part of the change are not listed."""


class Difference(NamedTuple):
    """A change in words, and whether it is an improvement."""

    text: str
    better: bool | None  # None: not significant, or neither


def wait_changed(pool: PoolPart) -> str:
    """Return why the mean wait changed, by cause; empty if it did not change significantly."""
    trend = pool[Trend]
    change = trend.change("wait_mean")
    if not trend.causes or change is None or not change.significant:
        return ""
    before = sum(one.before_s for one in trend.causes)
    now = sum(one.now_s for one in trend.causes)
    largest = sorted(trend.causes, key=lambda one: -abs(one.difference_s))[:_MOST_CAUSES]
    parts = [
        _cause_changed(one, pool)
        for one in largest
        if abs(one.difference_s) >= _LEAST_OF_CHANGE * abs(now - before)
    ]
    settings = ", under other settings" if trend.settings_changed else ""
    return (
        f"Mean wait {'rose' if now > before else 'fell'} from {wording.rough_duration(before)} in "
        f"{trend.before} to {wording.rough_duration(now)}{settings}: {'; '.join(parts)}."
    )


def _cause_changed(one: CauseChange, pool: PoolPart) -> str:
    sign = "+" if one.difference_s > 0 else "−"
    text = f"{sign}{wording.rough_duration(abs(one.difference_s))} "
    text += part.meanwhile(one.cause, part=bool(pool.part))
    if one.cause.key == "rule" and pool[BoundRules].rows:
        text += f" (mostly the {pool[BoundRules].rows[0].name})"
    return text


def passed_before(place: Place) -> str:
    """Return how many entities were passed over in the period before; empty: not known."""
    trend = place.pool[Trend]
    if not trend.passed_before:
        return ""
    before = {(kind, name) for kind, names in trend.passed_before.items() for name in names}
    still = before & {(one.kind, one.name) for one in place.pool[OrderTest].passed}
    text = f"Passed over in {trend.before}: {wording.count(len(before)) if before else 'none'}"
    if still:
        text += f", {wording.count(len(still))} of them also now"
    return text + (", under other settings." if trend.settings_changed else ".")


def changed(trend: Trend | None, metric: str, kind: str) -> Difference | None:
    """Return the change of a figure in words; ``kind`` is ``time`` or ``share``."""
    change = trend.change(metric) if trend is not None else None
    if trend is None or change is None or (value := change.difference.value) is None:
        return None
    if not change.significant:
        return Difference(f"no significant change from {trend.before}", None)
    side = "more" if value > 0 else "less"
    if kind == "time":
        amount = f"{wording.rough_duration(abs(value))} {side}"
    else:
        amount = f"{wording.two_digits(abs(value) * 100)} points {side}"
    if trend.settings_changed:
        return Difference(f"{amount} than in {trend.before}, under other settings", None)
    return Difference(f"{amount} than in {trend.before} (significant)", value < 0)
