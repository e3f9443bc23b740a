"""How far fairshare's settings matter: [B §5] on one's own log (SPEC §8, *Sensitivity*).

Attempts are put into groups, each group has a target, and the log is replayed under the order
``fairshare`` with usage in windows ([B] eq. 1) and priority target − usage. One setting is varied
at a time around the paper's fixed values, then two at once; and arrivals are compressed. Measured
is what [B] measures: the mean response time of each group,

    response_j = start_j + occupancy_j − arrival_j, in s

and the utilization of the pool, here between the first and the last arrival: behind the last one,
what is left of the queue is worked off whatever the order. Loss of capacity is of the same time.

Targets are shares of the total occupancy-area Σ occupancy · size, as in [B §4] (whose "runtime" it
is here: wide jobs count for what they hold). Runs 1 and 2 give the group of the largest area 20 and
10 points more, at the others' expense in equal parts, as [B] Tables 8 and 9; run 3 is the shares.

A setting's figures are kept as sums by user and by day, so that intervals of any comparison of
settings can be drawn from them (``sensitivity.claims``).

Source: [B] H. Bui et al., Fairshare Scheduling – A Case Study, §4 and §5, Tables 4 to 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import UsageError
from audit.metrics.attempts import performance
from audit.metrics.fairshare import trees, usage
from audit.model import Backfill, Order, Policy, Pool, Standing
from audit.report.study.cells import Cell
from audit.scenario.engine import replay
from audit.scenario.ownership import Fairshare
from audit.scenario.workload import KEYS, NEVER, Workload, workload

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
By = Literal["account", "user", "width_class"]

DAY_S: Final = 86_400
OTHERS: Final = "(others)"
"""The group of all that are not among the largest, or that the log does not name."""
GROUPS: Final = 6
"""So many groups, as in [B]'s Acxiom workload; the smallest are put together."""
FEW: Final = 10
"""With more accounts than this, groups are width classes: [B §3.2.1] finds 30 too many."""
RUNS: Final = (1, 2, 3)
"""Runs of targets; the last is the shares themselves."""
STEP: Final = 0.10
"""By how much a run's target of the largest group is above that of the next run."""


class Base(NamedTuple):
    """[B]'s fixed values, around which it varies one at a time."""

    name: str
    interval_days: int
    depth: int
    decay: float

    @property
    def point(self) -> Point:
        """The setting with these values, and all else as it is."""
        return Point(self.interval_days, self.depth, self.decay)


BASES: Final = (Base("Red Diamond", 7, 7, 0.7), Base("Acxiom", 3, 3, 0.7))
"""[B] Tables 4, 6 and 8, and Tables 5, 7 and 9. Interval and depth of one are not the other's."""


class Point(NamedTuple):
    """One setting of everything that is varied."""

    interval_days: int
    depth: int
    decay: float
    run: int = RUNS[-1]
    """Of the targets."""
    intensity: int = 100
    """Arrivals come so many per cent as fast as they did."""

    @property
    def label(self) -> str:
        """Names the setting."""
        return (
            f"interval {self.interval_days} d, depth {self.depth}, decay {self.decay:g}, "
            f"targets of run {self.run}, arrivals at {self.intensity} %"
        )


class Sweep(NamedTuple):
    """One setting varied, the others fixed; or two at once, along the diagonal."""

    key: str
    title: str
    values: tuple[float, ...]
    """What is varied, ascending."""
    points: tuple[Point, ...]


NINE: Final = tuple(range(1, 10))
"""Days of an interval ([B §4]); windows."""
TENTHS: Final = tuple(value / 10 for value in NINE)
"""Decays."""
INTENSITIES: Final = (100, 110, 120, 130, 140, 150)


def sweeps(base: Base) -> tuple[Sweep, ...]:
    """Interval, depth, decay, targets and arrivals, each varied alone."""

    def varied(key: str, title: str, field: str, values: tuple[float, ...]) -> Sweep:
        changed: list[dict[str, Any]] = [{field: value} for value in values]
        return Sweep(key, title, values, tuple(base.point._replace(**one) for one in changed))

    return (
        varied("interval", "Interval, days", "interval_days", NINE),
        varied("depth", "Depth", "depth", NINE),
        varied("decay", "Decay", "decay", TENTHS),
        varied("targets", "Run", "run", RUNS),
        varied("arrivals", "Arrivals, %", "intensity", INTENSITIES),
    )


class Plane(NamedTuple):
    """Two settings varied at once."""

    key: str
    one: str
    """Name of the sweep along the columns."""
    other: str
    """Name of the sweep along the rows."""
    points: tuple[tuple[Point, ...], ...]
    """Rows of columns."""

    @property
    def diagonal(self) -> Sweep:
        """Both grow together."""
        title = f"{self.one} and {self.other}"
        return Sweep(self.key, title, NINE, tuple(self.points[k][k] for k in range(len(NINE))))


