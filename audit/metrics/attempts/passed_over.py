"""Passed over: who loses to later jobs that ask for at least as much, without a model (SPEC §11).

Under first come, first served with backfilling, a later job that asks for at least as much rarely
starts first. An attempt j makes a *pair* with each k that

- arrived after j and before j started, and is of another user and another entity;
- was in the same partition and qos (in any, for the kinds partition and qos);
- asked for at least as much of every resource, and for at least j's walltime;

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
least 0.5 % of all waiting or one day per job. It is tested with at least 20 attempts with pairs on
8 days: few jobs ask for as much as the widest and longest ones, so of these nothing can be said.

Conventions: a walltime that is unknown or unlimited exceeds all others, an unknown amount is 0. An
attempt without a user, or in a reservation, makes no pair. A rival that never started was not
first. Attempts that arrived after the period change nothing, so that its figures stay.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.parts import Row, row
from audit.metrics.attempts.population import day_number, ended, in_period, occupied
from audit.metrics.pairs import KINDS, NOTHING_HELD, Held, Kind, paired
from audit.metrics.significance import LEVEL, Estimate, blocks, by_hochberg, jackknife, of_sums
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


Shares = Mapping[str, Mapping[str, float]]
"""By kind and name, relative to one another."""
EQUAL: Final[Shares] = {}

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
        described: *all* attempts of a pool, or those ``population.around`` the period; columns of
            ``model.DESCRIBED``.
        zone: the cluster's, for days.
        shares: the site's; a kind without any has equal ones.
        held: rows of ``described``.

    Returns:
        Columns of ``RESULT_SCHEMA``, by kind in the order of ``KINDS``, and by entity.
    """
    held_then = in_period(described, period).select(
        *("standing", "wait_s", "occupancy_s", "size", *KINDS)
    )
    subjects = ended(held_then)
    waiting = float(subjects["wait_s"].sum())
    days = described.select(day_number(zone)).to_series()
    found: dict[Kind, list[Judged]] = {}
    for kind, of_kind in paired(described, pool, period, held).items():
        dated = of_kind.with_columns(day=days.gather(of_kind["row"]))
        counted = subjects.group_by(kind).len().drop_nulls().sort(kind)
        found[kind] = _judged(dated, dict(counted.iter_rows()), waiting)
    judged = {kind: _named(of_kind) for kind, of_kind in found.items()}
    if "account" in found:
        judged["account"] = _like_their_users(found["account"], judged["user"], subjects)
    used = {kind: _multiples(held_then, kind, shares) for kind in ("user", "account")}
    rows = [
        (kind, *one, *used.get(kind, {}).get(one.entity, (None, None)))
        for kind in KINDS
        for one in judged.get(kind, ())
    ]
    return pl.DataFrame(rows, RESULT_SCHEMA, orient="row")


def _multiples(
    held: pl.DataFrame, kind: Literal["user", "account"], shares: Shares
) -> dict[str, tuple[float, bool]]:
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


def _judged(of_kind: pl.DataFrame, counts: Mapping[str, int], waiting: float) -> list[Judged]:
    """Compare each entity of a kind with the others; ``counts`` are their attempts."""
    of_kind = of_kind.with_columns(expected=_expected(of_kind))
    by_entity = {
        name: rows for (name,), rows in of_kind.partition_by("entity", as_dict=True).items()
    }
    return [
        _one(entity, by_entity.get(entity, of_kind.clear()), count, waiting)
        for entity, count in counts.items()
    ]


def _expected(of_kind: pl.DataFrame) -> pl.Series:
    """Return the expected rate of each attempt; null where others have no pairs at all."""

    def others(name: str, *within: str) -> pl.Expr:
        whole = pl.col(name).sum().over(within) if within else pl.col(name).sum()
        return whole - pl.col(name).sum().over("entity", *within)

    several = pl.col("entity").filter(pl.col("pairs") > 0).n_unique() > 1
    overall = others("lost") / others("pairs")
    rate = (others("lost", "class") + PRIOR * overall) / (others("pairs", "class") + PRIOR)
    alone = others("pairs") <= 1e-9
    return of_kind.select(pl.when(several & ~alone).then(rate)).to_series()


def _one(entity: str, rows: pl.DataFrame, count: int, waiting: float) -> Judged:
    """Compare an entity with the others: its rows of ``PAIRED_SCHEMA``, with days and rates."""
    compared = rows.filter(pl.col("pairs") > 0)
    pairs, lost = (compared[name].to_numpy() for name in ("pairs", "lost"))
    passed_s = int(compared["passed_s"].sum())
    all_pairs, all_lost = float(pairs.sum()), float(lost.sum())
    share = all_lost / all_pairs if len(pairs) else None
    expected: float | None = None
    estimate: Estimate | None = None
    if len(pairs) and not compared["expected"].has_nulls():
        due = pairs * compared["expected"].to_numpy()
        expected = float(due.sum()) / all_pairs
        if _enough(compared, *LEAST):
            group = blocks(compared["day"].to_numpy(), BLOCKS)
            estimate = of_sums(_sums(group, lost - due), _sums(group, pairs))
    days = compared["day"].n_unique()
    figures = (compared.height, days, all_pairs, all_lost, share, expected, passed_s)
    if estimate is None:
        unknown = Unknown.WIDEST if _enough(rows, *LEAST) else Unknown.FEW_PAIRS
        return Judged(entity, *figures, None, None, None, unknown.value, None)
    much = passed_s >= min(LEAST_OF_WAITING * waiting, LEAST_PER_JOB_S * count)
    hopeful = estimate.lower >= LEAST_EXCESS and much
    in_bursts = _in_bursts(compared).value if hopeful else None
    return Judged(entity, *figures, estimate.lower, estimate.p, hopeful, None, in_bursts)


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
        if one["named"] and one["usage_multiple"] is not None:
            metric = "equal_usage_multiple" if one["equal_shares"] else "usage_multiple"
            made.append(row(metric, *of, one["usage_multiple"], count))
    return made


def _number(holds: bool | None) -> float | None:
    return None if holds is None else float(holds)
