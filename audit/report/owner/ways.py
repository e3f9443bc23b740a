"""What the owner could choose otherwise: widths, walltimes and hours that waited less."""

from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.attempts.peers.waits import WALLTIMES, WALLTIMES_S
from audit.metrics.choices import Gain, gains
from audit.report.contents import Figure
from audit.report.judgement.levels import corrected
from audit.report.owner.attempts import Scene
from audit.report.owner.contents import Way

_SEED: Final = 0
"""Of the bootstrap: the same attempts give the same intervals."""
_FITTING: Final = 0.1
"""A shorter walltime is no choice where fewer of the owner's attempts would end in it."""
_WORTH_S: Final = 600.0
"""A gain of which chance may leave less is not told."""
_STEPS: Final = 2
"""Widths from a quarter to four times theirs: a job of far fewer CPUs is another job."""
_LEVERS: Final = {
    "width": ("walltime",),
    "walltime": ("width",),
    "hours": ("width", "walltime"),
}
"""What can be chosen, and what is held alike meanwhile."""


def ways(scene: Scene, zone: ZoneInfo, resamples: int) -> tuple[tuple[Way, ...], int]:
    """For each thing that can be chosen the best choice, and how many were compared.

    The owner's attempts are those of the width and walltime class in which they waited most in
    all; what is compared are waits of *other* users. A choice is told where its interval, made
    wider for how many were compared (Bonferroni), leaves out that it gains next to nothing.

    Args:
        scene: the attempts of the pool.
        zone: the cluster's, for hours.
        resamples: of the bootstrap.
    """
    held = scene.everybody.classed(zone)
    own = held.filter(scene.mine)
    if own.is_empty():
        return (), 0
    cell = (
        own.group_by("width", "walltime")
        .agg(pl.col("wait_s").sum(), pl.len().alias("attempts"))
        .sort("wait_s", "attempts", "width", "walltime", descending=[True, True, False, False])
        .row(0, named=True)
    )
    alike = own.filter(pl.col("width") == cell["width"], pl.col("walltime") == cell["walltime"])
    hours = alike["hours"].value_counts(sort=True).sort("count", "hours", descending=[True, False])
    mine = {**cell, "hours": hours["hours"][0]}
    found = {
        lever: _possible(lever, _gains(scene, zone, lever, mine, resamples), alike)
        for lever in _LEVERS
    }
    tried = sum(map(len, found.values()))
    best = (_best(lever, of, mine, alike, tried) for lever, of in found.items())
    return tuple(way for way in best if way is not None), tried


def _gains(
    scene: Scene, zone: ZoneInfo, lever: str, mine: dict[str, str], resamples: int
) -> tuple[Gain, ...]:
    alike = scene.everybody.of_classes(zone, {fixed: mine[fixed] for fixed in _LEVERS[lever]})
    others = alike.lazy().filter(~scene.mine)
    waits = others.select("user", "arrival_time", "wait_s", label=lever).collect()
    return gains(waits, mine[lever], _SEED, resamples)


def _possible(lever: str, of: tuple[Gain, ...], alike: pl.DataFrame) -> list[Gain]:
    """Those that the owner could have chosen.

    Of widths those not far from theirs, of walltimes those in which theirs ended.
    """
    if lever == "width":
        own = _step(str(alike["width"][0]))
        return [gain for gain in of if abs(_step(gain.label) - own) <= _STEPS]
    if lever == "hours":
        return list(of)
    return [gain for gain in of if (_fitting(gain.label, alike) or 0.0) >= _FITTING]


def _step(width: str) -> int:
    """The place of a width class in powers of two: 0 for 1, 1 for 2, 2 for 3-4; −9: not known."""
    lowest = width.removeprefix(">").partition("-")[0]
    if not lowest.isdecimal():
        return -9
    return (int(lowest) - (not width.startswith(">"))).bit_length()


def _fitting(label: str, alike: pl.DataFrame) -> float | None:
    """The part of the owner's attempts that ran no longer than a walltime class reaches."""
    place = WALLTIMES.index(label)
    if place >= len(WALLTIMES_S):
        return 1.0
    ran = alike["occupancy_s"].drop_nulls()
    return int((ran <= WALLTIMES_S[place]).sum()) / len(ran) if len(ran) else None


def _best(
    lever: str, of: list[Gain], mine: dict[str, str], alike: pl.DataFrame, tried: int
) -> Way | None:
    """The choice that surely gains most; None where chance may have made each gain."""
    best, least = None, _WORTH_S
    for gain in of:
        figure = Figure("wait_median", gain.value, *gain.within, "s", gain.attempts)
        within = corrected(figure, tried)
        if within is not None and within[0] > least:
            least = within[0]
            best = gain, Figure("wait_median", gain.value, *within, "s", gain.attempts)
    if best is None:
        return None
    gain, figure = best
    return Way(
        lever,
        mine[lever],
        gain.label,
        mine["width"] if lever != "width" else "",
        mine["walltime"] if lever != "walltime" else "",
        figure,
        gain.users,
        _fitting(gain.label, alike) if lever == "walltime" else None,
    )
