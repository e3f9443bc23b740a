"""Passed over: attempts that lose to later ones with requests at least as large (SPEC §11).

Under first come, first served with backfilling, a later job that requests at least as much rarely
starts first. No model is used. An attempt j makes a *pair* with each k that

- arrived after j and before j started, and is of another user and another entity;
- was in the same partition and qos (in any, for the kinds partition and qos);
- requested at least as much of every resource, and at least j's walltime;

but with none that arrived, or started before j, while j was held or under a rule. j *lost* the pair
if k started more than 60 s before j. Its *passed time* is from the first such start to its own.

Pairs weigh 1 / (|A| · |B|): A and B are the attempts of j's burst and of k's (``metrics.bursts``)
that are of one class, that is partition, qos, width class and walltime class. Of an entity e (a
user, account, partition or qos), over its attempts j with pairs and with weighted sums,

    share    = Σ lost_j / Σ pairs_j
    expected = Σ pairs_j · rate(class of j) / Σ pairs_j
    rate(c)  = (lost_c + 5 r) / (pairs_c + 5)     over c's attempts of all other entities, whose
                                                  rate over all classes is r

For the kinds partition and qos, rates are by width and walltime class only. Whether share exceeds
expected is tested by a delete-one-block jackknife over up to 20 groups of consecutive days with
pairs (``metrics.significance``), with Benjamini-Hochberg within each kind. An entity is *named* if
the test rejects, the lower bound of the difference is at least 0.10, and its passed time is at
least 0.5 % of all waiting or one day per job. It is tested if it has at least 20 attempts with
pairs, on 8 days. Few jobs request as much as the widest and longest ones, so these are rarely
tested.

*As fairshare would*: under fairshare, a user who has used more is served later, by intention. Where
jobs start in an order by decayed usage (``metrics.usage_order``), the named are judged again, with
the pairs of each class divided in two: with rivals whose owner had used less when they arrived, and
with all others. Each part has its own rates, and due is the sum of both. The order by usage
explains why an entity is passed over, so that it is not accused, if it lost most of its lost pairs
to owners who had used less, if due is higher than before, and if

    Σ (lost − due) / Σ pairs < 0.10     with lost and due of the pairs with all others only

The excess over owners who had used less does not count, because a user who has used far more than
others is passed by all of them.

Conventions: a walltime that is unknown or unlimited exceeds all others, an unknown amount is 0. An
attempt without a user, or in a reservation, makes no pair. A rival that never started was not
first. Attempts that arrived after the period change nothing, so that its figures stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.parts import Row, row
from audit.metrics.attempts.population import day_number, ended, in_period, occupied
from audit.metrics.pairs import KINDS, NOTHING_HELD, Decayed, Held, Kind, Log, Owners, paired
from audit.metrics.significance import LEVEL, Estimate, blocks, by_hochberg, jackknife, of_sums
from audit.metrics.usage_order import EQUAL, Shares, UsageOrder, usage_order
from audit.model import Period, Pool

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST: Final = (20, 8)
"""Attempts with pairs, and their days, that a test needs."""
LEAST_OUTSIDE: Final = (20, 10)
"""The same outside bursts, to say that an entity is passed over during bursts only."""
BLOCKS: Final = 20
PRIOR: Final = 5.0
"""Weight of the overall rate within the rate of a class."""
LEAST_EXCESS: Final = 0.10
LEAST_OF_WAITING: Final = 0.005
LEAST_PER_JOB_S: Final = 86_400


class Unknown(StrEnum):
    """Why nothing can be said about an entity."""

    FEW_PAIRS = "too few jobs with pairs"
    WIDEST = "widest and longest jobs"
    """Enough of its jobs waited while others came, but few of these asked for as much."""


class InBursts(StrEnum):
    """Whether an entity is passed over only during bursts."""

    ONLY = "only during bursts"
    """The share outside is significantly smaller than within."""
    ALSO_OUTSIDE = "not only during bursts"
    UNKNOWN = "too few jobs outside bursts to tell"


RESULT_SCHEMA: Final = pl.Schema(
    {
        "entity_kind": pl.String,
        "entity": pl.String,
        "attempts": pl.Int64,  # with pairs
        "days": pl.Int64,  # on which these arrived
        "pairs": pl.Float64,
        "lost": pl.Float64,
        "passed_share": pl.Float64,
        "passed_expected": pl.Float64,
        "passed_s": pl.Int64,
        "lower": pl.Float64,  # one-sided 95 % bound of share − expected; null: not tested
        "p": pl.Float64,
        "named": pl.Boolean,  # null: nothing can be said
        "unknown": pl.String,  # Unknown
        "in_bursts": pl.String,  # InBursts, of those named
        "expected_by_usage": pl.Float64,  # of those named; null: no order by usage
        "half_life_s": pl.Int64,  # of the usage that explains it; null: none does
        "usage_multiple": pl.Float64,  # of users and accounts; null: unknown
        "equal_shares": pl.Boolean,  # whether that is an equal share, not the site's
    }
)


def of_period(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    zone: ZoneInfo,
    shares: Shares = EQUAL,
    held: Held = NOTHING_HELD,
) -> pl.DataFrame:
    """Return who was passed over in a period.

    Args:
        described: *all* attempts of a pool, or those ``population.around`` the period with a lead
            of ``pairs.EARLIER_S``; columns of ``model.DESCRIBED``.
        zone: the cluster's, for days.
        shares: the site's; a kind without any has equal ones.
        held: rows of ``described``.

    Returns:
        Columns of ``RESULT_SCHEMA``, by kind in the order of ``KINDS``, and by entity.
    """
    held_then = in_period(described, period).select(
        *("standing", "wait_s", "occupancy_s", "size", *KINDS)
    )
    days = described.select(day_number(zone)).to_series()
    among = _Among(Log.of(described, pool, period), held, ended(held_then), days)
    judged = among.judged()
    explained: _Explained = {}
    if any(one.named for of_kind in judged.values() for one in of_kind):
        order = usage_order(among.log, held, shares)
        explained = among.explained(judged, order) if order else {}
    owners: tuple[Owners, ...] = ("user", "account")
    used: dict[Kind, dict[str, tuple[float, bool]]] = {
        kind: _multiples(held_then, kind, shares) for kind in owners
    }
    nothing = (None, None)
    rows = [
        (
            *(kind, *one.shown),
            *explained.get((kind, one.entity), nothing),
            *used.get(kind, {}).get(one.entity, nothing),
        )
        for kind in KINDS
        for one in judged.get(kind, ())
    ]
    return pl.DataFrame(rows, RESULT_SCHEMA, orient="row")


_Explained = dict[tuple[Kind, str], tuple[float | None, int | None]]
"""By kind and entity: the share expected by usage, and the half-life of one that explains it."""


class _Among(NamedTuple):
    """The attempts among which entities are judged."""

    log: Log
    held: Held
    subjects: pl.DataFrame
    days: pl.Series
    """Of each row of ``described``."""

    def judged(self, decayed: Decayed | None = None) -> dict[Kind, list[Judged]]:
        """Judge the entities of all kinds, under an order by usage or none."""
        waiting = float(self.subjects["wait_s"].sum())

        def of(kind: Kind) -> list[Judged]:
            of_kind = paired(self.log, kind, self.held, decayed)
            dated = of_kind.with_columns(day=self.days.gather(of_kind["row"]))
            counted = self.subjects.group_by(kind).len().drop_nulls().sort(kind)
            return _judged(dated, dict(counted.iter_rows()), waiting)

        with ThreadPoolExecutor(max_workers=2) as both:  # the kernel releases the lock
            found = dict(zip(self.log.kinds, both.map(of, self.log.kinds), strict=True))
        named = {kind: _named(of_kind) for kind, of_kind in found.items()}
        if "account" in found:
            named["account"] = _like_their_users(found["account"], named["user"], self.subjects)
        return named

    def explained(self, judged: Mapping[Kind, Sequence[Judged]], order: UsageOrder) -> _Explained:
        """Return what an order by usage says about those named."""
        again = self.judged(order.decayed)
        found: _Explained = {}
        for kind, of_kind in judged.items():
            for one, by_usage in zip(of_kind, again[kind], strict=True):
                if one.named:
                    half_life = order.half_life_s if _explains(one, by_usage) else None
                    found[kind, one.entity] = (by_usage.expected, half_life)
        return found


def _explains(plain: Judged, by_usage: Judged) -> bool:
    """Return whether an order by usage explains why an entity was passed over."""
    if plain.expected is None or by_usage.expected is None or by_usage.excess_else is None:
        return False
    had_used_more = by_usage.lost_less > by_usage.lost / 2
    expected_more = by_usage.expected > plain.expected
    return had_used_more and expected_more and by_usage.excess_else < LEAST_EXCESS


def _multiples(held: pl.DataFrame, kind: Owners, shares: Shares) -> dict[str, tuple[float, bool]]:
    """Return the usage of each entity as a multiple of its share, and whether that is an equal one.

    Usage and shares are parts of those of all that used the pool.
    """
    area = pl.col("size").fill_null(0).cast(pl.Float64) * pl.col("occupancy_s")
    by_entity = held.filter(occupied()).group_by(kind).agg(area.sum()).drop_nulls().sort(kind)
    used = {name: amount for name, amount in by_entity.iter_rows() if amount > 0}
    of_site = shares.get(kind, {})
    known = {name: of_site.get(name, 0.0) if of_site else 1.0 for name in used}
    all_used, all_shares = sum(used.values()), sum(known.values())
    return {
        name: (used[name] / all_used / (share / all_shares), not of_site)
        for name, share in known.items()
        if share > 0
    }


class Judged(NamedTuple):
    """Result for an entity; see ``RESULT_SCHEMA``."""

    entity: str
    attempts: int
    days: int
    pairs: float
    lost: float
    share: float | None
    expected: float | None
    passed_s: int
    lower: float | None
    p: float | None
    named: bool | None
    """Before ``_named``: whether all but significance holds."""
    unknown: str | None
    in_bursts: str | None
    lost_less: float
    """See ``pairs.PAIRED_SCHEMA``."""
    excess_else: float | None
    """Lost beyond due to owners who had not used less, as a share of all its pairs."""

    @property
    def shown(self) -> tuple[object, ...]:
        """Its part of the results."""
        return self[:-2]


def _judged(of_kind: pl.DataFrame, counts: Mapping[str, int], waiting: float) -> list[Judged]:
    """Compare each entity of a kind with the others; ``counts`` are their attempts."""
    of_kind = of_kind.hstack(_due(of_kind))
    by_entity = {
        name: rows for (name,), rows in of_kind.partition_by("entity", as_dict=True).items()
    }
    return [
        _one(entity, by_entity.get(entity, of_kind.clear()), count, waiting)
        for entity, count in counts.items()
    ]


def _due(of_kind: pl.DataFrame) -> pl.DataFrame:
    """Return the expected lost pairs of each attempt; null where others have no pairs at all.

    Columns: due, and due_else of the pairs with owners who had not used less.
    """

    def others(of: pl.Expr, *within: str) -> pl.Expr:
        whole = of.sum().over(within) if within else of.sum()
        return whole - of.sum().over("entity", *within)

    def due(pairs: pl.Expr, lost: pl.Expr) -> pl.Expr:
        known = others(pairs) > _ROUNDING
        rate = pl.when(known).then(others(lost) / others(pairs)).otherwise(overall)
        of_class = (others(lost, "class") + PRIOR * rate) / (others(pairs, "class") + PRIOR)
        return pairs * of_class

    pairs, lost, pairs_less, lost_less = map(pl.col, ("pairs", "lost", "pairs_less", "lost_less"))
    overall = others(lost) / others(pairs)
    known = (pl.col("entity").filter(pairs > 0).n_unique() > 1) & (others(pairs) > _ROUNDING)
    less, due_else = due(pairs_less, lost_less), due(pairs - pairs_less, lost - lost_less)
    return of_kind.select(
        due=pl.when(known).then(due_else + less), due_else=pl.when(known).then(due_else)
    )


_ROUNDING: Final = 1e-9
"""Weights of pairs are sums: nothing but rounding may be left of one that is taken from another."""


def _one(entity: str, rows: pl.DataFrame, count: int, waiting: float) -> Judged:
    """Compare an entity with the others: its rows of ``PAIRED_SCHEMA``, with days and due."""
    compared = rows.filter(pl.col("pairs") > 0)
    pairs, lost = (compared[name].to_numpy() for name in ("pairs", "lost"))
    passed_s, lost_less = int(compared["passed_s"].sum()), float(compared["lost_less"].sum())
    all_pairs, all_lost = float(pairs.sum()), float(lost.sum())
    share = all_lost / all_pairs if len(pairs) else None
    expected: float | None = None
    excess_else: float | None = None
    estimate: Estimate | None = None
    if len(pairs) and not compared["due"].has_nulls():
        due = compared["due"].to_numpy()
        expected = float(due.sum()) / all_pairs
        excess_else = (all_lost - lost_less - float(compared["due_else"].sum())) / all_pairs
        if _enough(compared, *LEAST):
            group = blocks(compared["day"].to_numpy(), BLOCKS)
            estimate = of_sums(_sums(group, lost - due), _sums(group, pairs))
    days = compared["day"].n_unique()
    figures = (compared.height, days, all_pairs, all_lost, share, expected, passed_s)
    if estimate is None:
        unknown = Unknown.WIDEST if _enough(rows, *LEAST) else Unknown.FEW_PAIRS
        return Judged(
            entity, *figures, None, None, None, unknown.value, None, lost_less, excess_else
        )
    much = passed_s >= min(LEAST_OF_WAITING * waiting, LEAST_PER_JOB_S * count)
    hopeful = estimate.lower >= LEAST_EXCESS and much
    in_bursts = _in_bursts(compared).value if hopeful else None
    tested = (estimate.lower, estimate.p, hopeful)
    return Judged(entity, *figures, *tested, None, in_bursts, lost_less, excess_else)


def _sums(group: Ints, values: Floats) -> Floats:
    """Return the sum of each group."""
    sums: Floats = np.bincount(group, values).astype(np.float64)
    return sums


def _enough(rows: pl.DataFrame, attempts: int, days: int) -> bool:
    return rows.height >= attempts and rows["day"].n_unique() >= days


def _in_bursts(compared: pl.DataFrame) -> InBursts:
    """Return whether the share outside bursts is significantly smaller than within them."""
    outside = ~compared["in_burst"].to_numpy()
    if not _enough(compared.filter(~pl.col("in_burst")), *LEAST_OUTSIDE):
        return InBursts.UNKNOWN
    group = blocks(compared["day"].to_numpy(), BLOCKS)
    shares, rest = [], []
    for part in (~outside, outside):
        lost, pairs = (
            _sums(group, np.where(part, compared[name].to_numpy(), 0.0))
            for name in ("lost", "pairs")
        )
        left = pairs.sum() - pairs
        if (left <= 0).any():
            return InBursts.ALSO_OUTSIDE
        shares.append(lost.sum() / pairs.sum())
        rest.append((lost.sum() - lost) / left)
    difference = jackknife(float(shares[0] - shares[1]), rest[0] - rest[1])
    return InBursts.ONLY if difference.p < LEVEL else InBursts.ALSO_OUTSIDE


def _named(judged: Sequence[Judged]) -> list[Judged]:
    """Name those that differ significantly, of one kind."""
    tested = [one for one in judged if one.p is not None]
    rejected = by_hochberg([one.p for one in tested if one.p is not None])
    names = {one.entity for one, holds in zip(tested, rejected, strict=True) if holds and one.named}
    return [
        one
        if one.named is None
        else one._replace(
            named=one.entity in names, in_bursts=one.in_bursts if one.entity in names else None
        )
        for one in judged
    ]


def _like_their_users(
    accounts: Sequence[Judged], users: Sequence[Judged], subjects: pl.DataFrame
) -> list[Judged]:
    """Name accounts; one with a single user gets the statement about that user."""
    sole = dict(
        subjects.drop_nulls(["user", "account"])
        .group_by("account")
        .agg(pl.col("user").first(), number=pl.col("user").n_unique())
        .filter(pl.col("number") == 1)
        .select("account", "user")
        .iter_rows()
    )
    told = {one.entity: one for one in users}
    others = iter(_named([one for one in accounts if one.entity not in sole]))
    return [
        told[sole[one.entity]]._replace(entity=one.entity) if one.entity in sole else next(others)
        for one in accounts
    ]


def beside(entities: pl.DataFrame, results: pl.DataFrame) -> pl.DataFrame:
    """Fill passed_share, passed_expected and passed_s of users or accounts.

    Args:
        entities: columns of ``users.ENTITY_SCHEMA``.
        results: what ``of_period`` gave.
    """
    figures = ("passed_share", "passed_expected", "passed_s")
    compared = results.filter(pl.col("attempts") > 0).select("entity_kind", "entity", *figures)
    return (
        entities.drop(figures)
        .join(compared, on=["entity_kind", "entity"], how="left", maintain_order="left")
        .select(entities.columns)
    )


def rows(results: pl.DataFrame) -> list[Row]:
    """Return the rows of the summary about what ``of_period`` gave."""
    made: list[Row] = []
    for one in results.iter_rows(named=True):
        of = (one["entity_kind"], one["entity"])
        count, share, expected = one["attempts"], one["passed_share"], one["passed_expected"]
        made.append(row("passed_named", *of, _number(one["named"]), count))
        if one["unknown"] is not None:
            made.append(row("passed_widest", *of, float(one["unknown"] == Unknown.WIDEST), count))
        if count:
            made += [
                row("passed_share", *of, share, count),
                row("passed_expected", *of, expected, count),
                row("passed_s", *of, float(one["passed_s"]), count),
            ]
        if one["lower"] is not None:
            bound = (one["lower"], None)
            made.append(row("passed_excess", *of, share - expected, count, bound))
        if one["in_bursts"] is not None:
            known = one["in_bursts"] != InBursts.UNKNOWN
            only_ = float(one["in_bursts"] == InBursts.ONLY) if known else None
            made.append(row("passed_only_in_bursts", *of, only_, count))
        if one["expected_by_usage"] is not None:
            by_usage, half_life = one["expected_by_usage"], one["half_life_s"]
            made.append(row("passed_expected_by_usage", *of, by_usage, count))
            made.append(row("passed_half_life", *of, half_life, count))
        if one["named"] and one["usage_multiple"] is not None:
            metric = "equal_usage_multiple" if one["equal_shares"] else "usage_multiple"
            made.append(row(metric, *of, one["usage_multiple"], count))
    return made


def _number(holds: bool | None) -> float | None:
    return None if holds is None else float(holds)
