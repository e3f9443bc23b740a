"""What was in use while an attempt waited, as a chart and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

from audit.oneoff.explain.story import Story, Use
from audit.report.charts import style
from audit.report.charts.style import Chart, Spec
from audit.report.text import wording

COLUMNS: Final = 60
ROWS: Final = 8
MARKS: Final = {"own": "o", "earlier": "#", "later": "+"}
"""What fills a column of the picture on a terminal."""
WORDS: Final = {
    "own": "the same user",
    "earlier": "others who had come before it",
    "later": "others who came after it",
}
_COLOURS: Final = {"own": "#E69F00", "earlier": style.BLUE, "later": style.VERMILION}
_POINTS: Final = 400
_LONG_S: Final = 2 * 86_400
"""A longer wait is drawn with days below it."""


def lines(story: Story) -> list[str]:
    """The picture for a terminal; nothing where it did not wait."""
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
    told = "  ".join(f"{mark} {WORDS[whose]}" for whose, mark in MARKS.items())
    drawn.append(f"{'':9}  in use: {told}  . free")
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
    """The same as a chart; None where it did not wait."""
    points = _means(story, _POINTS)
    if not points:
        return None
    subject = story.subject
    unit = wording.resources(subject.pool.resource)
    stacked = [
        {"at": at, "of": WORDS[whose], "bottom": bottom, "top": bottom + getattr(use, whose)}
        for at, use in _drawn(points, subject.zone)
        for whose, bottom in zip(MARKS, (0, use.own, use.own + use.earlier), strict=True)
    ]
    there = [{"at": at, "capacity": use.capacity} for at, use in _drawn(points, subject.zone)]
    days = subject.wait_s > _LONG_S
    time = {
        "field": "at",
        "type": "temporal",
        "scale": {"type": "utc"},
        "axis": {"title": None, "tickCount": 6, "format": "%d %b %H h" if days else "%H:%M"},
    }
    spec = {
        "$schema": style.SCHEMA,
        "width": 640,
        "height": 200,
        "config": style.config(),
        "layer": [_areas(stacked, time, f"{unit} in use"), _line(there, time)],
    }
    asked = "" if subject.size is None else f"; it asked for {subject.size:,}"
    title = f"What was in use while it waited{asked}, of {subject.pool.capacity:,} (dashed)"
    alt = (
        f"{unit} in use from {wording.instant(subject.arrival, subject.zone)} to "
        f"{wording.instant(subject.until, subject.zone)}: {_spoken(story.uses)}."
    )
    return Chart("in-use", title, alt, spec)


def _areas(rows: list[dict[str, Any]], time: Spec, what: str) -> Spec:
    """What was in use, by whose it was."""
    colours = {"domain": list(WORDS.values()), "range": [_COLOURS[whose] for whose in WORDS]}
    return {
        "data": {"values": rows},
        "mark": {"type": "area", "interpolate": "step-after"},
        "encoding": {
            "x": time,
            "y": {"field": "bottom", "type": "quantitative", "axis": {"title": what}},
            "y2": {"field": "top"},
            "color": {
                "field": "of",
                "type": "nominal",
                "scale": colours,
                "legend": {"title": None, "orient": "top", "labelLimit": 400},
            },
        },
    }


def _line(rows: list[dict[str, Any]], time: Spec) -> Spec:
    """What there was."""
    dashed = {"color": style.INK, "strokeDash": [4, 3], "strokeWidth": 1}
    return {
        "data": {"values": rows},
        "mark": {"type": "line", "interpolate": "step-after", **dashed},
        "encoding": {"x": time, "y": {"field": "capacity", "type": "quantitative"}},
    }


def _drawn(points: Sequence[Use], zone: str) -> Iterator[tuple[str, Use]]:
    """Where each stretch begins, and the end of the last."""
    for use in points:
        yield _local(use.begin, zone), use
    yield _local(points[-1].end, zone), points[-1]


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
    """What was in use in at most so many stretches of equal length, on average."""
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


def _local(time: int, zone: str) -> str:
    """An instant on the cluster's clock, as charts take it: no reader's zone moves it."""
    return datetime.fromtimestamp(time, ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M:%SZ")
