"""What a user could choose otherwise: widths and walltimes with which similar jobs waited less.

Read from what is published of everybody, block of weeks by block. A choice is given where its class
waited less in more blocks than the same waits would make likely: one-sided sign test at 5 %,
divided by how many choices were compared (Bonferroni).
"""

from math import comb
from typing import Final

import polars as pl

from audit.metrics.attempts.peers.waits import WALLTIMES, WALLTIMES_S
from audit.report.owner.attempts import Scene
from audit.report.record.owner import Way
from audit.report.record.pool import Figure

_BLOCKS: Final = 26
"""The latest blocks that are compared: half a year where each is a week."""
_FITTING: Final = 0.1
"""A shorter walltime is no choice where fewer of the user's attempts would end in it."""
_WORTH_S: Final = 600.0
"""A smaller mean gain is not told."""
_STEPS: Final = 2
"""Widths from a quarter to four times theirs: a job of far fewer CPUs is another job."""
_LEVEL: Final = 0.05
_LEVERS: Final = {"width": "walltime", "walltime": "width"}
"""What can be chosen, and what stays the same."""


def ways(scene: Scene) -> tuple[tuple[Way, ...], int]:
    """For each thing that can be chosen the best choice, and how many were compared.

    The user's class is the width and walltime class in which their attempts waited most in all.
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
) -> list[Way]:
    """The other classes of ``lever`` that could have been chosen, each with what it gains."""
    fixed = _LEVERS[lever]
    latest = similar["block"].unique().sort().tail(_BLOCKS)
    held = similar.filter(pl.col(fixed) == cell[fixed], pl.col("block").is_in(latest.implode()))
    mine = held.filter(pl.col(lever) == cell[lever]).select("block", mine="similar_wait_s")
    other = held.filter(pl.col(lever) != cell[lever]).join(mine, on="block").sort("block", lever)
    made = []
    for label in other[lever].unique().sort():
        fitting = _fitting(label, same) if lever == "walltime" else None
        far = lever == "width" and abs(_step(label) - _step(cell["width"])) > _STEPS
        if far or (lever == "walltime" and (fitting or 0.0) < _FITTING):
            continue
        of = other.filter(pl.col(lever) == label)
        gains = of["mine"] - of["similar_wait_s"]
        made.append(
            Way(
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


def _best(of: list[Way], tried: int) -> Way | None:
    """The choice that gains most; None where no gain is significant and large enough."""
    significant = [
        way
        for way in of
        if (way.gain.value or 0.0) >= _WORTH_S
        and sign_test(way.shorter, way.blocks) <= _LEVEL / tried
    ]
    return max(significant, key=lambda way: (way.gain.value or 0.0, way.better), default=None)


def sign_test(successes: int, trials: int) -> float:
    """The probability of at least so many successes, each being as likely as a failure."""
    return sum(comb(trials, k) for k in range(successes, trials + 1)) / float(2**trials)


def _step(width: str) -> int:
    """The place of a width class in powers of two: 0 for 1, 1 for 2, 2 for 3-4; −9: not known."""
    lowest = width.removeprefix(">").partition("-")[0]
    if not lowest.isdecimal():
        return -9
    return (int(lowest) - (not width.startswith(">"))).bit_length()


def _fitting(label: str, same: pl.DataFrame) -> float | None:
    """The part of the user's attempts that ran no longer than a walltime class reaches."""
    place = WALLTIMES.index(label)
    if place >= len(WALLTIMES_S):
        return 1.0
    ran = same["occupancy_s"].drop_nulls()
    return int((ran <= WALLTIMES_S[place]).sum()) / len(ran) if len(ran) else None
