"""The attempts of one user or account in a pool, and what similar jobs waited.

Figures of other users are only those published of all users, by block of weeks. A width or walltime
class is recommended if its jobs waited less in significantly many blocks: one-sided sign test at
5 %, divided by the number of classes compared (Bonferroni).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics.attempts.similar import WALLTIMES, WALLTIMES_S, walltime_class
from audit.metrics.course import SUMS
from audit.metrics.quantiles import MEDIAN
from audit.metrics.uncertainty import NONE, Resamples, interval
from audit.model import Period, Standing
from audit.registry.causes import CAUSES, Cause
from audit.registry.reasons import INFERRED_HOLDS
from audit.report.contents import Who
from audit.report.figures import Figure, records
from audit.report.owner.record import AllJobs, LongWait, ShorterClass, Typical
from audit.report.sections.waits.section import quantile
from audit.report.sections.who.section import comparable
from audit.scenario.releases.chains import own_end

LEAST_DAYS: Final = 10
"""Days that an interval needs (SPEC §10)."""
SEED: Final = 0
"""Of the bootstrap, so that the same attempts always give the same intervals."""
_LONGEST: Final = 5
"""Most waits listed."""
_CELL: Final = ("block", "width", "walltime")


@dataclass(frozen=True)
class Scene:
    """The data of one user or account in a pool, for its page."""

    who: Who
    period: Period
    attempts: pl.DataFrame
    """Columns of ``sql/queries/owner/attempts.sql``, of the user or account alone, by arrival."""
    published: pl.DataFrame
    """Columns of ``disclosure.BLOCKS``, of blocks that ended before the period did."""
    published_waits: pl.DataFrame
    """Columns to_time, part and wait_s of the user or account in the same blocks."""

    @cached_property
    def ended(self) -> pl.DataFrame:
        """The ended attempts with known waits, of any period.

        They have ``walltime``, a class; ``block``, the start of the published block in which they
        ended; and of all users' attempts of their class in it the mean wait, ``similar_wait_s``,
        and the median, ``similar_median_s``.
        """
        known = (pl.col("standing") == Standing.ENDED.value) & pl.col("wait_s").is_not_null()
        ended = self.attempts.filter(known)
        classed = ended.with_columns(
            walltime=pl.Series(WALLTIMES).gather(walltime_class(ended["walltime_s"])),
            block=self._block(ended["end_time"]).zip_with(
                ended["taken_apart"], pl.Series([None] * ended.height, dtype=pl.Int64)
            ),
            width="width_class",
        )
        return classed.join(self.similar, on=_CELL, how="left", maintain_order="left")

    def _block(self, end_time: pl.Series) -> pl.Series:
        """Return the start of the published block that contains each time, else null."""
        blocks = self.published.select("from_time", "to_time").unique().sort("from_time")
        if blocks.is_empty():
            return pl.Series([None] * len(end_time), dtype=pl.Int64)
        place = np.searchsorted(blocks["from_time"].to_numpy(), end_time.to_numpy(), "right") - 1
        found = blocks[np.maximum(place, 0)]
        inside = pl.Series(place >= 0) & (end_time < found["to_time"])
        return found["from_time"].zip_with(inside, pl.Series([None] * len(place), dtype=pl.Int64))

    @cached_property
    def similar(self) -> pl.DataFrame:
        """The published waits by block, width and walltime class."""
        classes = self.published.filter(pl.col("width").is_not_null())

        def held(metric: str, name: str) -> pl.DataFrame:
            of = classes.filter(metric=metric)
            return of.select("width", "walltime", block="from_time", **{name: "value"})

        medians = held("wait_median", "similar_median_s")
        return held("wait_mean", "similar_wait_s").join(medians, on=_CELL, how="left")

    @cached_property
    def subjects(self) -> pl.DataFrame:
        """The attempts of ``ended`` that ended in the period."""
        return self.ended.filter(_inside(self.period))

    @cached_property
    def in_blocks(self) -> pl.DataFrame:
        """The attempts of ``ended`` that ended in a published block of the period."""
        return self.ended.filter(pl.col("block").is_in(self._whole["from_time"].implode()))

    @cached_property
    def waits_by_cause(self) -> dict[Cause, float]:
        """The waiting in these blocks by cause, s, as published with them.

        Present values would disclose attempts of others that were recorded since.
        """
        held = self.published_waits.filter(_since(self.period))
        return {cause: float(held.filter(part=cause.key)["wait_s"].sum()) for cause in CAUSES}

    @cached_property
    def everybody(self) -> AllJobs | None:
        """The published figures of all users in the blocks of the period, if there are any."""
        whole = self._whole
        if whole.is_empty():
            return None
        consumed = float(whole.filter(metric="consumed")["value"].sum())
        return AllJobs(_mean(whole, "wait_mean"), consumed)

    def share_of_all(self, cause: Cause) -> float:
        """Return the share of a cause in all users' waiting in these blocks."""
        return _mean(self._whole, cause.share)

    @cached_property
    def _whole(self) -> pl.DataFrame:
        return self.published.filter(pl.col("width").is_null(), _since(self.period))

    def sums(self, over: list[Period], zone: ZoneInfo) -> pl.DataFrame:
        """Return the contribution of each day of the user or account to sums: ``course.SUMS``.

        The column ``user`` contains days of arrival, which are resampled (SPEC §10).
        Stretches must not overlap. Sums that need the attempts of others are 0.
        """
        numbered = (
            pl.when(_inside(stretch)).then(pl.lit(k, pl.Int64)) for k, stretch in enumerate(over)
        )
        made = (
            self.ended.with_columns(stretch=pl.coalesce(numbered))
            .filter(pl.col("stretch").is_not_null())
            .group_by("stretch", user=local_day(pl.col("arrival_time"), zone))
            .agg(
                pl.col("arrival_time").min().alias("first_arrival"),
                pl.len().alias("attempts"),
                pl.col("wait_s").sum(),
                **dict.fromkeys(("booked_s", "unexplained_s", "judged", "missed_s"), pl.lit(0)),
            )
        )
        return made.select(pl.col(name).cast(kind) for name, kind in SUMS.items()).sort(
            "stretch", "user"
        )


