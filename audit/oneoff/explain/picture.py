"""What was in use while a job waited, as a chart and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from audit.oneoff.explain.story import Story, Use
from audit.report.charts.marks import lines as lines_of
from audit.report.charts.marks import scales
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.marks.scales import Axis
from audit.report.charts.style import EARLIER, INK, LATER, OWN, Chart
from audit.report.text import wording

COLUMNS: Final = 60
ROWS: Final = 8
MARKS: Final = {"own": "o", "earlier": "#", "later": "+"}
"""What fills a column of the picture on a terminal."""
WORDS: Final = {
    "own": "the same user",
    "earlier": "others that arrived earlier",
    "later": "others that arrived later",
}
_COLOURS: Final = {"own": OWN, "earlier": EARLIER, "later": LATER}
_POINTS: Final = 200
_LONG_S: Final = 2 * 86_400
"""A longer wait is drawn with days below it."""


def lines(story: Story) -> list[str]:
    """Return the picture for a terminal; nothing where the job did not wait."""
    columns = _means(story, COLUMNS)
    if not columns:
        return []
    top = max(max(use.capacity, use.own + use.earlier + use.later) for use in columns)
    unit = wording.resources(story.subject.pool.resource)
    drawn = []
    for row in range(ROWS, 0, -1):
        level = (row - 0.5) * top / ROWS
        label = f"{top:>9,}" if row == ROWS else f"{unit:>9}" if row == ROWS // 2 else " " * 9
        drawn.append(f"{label} |{''.join(_mark(use, level) for use in columns)}".rstrip())
    drawn.append(f"{0:>9} +{'-' * len(columns)}")
    zone = story.subject.zone
    begin, end = (wording.instant(at, zone) for at in (story.subject.arrival, story.subject.until))
    drawn.append(f"{'':9}  {begin}{end:>{max(len(columns) - len(begin), 0)}}")
    legend = "  ".join(f"{mark} {WORDS[whose]}" for whose, mark in MARKS.items())
    drawn.append(f"{'':9}  in use: {legend}  . free")
    return drawn


def _mark(use: Use, level: float) -> str:
    """What a column shows at a level of what is in use."""
    held = 0
    for whose, mark in MARKS.items():
        held += getattr(use, whose)
        if level <= held:
            return mark
    return "." if level <= use.capacity else " "


def chart(story: Story) -> Chart | None:
    """Return the same as a chart; None where the job did not wait."""
    points = _means(story, _POINTS)
    if not points:
        return None
    subject = story.subject
    unit = wording.resources(subject.pool.resource)
    begin, end = points[0].begin, points[-1].end
    times = [float(use.begin) for use in points] + [float(end)]
    shown = [*points, points[-1]]
    layers = []
    for number, whose in enumerate(MARKS):
        held = [[getattr(use, one) for one in list(MARKS)[: number + 1]] for use in shown]
        layers.append(
            Line(
                WORDS[whose],
                [(at, float(sum(of))) for at, of in zip(times, held, strict=True)],
                _COLOURS[whose],
                step=True,
                filled=0.85,
                floor=[float(sum(of[:-1])) for of in held],
                width=0,
            )
        )
    there = [(at, float(use.capacity)) for at, use in zip(times, shown, strict=True)]
    layers.append(Line("capacity", there, INK, "4 3", step=True, width=1))
    targets = [Target(use.begin, use.end, _tip(use, subject.zone)) for use in points]
    top = max(max(use.capacity, use.own + use.earlier + use.later) for use in points)
    y = scales.linear([float(top)], scales.plain, title=f"{unit} in use")
    panel = Panel(_time(begin, end, subject.zone), y, layers, targets=targets)
    body, height = lines_of.drawn([panel], height=190)
    requested = "" if subject.size is None else f"; it requested {subject.size:,}"
    title = f"What was in use while it waited{requested}, of {subject.pool.capacity:,}"
    alt = (
        f"{unit} in use from {wording.instant(subject.arrival, subject.zone)} to "
        f"{wording.instant(subject.until, subject.zone)}: {_spoken(story.uses)}."
    )
    return Chart("in-use", title, alt, body, height)


def _tip(use: Use, zone: str) -> str:
    held = ", ".join(
        f"{getattr(use, whose):,} by {words}"
        for whose, words in WORDS.items()
        if getattr(use, whose)
    )
    return f"from {wording.instant(use.begin, zone)}: {held or 'nothing'} of {use.capacity:,}"


def _time(begin: int, end: int, zone: str) -> Axis:
    """From the beginning to the end of the wait, on the cluster's clock."""
    days = end - begin > _LONG_S
    ticks = []
    for number in range(5):
        at = begin + (end - begin) * number // 4
        text = wording.instant(at, zone)
        ticks.append((float(at), text[5:] if days else text[11:]))
    return Axis(float(begin), float(end), tuple(ticks))


def _spoken(uses: Sequence[Use]) -> str:
    """Mean use by whose it was, in words."""
    length = sum(use.end - use.begin for use in uses)
    return ", ".join(
        f"{wording.number(_area(uses, whose) / length)} by {words}"
        for whose, words in WORDS.items()
    )


def _area(uses: Iterable[Use], whose: str) -> int:
    return sum(int(getattr(use, whose)) * (use.end - use.begin) for use in uses)


def _means(story: Story, most: int) -> list[Use]:
    """Return the mean use in at most ``most`` stretches of equal length."""
    uses = story.uses
    if not uses:
        return []
    begin, length = uses[0].begin, uses[-1].end - uses[0].begin
    count = min(most, length)
    cuts = [begin + length * k // count for k in range(count + 1)]
    made = []
    first = 0
    for low, high in pairwise(cuts):
        while uses[first].end <= low:
            first += 1
        held = []
        last = first
        while last < len(uses) and uses[last].begin < high:
            use = uses[last]
            held.append((min(use.end, high) - max(use.begin, low), use))
            last += 1
        made.append(
            Use(
                low,
                high,
                *(
                    round(sum(lasts * getattr(use, name) for lasts, use in held) / (high - low))
                    for name in ("own", "earlier", "later", "capacity")
                ),
            )
        )
    return made
