"""How waits changed: the main figures of each pool over time, read and in sentences."""

from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.course import Course, Measured, course
from audit.model import Period
from audit.periods import covering, day_of, day_start, kind_of, zone
from audit.registry.causes import CAUSES, COLUMNS
from audit.registry.measures import unit_of
from audit.report import part, wording
from audit.report.contents import PoolPart
from audit.report.figures import SMALL_SAMPLE, Figure
from audit.report.finding import Place
from audit.report.sections.changes.record import CauseChange, Trend, TrendPoint
from audit.report.sections.passed_over import OrderTest
from audit.report.sections.rules.record import BoundRules
from audit.report.source import SectionSource
from audit.store import attempts

POINTS = 24
"""Most points of a trend."""
_SEED = 0
"""Of the bootstrap, so that the same users always give the same intervals."""
_DAY_S = 86_400
_UNITS = {
    "day": _DAY_S + 3_600,
    "week": 8 * _DAY_S,
    "month": 32 * _DAY_S,
    "quarter": 93 * _DAY_S,
    "year": 367 * _DAY_S,
}
"""The longest duration of each unit, s."""


def read(source: SectionSource) -> dict[str, Trend]:
    """Return the trend of each pool with ended attempts.

    The trend of a reported period, such as a month, has up to 24 such periods, this one last;
    changes are from the one before. The trend of any other period has the days, weeks, months,
    quarters or years inside it, whichever are the shortest of which there are at most 24; changes
    are from the period before, if the log has it, else from its earlier to its later half.
    """
    over = stretches(source)
    key = (source.con, source.cluster, source.schedule)
    every = attempts.course_sums(*key, [*over.points, *over.halves])
    place = pl.col("stretch") - len(over.points)
    sums, halves = every.filter(place < 0), every.filter(place >= 0).with_columns(stretch=place)
    before, causes = _passed_before(source, over), _causes(source, over)
    made = {}
    for pool in sums["pool"].unique(maintain_order=True):
        of_pool, of_halves = (of.filter(pl.col("pool") == pool) for of in (sums, halves))
        trend = trend_of(over, of_pool, of_halves, source.settings.resamples)
        made[pool] = replace(trend, passed_before=before.get(pool, {}), causes=causes.get(pool, ()))
    return made


class Stretches(NamedTuple):
    """The stretches of time of a trend."""

    unit: str
    points: list[Period]
    halves: list[Period]  # the two that are compared; empty: there is nothing to compare with
    before: str  # the first of them in words
    settings_changed: bool


def stretches(source: SectionSource) -> Stretches:
    """Return the stretches of time of a trend up to a period."""
    period = source.period
    unit = kind_of(period.name)
    if unit is not None:
        over = _until(source)
        if len(over) < 2 or over[-2].to_time != period.from_time:
            return Stretches(unit, over, [], "", False)
        halves = over[-2:]
        runs = (source.rows("provenance/run", period=of.name) for of in halves)
        differ = len({run["config_hash"].item(0) for run in runs}) > 1
        return Stretches(unit, over, halves, halves[0].name, differ)
    in_zone = zone(source.zone)
    unit, over = _inside(period, in_zone)
    if not period.whole_log:
        before, kind = preceding(period, in_zone)
        ((log_begin,),) = source.tuples("log_begin_in_force")
        if log_begin is not None and before.from_time >= log_begin:
            return Stretches(unit, over, [before, period], f"the {kind} before", False)
    middle = (period.from_time + period.to_time + 1) // 2
    halves = [
        Period("earlier half", period.from_time, middle),
        Period("later half", middle, period.to_time + period.whole_log),
    ]
    what = "log" if period.whole_log else "period"
    return Stretches(unit, over, halves, f"the earlier half of the {what}", False)


def preceding(period: Period, in_zone: ZoneInfo) -> tuple[Period, str]:
    """Return the calendar unit, or as many days, before a period, and its unit in words."""
    last = period.from_time - 1
    for kind in _UNITS:
        first, *others = covering(kind, period.from_time, period.to_time - 1, in_zone)
        if not others and first[1:] == period[1:]:
            return covering(kind, last, last, in_zone)[0], kind
    begin, end = (day_of(at, in_zone) for at in (period.from_time, period.to_time))
    days = (end - begin).days
    before = day_start(begin - timedelta(days), in_zone)
    return Period("before", before, period.from_time), wording.plural(days, "day")


def trend_of(over: Stretches, sums: pl.DataFrame, of_halves: pl.DataFrame, resamples: int) -> Trend:
    """Return the trend of sums (``course.SUMS``) over ``over.points`` and ``over.halves``."""
    points = _points(over.points, course(sums, len(over.points), _SEED, resamples))
    changes: tuple[Figure, ...] = ()
    if of_halves.height:
        changes = _changes(course(of_halves, len(over.halves), _SEED, resamples))
    return Trend(over.unit, points, changes, over.before, over.settings_changed)


def _inside(period: Period, in_zone: ZoneInfo) -> tuple[str, list[Period]]:
    lasts_s = period.to_time - period.from_time
    for unit, at_most_s in _UNITS.items():
        if lasts_s > (POINTS + 1) * at_most_s and unit != "year":
            continue  # too many to enumerate
        found = covering(unit, period.from_time, period.to_time, in_zone)
        if len(found) <= POINTS:
            break
    covered = []
    for of in found:
        inside_s = min(of.to_time, period.to_time) - max(of.from_time, period.from_time)
        if 2 * inside_s >= of.to_time - of.from_time:
            covered.append(of)
    return unit, (covered or found)[-POINTS:]


