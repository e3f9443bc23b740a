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
from typing import Final, Literal, NamedTuple, Self
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.contention import counted_resources, reserved_rows
from audit.metrics.attempts.parts import Row, row
from audit.metrics.attempts.peers import walltime_class
from audit.metrics.attempts.population import (
    around,
    day_number,
    in_period,
    numbered,
    occupied,
)
from audit.metrics.bursts import READ as OF_BURSTS
from audit.metrics.bursts import bursts
from audit.metrics.significance import LEVEL, Estimate, blocks, by_hochberg, jackknife, of_sums
from audit.model import Period, Pool, Standing

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Kind = Literal["user", "account", "partition", "qos"]
KINDS: Final[tuple[Kind, ...]] = ("user", "account", "partition", "qos")
_PLACES: Final = ("partition", "qos")

LEAD_S: Final = 60
"""A rival that starts at most this long before an attempt did not pass it."""
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
_READ: Final = (
    *("standing", "wait_s", "occupancy_s", "size", "width_class", "walltime_s"),
    *(*OF_BURSTS, "account", "partition", "qos"),
)
_NEVER: Final = int(np.iinfo(np.int64).max)
_FAR: Final = _NEVER // 2
"""The start of who never started: some time may be added to it."""


class Unknown(StrEnum):
    """Why nothing can be said about an entity."""

    FEW_PAIRS = "too few jobs with pairs"
    WIDEST = "widest and longest jobs"
    """Enough of its jobs waited while others came, but few of these asked for as much."""


class InBursts(StrEnum):
    """Whether an entity is passed over during bursts of its own users only."""

    ONLY = "only during bursts"
    """The share outside is significantly smaller than within."""
    ALSO_OUTSIDE = "not only during bursts"
    UNKNOWN = "too few jobs outside bursts to tell"


class Held(NamedTuple):
    """When attempts were held or under a rule; closed intervals, ascending within each row."""

    row: Ints
    """Of the frame; ascending."""
    from_time: Ints
    to_time: Ints


_NO_INTS: Final = np.zeros(0, np.int64)
NOTHING_HELD: Final = Held(_NO_INTS, _NO_INTS, _NO_INTS)

Shares = Mapping[str, Mapping[str, float]]
"""By kind and name, relative to one another."""
EQUAL: Final[Shares] = {}

PAIRED_SCHEMA: Final = pl.Schema(
    {
        "row": pl.Int64,
        "entity": pl.String,
        "class": pl.Int64,
        "in_burst": pl.Boolean,
        "pairs": pl.Float64,
        "lost": pl.Float64,
        "passed_s": pl.Int64,
    }
)
"""Of the attempts of a kind while whose wait anybody else arrived."""

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
    held_then = in_period(described.select(_READ), period)
    subjects = held_then.filter(_subject())
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


def _subject() -> pl.Expr:
    return pl.col("standing") == Standing.ENDED


def paired(
    described: pl.DataFrame, pool: Pool, period: Period, held: Held = NOTHING_HELD
) -> dict[Kind, pl.DataFrame]:
    """Return the pairs of each attempt of a period; args as ``of_period``.

    Returns:
        Of each kind with at least two entities, where there are two users, columns of
        ``PAIRED_SCHEMA``. Near-linear in the attempts that arrive while another waits; an array of
        equal tasks counts as one.
    """
    log = _Log.of(described, pool, period)
    counts = {kind: log.frame[kind].drop_nulls().n_unique() for kind in KINDS}
    several = [kind for kind in KINDS if min(counts[kind], counts["user"]) > 1]
    return {kind: _paired(log, kind, held) for kind in several}


class _Log(NamedTuple):
    """The attempts that may make pairs, in blocks that arrived together and are equal."""

    frame: pl.DataFrame
    """By arrival, block and start."""
    begin: Ints
    """First row of each block, and the end of the last."""
    need: Ints
    """Rows × what is compared."""

    @classmethod
    def of(cls, described: pl.DataFrame, pool: Pool, period: Period) -> Self:
        """Of a pool, with the subjects of a period marked."""
        needs = counted_resources(pool)
        described = described.with_columns(reserved=reserved_rows(described)).with_row_index("row")
        rows = around(described, period).select("row", "reserved", *dict.fromkeys((*_READ, *needs)))
        mine = in_period(rows, period).filter(_subject())["row"]
        known = (
            pl.col("arrival_time").is_not_null()
            & pl.col("user").is_not_null()
            & ~pl.col("reserved")
            & (pl.col("standing") != Standing.START_UNKNOWN)
        )
        if not period.whole_log:
            known &= pl.col("arrival_time") < period.to_time
        taking_part = rows.filter(known)
        frame = taking_part.select(
            pl.col("row").cast(pl.Int64),
            *(numbered(taking_part[kind]) for kind in KINDS),
            "arrival_time",
            "width_class",
            start=pl.col("start_time").fill_null(_FAR),
            subject=pl.col("row").is_in(mine.implode()) & (pl.col("wait_s") > 0),
            burst=bursts(taking_part),
            walltime=pl.Series(walltime_class(taking_part["walltime_s"])),
            need_walltime=pl.col("walltime_s").fill_null(_NEVER),
            **{f"need_{name}": pl.col(name).fill_null(0) for name in needs},
        )
        needed = ["need_walltime", *(f"need_{name}" for name in needs)]
        frame = (
            frame.with_columns(
                same_place=_group(*_PLACES),
                anywhere=pl.lit(0, pl.Int64),
                class_anywhere=_group("width_class", "walltime"),
                class_in_place=_group(*_PLACES, "width_class", "walltime"),
                part=_group("burst", *_PLACES, "width_class", "walltime"),
                in_burst=pl.len().over("burst") > 1,
            )
            .with_columns(weight=1 / pl.len().over("part"))
            .with_columns(block=_group("part", "arrival_time", "account", *needed))
            .sort("arrival_time", "block", "start", maintain_order=True)
        )
        begins = _changes(frame["block"].to_numpy())
        need = np.ascontiguousarray(frame.select(needed).to_numpy(), np.int64)
        return cls(frame, np.append(begins, frame.height), need)


