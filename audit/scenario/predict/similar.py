"""Quantiles of the waits of similar submissions (SPEC §13, *Similar submissions*).

The nearer a similar submission is, the more it counts: exp(−distance).
"""

import math
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Bools, Floats, Ints
from audit.kernels import similar as kernels
from audit.kernels.elementary import exp, log
from audit.scenario.predict.latest import turns
from audit.scenario.predict.sweep import SLACK_S

LEVELS: Final = (0.1, 0.5, 0.9)
MOST: Final = 200  # largest number of neighbours
FEWEST: Final = 10
"""Smallest number of neighbours with a known start; with fewer no prediction is made."""

FARTHEST: Final = 30.0  # distances beyond that of the nearest count as this


class NeighbourSearch(NamedTuple):
    """Which neighbours are taken."""

    window: int  # number of earlier rows that are searched
    known: int  # number of neighbours with a known start
    per_group: int  # largest number of rows of one group that are taken


class PredictionTable:
    """Predictions in the order in which they were made, with what they are compared by."""

    def __init__(self, features: int) -> None:
        """Make an empty table."""
        self.number = 0
        self.measured: Floats = np.zeros((1024, features))
        self.labels: Ints = np.zeros((1024, 3), np.int64)
        self.made_at, self.job, self.group = np.zeros((3, 1024), np.int64)
        self.model: Floats = np.zeros(1024)
        """ln(modelled wait + 60 s)"""

    def add(
        self,
        made_at: int | Ints,
        jobs: Ints,
        groups: Ints,
        waits: Ints,
        measured: Floats,
        labels: Ints,
    ) -> range:
        """Add rows of one instant, or of ascending ones, and return their places.

        Args:
            groups: equal where rows are one observation.
        """
        first, self.number = self.number, self.number + len(jobs)
        while self.number > len(self.job):
            for name in ("measured", "labels", "made_at", "job", "group", "model"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.zeros_like(old))))
        here = slice(first, self.number)
        self.measured[here], self.labels[here] = measured, labels
        self.made_at[here], self.job[here], self.group[here] = made_at, jobs, groups
        self.model[here] = log(waits + SLACK_S)
        return range(first, self.number)

    def drop(self, first: int) -> None:
        """Forget the rows from ``first`` on."""
        self.number = first


class Neighbours(NamedTuple):
    """Similar rows with the waits that are known of them."""

    wait: Floats  # [k], s, since they were made; up to now where not known
    known: Bools  # [k], whether it has ended by a start
    model: Floats  # [k], ln(modelled wait + 60 s)
    weight: Floats  # [k], 1 for the nearest


def neighbours(
    table: PredictionTable,
    row: int,
    before: int,
    search: NeighbourSearch,
    start: Ints,
    leaves: Ints,
) -> Neighbours | None:
    """Return the neighbours of a row among those ``before``; None: too few have a known start.

    Args:
        start, leaves: by attempt, epoch s; see ``known.QueuedAttempts``.
    """
    now, low = int(table.made_at[row]), max(0, before - search.window)
    distance = np.empty(before - low)
    kernels.distances(table.measured, table.labels, table.made_at, low, before, row, distance)
    most = MOST * search.per_group
    while True:
        near = _nearest(distance, most, table.group[low:before], search.per_group)
        known = start[table.job[low + near]] < now
        if len(near) == MOST or known.sum() >= search.known or most >= len(distance):
            break
        most *= 4  # nearly all of the nearest are of few groups
    jobs, count = table.job[low + near], np.cumsum(known)
    if not len(count) or count[-1] < FEWEST:
        return None
    last = int(count.searchsorted(search.known)) + 1
    near, jobs, known = near[:last], jobs[:last], known[:last]
    waited = np.minimum(leaves[jobs], now) - table.made_at[low + near]
    weight = exp(-np.minimum(distance[near] - distance[near[0]], FARTHEST))
    return Neighbours(waited.astype(np.float64), known, table.model[low + near], weight)


def _nearest(distance: Floats, most: int, group: Ints, per_group: int) -> Ints:
    """Return the places of the nearest rows of groups, found among the ``most`` nearest."""
    near = np.arange(len(distance))
    if len(near) > most:
        near = np.flatnonzero(distance <= np.partition(distance, most - 1)[most - 1])
    near = near[np.argsort(distance[near], kind="stable")]
    return near[turns(group[near]) < per_group][:MOST]


class Curve(NamedTuple):
    """A Kaplan–Meier estimate, of ln(wait + 60 s) less ``offset``."""

    value: Floats  # ascending
    share: Floats  # of all that have ended up to each value
    offset: float = 0.0

    def quantile(self, level: float) -> float:
        """Return the least value by which ``level`` of all have ended, else the largest value."""
        place = int(self.share.searchsorted(level - 1e-9))
        return float(self.value[min(place, len(self.value) - 1)])

    def wait(self, level: float, moved: float = 0.0) -> float:
        """Return the wait of a level, with its logarithm moved by ``moved``, s, ≥ 0."""
        return max(0.0, math.exp(self.quantile(level) + self.offset + moved) - SLACK_S)


def kaplan_meier(value: Floats, known: Bools, weight: Floats) -> Curve:
    """Return the estimate from values of which those not ``known`` are lower bounds."""
    order = np.lexsort((~known, value))
    weight = weight[order]
    left = np.cumsum(weight[::-1])[::-1]
    share = 1 - np.cumprod(1 - known[order] * weight / left)
    return Curve(value[order], share.astype(np.float64))


def estimate(near: Neighbours, model: float) -> Curve:
    """Return the estimate for a prediction from its neighbours.

    It is of their waits, or of their waits relative to the model's, whichever has the lower
    pinball loss among those of known wait.

    Args:
        near: see above.
        model: ln(modelled wait + 60 s) of the prediction.
    """
    plain = log(near.wait + SLACK_S)
    made = []
    for value, offset in ((plain, 0.0), (plain - near.model, model)):
        curve = kaplan_meier(value, near.known, near.weight)
        losses = sum(pinball(value - curve.quantile(level), level) for level in LEVELS)
        loss = float((losses * near.weight)[near.known].sum())
        made.append((loss, curve._replace(offset=offset)))
    return min(made, key=lambda each: each[0])[1]


def pinball(error: Floats, level: float) -> Floats:
    """Return the pinball loss of observed values less a quantile."""
    return np.maximum(level * error, (level - 1) * error)
