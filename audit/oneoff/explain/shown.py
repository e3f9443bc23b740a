"""The story of a wait for a terminal, as HTML and as JSON, with a picture of the use meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Final

from audit import __version__, json_answers
from audit.json_answers import JsonAnswer
from audit.oneoff.explain import sentences
from audit.oneoff.explain.story import Story, Use
from audit.progress import printable
from audit.report import wording
from audit.report.charts.marks import lines as lines_of
from audit.report.charts.marks import scales
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.marks.scales import Axis
from audit.report.charts.style import EARLIER, INK, LATER, OWN, Chart
from audit.report.render import page as render
from audit.words import aligned

Rows = list[tuple[str, ...]]


def as_text(story: Story) -> str:
    """Return what a terminal shows: sentences, timeline, picture, tables."""
    lines = [sentences.title(story), "", sentences.lead(story)]
    if timeline := sentences.timeline(story):
        lines += ["", "How the wait passed", *(f"  {line}" for line in timeline)]
    lines += ["", *sentences.sentences(story)]
    if drawn := picture(story):
        lines += ["", *drawn]
    for caption, titles, rows in tables(story):
        cells = [[printable(cell) for cell in row] for row in (titles, *rows)]
        if titles is _CAUSES:  # their names may be long
            cells = [[*others, cause] for cause, *others in cells]
        lines += ["", caption, *(f"  {line}" for line in aligned(cells))]
    return "".join(f"{printable(line)}\n" for line in lines)


@dataclass(frozen=True, kw_only=True)
class Explanation(Story, JsonAnswer):
    """The answer of ``fairaudit explain --format json``: the story, and its sentences."""

    wait_s: int
    sentences: tuple[str, ...]
    lines: tuple[str, ...]  # of the timeline


def as_json(story: Story) -> str:
    """Return all that is known, with the sentences; times in epoch s, durations in s."""
    known = {of.name: getattr(story, of.name) for of in fields(story)}
    explanation = Explanation(
        **known,
        wait_s=story.subject.wait_s,
        sentences=(sentences.lead(story), *sentences.sentences(story)),
        lines=tuple(sentences.timeline(story)),
    )
    return json_answers.written(explanation)


def as_html(story: Story) -> str:
    """Return one self-contained page."""
    drawn = chart(story)
    values = {
        "title": sentences.title(story),
        "lead": sentences.lead(story),
        "cluster": story.subject.cluster,
        "sentences": sentences.sentences(story),
        "timeline": sentences.timeline(story),
        "picture": drawn,
        "tables": [
            {"caption": caption, "titles": titles, "rows": rows}
            for caption, titles, rows in tables(story)
        ],
        "version": __version__,
    }
    return render.html("report/explain.html", values, ["point.js"] if drawn else [])


_CAUSES: Final = ("Cause", "Time", "Share of the wait")


def tables(story: Story) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return caption, titles and rows of each table that has any."""
    subject = story.subject
    causes: Rows = [
        (
            wording.first_upper(sentences.clause(story, cause)),
            wording.duration(seconds),
            wording.percent(seconds / subject.wait_s),
        )
        for cause, seconds in sentences.causes(story)
    ]
    unit = wording.resources(subject.pool.resource)
    every: list[tuple[str, tuple[str, ...], Rows]] = [
        ("What it waited for", _CAUSES, causes),
        (
            f"Later arrivals that started before it ({story.passed_by:,} in all)",
            ("Job", "User", "Arrived", "Started", unit, "Walltime"),
            [
                (
                    wording.name(one.job_id),
                    wording.name(one.user),
                    wording.instant(one.arrival, subject.zone),
                    wording.instant(one.start, subject.zone),
                    wording.count(one.size),
                    wording.duration(one.walltime_s),
                )
                for one in story.passers
            ],
        ),
    ]
    return [table for table in every if table[2]]


# --- the use during the wait ---------------------------------------------------------------------

