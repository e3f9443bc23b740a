"""Whose the attempts of a pool are: the owner's, and others'."""

from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics.attempts.peers.waits import Alike
from audit.metrics.attempts.population import ordered
from audit.metrics.course import SUMS
from audit.model import Period, Standing
from audit.report.owner.contents import FEWEST
from audit.report.owner.who import Who

_ENDED: Final = (pl.col("standing") == Standing.ENDED.value) & pl.col("wait_s").is_not_null()


@dataclass(frozen=True)
class Scene:
    """The attempts of one pool, as the page of one owner looks at them."""

    who: Who
    period: Period
    attempts: pl.DataFrame
    """Columns of ``sql/queries/owner_attempts.sql``, of all periods and all owners."""

    @property
    def mine(self) -> pl.Expr:
        """Whether an attempt is the owner's."""
        return (pl.col(self.who.kind) == self.who.name).fill_null(False)

    def subjects(self) -> pl.DataFrame:
        """All attempts that ended in the period, whose waits are known."""
        held = self.attempts.filter(_ENDED)
        if self.period.whole_log:
            return held
        inside = (pl.col("end_time") >= self.period.from_time) & (
            pl.col("end_time") < self.period.to_time
        )
        return held.filter(inside)

    def sums(self, over: list[Period], zone: ZoneInfo) -> pl.DataFrame:
        """What each day of the owner adds to the sums of each stretch: ``course.SUMS``.

        The column ``user`` holds days of arrival: what is drawn again of one owner is its days
        (SPEC §10, *Peers*).
        """
        own = self.attempts.filter(_ENDED, self.mine).with_columns(
            user=local_day(pl.col("arrival_time"), zone)
        )
        return pl.concat([_added(own, stretch, k) for k, stretch in enumerate(over)])


def local_day(arrival: pl.Expr, zone: ZoneInfo) -> pl.Expr:
    """The day of an instant on the clock of a zone, as a text."""
    local = pl.from_epoch(arrival, time_unit="s").dt.replace_time_zone("UTC")
    return local.dt.convert_time_zone(zone.key).dt.date().cast(pl.String)


def _added(own: pl.DataFrame, stretch: Period, number: int) -> pl.DataFrame:
    inside = own
    if not stretch.whole_log:
        inside = own.filter(
            pl.col("end_time") >= stretch.from_time, pl.col("end_time") < stretch.to_time
        )
    made = inside.group_by("user").agg(
        first_arrival=pl.col("arrival_time").min(),
        attempts=pl.len().cast(pl.Int64),
        wait_s=pl.col("wait_s").sum(),
        apart_s=pl.col("wait_s").filter(pl.col("wait_room_s").is_not_null()).sum(),
        wait_room_s=pl.col("wait_room_s").sum(),
        judged=pl.col("weight").sum(),
        overtaken_s=(pl.col("weight") * pl.col("overtaken_s")).sum(),
    )
    counted = made.with_columns(stretch=pl.lit(number, pl.Int64))
    return counted.select(pl.col(name).cast(kind) for name, kind in SUMS.items()).sort("user")


class Beside:
    """With whom attempts of the owner were compared."""

    def __init__(self, scene: Scene) -> None:
        """Of the attempts that are anybody's peers, or have any, near those of the period."""
        judged = pl.col("wait_room_s").is_not_null() & pl.col("user").is_not_null()
        held = scene.attempts.filter(judged).pipe(ordered, "arrival_time")
        self._alike = Alike(held)
        rows = held.with_row_index("row").filter(scene.mine).select("row", "job_id", "attempt")
        self._rows = {(job, attempt): row for row, job, attempt in rows.iter_rows()}
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