def planes(base: Base) -> tuple[Plane, ...]:
    """Interval and depth, and interval and decay: [B §5, §5.4]."""

    def varied(other: str, values: tuple[float, ...]) -> Plane:
        changed: list[dict[str, Any]] = [{other: value} for value in values]
        points = tuple(
            tuple(base.point._replace(interval_days=days, **one) for days in NINE)
            for one in changed
        )
        return Plane(f"interval-{other}", "interval", other, points)

    return varied("depth", NINE), varied("decay", TENTHS)


def points() -> tuple[Point, ...]:
    """All settings that are tried, each once."""
    tried = [point for base in BASES for sweep in sweeps(base) for point in sweep.points]
    tried += [point for plane in planes(BASES[0]) for row in plane.points for point in row]
    return tuple(dict.fromkeys(tried))


class Groups(NamedTuple):
    """Attempts, put into groups."""

    by: By
    labels: tuple[str, ...]
    """The group of the largest area first, which [B] calls dominant; ``OTHERS`` last."""
    areas: tuple[int, ...]
    """Σ occupancy · size of each, resource·s."""
    attempts: pl.DataFrame
    """Columns of ``model.DESCRIBED``, the account being the group."""
    users: Ints
    """The user of each row, numbered by first appearance; nameless ones are one."""


def grouped(described: pl.DataFrame, by: By | None = None, most: int = GROUPS) -> Groups:
    """Put the attempts of one pool into at most ``most`` groups; the smallest by area become one.

    Without ``by``, groups are accounts, or width classes where there is but one account or more
    than ``FEW``.

    Raises:
        UsageError: there are not two groups.
    """
    if by is None:
        accounts = described["account"].drop_nulls().n_unique()
        by = "account" if 1 < accounts <= FEW else "width_class"
    area = pl.col("occupancy_s") * pl.col("size")
    totals = (
        described.filter(pl.col("standing") != Standing.NEVER_STARTED)
        .group_by(label=by)
        .agg(area=area.fill_null(0).sum())
        .sort("area", "label", descending=[True, False])
    )
    named = totals.filter(pl.col("label").is_not_null(), pl.col("area") > 0)
    kept = named.height if named.height == totals.height and named.height <= most else most - 1
    labels = named["label"].head(kept).to_list()
    attempts = described.with_columns(
        account=pl.when(pl.col(by).is_in(labels)).then(pl.col(by)).otherwise(pl.lit(OTHERS))
    )
    areas = named["area"].head(kept).to_list()
    rest = int(totals["area"].sum()) - sum(areas)
    if rest > 0:
        labels, areas = [*labels, OTHERS], [*areas, rest]
    if len(labels) < 2:
        raise UsageError(
            f"sensitivity: by {by.replace('_', ' ')} there are not two groups that used anything; "
            "choose other groups"
        )
    named_users = described.select("user")
    numbers = named_users.unique(maintain_order=True).with_row_index("unit")
    users = named_users.join(numbers, on="user", nulls_equal=True, maintain_order="left")["unit"]
    return Groups(by, tuple(labels), tuple(areas), attempts, users.cast(pl.Int64).to_numpy())


def targets(areas: Sequence[int], run: int) -> list[float]:
    """What part of everything each group should get, in sum 1.

    The first group gets (3 − run) · step more than its share of the area, step being 10 points, or
    a third of what the others have where that is less. Each other group gives an equal part of it,
    but none more than it has: what it cannot give, the rest do.

    Source: [B] §4 and Tables 8 and 9.
    """
    total = sum(areas)
    shares = [area / total for area in areas]
    wanted = (RUNS[-1] - run) * min(STEP, (1 - shares[0]) / 3)
    left = dict(enumerate(shares[1:], start=1))
    shifted = [shares[0] + wanted, *shares[1:]]
    while left:
        least = min(left, key=lambda group: left[group])
        part = min(wanted / len(left), left.pop(least))
        shifted[least] -= part
        wanted -= part
    return shifted


SUMS: Final = pl.Schema(
    {
        "kind": pl.String,
        "group": pl.Int64,
        "unit": pl.Int64,
        "attempts": pl.Int64,
        "amount": pl.Int64,
    }
)
"""What a setting came to. ``user``: the response times of a group's user, s; ``day``: those of a
group's attempts that arrived on a day, counted from the first arrival, s; ``used``, ``lost`` and
``capacity`` of the pool on a day, resource·s (group −1)."""


def cells(
    groups: Groups, pool: Pool, now: int, backfill: Backfill, points: Iterable[Point]
) -> list[Cell]:
    """Return one cell for each different setting; its frame has the columns ``SUMS``.

    The groups are of the attempts of ``pool``, whose own policy does not matter.
    """
    shares = targets(groups.areas, RUNS[-1])
    work, keys = workload(groups.attempts, pool, now, _fairshare(groups, BASES[0], shares))
    known = groups.attempts.select(KEYS).with_columns(_user=pl.Series(groups.users))
    user = keys.join(known, on=KEYS, how="left", nulls_equal=True, maintain_order="left")["_user"]
    users = np.ascontiguousarray(user.to_numpy(), np.int64)
    policy = Policy(Order.fairshare, backfill)
    return [
        Cell(f"{pool.name}: {point.label}", partial(_sums, work, groups, users, policy, point))
        for point in dict.fromkeys(points)
    ]


