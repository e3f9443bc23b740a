"""What [B] concludes of fairshare's settings, decided on one's own log.

With R_g(x) the mean response time of group g where the setting that is varied has the value x, the
*change* that it makes is the rise of the least-squares line over all its values, from the first to
the last:

    change_g = (x_last − x_first) · Σ (x − x̄) R_g(x) / Σ (x − x̄)²        in s

It is a figure of all runs, not of two of them, and has a sign. The group of the largest area is the
dominant one; the others are taken together. What moves more has the larger |change| of the dominant
group.

Intervals are percentile bootstrap (``metrics.uncertainty``); a resample draws the same users for
all settings. What is said of utilization, a figure of the whole pool, is drawn by day: that on
which an attempt arrived, or something was used.

Source: [B] H. Bui et al., Fairshare Scheduling – A Case Study, §5 and §6.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.uncertainty import Resamples
from audit.studies.cells import studied
from audit.studies.drawn import Drawn, Draws, combined, ratio
from audit.studies.sensitivity.compute import Base, Plane, Point, Sweep, planes, sweeps
from audit.studies.verdicts import Estimate, Holds, Verdict, every, greater

Floats = NDArray[np.float64]

DOMINANT: Final = (0,)
"""Groups are numbered by area, the largest first."""

SETTINGS: Final = ("interval", "depth", "decay")


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

    def mean_response(self, group: int) -> float | None:
        """Of a group's attempts, s."""
        return _ratio(self.response[group], self.attempts[group])


def _ratio(above: Floats, below: Floats) -> float | None:
    total = float(below.sum())
    return float(above.sum()) / total if total > 0 else None


class Answers(NamedTuple):
    """What all settings came to."""

    labels: tuple[str, ...]
    """Of the groups, the dominant one first."""
    of: Mapping[Point, Sums]
    users: Resamples
    days: Resamples


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
    return Answers(
        tuple(labels),
        {
            point: _table(frame, groups, users, days)
            for point, frame in zip(points, known, strict=True)
        },
        draws.of(users),
        draws.of(days, 1),
    )


def _last(frame: pl.DataFrame, kinds: Sequence[str]) -> int:
    found = frame.filter(pl.col("kind").is_in(kinds))["unit"].max()
    return found if isinstance(found, int) else -1


def _table(frame: pl.DataFrame, groups: int, users: int, days: int) -> Sums:
    def placed(kind: str, column: str, group: int, length: int) -> Floats:
        own = frame.filter(pl.col("kind") == kind, pl.col("group") == group)
        values = np.zeros(length)
        values[own["unit"].to_numpy()] = own[column].to_numpy()
        return values

    return Sums(
        np.stack([placed("user", "attempts", group, users) for group in range(groups)]),
        np.stack([placed("user", "amount", group, users) for group in range(groups)]),
        placed("day", "attempts", 0, days),
        placed("day", "amount", 0, days),
        *(placed(kind, "amount", -1, days) for kind in ("used", "lost", "capacity")),
    )


def responses(found: Answers, points: Sequence[Point], groups: Sequence[int]) -> list[Drawn]:
    """The mean response of some groups taken together, for each setting, s; resampled by user."""
    return [
        ratio(
            found.users,
            found.of[point].response[list(groups)].sum(0),
            found.of[point].attempts[list(groups)].sum(0),
        )
        for point in points
    ]


def change(values: Sequence[float], of: Sequence[Drawn]) -> Drawn:
    """The rise of the least-squares line over ``values``, from the first to the last."""
    x = np.array(values, np.float64) - np.mean(values)
    weights = (values[-1] - values[0]) * x / np.sum(x**2)
    # from the first: where nothing differs, nothing changes, not even by rounding
    return combined(of, lambda figures: np.tensordot(weights, figures - figures[0], 1))


class Change(NamedTuple):
    """What varying a setting does to the groups."""

    sweep: Sweep
    dominant: Drawn
    others: Drawn
    each: tuple[Drawn, ...]
    """Of every group."""


def changes(found: Answers, sweep: Sweep) -> Change:
    """What the settings of ``sweep`` do to each group's mean response."""
    everybody = range(len(found.labels))

    def of(groups: Sequence[int]) -> Drawn:
        return change(sweep.values, responses(found, sweep.points, groups))

    each = tuple(of((group,)) for group in everybody)
    return Change(sweep, each[0], of(everybody[1:]), each)


def slower_and_faster(base: Base, labels: Sequence[str], made: Change) -> Verdict:
    """Does raising a setting make the dominant group slower, and the others faster? [B §6]"""
    dominant, others = made.dominant.estimate(), made.others.estimate()
    sweep = made.sweep
    return Verdict(
        f"{base.name}: as {sweep.key} grows, the dominant group gets slower and the others faster",
        every([greater(dominant), greater(_negative(others))]),
        f"{sweep.key} from {sweep.values[0]:g} to {sweep.values[-1]:g} changes the mean response "
        f"of {labels[0]} by {dominant} s and that of all others by {others} s",
        "[B §5.1, §5.2, §6]",
    )


def moves_more(base: Base, claim: str, one: Change, others: Sequence[Change], of: str) -> Verdict:
    """Does a setting move the dominant group's response more than each of the others?"""
    found = []
    for other in others:
        apart = combined(
            [one.dominant, other.dominant], lambda both: np.abs(both[0]) - np.abs(both[1])
        )
        found.append((other.sweep.key, apart.estimate()))
    compared = "; ".join(f"more than {key} by {apart} s" for key, apart in found)
    return Verdict(
        f"{base.name}: {claim}",
        every(greater(apart) for _, apart in found),
        f"{one.sweep.key} moves the dominant group's mean response by "
        f"{one.dominant.estimate()} s: {compared} (of sizes, without signs)",
        of,
    )


