"""Pairs: attempts, and later ones of others that request as much (SPEC §11, *Passed over*).

``attempts.passed_over`` defines pairs and their weights. Here they are counted, attempt by attempt;
those with rivals whose owner had used less also apart. *Usage* of an owner at an instant is as in
``fairshare.usage``, by half-life, in resource-seconds divided by the owner's share. Attempts count
that arrived up to ``EARLIER_S`` before those of the period: earlier ones may not be at hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts import similar
from audit.metrics.attempts.contention import counted_resources, requested, reserved_rows
from audit.metrics.attempts.pair_classes import Side, Swept, changes, classes
from audit.metrics.attempts.population import around, ended, in_period, numbered
from audit.metrics.attempts.similar import walltime_class
from audit.metrics.bursts import READ as OF_BURSTS
from audit.metrics.bursts import bursts
from audit.model import Period, Pool, Standing

if TYPE_CHECKING:
    from audit.kernels.passed_over import Classes, Rivals, Subjects, Usage

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Kind = Literal["user", "account", "partition", "qos"]
KINDS: Final[tuple[Kind, ...]] = ("user", "account", "partition", "qos")
_PLACES: Final = ("partition", "qos")

Owners = Literal["user", "account"]
"""Kinds of entities whose usage may decide the order of a queue."""

EARLIER_S: Final = similar.LEAD_S
LEAD_S: Final = 60
"""A rival that starts at most this long before an attempt did not pass it."""
_READ: Final = (
    *("standing", "wait_s", "width_class", "walltime_s", "size"),
    *(*OF_BURSTS, "account", "partition", "qos"),
)
_NEVER: Final = int(np.iinfo(np.int64).max)
_FAR: Final = _NEVER // 2
"""Start of attempts that never started; the lead may be added without overflow."""


class Held(NamedTuple):
    """When attempts were held or under a rule; closed intervals, ascending within each row."""

    row: Ints
    """Of the frame; ascending."""
    from_time: Ints
    to_time: Ints


_NO_INTS: Final = np.zeros(0, np.int64)
NOTHING_HELD: Final = Held(_NO_INTS, _NO_INTS, _NO_INTS)

PAIRED_SCHEMA: Final = pl.Schema(
    {
        "row": pl.Int64,
        "entity": pl.String,
        "class": pl.Int64,
        "in_burst": pl.Boolean,
        "pairs": pl.Float64,
        "lost": pl.Float64,
        "pairs_less": pl.Float64,  # of the pairs, those with rivals whose owner had used less
        "lost_less": pl.Float64,
        "passed_s": pl.Int64,
    }
)
"""Attempts during whose wait another entity's attempt arrived."""


