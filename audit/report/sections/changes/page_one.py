"""Changes of waits on page one: halves of a log or two periods, the steps of a chart, the words."""

from collections.abc import Sequence
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.array_types import Floats, Ints
from audit.metrics.quantiles import MEDIAN, P90
from audit.metrics.uncertainty import IntTable, Resamples, drawn_quantiles
from audit.model import Period
from audit.periods import covering, day_start
from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, joined, say
from audit.report.sections.changes.record import Compared, Half, RuleMark, StepPoint
from audit.report.sections.rules.record import RuleInForce
from audit.report.sections.trust.section import FIFTH
from audit.report.sections.waits.section import quantile
from audit.report.sections.who import page_one

SAME_LOAD: Final = 0.05
SAME_PART: Final = 1 / 3
"""Loads of 1 and 4 % are not almost the same, although they differ by 3 points."""
OTHER_CAPACITY: Final = 0.1
"""Change of the capacity between halves that is stated: the load may rise as nodes are gone."""
IN_DEMAND: Final = 0.5
"""Least load of the smaller capacity with which it is stated: unused nodes may only be idle."""


def changed(facts: PageFacts, *, than: bool = True) -> Sentence:
    """Return how waits changed; ``than``: whether to say what is compared."""
    of = facts.compared
    if of is not None:
        made = _changed(of, than=than)
        smaller = of.first if of.growth > 0 else of.last
        if abs(of.growth) < OTHER_CAPACITY or (smaller.load or 0.0) < IN_DEMAND:
            return made
        share = Slot(amounts.short_share(abs(of.growth)), "change of the capacity")
        if than:
            way = "rose" if of.growth > 0 else "fell"
            return joined(made, say(phrases.CAPACITY, way=way, share=share))
        way = "up" if of.growth > 0 else "down"
        return joined(say(phrases.CAPACITY_BRIEFLY, way=way, share=share), made)
    if facts.log_days < 14:
        covered = int(facts.log_days)
        text = wording.plural(covered, "day") if covered else phrases.PART_OF_DAY
        days = Slot(text, "days of the log")
        return say(phrases.NO_COMPARISON, days=days)
    return say(phrases.FEW_TO_COMPARE, n=str(LEAST_JOBS))


def _changed(of: Compared, *, than: bool) -> Sentence:
    halves = phrases.HALVES.format(what="log" if of.whole_log else "period")
    unit = phrases.SINCE.format(unit=of.before) if of.before else halves
    compared = f" {unit}" if than else ""
    if not is_clear(of.first, of.last):
        return _waits(phrases.SAME, of, compared)
    if not of.significant:
        few = f"{compared}{phrases.FEW_DECIDE}" if than else ""
        return _waits(phrases.NOT_CERTAIN, of, few)
    if _only_of_user(of):
        return say(phrases.ONLY_OF, user=page_one.name("user", of.user or ""))
    made = _clear(of, compared)
    return joined(made, _without(of)) if than else made


def _value(half: Half, of: Compared) -> int:
    return half.p90 if by_tenth(of.first, of.last) else half.median


def _waits(phrase: str, of: Compared, than: str) -> Sentence:
    tenth = by_tenth(of.first, of.last)
    waits = [Slot(amounts.short_time(_value(half, of)), key) for half, key in _halves(of)]
    loads = [Slot(_load(half), f"load {key}") for half, key in _halves(of)]
    what = phrases.TENTH if tenth else phrases.TYPICAL
    return say(phrase, than=than, what=what, x=waits[0], y=waits[1], a=loads[0], b=loads[1])


def _halves(of: Compared) -> tuple[tuple[Half, str], tuple[Half, str]]:
    return (of.first, "before the change"), (of.last, "after the change")


def _load(half: Half) -> str:
    return amounts.UNKNOWN if half.load is None else amounts.digits(100 * half.load)


