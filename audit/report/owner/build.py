"""The pages of users and accounts as records, read from the database and nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.attempts.peers.waits import LEAD_S
from audit.metrics.attempts.population import compact, ordered
from audit.metrics.course import course
from audit.model import COUNTED, OBSERVED, Period
from audit.periods import zone
from audit.report.contents import Contents, Figure, PoolPart
from audit.report.judgement.page_one import trust
from audit.report.owner.attempts import Beside, Everybody, Scene
from audit.report.owner.contents import (
    FEWEST,
    PARTS,
    Ground,
    OwnerContents,
    OwnerPart,
    Placed,
    Target,
    WaitPart,
)
from audit.report.owner.longest import longest
from audit.report.owner.ways import ways
from audit.report.owner.who import Who
from audit.report.reading.trending import Stretches, stretches, trend_of
from audit.report.text import belief
from audit.report.trend import Estimate, Trend, TrendPoint
from audit.store import archive, queries
from audit.store.attempts import first_arrival
from audit.store.database import Connection

LEAST_DAYS: Final = 10
"""No interval on fewer days (SPEC §10, *Peers*)."""
_SEED: Final = 0
_ORDER: Final = ("pool", "arrival_time", "job_id", "attempt")
_ALL: Final = 1 << 31
"""More rows than there are users and accounts."""


def build(con: Connection, contents: Contents, owners: Sequence[Who]) -> tuple[OwnerContents, ...]:
    """What the pages of some users and accounts say.

    Args:
        con: a store or a published snapshot.
        contents: the report on the same cluster and period, of the observed schedule.
        owners: whose; of one whom the log does not name there is nothing to say.
    """
    if not owners:
        return ()
    span = contents.span
    period = Period(span.name, span.from_time, span.to_time)
    over = stretches(con, contents.cluster, period, span.zone)
    # sorted here: DuckDB would hold all of it beside what it gives
    attempts = ordered(compact(_attempts(con, contents, over, owners)), *_ORDER)
    names = attempts["pool"].unique(maintain_order=True)
    pools = {
        # a copy of a large log is as large again
        name: Everybody(
            period, attempts if len(names) == 1 else attempts.filter(pl.col("pool") == name)
        )
        for name in names
    }
    seen = attempts.height
    users = attempts.select("user", "account").unique()
    del attempts  # as large as the log of a short one
    key = {"cluster": contents.cluster, "period": period.name}
    of_kinds = [of for usage in contents.usages for of in (usage.accounts, usage.users)]
    usage = (
        queries.run(con, "report_usage", **key, rows=_ALL)
        if any(of.targets for of in of_kinds)
        else None
    )
    shared = _Shared(contents, period, over, pools, users, usage, seen)
    return tuple(_owner(con, shared, who) for who in owners)


def _attempts(
    con: Connection, contents: Contents, over: Stretches, owners: Sequence[Who]
) -> pl.DataFrame:
    """Columns of ``sql/queries/owner_attempts.sql``: of everybody what was there while an attempt
    of the period, or a peer of one, was; of the owners what ended in the trend as well.
    """
    cluster, span = contents.cluster, contents.span
    asked = {
        "cluster": cluster,
        "schedule": OBSERVED,
        "counted": list(COUNTED),
        "users": [who.name for who in owners if who.kind == "user"],
        "accounts": [who.name for who in owners if who.kind == "account"],
    }
    if span.whole_log:
        return queries.run(con, "owner_attempts", **asked, until=None, since=None, own_since=None)
    first = first_arrival(con, cluster, span.from_time, span.to_time)
    since = min(span.from_time, span.from_time if first is None else first) - LEAD_S
    trend = [stretch.from_time for stretch in (*over.points, *over.halves)]
    own_since = min([since, *trend])
    with archive.within(con, cluster, own_since, span.to_time):
        return queries.run(
            con, "owner_attempts", **asked, until=span.to_time, since=since, own_since=own_since
        )


class _Shared(NamedTuple):
    """What all pages of a report are made of."""

    contents: Contents
    period: Period
    over: Stretches
    pools: Mapping[str, Everybody]
    names: pl.DataFrame
    """User and account, as attempts name them together."""
    usage: pl.DataFrame | None
    """Decayed usage of all, columns of ``sql/queries/report_usage.sql``.

    None where nobody has a target.
    """
    seen: int


def _owner(con: Connection, shared: _Shared, who: Who) -> OwnerContents:
    contents = shared.contents
    key = {"cluster": contents.cluster, "period": shared.period.name, **who._asdict()}
    figures = queries.run(con, "owner_figures", schedule=OBSERVED, **key)
    parts = []
    for pool in () if contents.brief else contents.pools:
        if pool.name not in shared.pools:
            continue
        of_pool = figures.filter(pl.col("pool") == pool.name).drop("pool")
        scene = Scene(who, shared.pools[pool.name])
        made = _part(
            contents, pool, scene, shared.over, tuple(Figure(*row) for row in of_pool.rows())
        )
        parts += [made] if made is not None else []
    others = shared.names.filter((pl.col(who.kind) != who.name).fill_null(True))
    several = others["user"].drop_nulls().n_unique() >= FEWEST and not contents.brief
    targets = _targets(shared.usage, who) if several and shared.usage is not None else ()
    return OwnerContents(
        who,
        contents.cluster,
        contents.span,
        tuple(sorted(parts, key=lambda part: -part.waited_s)),
        targets,
        contents.provenance,
        replace(contents.options, pages=()),
        shared.seen,
        contents.covered_days if contents.brief else None,
    )


def _targets(usage: pl.DataFrame, who: Who) -> tuple[Target, ...]:
    """Usage of the owner against its targets, by each way of reckoning it."""
    of = usage.filter(
        pl.col("entity_kind") == who.kind,
        pl.col("entity") == who.name,
        pl.col("share").is_not_null(),
    ).sort("method", "parent", "partition")
    names = [field.name for field in fields(Target)]
    return tuple(Target(*row) for row in of.select(names).iter_rows())


def _part(
    contents: Contents,
    pool: PoolPart,
    scene: Scene,
    over: Stretches,
    figures: tuple[Figure, ...],
) -> OwnerPart | None:
    """What is said of one pool; None where the owner had nothing in it."""
    kind = pool.users if scene.who.kind == "user" else pool.accounts
    row = next((row for row in kind.rows if row.name == scene.who.name), None)
    if row is None or not (row.attempts or row.never_started):
        return None
    in_zone = zone(contents.span.zone)
    resamples = contents.settings.resamples
    beside = Beside(scene)
    compared = scene.subjects.filter(pl.col("peer_wait_s").is_not_null())
    sums = scene.sums([scene.period], in_zone)
    whole = course(sums, 1, _SEED, resamples, ("wait_mean",))
    mean = whole.figures[0]["wait_mean"]
    within = mean.within if sums.height >= LEAST_DAYS else (None, None)
    wait_mean = Figure("wait_mean", mean.value, *within, "s", row.attempts)
    good = belief.good_fit(pool)
    found, tried = ways(scene, in_zone, resamples)
    told = scene.others() >= FEWEST
    return OwnerPart(
        Ground(pool.name, pool.resource, pool.figure("wait_mean").value if told else None),
        figures,
        wait_mean,
        row.attempts,
        row.jobs,
        row.never_started,
        row.gave_up_wait_s,
        row.tuwt_s,
        None if row.re_unfairness_net is None else -row.re_unfairness_net,
        _wait_parts(scene.subjects, pool, told=told),
        _placed(scene, wait_mean),
        beside.enough(compared),
        _trend(scene, over, in_zone, resamples, modelled=good) if row.attempts else None,
        longest(scene, pool.capacity, beside, modelled=good),
        found,
        tried,
        trust(contents, pool) if told else (),
    )


def _wait_parts(mine: pl.DataFrame, pool: PoolPart, *, told: bool) -> tuple[WaitPart, ...]:
    """All waiting of the owner taken apart, beside everybody's where that may be told."""
    apart = mine.filter(pl.col("wait_room_s").is_not_null())
    sums = {part: float(apart[f"wait_{part}_s"].sum()) for part in PARTS}
    whole = sum(sums.values())
    if not whole:
        return ()
    return tuple(
        WaitPart(
            part,
            wait_s / whole,
            wait_s,
            pool.figure(f"wait_{part}_share").value if told else None,
        )
        for part, wait_s in sums.items()
    )


