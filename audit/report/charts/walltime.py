"""The picture of walltimes: how much of what was asked for was used."""

from audit.report.charts.marks import bars, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.record.pool import PoolPart
from audit.report.text import wording

_MANY = 0.05
"""From this share on the title speaks of those that ran longer."""
_LABELS = ("0", "10", "20", "30", "40", "50", "60", "70", "80", "90", "100 %")


def walltime(pool: PoolPart) -> Chart | None:
    """Attempts by the part of their walltime that they used."""
    told = pool.pictured.walltimes
    if told is None:
        return None
    of_all = [count / told.attempts for count in told.tenths]
    drawn = [
        Bar(
            0,
            number,
            1 if number == 10 else 0,
            share,
            tip=f"{_range(number)} of the walltime: {wording.percent(share)} of the attempts",
        )
        for number, share in enumerate(of_all)
    ]
    looks = bars.Columns(
        _LABELS,
        (Series("within what was asked for", EARLIER, "block"), Series("longer", LATER, "block")),
        scales.shares(of_all, title="Share of attempts"),
        upon=True,
        height=130,
        title="Part of the walltime asked for that was used",
        between=True,
    )
    body, height = bars.columns(drawn, looks)
    title = f"Half of the attempts used {_part(told.median)} of their walltime or less"
    if of_all[10] >= _MANY:
        title += f"; {_part(of_all[10])} ran longer than that"
    said = "; ".join(f"{_range(number)}: {wording.percent(of)}" for number, of in enumerate(of_all))
    alt = f"Columns. Part of the walltime that was used, and share of attempts: {said}."
    note = f"Of {wording.plural(told.attempts, 'attempt')} whose walltime is known."
    return Chart("walltime", title, alt, body, height, note)


def _range(number: int) -> str:
    return "More than all" if number == 10 else f"{10 * number} to {10 * number + 10} %"


def _part(share: float) -> str:
    return f"{wording.number(100 * share, 2)} %"