def utilization_follows(base: Base, found: Answers, points: Sequence[Point]) -> list[Verdict]:
    """Is utilization higher where the dominant group's response is longer? [B §5.3]

    Spearman's rank correlation over ``points`` (average ranks), resampled by day. Where all that
    arrives is run soon after, utilization is the offered load whatever the order; what then tells
    how well the pool was filled is the loss of capacity, which is decided too.
    """
    sums = [found.of[point] for point in dict.fromkeys(points)]
    response = [ratio(found.days, one.day_response, one.day_attempts) for one in sums]
    used = [ratio(found.days, one.used, one.capacity) for one in sums]
    kept = [ratio(found.days, one.capacity - one.lost, one.capacity) for one in sums]
    of = "[B §5.1.1, §5.3]"
    return [
        Verdict(
            f"{base.name}: {claim} the dominant group's response", *_follows(response, of_pool), of
        )
        for claim, of_pool in (
            ("utilization rises with", used),
            ("what is not lost of the capacity rises with", kept),
        )
    ]


def _follows(response: Sequence[Drawn], figure: Sequence[Drawn]) -> tuple[Holds, str]:
    """Whether a figure of the pool rises with a response, and why."""
    levels = [one.value for one in figure]
    low, high = min(levels), max(levels)
    lengths = [one.value for one in response]
    if not min(lengths) < max(lengths):
        return Holds.undecided, "the dominant group's mean response is the same in all settings"
    varied = f"{min(lengths):,.0f} to {max(lengths):,.0f} s"
    if not low < high:
        return (
            Holds.no,
            f"it is {low:.4f} in all {len(levels)} settings, while the response is {varied}",
        )
    correlation = combined([*response, *figure], _rank_correlations).estimate()
    return (
        greater(correlation),
        f"rank correlation over {len(levels)} settings: {correlation}; it is {low:.4f} to "
        f"{high:.4f}, the response {varied}",
    )


def decide(base: Base, found: Answers, *, two_at_once: bool) -> list[Verdict]:
    """All of [B]'s conclusions around one set of fixed values.

    Args:
        base: the fixed values.
        found: what at least ``sweeps(base)``, and ``planes(base)`` where ``two_at_once``, came to.
        two_at_once: whether those conclusions are decided too.
    """
    made = {sweep.key: changes(found, sweep) for sweep in sweeps(base)}
    of = "[B §5.2.1, §6]"
    verdicts = [slower_and_faster(base, found.labels, made[key]) for key in SETTINGS]
    others = [made[key] for key in ("interval", "depth")]
    claim = "decay moves more than interval and depth"
    verdicts.append(moves_more(base, claim, made["decay"], others, of))
    claim, others = "targets move most", [made[key] for key in SETTINGS]
    verdicts.append(moves_more(base, claim, made["targets"], others, "[B §5.3, §6]"))
    if two_at_once:
        for plane in planes(base):
            verdicts.append(_more_at_once(base, found, plane, made))
    fair = [point for sweep in sweeps(base) for point in sweep.points if point.intensity == 100]
    verdicts += utilization_follows(base, found, fair)
    return verdicts


def _more_at_once(base: Base, found: Answers, plane: Plane, made: Mapping[str, Change]) -> Verdict:
    return moves_more(
        base,
        f"{plane.one} and {plane.other} together move more than one of them",
        changes(found, plane.diagonal),
        [made[plane.one], made[plane.other]],
        "[B §5.4, §6]",
    )


def _negative(of: Estimate) -> Estimate:
    lower = None if of.upper is None else -of.upper
    return Estimate(-of.value, lower, None if of.lower is None else -of.lower)


def _rank_correlations(figures: Floats) -> Floats:
    """Spearman's correlation of the first half of the rows with the second, for each column."""
    half = len(figures) // 2
    columns = figures.reshape(2 * half, -1).T
    ranks = [_ranks(side) for side in (columns[:, :half], columns[:, half:])]
    spread = np.sqrt((ranks[0] ** 2).sum(1) * (ranks[1] ** 2).sum(1))
    found = np.full(len(columns), np.nan)
    np.divide((ranks[0] * ranks[1]).sum(1), spread, out=found, where=spread > 0)
    found[np.isnan(columns).any(1)] = np.nan
    shaped: Floats = found.reshape(figures.shape[1:])
    return shaped


def _ranks(rows: Floats) -> Floats:
    """Average ranks within each row, doubled and centred: whole numbers."""
    below = (rows[:, :, np.newaxis] > rows[:, np.newaxis, :]).sum(2)
    above = (rows[:, :, np.newaxis] < rows[:, np.newaxis, :]).sum(2)
    centred: Floats = (below - above).astype(np.float64)
    return centred


def rows(pool: str, found: Answers) -> pl.DataFrame:
    """Each setting's mean response by group, with its interval, and what the pool did.

    Args:
        pool: its name.
        found: what the settings came to.

    Returns:
        Columns of ``cells.STUDIED``.
    """
    made: list[tuple[object, ...]] = []
    for point, sums in found.of.items():
        for group, label in enumerate(found.labels):
            if (drawn := responses(found, [point], [group])[0]).value >= 0:  # not NaN
                attempts = int(sums.attempts[group].sum())
                of = ("group", label, *drawn.estimate(), "s", attempts)
                made.append((pool, point.label, "response_mean", *of))
        attempts = int(sums.attempts.sum())
        for metric, value in (("utilization", sums.utilization), ("loss_of_capacity", sums.loss)):
            of_pool = ("all", None, value, None, None, "1", attempts)
            made.append((pool, point.label, metric, *of_pool))
    return studied(made)
