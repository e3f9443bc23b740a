"""Answers in the details of a report: what jobs waited for, and what changed.

Page one says the same in fewer words; these sentences have intervals, and name rules in full.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES
from audit.report.judgement.place import UNEXPLAINED, Place
from audit.report.record.page import Assumed
from audit.report.record.pool import CauseChange, Figure, PoolPart, Trend
from audit.report.text import belief, part, wording
from audit.report.text.part import time_passed
from audit.report.text.tables import queue_columns

TELLING: Final = 0.05
"""Least share of all waiting for which a rule is named."""
MOST: Final = 0.5
"""Least part of all waiting for which a partition is named."""
_ALONE: Final = 0.95
"""If one rule causes this part of the waiting under rules, it alone is named."""
_MOST_CAUSES: Final = 3
_LEAST_OF_CHANGE: Final = 0.1
"""Causes with a smaller part of the change are not listed."""


class Difference(NamedTuple):
    """A change in words, and whether it is an improvement."""

    text: str
    better: bool | None  # None: not significant, or neither


def of_waiting(place: Place, assumed: Mapping[str, Assumed]) -> tuple[str, ...]:
    """Return sentences on what jobs waited for, which partition most, and what changed."""
    made = (_waited_for(place, assumed), waits_most(place.pool), wait_changed(place.pool))
    return tuple(filter(None, made))


def _waited_for(place: Place, assumed: Mapping[str, Assumed]) -> str:
    pool = place.pool
    found = [(figure, cause) for cause in CAUSES if (figure := pool.figure(cause.share)).value]
    if not found:
        return ""
    share, cause = max(found, key=lambda pair: pair[0].value or 0.0)
    rule = rule_sentence(place, assumed)
    if cause.key == "rule" and rule:
        text = rule
    else:
        passed = time_passed(cause, part=bool(pool.part))
        text = (
            f"{wording.first_upper(wording.rough(share))} of all waiting time passed "
            f"{passed}{_within(share)}."
        )
        if rule:
            text += f" {rule}"
        elif cause.key != "unexplained" and (rest := pool.figure(UNEXPLAINED)).value:
            text += f" {wording.first_upper(wording.rough(rest))} is unexplained{_within(rest)}."
    change = changed(pool.trend, UNEXPLAINED, "share")
    return f"{text} Unexplained share: {change.text}." if change else text


def waits_most(of: PoolPart) -> str:
    """Return the partition, QOS and GPU type with most of the waiting, and its cause."""
    if not of.queues or of.queues[0].share < MOST:
        return ""
    queue = of.queues[0]
    shares = {cause: queue.figure(cause.share).value or 0.0 for cause in CAUSES}
    cause = max(shares, key=lambda cause: shares[cause])
    if not shares[cause]:
        return ""
    named = queue_columns([queue])
    whose = ", ".join(f"{title} {wording.name(getattr(queue, key))}" for key, title in named)
    return (
        f"{wording.rough_percent(queue.share)} of all waiting time is that of jobs in {whose}, "
        f"which waited {wording.rough(queue.figure('wait_mean'))} on average: "
        f"{wording.rough_percent(shares[cause])} of it passed "
        f"{time_passed(cause, part=bool(of.part))}."
    )


def rule_sentence(place: Place, assumed: Mapping[str, Assumed]) -> str:
    """Return how much waiting rules alone cause, and which rule most; empty if it is little."""
    pool = place.pool
    free = pool.figure("cause_rule_free_share")
    total = sum(rule.free_s for rule in pool.rules)
    if not total or not free.value or free.value < TELLING:
        return ""
    first = pool.rules[0]
    source = "inferred from the log" if pool.name in assumed else "configured"
    which, more = f"the {first.name} ({source})", ""
    if first.free_s / total < _ALONE:
        which, more = "limits or closed hours", f": mostly {which}"
    text = (
        f"For {wording.rough(free)} of all waiting time{_within(free)} enough was free, and only "
        f"{which} kept the job from starting{more}."
    )
    busy = belief.busy(pool)
    return f"{text} The pool was {busy}." if busy else text


def wait_changed(pool: PoolPart) -> str:
    """Return why the mean wait changed, by cause; empty if it did not change significantly."""
    trend = pool.trend
    change = None if trend is None else trend.change("wait_mean")
    if trend is None or not trend.causes or change is None or not change.significant:
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
    if one.cause.key == "rule" and pool.rules:
        text += f" (mostly the {pool.rules[0].name})"
    return text


def passed_before(place: Place) -> str:
    """Return how many entities were passed over in the period before; empty: not known."""
    trend = place.pool.trend
    if trend is None or not trend.passed_before:
        return ""
    before = {(kind, name) for kind, names in trend.passed_before.items() for name in names}
    still = before & {(one.kind, one.name) for one in place.pool.passed}
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


def _within(figure: Figure) -> str:
    interval = wording.rough_interval(figure)
    return f" ({interval})" if interval else ""