COLUMNS: Final = 60
ROWS: Final = 8
_POINTS: Final = 200
_LONG_S: Final = 2 * 86_400  # a longer wait is drawn with days below it
_MARKS: Final = {
    "own": ("o", "the same user", OWN),
    "earlier": ("#", "others that arrived earlier", EARLIER),
    "later": ("+", "others that arrived later", LATER),
}
"""By field of ``Use``: mark on a terminal, words and colour."""


def picture(story: Story) -> list[str]:
    """Return the picture for a terminal; empty if the job did not wait."""
    columns = _means(story.uses, COLUMNS)
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
    legend = "  ".join(f"{mark} {words}" for mark, words, _ in _MARKS.values())
    drawn.append(f"{'':9}  in use: {legend}  . free")
    return drawn


def _mark(use: Use, level: float) -> str:
    used = 0
    for kind, (mark, _, _) in _MARKS.items():
        used += getattr(use, kind)
        if level <= used:
            return mark
    return "." if level <= use.capacity else " "


def chart(story: Story) -> Chart | None:
    """Return the picture as a chart; None if the job did not wait."""
    points = _means(story.uses, _POINTS)
    if not points:
        return None
    subject = story.subject
    unit = wording.resources(subject.pool.resource)
    begin, end = points[0].begin, points[-1].end
    times = [float(use.begin) for use in points] + [float(end)]
    shown = [*points, points[-1]]
    layers = []
    floor = [0.0] * len(shown)
    for kind, (_, words, colour) in _MARKS.items():
        tops = [below + getattr(use, kind) for below, use in zip(floor, shown, strict=True)]
        area = [*zip(times, tops, strict=True)]
        layers.append(Line(words, area, colour, step=True, filled=0.85, floor=floor, width=0))
        floor = tops
    capacity = [(at, float(use.capacity)) for at, use in zip(times, shown, strict=True)]
    layers.append(Line("capacity", capacity, INK, "4 3", step=True, width=1))
    targets = [(use.begin, use.end, _tip(use, subject.zone)) for use in points]
    top = max(max(use.capacity, use.own + use.earlier + use.later) for use in points)
    y = scales.linear([float(top)], scales.plain, title=f"{unit} in use")
    panel = Panel(_time(begin, end, subject.zone), y, layers, targets=targets)
    body, height = lines_of.drawn([panel], height=190)
    requested = "" if subject.size is None else f"; it requested {subject.size:,}"
    title = f"What was in use while it waited{requested}, of {subject.pool.capacity:,}"
    means = (
        f"{wording.number(_mean(story.uses, kind, begin, end))} by {words}"
        for kind, (_, words, _) in _MARKS.items()
    )
    alt = (
        f"{unit} in use from {wording.instant(subject.arrival, subject.zone)} to "
        f"{wording.instant(subject.until, subject.zone)}: {', '.join(means)}."
    )
    return Chart("in-use", title, alt, body, height)


def _tip(use: Use, zone: str) -> str:
    used = ", ".join(
        f"{getattr(use, kind):,} by {words}"
        for kind, (_, words, _) in _MARKS.items()
        if getattr(use, kind)
    )
    return f"from {wording.instant(use.begin, zone)}: {used or 'nothing'} of {use.capacity:,}"


def _time(begin: int, end: int, zone: str) -> Axis:
    first = 5 if end - begin > _LONG_S else 11
    every = [begin + (end - begin) * number // 4 for number in range(5)]
    ticks = tuple((float(at), wording.instant(at, zone)[first:]) for at in every)
    return Axis(float(begin), float(end), ticks)


def _means(uses: Sequence[Use], most: int) -> list[Use]:
    """Return the mean use in at most ``most`` stretches of equal length."""
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
        last = first
        while last < len(uses) and uses[last].begin < high:
            last += 1
        kinds = (*_MARKS, "capacity")
        means = (round(_mean(uses[first:last], kind, low, high)) for kind in kinds)
        made.append(Use(low, high, *means))
    return made


def _mean(uses: Sequence[Use], kind: str, low: int, high: int) -> float:
    areas = ((min(use.end, high) - max(use.begin, low)) * int(getattr(use, kind)) for use in uses)
    return sum(areas) / (high - low)
