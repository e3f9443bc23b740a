"""The picture of decayed usage: who had which part of all, against what was promised."""

from collections.abc import Sequence
from typing import Final, Protocol

from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, INK, Chart
from audit.report.record.usage import DecayedUsage, UsageLine
from audit.report.text import wording

NAME_LIMIT: Final = 24
MEAN: Final = Series("mean of the period, lowest to highest day", EARLIER)
TARGET: Final = Series("target", INK, "bar")


def usage(of: DecayedUsage) -> Chart | None:
    """Parts of all usage of those who used most, with their targets."""
    if of.series is None or not of.series.days:
        return None
    told = of.series
    labels = names(told.kind, told.lines)
    pairs = list(zip(labels, told.lines, strict=True))
    rows = [_row(label, line) for label, line in pairs]
    aimed = any(line.share is not None for line in told.lines)
    ends = [max(line.values) for line in told.lines] + [line.share or 0.0 for line in told.lines]
    kinds = (MEAN, TARGET) if aimed else (MEAN,)
    axis = scales.shares(ends, title="Part of all usage")
    body, height = dots.drawn(rows, dots.Looks(kinds, axis))
    said = "; ".join(
        f"{label} {wording.percent(_mean(line))}"
        + (f" against a target of {wording.percent(line.share)}" if line.share is not None else "")
        for label, line in pairs
    )
    alt = (
        f"Dots. Part of all decayed usage by {told.kind}, {told.days[0]} to {told.days[-1]}; mean "
        f"over the period: {said}."
    )
    weekly = "weekly mean" if told.weekly else "day"
    note = f"Dots: mean of the period; lines: lowest to highest {weekly}."
    return Chart("usage", _title(told.kind, pairs), alt, body, height, note)


def _row(label: str, line: UsageLine) -> Row:
    mean = _mean(line)
    tip = f"{label}: {wording.percent(mean)} in the mean, {wording.percent(min(line.values))} to "
    tip += wording.percent(max(line.values))
    made = [Dot(0, mean, min(line.values), max(line.values), tip)]
    if line.share is not None:
        made.append(Dot(1, line.share, tip=f"{label}: target {wording.percent(line.share)}"))
    return Row(label, tuple(made), wording.percent(mean))


def _mean(line: UsageLine) -> float:
    return sum(line.values) / len(line.values)


def _title(kind: str, pairs: Sequence[tuple[str, UsageLine]]) -> str:
    """Who is furthest from the target, or who used most."""
    aimed = [pair for pair in pairs if pair[1].share is not None]
    if aimed:
        label, line = max(aimed, key=lambda pair: abs(_mean(pair[1]) - (pair[1].share or 0.0)))
        return (
            f"{wording.first_upper(kind)} {label} had {wording.percent(_mean(line))} of all usage; "
            f"promised were {wording.percent(line.share)}"
        )
    single = [pair for pair in pairs if not pair[1].others] or list(pairs)
    label, line = max(single, key=lambda pair: _mean(pair[1]))
    return f"{wording.first_upper(kind)} {label} used most: {wording.percent(_mean(line))} of all"


class Named(Protocol):
    """A row of a picture: one entity, or several together."""

    @property
    def name(self) -> str | None:
        """None: the log names none."""

    @property
    def others(self) -> int:
        """How many are together; 0: one."""


def names(kind: str, lines: Sequence[Named], limit: int = NAME_LIMIT) -> list[str]:
    """What to call each line; no two are the same, or they would be taken for one."""
    return wording.told_apart(
        f"{wording.plural(line.others, f'other {kind}')} together"
        if line.others
        else wording.name(line.name, limit)
        for line in lines
    )
