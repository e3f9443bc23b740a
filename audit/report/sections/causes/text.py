"""What jobs waited for, in sentences."""

from collections.abc import Mapping

from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.contents import Assumed
from audit.report.part import time_passed
from audit.report.place import UNEXPLAINED, Place
from audit.report.pool import PoolPart
from audit.report.sections.changes.record import Trend
from audit.report.sections.changes.text import MOST, changed, wait_changed
from audit.report.sections.rules.text import rule_sentence, within
from audit.report.sections.waits.record import Waits
from audit.report.sections.waits.tables import queue_columns


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
            f"{passed}{within(share)}."
        )
        if rule:
            text += f" {rule}"
        elif cause.key != "unexplained" and (rest := pool.figure(UNEXPLAINED)).value:
            text += f" {wording.first_upper(wording.rough(rest))} is unexplained{within(rest)}."
    change = changed(pool[Trend], UNEXPLAINED, "share")
    return f"{text} Unexplained share: {change.text}." if change else text


def waits_most(of: PoolPart) -> str:
    """Return the partition, QOS and GPU type with most of the waiting, and its cause."""
    if not of[Waits].queues or of[Waits].queues[0].share < MOST:
        return ""
    queue = of[Waits].queues[0]
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
