"""The rows of tables about fair start times."""

from collections.abc import Mapping
from typing import Final

from audit.metrics.attempts.fidelity import MaySay
from audit.model import FstStatus
from audit.report.pool import PoolPart
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.who.entities import most, net, with_fair_starts
from audit.report.sections.who.record import Entities, Entity

STATUSES: Final[Mapping[str, tuple[str, str]]] = {
    FstStatus.FINAL: (
        "final",
        "Everything that it depends on has ended: later logs will not change it.",
    ),
    FstStatus.PROVISIONAL: (
        "provisional",
        "A job that ran or waited when it arrived has not ended yet: later logs may change it.",
    ),
    FstStatus.PREEMPTED_CONTEXT: (
        "beside a preempted job",
        "A job that ran when it arrived was preempted later, which the model does not reproduce.",
    ),
    FstStatus.ASSUMED_ESTIMATE: (
        "with an assumed end",
        "A job without a walltime ran when it arrived, and has not ended yet. The model assumes a "
        "run time that nine in ten similar jobs do not exceed.",
    ),
    FstStatus.OVER_CAPACITY: (
        "over capacity",
        "More was in use than the pool has when it arrived, so the model's result is doubtful.",
    ),
    FstStatus.EXCEEDS_CAPACITY: (
        "larger than the pool",
        "It requests more than the pool has: in the model it would never start.",
    ),
    FstStatus.EXCEEDS_LIMIT: (
        "beyond a limit",
        "It exceeds a limit of the pool by itself: in the model it would never start.",
    ),
    FstStatus.BLOCKED: (
        "blocked",
        "A hold, limit, dependency, reservation or licence kept it from starting, not its place "
        "in the queue.",
    ),
    FstStatus.RESERVED: (
        "reserved",
        "It ran in an advance reservation, which is not part of the pool while it lasts.",
    ),
    FstStatus.NOT_SAMPLED: (
        "not sampled",
        "The queue was too long to compute all within the budget: a random sample represents it.",
    ),
}
"""Each status of a fair start time in words, and why an attempt has it."""


def status(text: str) -> tuple[str, str]:
    """Return a status in words, and why an attempt has it."""
    return STATUSES.get(text) or (text, "")


def delayed(of: Entities, pool: PoolPart, rows: int) -> tuple[Entity, ...]:
    """Return those that later arrivals delayed most in total, most first.

    Without a known rule, only those with a delay above a quarter of their waiting by both readings
    are returned, or none (SPEC §10, *What may be said*).
    """
    fidelity = pool[FairStart].fidelity
    say = MaySay.POOL if fidelity is None else fidelity.may_say
    if say is MaySay.POOL:
        return ()
    named = with_fair_starts(of)
    if say is MaySay.PROBABLY:
        named = [row for row in named if row.missed and row.missed.least_s > PROBABLE * row.tuwt_s]
    return most(named, net, rows)


PROBABLE: Final = 0.25
"""Part of an entity's waiting above which its delay is probable."""
