"""The owner's longest waits, and what ran meanwhile."""

from typing import Any, Final

import polars as pl

from audit.report.owner.attempts import Beside, Scene
from audit.report.owner.contents import FEWEST, PARTS, LongWait, Meanwhile

MOST: Final = 5
"""So many are told of."""


def longest(scene: Scene, capacity: int, beside: Beside, *, modelled: bool) -> tuple[LongWait, ...]:
    """The longest waits of the owner that ended in the period, longest first.

    Args:
        scene: the attempts of the pool.
        capacity: of the pool.
        beside: with whom they were compared.
        modelled: whether the model fits so well that it may be spoken of.
    """
    mine = scene.subjects.filter(pl.col("wait_s") > 0).sort(
        "wait_s", "arrival_time", "job_id", "attempt", descending=[True, False, False, False]
    )
    return tuple(
        _told(scene, row, capacity, beside, modelled=modelled)
        for row in mine.head(MOST).iter_rows(named=True)
    )


def _told(
    scene: Scene, row: dict[str, Any], capacity: int, beside: Beside, *, modelled: bool
) -> LongWait:
    parts = {part: row[f"wait_{part}_s"] for part in PARTS}
    compared = len(beside.users(row["row"])) >= FEWEST
    return LongWait(
        row["job_id"] if scene.who.kind == "user" else None,
        row["arrival_time"],
        row["start_time"],
        row["wait_s"],
        row["size"],
        row["walltime_s"],
        {} if None in parts.values() else {part: float(of) for part, of in parts.items()},
        row["peer_wait_s"] if compared else None,
        row["overtaken_s"] if modelled and row["weight"] is not None else None,
        _meanwhile(scene, row, capacity),
    )


def _meanwhile(scene: Scene, row: dict[str, Any], capacity: int) -> Meanwhile:
    """What ran from its arrival to its start; of others only what five users or more had."""
    begin, end = row["arrival_time"], row["start_time"]
    until = pl.col("end_time").fill_null(end).clip(upper_bound=end)
    since = pl.col("start_time").clip(lower_bound=begin)
    ran = (
        scene.everybody.attempts.lazy()
        .filter(
            pl.col("start_time") < end,
            pl.col("end_time").is_null() | (pl.col("end_time") > begin),
        )
        .select(
            "user",
            mine=scene.mine,
            earlier=pl.col("arrival_time") <= begin,
            held=(pl.col("size").fill_null(0) * (until - since)).cast(pl.Float64),
        )
        .collect()
    )
    room = float(capacity * (end - begin))
    others = ran.filter(~pl.col("mine"))

    def part(of: pl.DataFrame) -> float:
        return float(of["held"].sum()) / room if room else 0.0

    def users(of: pl.DataFrame) -> int:
        return of["user"].drop_nulls().n_unique()

    told = users(others) >= FEWEST
    sides = [others.filter(pl.col("earlier")), others.filter(~pl.col("earlier"))]
    # One of two sides and their sum would tell the other.
    split = told and all(users(side) >= FEWEST for side in sides)
    return Meanwhile(
        part(ran.filter("mine")),
        part(others) if told else None,
        users(others) if told else None,
        *((part(side) if split else None) for side in sides),
    )
