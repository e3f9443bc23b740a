"""How much fairshare's settings matter: [B §5] on any log (SPEC §8, *Sensitivity*).

Attempts are grouped, each group has a target, and the log is replayed under the order ``fairshare``
with usage in windows ([B] eq. 1) and priority target − usage. One setting at a time is varied
around the paper's fixed values, then two at once; and arrivals are compressed. As in [B], the
figures are the mean response time of each group,

    response_j = start_j + occupancy_j − arrival_j, in s

and the pool's utilization and loss of capacity, here between the first and the last arrival,
because the queue is then worked off in any order.

Targets are shares of the total occupancy-area Σ occupancy · size, as in [B §4] (which calls it
runtime). Runs 1 and 2 give the group of the largest area 20 and 10 points more, at the others'
expense in equal parts, as [B] Tables 8 and 9; run 3 is the shares.

The results of a setting are sums by user and by day, from which ``sensitivity.claims`` draws
intervals.

Source: [B] H. Bui et al., Fairshare Scheduling – A Case Study, §4 and §5, Tables 4 to 10.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.errors import UsageError
from audit.metrics.attempts import performance
from audit.metrics.attempts.parts import number_users
from audit.metrics.fairshare import trees, usage
from audit.model import Backfill, Order, Policy, Pool, Standing
from audit.report.study.cells import StudyCell
from audit.scenario.engine import replay
from audit.scenario.ownership import Fairshare
from audit.scenario.workload import KEYS, NEVER, Workload, workload

By = Literal["account", "user", "width_class"]

DAY_S: Final = 86_400
OTHERS: Final = "(others)"
"""The group of all attempts outside the largest groups, or without a name in the log."""
GROUPS: Final = 6
"""Greatest number of groups, as in [B]'s Acxiom workload; the smallest are merged."""
FEW: Final = 10
"""With more accounts than this, groups are width classes: [B §3.2.1] finds 30 too many."""
RUNS: Final = (1, 2, 3)
"""Runs of targets; the last is the shares themselves."""
STEP: Final = 0.10
"""Difference of the largest group's targets between two runs."""


class SettingPoint(NamedTuple):
    """One setting of everything that is varied."""

    interval_days: int
    depth: int
    decay: float
    run: int = RUNS[-1]  # of the targets
    intensity: int = 100  # rate of arrivals, per cent of the log's

    @property
    def label(self) -> str:
        """Name of the setting."""
        return (
            f"interval {self.interval_days} d, depth {self.depth}, decay {self.decay:g}, "
            f"targets of run {self.run}, arrivals at {self.intensity} %"
        )


class Base(NamedTuple):
    """[B]'s fixed values, around which it varies one at a time."""

    name: str
    point: SettingPoint


BASES: Final = (
    Base("Red Diamond", SettingPoint(7, 7, 0.7)),
    Base("Acxiom", SettingPoint(3, 3, 0.7)),
)
"""[B] Tables 4, 6 and 8, and Tables 5, 7 and 9. Interval and depth of one are not the other's."""


class SettingSweep(NamedTuple):
    """One setting varied, the others fixed; or two at once, along the diagonal."""

    key: str
    title: str
    values: tuple[float, ...]  # of the varied setting, ascending
    points: tuple[SettingPoint, ...]


NINE: Final = tuple(range(1, 10))
"""Days of an interval ([B §4]); windows."""
TENTHS: Final = tuple(value / 10 for value in NINE)
"""Decays."""
INTENSITIES: Final = (100, 110, 120, 130, 140, 150)


def sweeps(base: Base) -> tuple[SettingSweep, ...]:
    """Return the sweeps of interval, depth, decay, targets and arrivals, each varied alone."""
    varied: tuple[tuple[str, str, str, tuple[float, ...]], ...] = (
        ("interval", "Interval, days", "interval_days", NINE),
        ("depth", "Depth", "depth", NINE),
        ("decay", "Decay", "decay", TENTHS),
        ("targets", "Run", "run", RUNS),
        ("arrivals", "Arrivals, %", "intensity", INTENSITIES),
    )
    return tuple(
        SettingSweep(key, title, values, tuple(_changed(base, {field: value}) for value in values))
        for key, title, field, values in varied
    )


def _changed(base: Base, values: dict[str, Any]) -> SettingPoint:
    return base.point._replace(**values)


class Plane(NamedTuple):
    """Two settings varied at once."""

    key: str
    one: str  # key of the sweep along the columns
    other: str  # key of the sweep along the rows
    points: tuple[tuple[SettingPoint, ...], ...]  # rows of columns

    @property
    def diagonal(self) -> SettingSweep:
        """The sweep in which both grow together."""
        title = f"{self.one} and {self.other}"
        return SettingSweep(
            self.key, title, NINE, tuple(self.points[k][k] for k in range(len(NINE)))
        )


def planes(base: Base) -> tuple[Plane, ...]:
    """Return the planes of interval and depth, and of interval and decay: [B §5, §5.4]."""

    def varied(other: str, values: tuple[float, ...]) -> Plane:
        points = tuple(
            tuple(_changed(base, {"interval_days": days, other: value}) for days in NINE)
            for value in values
        )
        return Plane(f"interval-{other}", "interval", other, points)

    return varied("depth", NINE), varied("decay", TENTHS)


