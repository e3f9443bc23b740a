"""Whose the attempts of a pool are: the owner's, and others'."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from audit.metrics.attempts.peers.waits import READ, WALLTIMES, Alike, walltime_class
from audit.metrics.attempts.population import only
from audit.metrics.choices import hour_classes
from audit.metrics.course import SUMS
from audit.model import Period, Standing
from audit.report.contents import SMALL_SAMPLE
from audit.report.owner.contents import FEWEST
from audit.report.owner.who import Who

Ints = NDArray[np.int64]

_ENDED: Final = (pl.col("standing") == Standing.ENDED.value) & pl.col("wait_s").is_not_null()
_COMPARED: Final = (
    *("user", "account", "width_class", "walltime_s", "arrival_time", "wait_s", "occupancy_s"),
)


@dataclass(frozen=True)
class Everybody:
    """The attempts of one pool: what pages of all owners look at is worked out once."""

    period: Period
    attempts: pl.DataFrame
    """Columns of ``sql/queries/owner_attempts.sql``, by arrival: of the time of the period all, of
    that of the trend before it those of owners."""

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

    def of_classes(self, zone: ZoneInfo, classes: Mapping[str, str]) -> pl.DataFrame:
        """Those of ``classed`` whose user is known and that are in these classes, by what is so."""
        key = (zone.key, *classes.items())
        if key not in self._of_classes:
            held = [pl.col(name) == label for name, label in classes.items()]
            found = self.classed(zone).lazy().filter(pl.col("user").is_not_null(), *held)
            self._of_classes[key] = found.collect()
        return self._of_classes[key]

    @cached_property
    def _of_classes(self) -> dict[tuple[object, ...], pl.DataFrame]:
        return {}

    @cached_property
    def judged(self) -> Ints:
        """The rows of the attempts that are anybody's peers, or have any."""
        known = pl.col("wait_room_s").is_not_null() & pl.col("user").is_not_null()
        return _rows(self.attempts, known)

    @cached_property
    def alike(self) -> Alike:
        """Which of these are alike."""
        read = self.attempts.select(READ)
        return Alike(read if len(self.judged) == read.height else read[self.judged])

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """User and account of the subjects, as they are named together."""
        return self.subjects.lazy().select("user", "account").unique().collect()


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
        """The owner's attempts that ended in any period, whose waits are known.

        With ``row``, their place among everybody's.
        """
        rows = _rows(self.everybody.attempts, self.mine)
        return self.everybody.attempts[rows].with_columns(row=rows).filter(_ENDED)

    @cached_property
    def subjects(self) -> pl.DataFrame:
        """Those of them that ended in the period."""
        return self.ended.filter(_inside(self.period))

    def others(self) -> int:
        """How many other users had attempts that ended in the period."""
        return self.everybody.pairs.filter(~self.mine)["user"].drop_nulls().n_unique()

    def sums(self, over: list[Period], zone: ZoneInfo) -> pl.DataFrame:
        """What each day of the owner adds to the sums of each stretch: ``course.SUMS``.

        The column ``user`` holds days of arrival: what is drawn again of one owner is its days
        (SPEC §10, *Peers*). No two stretches overlap.
        """
        numbered = (
            pl.when(_inside(stretch)).then(pl.lit(k, pl.Int64)) for k, stretch in enumerate(over)
        )
        return _added(self.ended.with_columns(stretch=pl.coalesce(numbered)), zone)


def _rows(attempts: pl.DataFrame, condition: pl.Expr) -> Ints:
    """The rows of which a condition holds."""
    rows: Ints = attempts.select(condition.arg_true().cast(pl.Int64)).to_series().to_numpy()
    return rows


def _inside(period: Period) -> pl.Expr:
    """Whether an attempt ended in a period."""
    if period.whole_log:
        return pl.lit(True)
    end = pl.col("end_time")
    return (end >= period.from_time) & (end < period.to_time)


def local_day(arrival: pl.Expr, zone: ZoneInfo) -> pl.Expr:
    """The day of an instant on the clock of a zone."""
    local = pl.from_epoch(arrival, time_unit="s").dt.replace_time_zone("UTC")
    return local.dt.convert_time_zone(zone.key).dt.date()


def _added(own: pl.DataFrame, zone: ZoneInfo) -> pl.DataFrame:
    """What each day adds to the sums of the stretch that an attempt is in."""
    made = (
        own.filter(pl.col("stretch").is_not_null())
        .group_by("stretch", user=local_day(pl.col("arrival_time"), zone))
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
    return made.select(pl.col(name).cast(kind) for name, kind in SUMS.items()).sort(
        "stretch", "user"
    )


class Beside:
    """With whom attempts of the owner were compared."""

    def __init__(self, scene: Scene) -> None:
        """Of the attempts that are anybody's peers, or have any, near those of the period."""
        self._judged = scene.everybody.judged
        self._alike = scene.everybody.alike
        self._cut = np.iinfo(np.int64).max if scene.period.whole_log else scene.period.to_time

    def users(self, row: int) -> frozenset[int]:
        """The users of the peers of an attempt, by number; ``row`` is its place."""
        place = int(np.searchsorted(self._judged, row))
        if place == len(self._judged) or self._judged[place] != row:
            return frozenset()
        peers = self._alike.peers(place, int(self._cut))
        return frozenset() if peers is None else frozenset(self._alike.user[peers].tolist())

    def enough(self, compared: pl.DataFrame) -> bool:
        """Whether attempts were compared with those of so many users that these may be told of."""
        seen: set[int] = set()
        for row in compared["row"]:
            seen |= self.users(row)
            if len(seen) >= FEWEST:
                return True
        return False
