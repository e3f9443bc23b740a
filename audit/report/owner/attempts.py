"""Whose the attempts of a pool are: the owner's, and others'."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.metrics.attempts.peers.waits import READ, WALLTIMES, Alike, walltime_class
from audit.metrics.attempts.population import only, ordered
from audit.metrics.choices import hour_classes
from audit.metrics.course import SUMS
from audit.model import Period, Standing
from audit.report.contents import SMALL_SAMPLE
from audit.report.owner.contents import FEWEST
from audit.report.owner.who import Who

_ENDED: Final = (pl.col("standing") == Standing.ENDED.value) & pl.col("wait_s").is_not_null()
_COMPARED: Final = (
    *("user", "account", "width_class", "walltime_s", "arrival_time", "wait_s", "occupancy_s"),
)


@dataclass(frozen=True)
class Everybody:
    """The attempts of one pool: what pages of all owners look at is worked out once."""

    period: Period
    attempts: pl.DataFrame
    """Columns of ``sql/queries/owner_attempts.sql``, of all periods and all owners."""

    @cached_property
    def subjects(self) -> pl.DataFrame:
        """All attempts that ended in the period, whose waits are known; ``_COMPARED`` of them."""
        return only(self.attempts, _ENDED & _inside(self.period)).select(_COMPARED)

    def means(self, kind: str) -> pl.DataFrame:
        """The mean wait of each user, or account, with enough attempts: ``kind``, wait_s, users."""
        if kind not in self._means:
            self._means[kind] = (
                self.subjects.filter(pl.col(kind).is_not_null())
                .group_by(kind)
                .agg(
                    attempts=pl.len(), wait_s=pl.col("wait_s").mean(), users=pl.col("user").unique()
                )
                .filter(pl.col("attempts") >= SMALL_SAMPLE)
            )
        return self._means[kind]

    @cached_property
    def _means(self) -> dict[str, pl.DataFrame]:
        return {}

    def classed(self, zone: ZoneInfo) -> pl.DataFrame:
        """The subjects whose width and walltime are known, by what who submits can choose.

        Columns user, account, arrival_time, wait_s, occupancy_s, and width, walltime and hours, the
        classes that they are in; names as categories, by wait. ``zone`` is the cluster's.
        """
        if zone.key not in self._classed:
            known = pl.col("width_class").is_not_null() & pl.col("walltime_s").is_not_null()
            held = only(self.subjects, known)
            classed = held.select(
                *("user", "account", "arrival_time", "wait_s", "occupancy_s"),
                width="width_class",
                walltime=pl.Series(WALLTIMES).gather(walltime_class(held["walltime_s"])),
                hours=hour_classes(held["arrival_time"], zone),
            )
            # looked through for every owner: numbers are compared sooner than names, and what is
            # in order need not be sorted
            numbered = classed.with_columns(cs.string().cast(pl.Categorical))
            self._classed[zone.key] = numbered.sort("wait_s")
        return self._classed[zone.key]

    @cached_property
    def _classed(self) -> dict[str, pl.DataFrame]:
        return {}

    @cached_property
    def judged(self) -> pl.DataFrame:
        """The attempts that are anybody's peers, or have any, by arrival."""
        known = pl.col("wait_room_s").is_not_null() & pl.col("user").is_not_null()
        columns = dict.fromkeys((*READ, "account", "job_id", "attempt"))
        return ordered(only(self.attempts, known).select(*columns), "arrival_time")

    @cached_property
    def alike(self) -> Alike:
        """Which of these are alike."""
        return Alike(self.judged)


@dataclass(frozen=True)
class Scene:
    """The attempts of one pool, as the page of one owner looks at them."""

    who: Who
    everybody: Everybody

    @property
    def period(self) -> Period:
        """Of the report."""
        return self.everybody.period

    @property
    def mine(self) -> pl.Expr:
        """Whether an attempt is the owner's."""
        return (pl.col(self.who.kind) == self.who.name).fill_null(False)

    @cached_property
    def ended(self) -> pl.DataFrame:
        """The owner's attempts that ended in any period, whose waits are known."""
        return self.everybody.attempts.filter(_ENDED, self.mine)

    @cached_property
    def subjects(self) -> pl.DataFrame:
        """Those of them that ended in the period."""
        return self.ended.filter(_inside(self.period))

    def others(self) -> int:
        """How many other users had attempts that ended in the period."""
        users = self.everybody.subjects.lazy().filter(~self.mine).select("user").collect()
        return users["user"].drop_nulls().n_unique()

    def sums(self, over: list[Period], zone: ZoneInfo) -> pl.DataFrame:
        """What each day of the owner adds to the sums of each stretch: ``course.SUMS``.

        The column ``user`` holds days of arrival: what is drawn again of one owner is its days
        (SPEC §10, *Peers*).
        """
        own = self.ended.with_columns(user=local_day(pl.col("arrival_time"), zone))
        return pl.concat([_added(own, stretch, k) for k, stretch in enumerate(over)])


def _inside(period: Period) -> pl.Expr:
    """Whether an attempt ended in a period."""
    if period.whole_log:
        return pl.lit(True)
    end = pl.col("end_time")
    return (end >= period.from_time) & (end < period.to_time)


def local_day(arrival: pl.Expr, zone: ZoneInfo) -> pl.Expr:
    """The day of an instant on the clock of a zone, as a text."""
    local = pl.from_epoch(arrival, time_unit="s").dt.replace_time_zone("UTC")
    return local.dt.convert_time_zone(zone.key).dt.date().cast(pl.String)


def _added(own: pl.DataFrame, stretch: Period, number: int) -> pl.DataFrame:
    made = (
        own.filter(_inside(stretch))
        .group_by("user")
        .agg(
            first_arrival=pl.col("arrival_time").min(),
            attempts=pl.len().cast(pl.Int64),
            wait_s=pl.col("wait_s").sum(),
            apart_s=pl.col("wait_s").filter(pl.col("wait_room_s").is_not_null()).sum(),
            wait_room_s=pl.col("wait_room_s").sum(),
            judged=pl.col("weight").sum(),
            overtaken_s=(pl.col("weight") * pl.col("overtaken_s")).sum(),
        )
    )
    counted = made.with_columns(stretch=pl.lit(number, pl.Int64))
    return counted.select(pl.col(name).cast(kind) for name, kind in SUMS.items()).sort("user")


class Beside:
    """With whom attempts of the owner were compared."""

    def __init__(self, scene: Scene) -> None:
        """Of the attempts that are anybody's peers, or have any, near those of the period."""
        held = scene.everybody.judged
        self._alike = scene.everybody.alike
        rows = held.with_row_index("row").lazy().filter(scene.mine)
        self._rows = {
            (job, attempt): row
            for row, job, attempt in rows.select("row", "job_id", "attempt").collect().iter_rows()
        }
        self._cut = np.iinfo(np.int64).max if scene.period.whole_log else scene.period.to_time

    def users(self, job_id: str, attempt: int) -> frozenset[int]:
        """Of an attempt of the owner, the users of its peers, by number."""
        row = self._rows.get((job_id, attempt))
        peers = None if row is None else self._alike.peers(row, int(self._cut))
        return frozenset() if peers is None else frozenset(self._alike.user[peers].tolist())

    def enough(self, compared: pl.DataFrame) -> bool:
        """Whether attempts were compared with those of so many users that these may be told of."""
        seen: set[int] = set()
        for job_id, attempt in compared.select("job_id", "attempt").iter_rows():
            seen |= self.users(job_id, attempt)
            if len(seen) >= FEWEST:
                return True
        return False