def points() -> tuple[SettingPoint, ...]:
    """Return all settings that are tried, each once."""
    tried = [point for base in BASES for sweep in sweeps(base) for point in sweep.points]
    tried += [point for plane in planes(BASES[0]) for row in plane.points for point in row]
    return tuple(dict.fromkeys(tried))


class Groups(NamedTuple):
    """Attempts in groups."""

    by: By
    labels: tuple[str, ...]  # largest area first, which [B] calls dominant; ``OTHERS`` last
    areas: tuple[int, ...]  # Σ occupancy · size of each, resource·s
    attempts: pl.DataFrame  # columns of ``model.DESCRIBED``, the account being the group
    users: Ints  # of each row, numbered by first appearance; nameless ones are one


def grouped(described: pl.DataFrame, by: By | None = None, most: int = GROUPS) -> Groups:
    """Return the attempts of one pool in at most ``most`` groups; the smallest are merged.

    Without ``by``, groups are accounts, or width classes if there is only one account or more than
    ``FEW``.

    Raises UsageError if there are not two groups.
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
            f"sensitivity: by {by.replace('_', ' ')} fewer than two groups have any usage; "
            "choose other groups"
        )
    users = number_users(described)["unit"].to_numpy()
    return Groups(by, tuple(labels), tuple(areas), attempts, users)


def targets(areas: Sequence[int], run: int) -> list[float]:
    """Return the target of each group; they sum to 1.

    The first group gets (3 − run) · step more than its share of the area; step is 10 points, or a
    third of the others' share if that is less. The others give equal parts, but none more than it
    has; the rest make up for that ([B] §4 and Tables 8 and 9).
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
"""Results of a setting. ``user``: the response times of a group's user, s; ``day``: those of a
group's attempts that arrived on a day, counted from the first arrival, s; ``POOL_KINDS``: of the
pool on a day, resource·s (group −1)."""
POOL_KINDS: Final = ("used", "lost", "capacity")


def cells(
    groups: Groups, pool: Pool, now: int, backfill: Backfill, points: Iterable[SettingPoint]
) -> list[StudyCell]:
    """Return one cell for each different setting; its frame has the columns ``SUMS``.

    The pool's own policy is ignored.
    """
    shares = targets(groups.areas, RUNS[-1])
    work, keys = workload(groups.attempts, pool, now, _fairshare(groups, BASES[0].point, shares))
    known = groups.attempts.select(KEYS).with_columns(_user=pl.Series(groups.users))
    user = keys.join(known, on=KEYS, how="left", nulls_equal=True, maintain_order="left")["_user"]
    users = np.ascontiguousarray(user.to_numpy(), np.int64)
    policy = Policy(Order.fairshare, backfill)
    return [
        StudyCell(f"{pool.name}: {point.label}", partial(_sums, work, groups, users, policy, point))
        for point in dict.fromkeys(points)
    ]


def compressed(work: Workload, intensity: int) -> Workload:
    """Return the attempts with arrivals at ``intensity`` ≥ 1 per cent of their rate.

    With the first arrival as origin, an instant t becomes t · 100 / intensity, rounded half up.
    Capacity steps, and starts taken from the log, move too; occupancies and walltimes stay.
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


def _fairshare(groups: Groups, point: SettingPoint, shares: Sequence[float]) -> Fairshare:
    method = usage.Windows(
        interval_s=point.interval_days * DAY_S, depth=point.depth, decay=point.decay
    )
    tree = trees.flat(groups.labels, dict(zip(groups.labels, shares, strict=True)), kind="account")
    return Fairshare(kind="account", method=method, operator="absolute", tree=tree)


def _sums(
    work: Workload, groups: Groups, users: Ints, policy: Policy, point: SettingPoint
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
    responses = pl.DataFrame(
        {
            "group": loaded.owners.leaf[counted] - 1,
            "user": users[counted],
            "day": (loaded.arrival[counted] - first) // DAY_S,
            "amount": response,
        },
        schema_overrides={"group": pl.Int64, "user": pl.Int64, "day": pl.Int64},
    )
    parts = [
        responses.group_by("group", unit=unit)
        .agg(attempts=pl.len(), amount=pl.col("amount").sum())
        .sort("group", "unit")
        .select(pl.lit(unit).alias("kind"), pl.all())
        .cast(SUMS)
        for unit in ("user", "day")
    ]
    return pl.concat([*parts, _activity(loaded, start, started)])


def _activity(loaded: Workload, start: Ints, started: NDArray[np.bool_]) -> pl.DataFrame:
    """Return ``POOL_KINDS`` on each day between the first and the last arrival."""
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
    amounts = zip(POOL_KINDS, (did.used, did.lost, did.capacity * did.seconds), strict=True)
    return pl.concat(
        pl.DataFrame({"unit": day, "amount": amount})
        .group_by("unit", maintain_order=True)
        .agg(pl.col("amount").sum())
        .select(kind=pl.lit(kind), group=-1, unit="unit", attempts=0, amount="amount")
        for kind, amount in amounts
    ).cast(SUMS)
