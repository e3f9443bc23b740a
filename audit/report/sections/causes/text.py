"""What jobs waited for, and the foundations of the account of waits, in words (SPEC §11)."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Final

from audit.registry.causes import CAUSES, Cause
from audit.report import wording
from audit.report.contents import Assumed
from audit.report.figures import Figures
from audit.report.part import time_passed
from audit.report.place import UNEXPLAINED, Place
from audit.report.pool import PoolPart
from audit.report.sections.causes.record import Reservations
from audit.report.sections.changes.record import Trend
from audit.report.sections.changes.text import MOST, changed, wait_changed
from audit.report.sections.fair_starts.record import FairStart, Fidelity
from audit.report.sections.rules.bound import rule_sentence, within
from audit.report.sections.waits.reading import queue_columns
from audit.report.sections.waits.record import Waits
from audit.scenario.releases.chains import OwnEnd


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


def causes(pool: PoolPart) -> tuple[Cause, ...]:
    """Return the causes of waiting that tables of a pool show."""
    return tuple(one for one in CAUSES if not one.optional or pool.figure(one.share).value)


def main_cause(of: Figures) -> str:
    """Return the cause with the largest share of waiting, and this share in words."""
    shares = [(of.figure(cause.share).value or 0.0, cause.legend) for cause in CAUSES]
    share, legend = max(shares, key=itemgetter(0))
    return f"{legend} ({wording.rough_percent(share)})" if share else wording.UNKNOWN


def after_own_end(job_id: str, end: OwnEnd, user: str) -> str:
    """Return after which job of the user a job started.

    Args:
        user: in words, e.g. ``the same user``.
    """
    after = f"{wording.duration(end.after_s)} after" if end.after_s > 0 else "when"
    job, other = (wording.name(name, 40) for name in (job_id, end.job_id))
    return f"Job {job} started {after} job {other} of {user} ended: a dependency or a limit."


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
