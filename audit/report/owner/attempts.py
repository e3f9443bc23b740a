"""The attempts of one user or account in a pool, beside the published figures of all users."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics.attempts.peers import WALLTIMES, walltime_class
from audit.metrics.course import SUMS
from audit.metrics.uncertainty import NONE, Resamples, interval
from audit.model import Period, Standing
from audit.registry.causes import CAUSES, Cause
from audit.report.reading import records
from audit.report.record.owner import Everybody, LongWait
from audit.report.record.page import Who
from audit.report.record.pool import Figure

LEAST_DAYS: Final = 10
"""No interval on fewer days (SPEC §10, *Peers*)."""
SEED: Final = 0
"""Of the bootstrap: the same attempts give the same intervals."""
_LONGEST: Final = 5
"""Most waits that are listed."""
_CELL: Final = ("block", "width", "walltime")
_SIMILAR: Final = {"wait_mean": "similar_wait_s", "contested_mean": "similar_contested_s"}
"""Means of similar jobs, by what is published."""


@dataclass(frozen=True)
class Scene:
    """All that the page of one user or account is made of in a pool."""

    who: Who
    period: Period
    attempts: pl.DataFrame
    """Columns of ``sql/queries/owner_attempts.sql``, of the user or account alone, by arrival."""
    published: pl.DataFrame
    """Columns of ``disclosure.BLOCKS``, of blocks that were over when the period was."""
    published_waits: pl.DataFrame
    """to_time, part and wait_s of the same blocks, of the user or account."""

    @cached_property
    def ended(self) -> pl.DataFrame:
        """The attempts that ended in any period, whose waits are known.

        With ``walltime``, its class; ``block``, the start of the published block in which they
        ended; and ``similar_wait_s`` and ``similar_contested_s``, the mean waits of everybody's
        attempts of their class in it.
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
        """The start of the published block that holds each time; null: none does."""
        blocks = self.published.select("from_time", "to_time").unique().sort("from_time")
        if blocks.is_empty():
            return pl.Series([None] * len(end_time), dtype=pl.Int64)
        place = np.searchsorted(blocks["from_time"].to_numpy(), end_time.to_numpy(), "right") - 1
        found = blocks[np.maximum(place, 0)]
        inside = pl.Series(place >= 0) & (end_time < found["to_time"])
        return found["from_time"].zip_with(inside, pl.Series([None] * len(place), dtype=pl.Int64))

    @cached_property
    def similar(self) -> pl.DataFrame:
        """Mean waits of each block, width and walltime class that is published."""
        held = self.published.filter(pl.col("width").is_not_null())
        cell = held.group_by("width", "walltime", block="from_time", maintain_order=True)
        return cell.agg(
            pl.col("value").filter(metric=metric).first().alias(name)
            for metric, name in _SIMILAR.items()
        )

    @cached_property
    def subjects(self) -> pl.DataFrame:
        """Those of ``ended`` that ended in the period."""
        return self.ended.filter(_inside(self.period))

    @cached_property
    def in_blocks(self) -> pl.DataFrame:
        """Those of ``ended`` that ended in a published block of the period."""
        return self.ended.filter(pl.col("block").is_in(self._whole["from_time"].implode()))

    @cached_property
    def waits_by_cause(self) -> dict[Cause, float]:
        """What attempts in these blocks waited for, as published with them, s.

        Not as it is known now: attempts of others that the store learned of since show in it.
        """
        held = self.published_waits.filter(_since(self.period))
        return {cause: float(held.filter(part=cause.key)["wait_s"].sum()) for cause in CAUSES}

    @cached_property
    def everybody(self) -> Everybody | None:
        """What is published of everybody in the blocks of the period; None: nothing is."""
        whole = self._whole
        if whole.is_empty():
            return None
        return Everybody(
            whole["from_time"].n_unique(),
            _mean(whole, "wait_mean"),
            float(whole.filter(metric="consumed")["value"].sum()),
        )

    def share_of_all(self, cause: Cause) -> float:
        """A part of everybody's waiting in these blocks; 0 where nobody waited."""
        return _mean(self._whole, cause.share)

    @cached_property
    def _whole(self) -> pl.DataFrame:
        return self.published.filter(pl.col("width").is_null(), _since(self.period))

    def sums(self, over: list[Period], zone: ZoneInfo) -> pl.DataFrame:
        """What each day of the user or account adds to the sums of stretches: ``course.SUMS``.

        The column ``user`` holds days of arrival, which are drawn again (SPEC §10, *Peers*). No two
        stretches overlap. What needs others' attempts is 0.
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
                *(pl.lit(0).alias(name) for name in ("booked_s", "unexplained_s")),
                *(pl.lit(0).alias(name) for name in ("judged", "overtaken_s")),
            )
        )
        return made.select(pl.col(name).cast(kind) for name, kind in SUMS.items()).sort(
            "stretch", "user"
        )


def local_day(arrival: pl.Expr, zone: ZoneInfo) -> pl.Expr:
    """The day of an instant on the clock of a zone."""
    local = pl.from_epoch(arrival, time_unit="s").dt.replace_time_zone("UTC")
    return local.dt.convert_time_zone(zone.key).dt.date()


def _mean(whole: pl.DataFrame, metric: str) -> float:
    values = whole.filter(metric=metric)["value"]
    return float(values.sum()) / len(values) if len(values) else 0.0


def _inside(period: Period) -> pl.Expr:
    """Whether an attempt ended in a period."""
    if period.whole_log:
        return pl.lit(True)
    end = pl.col("end_time")
    return (end >= period.from_time) & (end < period.to_time)


def _since(period: Period) -> pl.Expr:
    """Whether a block was over after the period had begun."""
    return pl.lit(True) if period.whole_log else pl.col("to_time") > period.from_time


def compare(scene: Scene, zone: ZoneInfo, resamples: int) -> tuple[Figure, Figure, Figure]:
    """Compare the attempts of the period with everybody's similar ones.

    Args:
        scene: the attempts of the pool, and what is published.
        zone: the cluster's; its days are drawn again.
        resamples: of the bootstrap.

    Returns:
        Σ wait / Σ mean wait of everybody's attempts of the class in the block; Σ (wait − that mean)
        in s; and the ratio of contested waits.
    """
    ratio, excess = _figures(scene.subjects, ("wait_s", "similar_wait_s"), zone, resamples)
    of_contested = ("contested_s", "similar_contested_s")
    contested, _ = _figures(scene.subjects, of_contested, zone, resamples)
    return ratio, excess, replace(contested, metric="contested_ratio")


def _figures(
    subjects: pl.DataFrame, columns: tuple[str, str], zone: ZoneInfo, resamples: int
) -> tuple[Figure, Figure]:
    """Return the ratio and the difference of what attempts and similar ones waited."""
    compared = subjects.drop_nulls(columns)
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
        Figure("peer_ratio", wait.sum() / expected if expected else None, *within, "", number),
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
    return records(LongWait, rows.with_columns(held=pl.Series(held, dtype=pl.Float64)))


def _held(attempts: pl.DataFrame, begin: int, end: int) -> float:
    """How much of the pool's resource running attempts held in a span, mean."""
    until = pl.col("end_time").fill_null(end).clip(upper_bound=end)
    since = pl.col("start_time").clip(lower_bound=begin)
    held = pl.col("size").fill_null(0) * (until - since).clip(lower_bound=0)
    return float(attempts.select(held.sum()).item()) / (end - begin)