def compressed(work: Workload, intensity: int) -> Workload:
    """The attempts as they arrive ``intensity`` per cent as fast, ≥ 1.

    An instant t becomes first + (t − first) · 100 / intensity, rounded half up, first being the
    first arrival; capacity steps, and starts that are taken from the log, move alike. Occupancies
    and walltimes stay.
    """
    first = int(work.arrival.min(initial=NEVER))

    def moved(times: Ints) -> Ints:
        since = np.where(times == NEVER, first, times) - first
        then = first + (200 * since + intensity) // (2 * intensity)
        return np.where(times == NEVER, NEVER, then).astype(np.int64)

    start = moved(work.start)
    gone = (work.start == NEVER) | (work.end == NEVER)
    end = np.where(gone, work.end, start + (work.end - work.start))
    return work._replace(
        arrival=moved(work.arrival), start=start, end=end, step_time=moved(work.step_time)
    )


def _fairshare(groups: Groups, point: Base | Point, shares: Sequence[float]) -> Fairshare:
    method = usage.Windows(
        interval_s=point.interval_days * DAY_S, depth=point.depth, decay=point.decay
    )
    tree = trees.flat(groups.labels, dict(zip(groups.labels, shares, strict=True)), kind="account")
    return Fairshare(kind="account", method=method, operator="absolute", tree=tree)


def _sums(
    work: Workload, groups: Groups, users: Ints, policy: Policy, point: Point
) -> pl.DataFrame:
    ranked = _fairshare(groups, point, targets(groups.areas, point.run))
    assert ranked.tree is not None
    loaded = compressed(work, point.intensity)
    shares = np.append(ranked.tree.shares, np.zeros(len(loaded.owners.tree.shares)))
    tree = loaded.owners.tree._replace(shares=shares[: len(loaded.owners.tree.shares)])
    loaded = loaded._replace(owners=loaded.owners._replace(tree=tree, fairshare=ranked))
    start = replay(loaded, policy).start
    started = start != NEVER
    counted = started & loaded.queued & ~loaded.open
    response = start[counted] + loaded.occupancy[counted] - loaded.arrival[counted]
    first = int(loaded.arrival.min(initial=NEVER))
    day = (loaded.arrival[counted] - first) // DAY_S
    responses = pl.DataFrame(
        {
            "group": loaded.owners.leaf[counted] - 1,
            "user": users[counted],
            "day": day,
            "amount": response,
        },
        schema_overrides={"group": pl.Int64, "user": pl.Int64, "day": pl.Int64},
    )
    parts = [
        responses.group_by("group", unit=unit)
        .agg(attempts=pl.len().cast(pl.Int64), amount=pl.col("amount").sum())
        .sort("group", "unit")
        .select(pl.lit(unit).alias("kind"), "group", "unit", "attempts", "amount")
        for unit in ("user", "day")
    ]
    return pl.concat([*parts, _activity(loaded, start, started)]).cast(SUMS)


def _activity(loaded: Workload, start: Ints, started: NDArray[np.bool_]) -> pl.DataFrame:
    """What was used, lost and there on each day between the first and the last arrival."""
    first, last = (int(edge) for edge in (loaded.arrival.min(), loaded.arrival.max()))
    request = loaded.request.reshape(len(loaded.arrival), len(loaded.capacity))[:, 0]
    steps = loaded.step_time[(loaded.step_time > first) & (loaded.step_time < last)].tolist()
    edges = sorted({*range(first, last, DAY_S), last, *steps})
    if len(edges) < 2:
        return pl.DataFrame(schema=SUMS)
    lives = pl.DataFrame(
        {
            "standing": pl.repeat(Standing.ENDED.value, int(started.sum()), eager=True),
            "arrival_time": loaded.arrival[started],
            "start_time": start[started],
            "end_time": start[started] + loaded.occupancy[started],
            "size": request[started],
        }
    )
    change = loaded.step_change.reshape(len(loaded.step_time), len(loaded.capacity))[:, 0]
    had = loaded.capacity[0] + np.array(
        [change[loaded.step_time <= edge].sum() for edge in edges[:-1]], np.int64
    )
    did = performance.activity(lives, np.maximum(had, 1).tolist(), edges, last)
    day = (np.array(edges[:-1]) - first) // DAY_S
    amounts = {"used": did.used, "lost": did.lost, "capacity": did.capacity * did.seconds}
    return pl.concat(
        pl.DataFrame({"unit": day, "amount": amount})
        .group_by("unit")
        .agg(pl.col("amount").sum())
        .sort("unit")
        .select(
            pl.lit(kind).alias("kind"),
            pl.lit(-1, pl.Int64).alias("group"),
            "unit",
            pl.lit(0, pl.Int64).alias("attempts"),
            "amount",
        )
        for kind, amount in amounts.items()
    )