def local_day(arrival: pl.Expr, zone: ZoneInfo) -> pl.Expr:
    """Return the day of an instant in a zone."""
    local = pl.from_epoch(arrival, time_unit="s").dt.replace_time_zone("UTC")
    return local.dt.convert_time_zone(zone.key).dt.date()


def _mean(whole: pl.DataFrame, metric: str) -> float:
    values = whole.filter(metric=metric)["value"]
    return float(values.sum()) / len(values) if len(values) else 0.0


def _inside(period: Period) -> pl.Expr:
    if period.whole_log:
        return pl.lit(True)
    end = pl.col("end_time")
    return (end >= period.from_time) & (end < period.to_time)


def _since(period: Period) -> pl.Expr:
    """Return whether a block ended after the period began."""
    return pl.lit(True) if period.whole_log else pl.col("to_time") > period.from_time


def typical(scene: Scene) -> Typical | None:
    """Return the typical wait of the attempts of the period, and that of all users' similar ones.

    They are compared if enough of them have similar ones, as on page one.
    """
    waits = scene.subjects["wait_s"]
    if waits.is_empty():
        return None
    compared = scene.subjects.drop_nulls("similar_median_s")
    if not comparable(compared.height, len(waits)):
        return Typical(quantile(waits, MEDIAN), None, compared.height)
    own, similar = (quantile(compared[name], MEDIAN) for name in ("wait_s", "similar_median_s"))
    return Typical(own, similar, compared.height)


def compare(scene: Scene, zone: ZoneInfo, resamples: int) -> tuple[Figure, Figure]:
    """Compare the attempts of the period with all users' similar ones.

    Returns:
        Σ wait / Σ mean wait of all users' attempts of the class in the block, and Σ (wait − that
        mean) in s. Intervals are over days in ``zone``.
    """
    columns = ("wait_s", "similar_wait_s")
    compared = scene.subjects.drop_nulls(columns)
    days = (
        compared.group_by(local_day(pl.col("arrival_time"), zone).alias("day"))
        .agg(pl.col(columns).sum().cast(pl.Float64))
        .sort("day")
    )
    wait, similar = (days[name].to_numpy() for name in columns)
    expected = float(similar.sum())
    within = of_excess = NONE
    if len(days) >= LEAST_DAYS:
        drawn = Resamples(len(days), SEED, resamples)
        waits, similars = drawn.sums(np.arange(len(days)), wait, similar)
        waited = similars > 0
        within = interval(waits[waited] / similars[waited])
        of_excess = interval(waits - similars)
    number, excess = compared.height, float(wait.sum()) - expected
    return (
        Figure("class_ratio", wait.sum() / expected if expected else None, *within, "", number),
        Figure("excess_wait", excess if number else None, *of_excess, "s", number),
    )


def longest(scene: Scene) -> tuple[LongWait, ...]:
    """Return the longest waits that ended in the period, longest first."""
    waited = scene.subjects.filter(pl.col("wait_s") > 0).sort(
        "wait_s", "arrival_time", "job_id", "attempt", descending=[True, False, False, False]
    )
    rows = waited.head(_LONGEST).rename({"arrival_time": "arrival", "start_time": "start"})
    if scene.who.kind != "user":
        rows = rows.with_columns(job_id=None)
    spans = rows.select("arrival", "start").iter_rows()
    held = [_held(scene.attempts, *span) for span in spans]
    ends = [
        own_end(scene.attempts, job, start) if job and hold in INFERRED_HOLDS else None
        for hold, job, start in rows.select("held_by", "job_id", "start").iter_rows()
    ]
    waits = records(LongWait, rows.with_columns(held=pl.Series(held, dtype=pl.Float64)))
    return tuple(replace(wait, own_end=end) for wait, end in zip(waits, ends, strict=True))


