"""Foundations of the account of waits in this log, in sentences (SPEC §11)."""

from collections.abc import Iterator
from typing import Final

from audit.report import wording
from audit.report.pool import PoolPart
from audit.report.sections.causes.record import Reservations
from audit.report.sections.fair_starts.record import FairStart, Fidelity

SHORT_S: Final = 14 * 86_400
"""Logs selected by the end of jobs are long enough from this length on, s."""
MUCH_AT_END: Final = 0.02
"""Least share of all waiting at the end of a log that calls for caution."""
LITTLE_AT_BEGIN: Final = 0.5
"""If known jobs used less than this part of the mean before the log begins, others ran then."""


def reservations(of: Reservations) -> str:
    """Return whether jobs ahead keep others from starting, and how that is known."""
    if of.broken is None or of.stretches is None:
        return f"By the configured backfilling, {_kept_by(of)}."
    if of.strict:
        return (
            "In this log, jobs hardly ever start while a job ahead of them cannot, so waiting "
            "behind such a job counts as kept for it."
        )
    if of.most == 0:
        return (
            "This log shows no reservations, so no waiting counts as kept for a bigger job ahead."
        )
    return (
        f"This log shows reservations: the planned start of a job ahead kept jobs from starting "
        f"{wording.plural(of.stretches, 'time')}, and {wording.plural(of.broken, 'start')} delayed "
        "one."
    )


def _kept_by(of: Reservations) -> str:
    if of.strict:
        return "no job starts while a job ahead of it cannot"
    if of.most is None:
        return "every waiting job has a reservation"
    if of.most == 0:
        return "no job has a reservation"
    return f"at most {wording.plural(of.most, 'job')} at one time have a reservation"


def of_pool(pool: PoolPart) -> tuple[str, ...]:
    """Return what a reader of a pool's causes should know about them."""
    fidelity = pool[FairStart].fidelity
    if fidelity is None:
        return ()
    return tuple(filter(None, [*_reserved(fidelity), _full(pool), *_cautions(fidelity)]))


def _reserved(fidelity: Fidelity) -> Iterator[str]:
    if (strict := fidelity.figure("plan_strict").value) is not None:
        counts = ("plan_depth", "plan_broken", "plan_stretches")
        most, broken, stretches = (_whole(fidelity.figure(name).value) for name in counts)
        yield reservations(Reservations(most, bool(strict), broken, stretches))


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _full(pool: PoolPart) -> str:
    """Return the range of the waiting in which the machine was full."""
    full = pool.figure("full_share")
    if not full.value or full.lower is None:
        return ""
    most = wording.rough_percent(full.value)
    if (least := wording.rough_percent(full.lower)) == most:
        return ""
    return (
        f"For {least} to {most} of all waiting time the machine was full. The lower figure leaves "
        "out jobs that could have started earlier and did not: something else may have held them "
        "while it was full."
    )


def _cautions(fidelity: Fidelity) -> Iterator[str]:
    """Yield where the log has less than happened."""
    use, late = fidelity.figure("begin_use").value, fidelity.figure("end_waiting_share").value
    if use is not None and use < LITTLE_AT_BEGIN:
        yield (
            f"Just before the log begins, its jobs used {wording.rough_percent(use)} of the mean. "
            "Jobs that are not in the log may have run, so capacity may only seem free in its "
            "first days."
        )
    if late is None:
        return
    missing = "jobs that had not ended are not in the log"
    if late >= MUCH_AT_END:
        yield (
            f"{wording.rough_percent(late)} of all waiting time is at the end of the log. There, "
            f"{missing}, so capacity may only seem free."
        )
    length = fidelity.figure("log_length").value
    if length is not None and length < SHORT_S:
        yield (f"The log is shorter than 14 days, and {missing}, so capacity may only seem free.")