def _group(*columns: str) -> pl.Expr:
    """Number the rows that are equal in these columns by the first of them."""
    return pl.col("row").first().over(columns)


def _changes(*columns: Ints) -> Ints:
    """Return the places of elements that differ from the one before, and of the first."""
    differs = np.ones(len(columns[0]), np.bool_)
    differs[1:] = False
    for column in columns:
        unequal = column[1:] != column[:-1]
        differs[1:] |= unequal if column.ndim == 1 else unequal.any(axis=1)
    return np.flatnonzero(differs)


def _paired(log: _Log, kind: Kind, held: Held) -> pl.DataFrame:
    """Return the pairs of each attempt for one kind of entity."""
    from audit.kernels import passed_over as kernel

    frame = log.frame
    by_place = kind not in _PLACES
    entity = frame[kind].to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    user = frame["user"].to_physical().cast(pl.Int64).to_numpy()
    arrival, start = frame["arrival_time"].to_numpy(), frame["start"].to_numpy()
    stratum = frame["same_place" if by_place else "anywhere"].to_numpy()
    span = int(arrival.max(initial=0) - arrival.min(initial=0)) + 2
    key = stratum * span + (arrival - arrival.min(initial=0))

    first = log.begin[:-1]
    blocks_ = np.flatnonzero(entity[first] >= 0)
    blocks_ = blocks_[np.argsort(key[first[blocks_]], kind="stable")]
    at = first[blocks_]
    runs = _changes(stratum[at], user[at], entity[at], log.need[at])
    lengths = np.diff(np.append(runs, len(at)))
    rivals = kernel.Rivals(
        begin=at,
        end=log.begin[blocks_ + 1],
        arrival=arrival[at],
        user=user[at],
        entity=entity[at],
        need=log.need[at],
        run=np.repeat(runs + lengths, lengths),
        weight=frame["weight"].to_numpy()[at],
        start=start,
    )
    mine = np.flatnonzero(frame["subject"].to_numpy() & (entity >= 0))
    row_of = frame["row"].to_numpy()[mine]
    intervals = np.searchsorted(held.row, [row_of, row_of + 1])
    alone = np.where(intervals[0] < intervals[1], np.arange(len(mine)), -1)
    begins = _changes(frame["block"].to_numpy()[mine], alone)
    of = mine[begins]
    subjects = kernel.Subjects(
        begin=np.append(begins, len(mine)),
        arrival=arrival[of],
        user=user[of],
        entity=entity[of],
        need=log.need[of],
        first=np.searchsorted(key[at], key[of], side="right"),
        last=np.searchsorted(key[at], (stratum[of] + 1) * span, side="left"),
        start=start[mine],
        held_begin=intervals[0][begins],
        held_end=intervals[1][begins],
        held_from=held.from_time,
        held_to=held.to_time,
    )
    count = len(mine)
    pairs, lost, since = np.zeros(count), np.zeros(count), np.zeros(count, np.int64)
    met = np.zeros(count, np.bool_)
    kernel.compare(subjects, rivals, LEAD_S, kernel.Found(pairs, lost, since, met))
    return (
        frame[mine]
        .select(
            "row",
            pl.col(kind).cast(pl.String).alias("entity"),
            pl.col("class_in_place" if by_place else "class_anywhere").alias("class"),
            "in_burst",
            pairs=pl.Series(pairs) * pl.col("weight"),
            lost=pl.Series(lost) * pl.col("weight"),
            passed_s=pl.when(pl.Series(since) >= 0)
            .then(pl.col("start") - pl.Series(since))
            .otherwise(0),
        )
        .filter(pl.Series(met))
        .cast(PAIRED_SCHEMA)
    )


class Judged(NamedTuple):
    """What is said of an entity; see ``RESULT_SCHEMA``."""

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
