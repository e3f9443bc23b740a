"""The three questions of page one: each a figure, what it means, where it stands, what changed."""

from dataclasses import dataclass
from typing import Final

from audit.report.judgement.levels import Level, level
from audit.report.judgement.owners import compared
from audit.report.judgement.place import Place
from audit.report.judgement.waits import OVERTAKEN, ROOM
from audit.report.record.page import Bounds
from audit.report.record.pool import Breakdown, Entities, Figure, PoolPart, Trend
from audit.report.text import belief, wording


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed, in words, and whether to the better."""

    text: str
    better: bool | None
    """None: chance may have made it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a reader has, and its answer."""

    title: str
    level: Level
    big: str
    """The figure, in two digits."""
    text: str
    """What it is of, and how sure."""
    difference: Difference | None
    """None: nothing to compare with."""


def questions(place: Place, bounds: Bounds) -> tuple[Question, ...]:
    """Whether it is fair, whether it is competition, whether all are treated alike."""
    return (
        _overtaken(place, bounds),
        _room(place, bounds),
        _longer(place, bounds),
    )


def _overtaken(place: Place, bounds: Bounds) -> Question:
    share, mean = place.pool.figure(OVERTAKEN), place.pool.figure("overtaken_time_mean")
    title = "Are we fair?"
    if share.value is None or mean.value is None:
        text = "No fair start times were computed: what later arrivals cost is not known."
        return Question(title, Level.UNKNOWN, wording.UNKNOWN, text, None)
    wait = _judged_wait(place.pool)
    whose = "a sample's" if place.pool.fair_start.not_sampled else "the"  # trends: of all
    text = f"of {whose} mean wait of {wait} went to jobs that came later{_within(mean)}. "
    if hit := place.worst_width(OVERTAKEN):
        text += (
            f"For {wording.width(hit.width.label)} {wording.resource(place.pool.resource)}s: "
            f"{wording.rough(hit.width.figure('overtaken_time_mean'))} of "
            f"{_judged_wait(hit.width)}."
        )
    stands = level(share, bounds.overtaken)
    if stands is Level.FAIL and not belief.good_fit(place.pool):
        stands = Level.WARN  # a model that fits poorly condemns nobody
    change = changed(place.pool.trend, "overtaken_time_mean", "time")
    return Question(title, stands, wording.rough(mean), text.strip(), change)


def _judged_wait(part: Breakdown | PoolPart) -> str:
    """The mean wait of those that the model can judge, of which overtaken time is a part."""
    share, mean = part.figure(OVERTAKEN).value, part.figure("overtaken_time_mean").value
    if not share or not mean or mean / share <= 0:
        return wording.rough(part.figure("wait_mean"))
    return wording.rough_duration(mean / share)


def _room(place: Place, bounds: Bounds) -> Question:
    share = place.pool.figure(ROOM)
    title = "Is it competition?"
    if share.value is None:
        return Question(
            title, Level.UNKNOWN, wording.UNKNOWN, "Waits could not be taken apart.", None
        )
    text = (
        f"of all waiting was not: there was room for the job that waited{_within(share)}. Limits, "
        "holds, closed hours, or nodes that did not suit it."
    )
    return Question(
        title,
        level(share, bounds.room),
        wording.rough(share),
        text,
        changed(place.pool.trend, ROOM, "share"),
    )


def _longer(place: Place, bounds: Bounds) -> Question:
    of = compared(place.pool)
    title = "Does anyone wait longer than others?"
    if not of.peered:
        text = "Nobody has enough jobs on ten days or more to be compared with others."
        return Question(title, Level.UNKNOWN, wording.UNKNOWN, text, None)
    named = len(of.longer)
    share = Figure("peer_named", named / of.peered)
    kinds = f"{of.kind}{'' if of.peered == 1 else 's'}"
    if not named:
        text = (
            f"of {wording.count(of.peered)} {kinds} beyond chance, beside others with jobs alike."
        )
        return Question(title, level(share, bounds.longer), "nobody", text, _then(place, of))
    verb = "waits" if named == 1 else "wait"
    who = f": {of.kind} {wording.name(of.longer[0].label, 24)}" if named == 1 else ""
    text = (
        f"of {wording.count(of.peered)} {kinds} {verb} longer than others with jobs alike, beyond "
        f"chance{who}, {wording.rough_duration(_excess(of.longer))} more in all."
    )
    stands = level(share, bounds.longer)
    return Question(title, stands, wording.count(named), text, _then(place, of))


def _then(place: Place, of: Entities) -> Difference | None:
    """How many waited longer in the period before, and who of them still does.

    Each is named beyond chance by itself; whether their number changed, chance may have decided.
    """
    trend = place.pool.trend
    before = trend.longer_before.get(of.kind) if trend is not None else None
    if trend is None or before is None:
        return None
    still = len(before & {part.label for part in of.longer})
    text = f"{wording.count(len(before)) if before else 'nobody'} in {trend.before}"
    if still and len(of.longer) > 1:
        text += f", {wording.count(still)} of them the same"
    elif still:
        text += ", the same among them" if len(before) > 1 else ", the same"
    if trend.settings_changed:
        text += ", under other settings"
    return Difference(text, None)


def _excess(longer: tuple[Breakdown, ...]) -> float:
    return sum(part.figure("excess_wait").value or 0.0 for part in longer)


_WORDS: Final = {"time": ("less", "more"), "share": ("points less", "points more")}


def changed(trend: Trend | None, metric: str, kind: str) -> Difference | None:
    """How a figure of a trend changed, in words; ``kind`` is of a key of ``_WORDS``."""
    change = trend.change(metric) if trend is not None else None
    if trend is None or change is None or change.difference.value is None:
        return None
    value = change.difference.value
    if not change.beyond_chance:
        return Difference(f"no change beyond chance against {trend.before}", None)
    words = _WORDS[kind][value > 0]
    amount = (
        wording.rough_duration(abs(value))
        if kind == "time"
        else wording.two_digits(abs(value) * 100)
    )
    if trend.settings_changed:
        text = f"{amount} {words} than in {trend.before}, under other settings"
        return Difference(text, None)
    return Difference(f"{amount} {words} than in {trend.before}, beyond chance", value < 0)


def _within(figure: Figure) -> str:
    said = wording.rough_interval(figure)
    return f" ({said})" if said else ""