def _clear(of: Compared, than: str) -> Sentence:
    x, y = _value(of.first, of), _value(of.last, of)
    up = y > x
    waits = [Slot(amounts.short_time(_value(half, of)), key) for half, key in _halves(of)]
    what = phrases.THE_TENTH if by_tenth(of.first, of.last) else phrases.THE_TYPICAL
    way = "rose" if up else "fell"
    change = say(phrases.CHANGE, what=what, way=way, x=waits[0], y=waits[1])
    loads = [Slot(_load(half), f"load {key}") for half, key in _halves(of)]
    before, now = (half.load or 0.0 for half in (of.first, of.last))
    slots: dict[str, Slot | Sentence | str]
    slots = {"a": loads[0], "b": loads[1], "change": change, "than": than}
    if abs(now - before) <= min(SAME_LOAD, SAME_PART * max(before, now)):
        return say(phrases.SAME_LOAD, **slots)
    if (now > before) == up:
        return say(phrases.WITH_LOAD, way="up" if up else "down", **slots)
    return say(phrases.AGAINST_LOAD, way="rose" if now > before else "fell", **slots)


def _without_user(of: Compared) -> tuple[int, int] | None:
    """Return the compared waits without the user with most waiting; None: too few jobs."""
    tenth = by_tenth(of.first, of.last)
    x, y = (half.p90_without if tenth else half.median_without for half in (of.first, of.last))
    return None if of.user is None or x is None or y is None else (x, y)


def _only_of_user(of: Compared) -> bool:
    """Whether the change has another sign, or none, without the user with most waiting."""
    if (without := _without_user(of)) is None:
        return False
    x, y = _value(of.first, of), _value(of.last, of)
    return (without[1] - without[0]) * (y - x) <= 0


def _without(of: Compared) -> Sentence:
    if (without := _without_user(of)) is None:
        return NOTHING
    same = all(
        abs(rest - _value(half, of)) <= FIFTH * _value(half, of)
        for rest, half in zip(without, (of.first, of.last), strict=True)
    )
    times = [Slot(amounts.short_time(one), f"{k} without a user") for k, one in enumerate(without)]
    what = say(phrases.ABOUT_SAME) if same else say(phrases.FROM_TO, x=times[0], y=times[1])
    return say(phrases.WITHOUT, user=page_one.name("user", of.user or ""), what=what)


STEPS: Final = ("month", "week", "day")
LEAST_STEPS: Final = 6
MOST_STEPS: Final = 60
MOST_MARKS: Final = 3
"""Begins and ends of rules in a chart."""
LEAST_S: Final = 7 * 86_400
LEAST_JOBS: Final = 30
TIMES: Final = 1.5
LEAST_CHANGE_S: Final = 60
"""Change of the typical wait, or of the wait of one job in ten, that is clear."""
RESAMPLES: Final = 1_000
TAIL: Final = 0.025
_SEED: Final = 0


def steps(period: Period, zone: ZoneInfo) -> tuple[str, list[Period]]:
    """Return the longest kind of step with enough complete ones in a period; empty: none."""
    for kind in STEPS:
        found = [
            one
            for one in covering(kind, period.from_time, period.to_time, zone)
            if one.from_time >= period.from_time and one.to_time <= period.to_time
        ]
        if len(found) >= LEAST_STEPS:
            return kind, found[-MOST_STEPS:]
    return "", []


def points(
    jobs: pl.DataFrame, spans: Sequence[Period], loads: Sequence[float | None]
) -> tuple[StepPoint, ...]:
    """Return the waits and the load of each step in which jobs ended."""
    made = []
    for span, load in zip(spans, loads, strict=True):
        mine = jobs.filter(pl.col("end_time").is_between(span.from_time, span.to_time - 1))
        if mine.height:
            waits = mine["wait_s"]
            point = StepPoint(span.name, quantile(waits, MEDIAN), quantile(waits, P90), load)
            made.append(point)
    return tuple(made)


