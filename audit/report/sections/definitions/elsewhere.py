"""The same figures as other tools count them."""

from collections.abc import Iterator
from typing import NamedTuple

from audit.report import wording
from audit.report.figures import records
from audit.report.pool import PoolPart
from audit.report.sections.definitions.record import Elsewhere
from audit.report.source import SectionSource


def read(source: SectionSource) -> dict[str, Elsewhere]:
    """Return the figures of ``sacct``, ``sreport`` and XDMoD for each pool with any start."""
    rows = source.rows("definitions/elsewhere")
    return dict(zip(rows["pool"], records(Elsewhere, rows), strict=True))


class Row(NamedTuple):
    """A figure in another tool and in this report, in words."""

    figure: str
    tool: str
    there: str
    here: str
    differs: str


def counted_elsewhere(pool: PoolPart) -> tuple[Row, ...]:
    """Return how figures of other tools differ on the same log; empty if nothing ended.

    Their definitions are those of sacct(1), sreport(1) and Open XDMoD's statistic *Wait Hours: Per
    Job*.
    """
    return tuple(_elsewhere(pool)) if pool.attempts else ()


def _elsewhere(pool: PoolPart) -> Iterator[Row]:
    if (other := pool[Elsewhere]) == Elsewhere():  # nothing started
        return
    wait, used = pool.figure("wait_mean").value, pool.figure("consumed").value
    unit = wording.first_upper(f"{wording.resource(pool.resource)}-hours")
    last = pool.attempts - other.repeated
    for figure, tool, there, here, form in (
        (
            *("Mean wait", "sacct: Start − Submit of the same attempts"),
            *(other.wait_from_submission_s, wait, wording.duration),
        ),
        (
            *("Mean wait", "XDMoD: from submission, for jobs that started in the period"),
            *(other.wait_of_started_s, wait, wording.duration),
        ),
        (unit, "XDMoD: usage inside the period", other.held, used, wording.hours),
        (
            *(unit, "sreport: the same without suspended time"),
            *(other.held_running, used, wording.hours),
        ),
        ("Attempts", "sacct without --duplicates", last, pool.attempts, wording.count),
    ):
        yield Row(figure, tool, form(there), form(here), _differs(there, here))


def _differs(there: float | None, here: float | None) -> str:
    if there is None or here is None:
        return "not known"
    if there == here:
        return "the same"
    side = "more there" if there > here else "less there"
    return f"{wording.rough_percent(abs(there - here) / abs(here))} {side}" if here else side