def _placed(scene: Scene, wait_mean: Figure) -> Placed | None:
    """Where the mean wait stands; None with too few attempts, or too few others to be told of."""
    kind = scene.who.kind
    means = scene.everybody.means(kind)
    others = means.filter(pl.col(kind) != scene.who.name)
    users = others["users"].explode().drop_nulls().n_unique() if others.height else 0
    own = means.height - others.height
    if not own or min(others.height, users) < FEWEST:
        return None
    waits = others["wait_s"].sort()

    def share(wait: float | None) -> float | None:
        return None if wait is None else float((waits < wait).sum()) / len(waits)

    at = Estimate(share(wait_mean.value), share(wait_mean.lower), share(wait_mean.upper))
    return Placed(at, others.height)


def _trend(
    scene: Scene, over: Stretches, in_zone: ZoneInfo, resamples: int, *, modelled: bool
) -> Trend:
    """How the owner's waits went over time; what later arrivals cost only by a model that fits."""
    sums = scene.sums(over.points, in_zone)
    halves = scene.sums(over.halves, in_zone) if over.halves else None
    if not modelled:
        nothing = [pl.lit(0, pl.Int64).alias(name) for name in ("judged", "overtaken_s")]
        sums = sums.with_columns(nothing)
        halves = None if halves is None else halves.with_columns(nothing)
    if halves is not None and not all(_sound(halves, len(over.halves))):
        halves = None
    made = trend_of(over, sums, halves, resamples)
    points = (
        point if sound else _bare(point)
        for point, sound in zip(made.points, _sound(sums, len(over.points)), strict=True)
    )
    return replace(made, points=tuple(points))


def _bare(point: TrendPoint) -> TrendPoint:
    """A stretch of too few days: its figures without intervals."""
    return replace(
        point,
        wait_mean=Estimate(point.wait_mean.value),
        overtaken_time_mean=Estimate(point.overtaken_time_mean.value),
        wait_room_share=Estimate(point.wait_room_share.value),
    )


def _sound(sums: pl.DataFrame, stretches_: int) -> list[bool]:
    """Of each stretch, whether it has so many days that an interval says something."""
    return [sums.filter(pl.col("stretch") == k).height >= LEAST_DAYS for k in range(stretches_)]
