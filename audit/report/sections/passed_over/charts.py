"""The chart of entities that are passed over."""

from typing import Final

from audit.metrics.pairs import LEAD_S
from audit.report import wording
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import LATER, MUTED, Chart
from audit.report.pool import PoolPart
from audit.report.sections.passed_over.record import OrderTest


def passed(pool: PoolPart) -> Chart | None:
    """Draw the share of later jobs that started first, and the expected share, by entity."""
    if not pool[OrderTest].passed:
        return None
    rows, words = [], []
    for one in pool[OrderTest].passed[:12]:
        name = f"{one.kind} {wording.name(one.name, 24)}"
        shares = {word: one.figure(metric).value for word, metric in _PASSED.items()}
        dots_ = [
            Dot(number, share, tip=f"{name}, {word}: {wording.percent(share)}")
            for number, (word, share) in enumerate(shares.items())
            if share is not None
        ]
        rows.append(DotRow(name, tuple(dots_)))
        each = (f"{wording.percent(share)} {word}" for word, share in shares.items())
        words.append(f"{name}: {', '.join(each)}")
    axis = scales.shares([dot.value for row in rows for dot in row.dots])
    kinds = [Series("expected", MUTED, hollow=True), Series("observed", LATER)]
    alt = f"Dots. Share of later jobs of other users that started first. {'; '.join(words)}."
    return Chart(
        "passed",
        "Later jobs that requested at least as much often started first",
        alt,
        *dots.drawn(rows, dots.Looks(kinds, axis, joined=True)),
        f"Share of such jobs that started more than {LEAD_S} s earlier; expected: that of similar "
        "jobs.",
    )


_PASSED: Final = {"expected": "passed_expected", "observed": "passed_share"}
