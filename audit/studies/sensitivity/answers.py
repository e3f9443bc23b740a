"""What all settings came to: each group's mean response, and what varying a setting does to it.

With R_g(x) the mean response time of group g where the setting that is varied has the value x, the
*change* that it makes is the rise of the least-squares line over all its values, from the first to
the last:

    change_g = (x_last − x_first) · Σ (x − x̄) R_g(x) / Σ (x − x̄)²        in s

It is a figure of all runs, not of two of them, and has a sign. The group of the largest area is the
dominant one; the others are taken together.

Intervals are percentile bootstrap (``metrics.uncertainty``); a resample draws the same users for
all settings. Figures of the whole pool are drawn by day: that on which an attempt arrived, or
something was used.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.draws import Drawn, Draws, combined, ratio
from audit.metrics.uncertainty import Resamples
from audit.report.study.cells import studied
from audit.studies.sensitivity.compute import Point, Sweep

Floats = NDArray[np.float64]


class Sums(NamedTuple):
    """What one setting came to."""

    attempts: Floats  # [groups, users]
    response: Floats  # [groups, users], Σ response, s
    day_attempts: Floats  # [days], of the dominant group
    day_response: Floats  # [days], of the dominant group
    used: Floats  # [days], resource·s
    lost: Floats  # [days], resource·s
    capacity: Floats  # [days], resource·s

    @property
    def utilization(self) -> float | None:
        """Used / capacity between the first and the last arrival."""
        return _ratio(self.used, self.capacity)

    @property
    def loss(self) -> float | None:
        """Loss of capacity between the first and the last arrival."""
        return _ratio(self.lost, self.capacity)

    def mean_response(self, *groups: int) -> float | None:
        """Of the attempts of some groups taken together, s."""
        return _ratio(self.response[list(groups)], self.attempts[list(groups)])


def _ratio(above: Floats, below: Floats) -> float | None:
    total = float(below.sum())
    return float(above.sum()) / total if total > 0 else None


class Answers(NamedTuple):
    """What all settings came to."""

    labels: tuple[str, ...]
    """Of the groups, the dominant one first."""
    sums: Mapping[Point, Sums]
    users: Resamples
    days: Resamples

    @property
    def others(self) -> range:
        """The groups that are not the dominant one."""
        return range(1, len(self.labels))

    def beside(self, point: Point, fixed: Point, *groups: int) -> float | None:
        """The mean response of some groups, as a multiple of that at ``fixed``."""
        mean, at_fixed = (self.sums[one].mean_response(*groups) for one in (point, fixed))
        return mean / at_fixed if at_fixed and mean is not None else None


def answers(
    labels: Sequence[str], points: Sequence[Point], frames: Sequence[pl.DataFrame], draws: Draws
) -> Answers:
    """Puts the sums of all settings together.

    Args:
        labels: of the groups.
        points: the settings.
        frames: what each came to, columns of ``sensitivity.SUMS``.
        draws: the resamples, of users and of days.
    """
    groups = len(labels)
    known = [frame.filter(pl.col("group") < groups) for frame in frames]
    users = 1 + max((_last(frame, ("user",)) for frame in known), default=-1)
    # compressed arrivals take fewer days
    kinds = ("day", "used", "lost", "capacity")
    days = 1 + max((_last(frame, kinds) for frame in known), default=-1)
    sums = (_sums(frame, groups, users, days) for frame in known)
    return Answers(
        tuple(labels),
        dict(zip(points, sums, strict=True)),
        draws.of(users),
        draws.of(days, 1),
    )


def _last(frame: pl.DataFrame, kinds: Sequence[str]) -> int:
    last = frame.filter(pl.col("kind").is_in(kinds))["unit"].max()
    return last if isinstance(last, int) else -1


def _sums(frame: pl.DataFrame, groups: int, users: int, days: int) -> Sums:
    def placed(kind: str, column: str, group: int, length: int) -> Floats:
        of_group = frame.filter(pl.col("kind") == kind, pl.col("group") == group)
        values = np.zeros(length)
        values[of_group["unit"].to_numpy()] = of_group[column].to_numpy()
        return values

    return Sums(
        np.stack([placed("user", "attempts", group, users) for group in range(groups)]),
        np.stack([placed("user", "amount", group, users) for group in range(groups)]),
        placed("day", "attempts", 0, days),
        placed("day", "amount", 0, days),
        *(placed(kind, "amount", -1, days) for kind in ("used", "lost", "capacity")),
    )


def response(answers: Answers, point: Point, groups: Sequence[int]) -> Drawn:
    """The mean response of some groups taken together under a setting, s; resampled by user."""
    sums, chosen = answers.sums[point], list(groups)
    return ratio(answers.users, sums.response[chosen].sum(0), sums.attempts[chosen].sum(0))


def change(values: Sequence[float], figures: Sequence[Drawn]) -> Drawn:
    """The rise of the least-squares line over ``values``, from the first to the last."""
    x = np.array(values, np.float64) - np.mean(values)
    weights = (values[-1] - values[0]) * x / np.sum(x**2)
    # from the first: where nothing differs, nothing changes, not even by rounding
    return combined(figures, lambda drawn: np.tensordot(weights, drawn - drawn[0], 1))


class Change(NamedTuple):
    """What varying a setting does to the groups."""

    sweep: Sweep
    dominant: Drawn
    others: Drawn
    each: tuple[Drawn, ...]
    """Of every group."""


def changes(answers: Answers, sweep: Sweep) -> Change:
    """What the settings of ``sweep`` do to each group's mean response."""

    def of(groups: Sequence[int]) -> Drawn:
        return change(sweep.values, [response(answers, point, groups) for point in sweep.points])

    each = tuple(of((group,)) for group in range(len(answers.labels)))
    return Change(sweep, each[0], of(answers.others), each)


def rows(pool: str, answers: Answers) -> pl.DataFrame:
    """Each setting's mean response by group, with its interval, and what the pool did.

    Args:
        pool: its name.
        answers: what the settings came to.

    Returns:
        Columns of ``cells.STUDIED``.
    """
    rows: list[tuple[object, ...]] = []
    for point, sums in answers.sums.items():
        for group, label in enumerate(answers.labels):
            if (mean := response(answers, point, [group])).value >= 0:  # not NaN
                of_group = ("group", label, *mean.estimate(), "s", int(sums.attempts[group].sum()))
                rows.append((pool, point.label, "response_mean", *of_group))
        attempts = int(sums.attempts.sum())
        for metric, value in (("utilization", sums.utilization), ("loss_of_capacity", sums.loss)):
            rows.append((pool, point.label, metric, "all", None, value, None, None, "1", attempts))
    return studied(rows)