def _until(source: SectionSource) -> list[Period]:
    """Return the computed periods of the same kind up to this one, the newest last."""
    period, kind = source.period, kind_of(source.period.name)
    found = [
        Period(name, from_time, to_time)
        for name, from_time, to_time, _ in source.tuples("computed")
        if kind_of(name) == kind and from_time is not None and from_time < period.from_time
    ]
    return [*found, period][-POINTS:]


def _passed_before(source: SectionSource, over: Stretches) -> dict[str, dict[str, frozenset[str]]]:
    """Return who was passed over in the period before, by pool and kind.

    Nothing is computed for the halves of a log.
    """
    if not over.halves:
        return {}
    found: dict[str, dict[str, frozenset[str]]] = {}
    rows = source.tuples("changes/passed_over", period=over.halves[0].name)
    for pool, kind, names in rows:
        found.setdefault(pool, {})[kind] = frozenset(names or ())
    return found


def _causes(source: SectionSource, over: Stretches) -> dict[str, tuple[CauseChange, ...]]:
    """Return the mean wait for each cause before and now, by pool."""
    if not over.halves:
        return {}
    sums = attempts.cause_sums(source.con, source.cluster, source.schedule, over.halves)
    means = sums.filter(pl.col("attempts") >= SMALL_SAMPLE).select(
        "pool", pl.col(COLUMNS) / pl.col("attempts")
    )
    found = {}
    for (pool,), of_pool in means.partition_by("pool", as_dict=True, include_key=False).items():
        if of_pool.height == len(over.halves):
            before, now = of_pool.iter_rows()
            found[pool] = tuple(map(CauseChange, CAUSES, before, now))
    return found


def _points(over: list[Period], made: Course) -> tuple[TrendPoint, ...]:
    return tuple(
        TrendPoint(
            stretch.name,
            stretch.from_time,
            stretch.to_time,
            attempts,
            **{name: _figure(name, measured) for name, measured in figures.items()},
        )
        for stretch, figures, attempts in zip(over, made.figures, made.attempts, strict=True)
    )


def _changes(made: Course) -> tuple[Figure, ...]:
    if min(made.attempts[-2:]) < SMALL_SAMPLE:
        return ()
    before = made.figures[-2]
    return tuple(
        _figure(name, difference)
        for name, difference in made.differences.items()
        if before[name].value is not None
    )


def _figure(name: str, measured: Measured) -> Figure:
    return Figure(name, measured.value, *measured.within, unit_of(name))


MOST: Final = 0.5
"""Least part of all waiting for which a partition is named."""
_MOST_CAUSES: Final = 3
_LEAST_OF_CHANGE: Final = 0.1
"""Causes with a smaller part of the change are not listed."""


class Difference(NamedTuple):
    """A change in words, and whether it is an improvement."""

    text: str
    better: bool | None  # None: not significant, or neither


def wait_changed(pool: PoolPart) -> str:
    """Return why the mean wait changed, by cause; empty if it did not change significantly."""
    trend = pool[Trend]
    change = trend.change("wait_mean")
    if not trend.causes or change is None or not change.significant:
        return ""
    before = sum(one.before_s for one in trend.causes)
    now = sum(one.now_s for one in trend.causes)
    largest = sorted(trend.causes, key=lambda one: -abs(one.difference_s))[:_MOST_CAUSES]
    parts = [
        _cause_changed(one, pool)
        for one in largest
        if abs(one.difference_s) >= _LEAST_OF_CHANGE * abs(now - before)
    ]
    settings = ", under other settings" if trend.settings_changed else ""
    return (
        f"Mean wait {'rose' if now > before else 'fell'} from {wording.rough_duration(before)} in "
        f"{trend.before} to {wording.rough_duration(now)}{settings}: {'; '.join(parts)}."
    )


def _cause_changed(one: CauseChange, pool: PoolPart) -> str:
    sign = "+" if one.difference_s > 0 else "−"
    text = f"{sign}{wording.rough_duration(abs(one.difference_s))} "
    text += part.meanwhile(one.cause, part=bool(pool.part))
    if one.cause.key == "rule" and pool[BoundRules].rows:
        text += f" (mostly the {pool[BoundRules].rows[0].name})"
    return text


def passed_before(place: Place) -> str:
    """Return how many entities were passed over in the period before; empty: not known."""
    trend = place.pool[Trend]
    if not trend.passed_before:
        return ""
    before = {(kind, name) for kind, names in trend.passed_before.items() for name in names}
    still = before & {(one.kind, one.name) for one in place.pool[OrderTest].passed}
    text = f"Passed over in {trend.before}: {wording.count(len(before)) if before else 'none'}"
    if still:
        text += f", {wording.count(len(still))} of them also now"
    return text + (", under other settings." if trend.settings_changed else ".")


def changed(trend: Trend, metric: str, kind: str) -> Difference | None:
    """Return the change of a figure in words; ``kind`` is ``time`` or ``share``."""
    change = trend.change(metric)
    if change is None or (value := change.value) is None:
        return None
    if not change.significant:
        return Difference(f"no significant change from {trend.before}", None)
    side = "more" if value > 0 else "less"
    if kind == "time":
        amount = f"{wording.rough_duration(abs(value))} {side}"
    else:
        amount = f"{wording.two_digits(abs(value) * 100)} points {side}"
    if trend.settings_changed:
        return Difference(f"{amount} than in {trend.before}, under other settings", None)
    return Difference(f"{amount} than in {trend.before} (significant)", value < 0)