def marks(
    rules: Sequence[RuleInForce],
    spans: Sequence[Period],
    shown: Sequence[StepPoint],
    zone: ZoneInfo,
) -> tuple[RuleMark, ...]:
    """Return when rules begin and end within the steps of a chart, most waiting first.

    Args:
        rules: of one pool, most waiting first.
        spans: the steps, of which ``shown`` are drawn.
    """
    drawn = {point.label: number for number, point in enumerate(shown)}
    made = []
    brief = {rule.name: phrases.brief_rule(rule.name) for rule in rules}
    for rule in rules:
        words = brief[rule.name]
        if [*brief.values()].count(words) > 1:
            words = rule.name
        for day, verb in ((rule.valid_from, "begins"), (rule.valid_to, "ends")):
            at = None if day is None else day_start(day, zone)
            for span in spans:
                if at is None or span.name not in drawn or not span.from_time <= at < span.to_time:
                    continue
                part = (at - span.from_time) / (span.to_time - span.from_time)
                if place := drawn[span.name] + part:
                    made.append(RuleMark(f"{words} {verb}", place))
    return tuple(made[:MOST_MARKS])


def load(daily: Sequence[tuple[int, int, float]], begin: int, end: int) -> float | None:
    """Return the busy share of a span, from days with begin, end and busy share."""
    parts = [
        (min(to, end) - max(since, begin), busy)
        for since, to, busy in daily
        if since < end and to > begin
    ]
    covered = sum(seconds for seconds, _ in parts)
    return sum(seconds * busy for seconds, busy in parts) / covered if covered else None


def compared(
    first: pl.DataFrame,
    last: pl.DataFrame,
    loads: tuple[float | None, float | None],
    before: str,
) -> Compared | None:
    """Return two spans that are compared; None if one has too few jobs."""
    if min(first.height, last.height) < LEAST_JOBS:
        return None
    waits = pl.concat([one.select("user", "wait_s") for one in (first, last)]).drop_nulls("user")
    sums = waits.group_by("user").agg(pl.col("wait_s").sum())
    most = sums.sort("wait_s", "user", descending=[True, False])
    user = most["user"][0] if most.height > 1 else None
    halves = [_half(one, busy, user) for one, busy in zip((first, last), loads, strict=True)]
    small = max(half.median for half in halves) < LEAST_CHANGE_S
    sure = is_clear(*halves) and significant(first, last, P90 if small else MEDIAN)
    return Compared(before, halves[0], halves[1], user, sure)


def by_tenth(first: Half, last: Half) -> bool:
    """Whether typical waits are so short that those of one job in ten are compared."""
    return max(first.median, last.median) < LEAST_CHANGE_S


def is_clear(first: Half, last: Half) -> bool:
    """Whether the wait that is compared changes by enough."""
    x, y = (one.p90 if by_tenth(first, last) else one.median for one in (first, last))
    return abs(x - y) >= LEAST_CHANGE_S and max(x, y) >= TIMES * max(min(x, y), 1)


def _half(jobs: pl.DataFrame, busy: float | None, user: str | None) -> Half:
    waits = jobs["wait_s"]
    made = Half(quantile(waits, MEDIAN), quantile(waits, P90), busy, None)
    rest = jobs.filter(pl.col("user").ne_missing(user))["wait_s"]
    if user is None or rest.is_empty():
        return made
    return made._replace(median_without=quantile(rest, MEDIAN), p90_without=quantile(rest, P90))


def significant(first: pl.DataFrame, last: pl.DataFrame, thousandths: int) -> bool:
    """Whether a quantile of the waits differs (95 %), by resampling the users of both spans."""
    both = pl.concat([one.select("user", "wait_s") for one in (first, last)])
    place = both["user"].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    place -= place.min()  # of each user in the order of their names, none first
    waits = both["wait_s"].cast(pl.Float64).to_numpy()
    weights = Resamples(int(place.max()) + 1, _SEED, RESAMPLES).weights
    before, now = (
        _drawn(place[part], waits[part], weights, thousandths)
        for part in (slice(first.height), slice(first.height, None))
    )
    below, above = int((now < before).sum()), int((now > before).sum())
    equal = int((now == before).sum())  # waits are often whole minutes: ties count half
    known = below + above + equal
    return known > 0 and min(below, above) + equal / 2 <= TAIL * known


def _drawn(users: Ints, waits: Floats, weights: IntTable, thousandths: int) -> Floats:
    """Return the quantile of the waits in each resample; nan: it has none of the users."""
    order = np.argsort(waits, kind="stable")
    found = drawn_quantiles(weights, users[order], waits[order], [thousandths])
    return found[:, 0]
