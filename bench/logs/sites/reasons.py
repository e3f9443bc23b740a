"""True reasons of waiting, and the record of them that a simulation keeps."""

from enum import StrEnum
from typing import Final

import polars as pl


class TrueReason(StrEnum):
    """Why a job did not start, at one time."""

    FULL = "full"
    """The rest of the capacity that the log shows is too small for it."""
    CLAIMED = "claimed"
    """It fits, but a job ahead of it is about to start there."""
    KEPT = "kept"
    """It fits, but the capacity is kept for a job ahead of it."""
    HELD = "held"
    """Its user holds it; likewise a job whose array is throttled."""
    DEPENDENCY = "dependency"
    """It waits for the end of another job."""
    RULE = "rule"
    """A limit forbids it."""
    UNAVAILABLE = "unavailable"
    """It would fit if no nodes were out of service."""
    NODES = "nodes"
    """It would fit on nodes of another class."""
    CYCLE = "cycle"
    """It may start: the scheduler has not looked yet, or the start takes time."""


COMPETITION: Final = (TrueReason.FULL, TrueReason.CLAIMED, TrueReason.KEPT)
"""Reasons that the log shows: the capacity was used by, or meant for, other jobs."""

STRETCHES: Final = pl.Schema(
    {
        "row": pl.Int64,  # of the site's jobs
        "begin": pl.Int64,
        "end": pl.Int64,
        "reason": pl.String,  # TrueReason
        "besides": pl.String,  # of ``full``: what else kept it from starting; null: nothing
    }
)


class TrueRecord:
    """The reason of each waiting job, and all earlier stretches."""

    def __init__(self) -> None:
        """Begin without jobs."""
        self.stretches: list[tuple[int, int, int, TrueReason, TrueReason | None]] = []
        self._now: dict[int, tuple[int, TrueReason, TrueReason | None]] = {}

    def tell(
        self, job: int, now: int, reason: TrueReason, besides: TrueReason | None = None
    ) -> None:
        """Note why a job does not start from now on."""
        before = self._now.get(job)
        if before is not None:
            since, *same = before
            if same == [reason, besides]:
                return
            self._close(job, since, now, before)
        self._now[job] = (now, reason, besides)

    def leave(self, job: int, now: int) -> None:
        """Note that a job starts, or is cancelled."""
        before = self._now.pop(job, None)
        if before is not None:
            self._close(job, before[0], now, before)

    def _close(
        self, job: int, since: int, now: int, told: tuple[int, TrueReason, TrueReason | None]
    ) -> None:
        if since < now:
            self.stretches.append((job, since, now, told[1], told[2]))