class Log(NamedTuple):
    """The attempts that may make pairs, in blocks that arrived together and are equal."""

    frame: pl.DataFrame
    """By arrival, block and start."""
    begin: Ints
    """First row of each block, and the end of the last."""
    need: Ints
    """Rows × what is compared."""
    used: pl.DataFrame
    """Attempts that used the pool, those before the period included: user, account, start, end and
    size."""

    @classmethod
    def of(cls, described: pl.DataFrame, pool: Pool, period: Period) -> Self:
        """Of a pool, with the subjects of a period marked; args as ``passed_over.of_period``."""
        needs = counted_resources(pool)
        described = described.with_columns(reserved=reserved_rows(described)).with_row_index("row")
        read = dict.fromkeys(("row", "reserved", *_READ, "any_gpu_type", *needs))
        rows = around(described, period, EARLIER_S).select(*read)
        present = around(rows, period)["row"]
        mine = ended(in_period(rows, period))["row"]
        known = (
            pl.col("arrival_time").is_not_null()
            & pl.col("user").is_not_null()
            & ~pl.col("reserved")
            & (pl.col("standing") != Standing.START_UNKNOWN)
        )
        if not period.whole_log:
            known &= pl.col("arrival_time") < period.to_time
        rows = rows.filter(known).with_columns(
            *(numbered(rows.filter(known)[kind]) for kind in KINDS)
        )
        used = rows.filter(pl.col("start_time").is_not_null()).select(
            "user",
            "account",
            start="start_time",
            end=pl.col("end_time").fill_null(_FAR),
            size=pl.col("size").fill_null(0).cast(pl.Float64),
        )
        taking_part = rows.filter(pl.col("row").is_in(present.implode()))
        frame = taking_part.select(
            pl.col("row").cast(pl.Int64),
            *KINDS,
            "arrival_time",
            "width_class",
            start=pl.col("start_time").fill_null(_FAR),
            subject=pl.col("row").is_in(mine.implode()) & (pl.col("wait_s") > 0),
            burst=bursts(taking_part),
            walltime=pl.Series(walltime_class(taking_part["walltime_s"])),
            need_walltime=pl.col("walltime_s").fill_null(_NEVER),
            **{f"need_{name}": requested(name).fill_null(0) for name in needs},
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
        begins = changes(frame["block"].to_numpy())
        need = np.ascontiguousarray(frame.select(needed).to_numpy(), np.int64)
        return cls(frame, np.append(begins, frame.height), need, used)

    @property
    def kinds(self) -> list[Kind]:
        """Those with at least two entities; none without two users."""
        counts = {kind: self.frame[kind].drop_nulls().n_unique() for kind in KINDS}
        return [kind for kind in KINDS if min(counts[kind], counts["user"]) > 1]


def _group(*columns: str) -> pl.Expr:
    """Number the rows that are equal in these columns by the first of them."""
    return pl.col("row").first().over(columns)


def _codes(names: pl.Series) -> Ints:
    """Return numbers instead of names; −1: unknown."""
    return names.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


class _Keys(NamedTuple):
    """Columns that decide pairs of one kind; one element per row of a log."""

    entity: Ints
    """−1: unknown."""
    user: Ints
    stratum: Ints
    """Only attempts of the same one make pairs."""
    arrival: Ints
    span: int
    """Greater than all arrivals."""

    @classmethod
    def of(cls, frame: pl.DataFrame, kind: Kind) -> Self:
        """Of a log's frame; arrivals count from the first."""
        entity, user = _codes(frame[kind]), _codes(frame["user"])
        stratum = frame["anywhere" if kind in _PLACES else "same_place"].to_numpy()
        arrival = frame["arrival_time"].to_numpy()
        since = arrival - arrival.min(initial=_NEVER)
        return cls(entity, user, stratum, arrival, int(since.max(initial=0)) + 1)

    @property
    def place(self) -> Ints:
        """Sort key: stratum, then arrival."""
        place: Ints = self.stratum * self.span + self.arrival - self.arrival.min(initial=_NEVER)
        return place


class Decayed(NamedTuple):
    """Usage of the owners of a log's attempts at any instant."""

    owner: Ints
    """Of each row of the log's frame; −1: unknown."""
    usage: Usage

    @classmethod
    def of(
        cls, log: Log, owners: Owners, half_life_s: float, shares: Mapping[str, float] | None = None
    ) -> Self:
        """Of a log's users or accounts.

        Args:
            shares: of each owner, relative to one another; None: equal ones.
        """
        from audit.kernels import passed_over as kernel

        used = log.used.filter(pl.col(owners).is_not_null())
        time = np.concatenate([used["start"], used["end"]])
        of = np.tile(_codes(used[owners]), 2)
        change = np.concatenate([used["size"], -used["size"]])
        order = np.lexsort((time, of))
        names = used[owners].dtype.categories  # type: ignore[attr-defined]
        share = [max(shares.get(name, 0.0), _TINY) if shares else 1.0 for name in names]
        usage = kernel.Usage(
            first=np.searchsorted(of[order], np.arange(len(names) + 1)),
            time=time[order],
            rate=np.cumsum(change[order]),
            used=np.zeros(len(order)),
            share=np.array(share, np.float64),
            decay=math.log(2) / half_life_s,
        )
        kernel.accumulate(usage)
        return cls(_codes(log.frame[owners]), usage)

    @classmethod
    def unknown(cls, log: Log) -> Self:
        """Of owners without any usage."""
        from audit.kernels import passed_over as kernel

        nothing = np.zeros(0)
        usage = kernel.Usage(np.zeros(1, np.int64), _NO_INTS, nothing, nothing, nothing, 1.0)
        return cls(np.full(log.frame.height, -1), usage)

    def at(self, rows: Ints, instants: Ints) -> Floats:
        """Return the usage of the owners of these rows, each at its instant."""
        from audit.kernels import passed_over as kernel

        used = np.empty(len(rows))
        kernel.used_at(self.usage, self.owner[rows], instants, used)
        return used


_TINY: Final = 1e-12
"""Share of an owner without one, so that any usage exceeds it."""


def paired(
    log: Log, kind: Kind, held: Held = NOTHING_HELD, decayed: Decayed | None = None
) -> pl.DataFrame:
    """Return the pairs of each attempt for one kind of entity.

    Args:
        kind: one of ``log.kinds``.
        held: rows of the frame that the log is of.
        decayed: None: no rival had used less.

    Returns:
        Columns of ``PAIRED_SCHEMA``. Without holds and usage, near-linear where requests are of few
        kinds (``pair_classes``); else linear in the pairs. An array of equal tasks counts as one.
    """
    from audit.kernels import passed_over as kernel

    frame, keys = log.frame, _Keys.of(log.frame, kind)
    usage = decayed or Decayed.unknown(log)
    start, place = frame["start"].to_numpy(), keys.place
    first = log.begin[:-1]
    known = np.flatnonzero(keys.entity[first] >= 0)
    known = known[np.argsort(place[first[known]], kind="stable")]
    rivals = _rivals(log, keys, known, usage)
    mine = np.flatnonzero(frame["subject"].to_numpy() & (keys.entity >= 0))
    row_of = frame["row"].to_numpy()[mine]
    held_begin, held_end = np.searchsorted(held.row, [row_of, row_of + 1])
    alone = np.where(held_begin < held_end, np.arange(len(mine)), -1)
    begins = changes(frame["block"].to_numpy()[mine], alone)
    of, begin, at = mine[begins], np.append(begins, len(mine)), place[first[known]]
    subjects = kernel.Subjects(
        begin=begin,
        arrival=keys.arrival[of],
        user=keys.user[of],
        entity=keys.entity[of],
        owner=usage.owner[of],
        need=log.need[of],
        first=np.searchsorted(at, place[of], side="right"),
        last=np.searchsorted(at, (keys.stratum[of] + 1) * keys.span, side="left"),
        start=start[mine],
        held_begin=held_begin[begins],
        held_end=held_end[begins],
        held_from=held.from_time,
        held_to=held.to_time,
    )
    waits = np.minimum(start[mine[begin[1:] - 1]] - keys.arrival[of], keys.span)
    window = np.searchsorted(at, place[of] + waits) - np.searchsorted(at, place[of], side="right")
    may_sweep = (held_begin == held_end)[begins] & (decayed is None)
    side = Side(keys.stratum, keys.user, keys.entity, log.need, keys.arrival, start)
    swept = Swept(of, begin, mine, window, may_sweep)
    of_class = classes(side, frame["weight"].to_numpy(), swept, by_user=kind == "user")
    return _counted(frame[mine], kind, subjects, rivals, usage.usage, of_class)


def _rivals(log: Log, keys: _Keys, known: Ints, decayed: Decayed) -> Rivals:
    """Return the blocks in ``known`` as rivals."""
    from audit.kernels import passed_over as kernel

    at = log.begin[:-1][known]
    runs = changes(keys.stratum[at], keys.user[at], keys.entity[at], log.need[at])
    lengths = np.diff(np.append(runs, len(at)))
    return kernel.Rivals(
        begin=at,
        end=log.begin[known + 1],
        arrival=keys.arrival[at],
        user=keys.user[at],
        entity=keys.entity[at],
        need=log.need[at],
        run=np.repeat(runs + lengths, lengths),
        used=decayed.at(at, keys.arrival[at]),
        weight=log.frame["weight"].to_numpy()[at],
        start=log.frame["start"].to_numpy(),
    )


def _counted(
    mine: pl.DataFrame,
    kind: Kind,
    subjects: Subjects,
    rivals: Rivals,
    usage: Usage,
    of_class: Classes,
) -> pl.DataFrame:
    """Return the pairs of subjects, whose rows of a log's frame are ``mine``."""
    from audit.kernels import passed_over as kernel

    pairs, lost = np.zeros((2, mine.height)), np.zeros((2, mine.height))
    since, met = np.full(mine.height, -1), np.zeros(mine.height, np.bool_)
    found = kernel.Found(pairs, lost, since, met)
    kernel.compare(subjects, rivals, usage, of_class, LEAD_S, found)
    passed = pl.when(pl.Series(since) >= 0).then(pl.col("start") - pl.Series(since)).otherwise(0)
    weight = mine["weight"]
    counted = mine.select(
        "row",
        pl.col(kind).cast(pl.String).alias("entity"),
        pl.col("class_anywhere" if kind in _PLACES else "class_in_place").alias("class"),
        "in_burst",
        pairs=pl.Series(pairs.sum(axis=0)) * weight,
        lost=pl.Series(lost.sum(axis=0)) * weight,
        pairs_less=pl.Series(pairs[1]) * weight,
        lost_less=pl.Series(lost[1]) * weight,
        passed_s=passed,
    )
    return counted.filter(pl.Series(met)).cast(PAIRED_SCHEMA)
