"""How the figures of a report differ from those of other tools, on the same log.

What each of them counts is from their own documents: sacct(1) and sreport(1) of Slurm, and Open
XDMoD's statistic *Wait Hours: Per Job*, waiting from submission over jobs that started in the span.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from audit.report.record.pool import PoolPart
from audit.report.text import wording


class Row(NamedTuple):
    """A figure as another tool has it, and as this report has it, in words."""

    figure: str
    tool: str
    there: str
    here: str
    differs: str


def counted_elsewhere(pool: PoolPart) -> tuple[Row, ...]:
    """What differs, in which direction and by how much; nothing where nothing ended."""
    return tuple(_rows(pool)) if pool.elsewhere is not None and pool.attempts else ()


def _rows(pool: PoolPart) -> Iterator[Row]:
    other = pool.elsewhere
    assert other is not None
    wait = pool.figure("wait_mean").value
    for tool, there in (
        ("sacct: Start − Submit of the same attempts", other.wait_from_submission_s),
        ("XDMoD: from submission, of jobs that started in the period", other.wait_of_started_s),
    ):
        yield _row("Mean wait", tool, there, wait, wording.duration)
    used = pool.figure("consumed").value
    unit = f"{wording.resource(pool.resource)}-hours"
    for tool, there in (
        ("XDMoD: what ran inside the period", other.held),
        ("sreport: the same without suspended time", other.held_running),
    ):
        yield _row(wording.first_upper(unit), tool, there, used, wording.hours)
    shown = pool.attempts - other.repeated
    yield _row("Attempts", "sacct without --duplicates", shown, pool.attempts, wording.count)


def _row(
    figure: str,
    tool: str,
    there: float | None,
    here: float | None,
    say: Callable[[float | None], str],
) -> Row:
    return Row(figure, tool, say(there), say(here), _differs(there, here))


def _differs(there: float | None, here: float | None) -> str:
    if there is None or here is None:
        return "not known"
    if there == here:
        return "the same"
    side = "more" if there > here else "less"
    if not here:
        return f"{side} there"
    return f"{wording.rough_percent(abs(there - here) / abs(here))} {side} there"
