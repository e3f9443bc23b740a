"""Single waits in a sentence: the attempts that later arrivals delayed most."""

from typing import Final

from audit.report.record.pool import Overtaken, PoolPart
from audit.report.text import belief, wording

_PARTS: Final = (
    "there was room for it all the same",
    "there was room that others before it could claim",
    "what it lacked was in use by the same user",
    "what it lacked was in use by those before it",
    "what it lacked was in use by those that came later",
    "the pool had less than it asked for",
)
"""What happened in each part of a wait, in the order of ``Overtaken.parts``."""


def most_overtaken(pool: PoolPart) -> tuple[str, ...]:
    """A sentence or two on each; whose they are only where the model may name anybody."""
    return tuple(_sentence(pool, one) for one in pool.fair_start.overtaken)


def _sentence(pool: PoolPart, one: Overtaken) -> str:
    again = f", attempt {one.attempt}" if one.attempt > 1 else ""
    of = f" of user {wording.name(one.user)}" if one.user is not None and _names(pool) else ""
    size = "" if one.size is None else wording.plural(one.size, wording.resource(pool.resource))
    text = f"Job {wording.name(one.job_id)}{again}{of}{f' ({size})' if size else ''} waited "
    text += f"{wording.duration(one.wait_s)}{_mostly(one)}. Under the modelled policy, later "
    text += f"arrivals cost it {wording.duration(one.overtaken_s)}"
    if one.own_s and one.own_s > 0:
        text += f" ({wording.duration(one.own_s)} of that its own user's)"
    if one.unmodelled_s == 0:
        return f"{text}; nothing stays unexplained."
    side = "more" if one.unmodelled_s > 0 else "less"
    rest = wording.duration(abs(one.unmodelled_s))
    return f"{text}; it waited {rest} {side} than the model explains."


def _mostly(one: Overtaken) -> str:
    parts = [(part or 0.0, words) for part, words in zip(one.parts, _PARTS, strict=True)]
    longest, words = max(parts, key=lambda part: part[0])
    if not one.wait_s or longest <= 0:
        return ""
    return f", and for {wording.percent(longest / one.wait_s)} of that {words}"


def _names(pool: PoolPart) -> bool:
    return belief.good_fit(pool)