def _held(attempts: pl.DataFrame, begin: int, end: int) -> float:
    """Return the mean amount of the pool's resource that these attempts used in a span."""
    until = pl.col("end_time").fill_null(end).clip(upper_bound=end)
    since = pl.col("start_time").clip(lower_bound=begin)
    held = pl.col("size").fill_null(0) * (until - since).clip(lower_bound=0)
    return float(attempts.select(held.sum()).item()) / (end - begin)


# --- other choices -------------------------------------------------------------------------------

_BLOCKS: Final = 26
"""Number of latest blocks compared; half a year if each is a week."""
_FITTING: Final = 0.1
"""Least part of the user's attempts that must end within a shorter walltime."""
_WORTH_S: Final = 600.0
"""Least mean gain, s."""
_STEPS: Final = 2
"""Only widths from a quarter to four times theirs are compared."""
_LEVEL: Final = 0.05
_UNKNOWN: Final = "unknown"
_LEVERS: Final = {"width": "walltime", "walltime": "width"}
"""The classes that can be chosen, each with the one that then stays the same."""


def ways(scene: Scene) -> tuple[tuple[ShorterClass, ...], int]:
    """Return the best other width and walltime class, and how many were compared.

    They are compared with the class in which the user's attempts waited most in total.
    """
    own = scene.in_blocks.filter(pl.col("width").is_not_null())
    if own.is_empty():
        return (), 0
    cell = (
        own.group_by("width", "walltime")
        .agg(pl.col("wait_s").sum(), pl.len().alias("attempts"))
        .sort("wait_s", "attempts", "width", "walltime", descending=[True, True, False, False])
        .row(0, named=True)
    )
    same = own.filter(pl.col("width") == cell["width"], pl.col("walltime") == cell["walltime"])
    found = {lever: _possible(lever, scene.similar, cell, same) for lever in _LEVERS}
    tried = sum(map(len, found.values()))
    best = (_best(of, tried) for of in found.values())
    return tuple(way for way in best if way is not None), tried


def _possible(
    lever: str, similar: pl.DataFrame, cell: dict[str, str], same: pl.DataFrame
) -> list[ShorterClass]:
    """Return the other classes of ``lever`` that could have been chosen, with their gains.

    Nobody can choose a class whose width or walltime is unknown.
    """
    fixed = _LEVERS[lever]
    latest = similar["block"].unique().sort().tail(_BLOCKS)
    held = similar.filter(pl.col(fixed) == cell[fixed], pl.col("block").is_in(latest.implode()))
    mine = held.filter(pl.col(lever) == cell[lever]).select("block", mine="similar_wait_s")
    chosen = pl.col(lever).is_in([cell[lever], _UNKNOWN]).not_() & (cell[lever] != _UNKNOWN)
    other = held.filter(chosen).join(mine, on="block").sort("block", lever)
    made = []
    for label in other[lever].unique().sort():
        fitting = _fitting(label, same) if lever == "walltime" else None
        far = lever == "width" and abs(_step(label) - _step(cell["width"])) > _STEPS
        if far or (lever == "walltime" and (fitting or 0.0) < _FITTING):
            continue
        of = other.filter(pl.col(lever) == label)
        gains = of["mine"] - of["similar_wait_s"]
        made.append(
            ShorterClass(
                lever,
                cell[lever],
                label,
                "" if lever == "width" else cell["width"],
                "" if lever == "walltime" else cell["walltime"],
                Figure("wait_mean", float(gains.sum()) / len(gains), unit="s"),
                int((gains > 0).sum()),
                len(gains),
                fitting,
            )
        )
    return made


def _best(of: list[ShorterClass], tried: int) -> ShorterClass | None:
    """Return the choice with the largest gain that is significant and large enough."""
    significant = [
        way
        for way in of
        if (way.gain.value or 0.0) >= _WORTH_S
        and sign_test(way.shorter, way.blocks) <= _LEVEL / tried
    ]
    return max(significant, key=lambda way: (way.gain.value or 0.0, way.better), default=None)


def sign_test(successes: int, trials: int) -> float:
    """Return the probability of at least ``successes`` heads in tosses of a fair coin."""
    return sum(comb(trials, k) for k in range(successes, trials + 1)) / float(2**trials)


def _step(width: str) -> int:
    """Return the index of a width class: 0 for 1, 1 for 2, 2 for 3-4, …; −9 if unknown."""
    lowest = width.removeprefix(">").partition("-")[0]
    if not lowest.isdecimal():
        return -9
    return (int(lowest) - (not width.startswith(">"))).bit_length()


def _fitting(label: str, same: pl.DataFrame) -> float | None:
    """Return the part of the attempts that ran no longer than the end of a walltime class."""
    place = WALLTIMES.index(label)
    if place >= len(WALLTIMES_S):
        return 1.0
    ran = same["occupancy_s"].drop_nulls()
    return int((ran <= WALLTIMES_S[place]).sum()) / len(ran) if len(ran) else None
