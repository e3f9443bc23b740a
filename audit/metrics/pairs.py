"""Pairs: attempts, and later ones of others that request as much (SPEC §11, *Passed over*).

``attempts.passed_over`` defines pairs and their weights. Here they are counted, attempt by attempt;
apart are those in which one owner (the user, or the account) had recently used much more than the
other. Usage is that of ``fairshare.usage``, by half-life, in resource-seconds divided by the share,
at the local midnight before the later attempt arrived. Attempts count that arrived up to
``EARLIER_S`` before those of the period: earlier ones may not be at hand.
"""

import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, Self
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from audit.array_types import Floats, Ints, ShortInts
from audit.kernels import passed_over as kernel
from audit.kernels.passed_over import BarredSpans, OwnerUsage, PairedAttempts
from audit.metrics.attempts import population, similar
from audit.metrics.attempts.contention import counted_resources, requested, reserved_rows
from audit.metrics.attempts.similar import walltime_class
from audit.metrics.bursts import READ as OF_BURSTS
from audit.metrics.bursts import bursts
from audit.metrics.waits.queue import ranges
from audit.model import SEQUENCE, Period, Pool, Standing

Kind = Literal["user", "account", "partition", "qos"]
KINDS: Final[tuple[Kind, ...]] = ("user", "account", "partition", "qos")
_READ: Final = cs.by_name(
    {*KINDS, *OF_BURSTS, *SEQUENCE}
    | {"standing", "reservation", "wait_s", "walltime_s", "size", "any_gpu_type", "mem_bytes"},
    require_all=False,
)
PLACES: Final[tuple[Kind, ...]] = ("partition", "qos")

EARLIER_S: Final = similar.LEAD_S
LEAD_S: Final = 60
"""A subject waited longer; a rival that starts at most this long before it did not pass it."""
MOST_RIVALS: Final = 2_000
"""Of more rivals of an attempt, every s-th makes a pair."""
MUCH_MORE: Final = 1.2
MUCH_MEMORY: Final = 2
"""An attempt requests much memory from this multiple of the log's memory per size on."""
HALF_LIFE_S: Final = 7 * 86_400
_NEVER: Final = int(np.iinfo(np.int64).max)
_FAR: Final = _NEVER // 2
"""End of attempts that run."""


class Barred(NamedTuple):
    """When attempts could not start; closed intervals, disjoint and ascending within each row."""

    row: Ints  # of the frame that ``Log`` is of; ascending
    from_time: Ints
    to_time: Ints

    def of_rows(self, rows: Ints) -> BarredSpans:
        """Return the intervals of these rows as the kernel takes them."""
        low = np.searchsorted(self.row, rows)
        counts = np.searchsorted(self.row, rows, "right") - low
        first = np.concatenate(([0], np.cumsum(counts)))
        _, at = ranges(low, counts)
        return BarredSpans(first, self.from_time[at], self.to_time[at])


_NO_INTS: Final = np.zeros(0, np.int64)
NOTHING_BARRED: Final = Barred(_NO_INTS, _NO_INTS, _NO_INTS)

PAIRED: Final = (
    *("row", "user", "entity", "class", "pairs", "lost"),
    *("pairs_more", "lost_more"),  # of the pairs, those in which its owner had used much more
    *("pairs_less", "lost_less"),  # and those in which the later attempt's owner had
    *("passed_s", "passed_else_s"),  # the same without ``lost_more``
)
"""Columns of attempts with pairs that count; users and entities are enumerations."""


class EntityUsage(NamedTuple):
    """The usage of owners, users or accounts; see ``Log.usage``."""

    owners: Kind
    decayed: OwnerUsage
    much: float = MUCH_MORE  # factor from which an owner had used much more than another


class PairedLog(NamedTuple):
    """Paired attempts of one kind of entity, and the sums between entities of a place."""

    attempts: pl.DataFrame  # columns of ``PAIRED``, by row
    between: pl.DataFrame  # entity, rival, pairs, lost; empty unless the kind is one of ``PLACES``


class Log(NamedTuple):
    """The started attempts that may make pairs."""

    frame: pl.DataFrame  # in the order of the queue
    need: Ints  # rows × what is compared
    memory: Ints  # [rows], what each requests, bytes, if that is much for its size; else 0
    used: pl.DataFrame
    """Attempts that used the pool, those before the period included: owners, start, end, size."""

    @classmethod
    def of(cls, described: pl.DataFrame, pool: Pool, period: Period, zone: ZoneInfo) -> Self:
        """Of a pool, with the subjects of a period marked; args as ``passed_over.of_period``."""
        gpus = [name for name in counted_resources(pool) if name.startswith("gpus")]
        described = described.select(_READ | cs.by_name(gpus))
        described = described.with_columns(reserved=reserved_rows(described)).with_row_index("row")
        rows = population.around(described, period, EARLIER_S)
        present = population.around(rows, period)["row"]
        subjects = population.in_period(rows.select("row", "standing", *OF_BURSTS), period)
        mine = population.ended(subjects)["row"]
        del subjects
        known = (
            pl.col("arrival_time").is_not_null()
            & pl.col("start_time").is_not_null()
            & pl.col("user").is_not_null()
            & ~pl.col("reserved")
            & (pl.col("standing") != Standing.START_UNKNOWN)
        )
        if not period.whole_log:
            known &= pl.col("arrival_time") < period.to_time
        rows = population.only(rows, known)
        rows = population.ordered(rows, "arrival_time", "submit_time", *SEQUENCE)
        rows = rows.with_columns(population.numbered(rows[kind]) for kind in KINDS)
        used = rows.select(
            "user",
            "account",
            start="start_time",
            end=pl.col("end_time").fill_null(_FAR),
            size=pl.col("size").fill_null(0),
        )
        taking_part = population.only(rows, pl.col("row").is_in(present.implode()))
        size = pl.col("size").fill_null(0)
        frame = taking_part.select(
            *("row", *KINDS),
            "arrival_time",
            start="start_time",
            subject=pl.col("row").is_in(mine.implode()) & (pl.col("wait_s") > LEAD_S),
            burst=bursts(taking_part).cast(pl.UInt32),
            midnight=population.local_arrival(zone).dt.truncate("1d").dt.epoch("s"),
            width=pl.when(size > 0).then(pl.Series(_log2(taking_part["size"])).cast(pl.UInt8)),
            walltime=pl.Series(walltime_class(taking_part["walltime_s"])).cast(pl.UInt8),
            need_size=size,
            need_walltime=pl.col("walltime_s").fill_null(_NEVER),
            **{f"need_{name}": requested(name).fill_null(0) for name in gpus},
        ).with_columns(same_place=_group(*PLACES))
        needed = frame.select(pl.col("^need_.*$"))
        need = np.ascontiguousarray(needed.to_numpy(), np.int64)
        return cls(frame.drop(needed.columns), need, _much_memory(taking_part), used)

    @property
    def with_memory(self) -> Self:
        """The same, in which rivals request as much memory, too, as those that request much."""
        return self._replace(need=np.column_stack((self.need, self.memory)))

    @property
    def kinds(self) -> list[Kind]:
        """Those with at least two entities; none without two users."""
        counts = {kind: self.frame[kind].drop_nulls().n_unique() for kind in KINDS}
        return [kind for kind in KINDS if min(counts[kind], counts["user"]) > 1]

    def usage(
        self, shares: Mapping[str, float], owners: Kind = "user", half_life_s: int = HALF_LIFE_S
    ) -> EntityUsage:
        """Return the decayed usage of users or accounts.

        Args:
            shares: of each owner, relative to one another; empty: equal ones.
        """
        used = self.used.drop_nulls(owners)
        names = _names(used[owners])
        share = [max(shares.get(name, 0.0), _TINY) if shares else 1.0 for name in names]
        time = np.concatenate([used["start"], used["end"]])
        of = np.tile(_codes(used[owners]), 2)
        order = np.lexsort((time, of))
        time = time[order]
        first = np.searchsorted(of[order], np.arange(len(names) + 1))
        del of  # each is twice as long as the log
        change = np.concatenate([used["size"], -used["size"]])[order]
        decayed = kernel.OwnerUsage(
            first=first,
            time=time,
            rate=np.cumsum(change, dtype=np.float64),
            used=np.zeros(len(order)),
            share=np.array(share, np.float64),
            decay=math.log(2) / half_life_s,
        )
        kernel.accumulate(decayed)
        return EntityUsage(owners, decayed)

    def no_usage(self) -> EntityUsage:
        """Return the usage of users of whom none had used anything."""
        nothing, users = np.zeros(0), len(_names(self.used["user"]))
        first, share = np.zeros(users + 1, np.int64), np.ones(users)
        return EntityUsage("user", kernel.OwnerUsage(first, _NO_INTS, nothing, nothing, share, 1.0))


_TINY: Final = 1e-12
"""Share of a user without one, so that any usage exceeds it."""


def _much_memory(rows: pl.DataFrame) -> Ints:
    """Return the memory of each attempt that requests much for its size, bytes; else 0."""
    if "mem_bytes" not in rows.columns:
        return np.zeros(rows.height, np.int64)
    size, memory = (rows[name].fill_null(0).to_numpy() for name in ("size", "mem_bytes"))
    both = (size > 0) & (memory > 0)
    usual = float(memory[both].sum(dtype=np.float64)) / max(float(size[both].sum()), 1.0)
    much: Ints = np.where(both & (memory >= MUCH_MEMORY * usual * size), memory, 0)
    return much


def _log2(size: pl.Series) -> Ints:
    """Return ⌈log2⌉ of each size; 0 for none."""
    _, exponent = np.frexp((size.fill_null(0) - 1).clip(0).to_numpy())
    found: Ints = exponent.astype(np.int64)
    return found


def _group(*columns: str) -> pl.Expr:
    """Number the rows that are equal in these columns by the first of them."""
    return pl.col("row").first().over(columns)


def _codes(names: pl.Series) -> ShortInts:
    """Return numbers instead of names; −1: unknown."""
    return names.to_physical().cast(pl.Int32).fill_null(-1).to_numpy()


def _names(numbered_: pl.Series) -> pl.Series:
    return numbered_.dtype.categories  # type: ignore[attr-defined,no-any-return]


class Unstarted(NamedTuple):
    """Why attempts could not start, by row of the frame that ``Log`` is of."""

    held: Barred = NOTHING_BARRED
    forbidden: Barred = NOTHING_BARRED  # by accepted limits of users or accounts
    marked_from: pl.Series | None = None  # when each was marked unstartable; null: never


NOTHING_UNSTARTED: Final = Unstarted()


def paired(
    log: Log,
    kind: Kind,
    usage: EntityUsage | None = None,
    why: Unstarted = NOTHING_UNSTARTED,
    *,
    own: bool = False,
) -> PairedLog:
    """Return the pairs of each attempt for one kind of entity.

    Args:
        kind: one of ``log.kinds``.
        usage: None: nobody had used more than another.
        own: whether later attempts are those of the same user.

    Returns:
        Linear in the pairs; an array of equal tasks counts as one rival.
    """
    usage, n = usage or log.no_usage(), log.frame.height
    place = (pl.lit(0, pl.UInt32) if kind in PLACES else pl.col("same_place")).alias("place")
    frame, need = log.frame.with_columns(place), log.need
    if not population.is_in_order(frame, "place"):
        order = np.argsort(frame["place"].to_numpy(), kind="stable")
        frame, need = frame[order], need[order]
    frame = frame.with_columns(_group("place", "width", "walltime").alias("class"))
    weight = frame.select(1 / pl.len().over("burst", "class")).to_series().to_numpy()
    attempts = _attempts(frame, need, kind, usage, weight, why.marked_from)
    entities = len(_names(frame[kind])) if kind in PLACES and not own else 0
    pairs, lost, since = np.zeros((3, n)), np.zeros((3, n)), np.full((2, n), -1)
    between = np.zeros((2, entities, entities))
    kernel.compare(
        attempts,
        why.held.of_rows(frame["row"].to_numpy()),
        why.forbidden.of_rows(frame["row"].to_numpy()),
        kernel.PairChoice(usage.decayed, usage.much, LEAD_S, MOST_RIVALS, own),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        kernel.PairSums(pairs, lost, since, between),
    )
    del attempts  # as large as the log
    some = np.flatnonzero(pairs.any(axis=0))
    weight = weight[some]
    pairs = pairs[:, some] * weight
    lost = lost[:, some] * weight
    since = since[:, some]
    del weight
    columns = dict.fromkeys(("row", "user", kind, "class", "start"))
    counted = _counted(frame.select(*columns)[some], kind, pairs, lost, since)
    return PairedLog(counted, _between(frame[kind], between))


def _counted(
    paired: pl.DataFrame, kind: Kind, pairs: Floats, lost: Floats, since: Ints
) -> pl.DataFrame:
    """Return the sums of attempts with pairs, [3, n] and [2, n], in columns of ``PAIRED``."""
    passed_s = np.where(since >= 0, paired["start"].to_numpy() - since, 0)
    counted = paired.with_columns(
        pl.col(kind).alias("entity"),
        pairs=pairs.sum(axis=0),
        lost=lost.sum(axis=0),
        pairs_more=pairs[1],
        lost_more=lost[1],
        pairs_less=pairs[2],
        lost_less=lost[2],
        passed_s=passed_s[0],
        passed_else_s=passed_s[1],
    )
    return population.ordered(counted.select(PAIRED), "row")


def _attempts(
    frame: pl.DataFrame,
    need: Ints,
    kind: Kind,
    usage: EntityUsage,
    weight: Floats,
    marked_from: pl.Series | None,
) -> PairedAttempts:
    """Return a log's attempts, by place, as the kernel takes them."""
    stratum, arrival = frame["place"].to_numpy(), frame["arrival_time"].to_numpy()
    user, entity, owner = (_codes(frame[name]) for name in ("user", kind, usage.owners))
    midnight = frame["midnight"].to_numpy()
    kernel.used_at(usage.decayed, owner, midnight, used := np.zeros(len(user)))
    marked = np.full(len(user), _NEVER)
    if marked_from is not None:
        marked = marked_from.gather(frame["row"]).fill_null(_NEVER).to_numpy()
    begin = changes(stratum, user, entity, owner, need, arrival)
    runs = changes(stratum[begin], user[begin], entity[begin], need[begin])
    lengths = np.diff(np.append(runs, len(begin)))
    return kernel.PairedAttempts(
        begin=np.append(begin, len(user)),
        stratum=stratum[begin].astype(np.int64),
        user=user[begin],
        entity=entity[begin],
        owner=owner[begin],
        arrival=arrival[begin],
        need=need[begin],
        run=np.repeat(runs + lengths, lengths),
        start=frame["start"].to_numpy(),
        subject=frame["subject"].to_numpy(),
        weight=weight,
        midnight=midnight,
        used=used,
        marked_from=marked,
    )


def _between(names: pl.Series, sums: Floats) -> pl.DataFrame:
    mine, theirs = np.nonzero(sums[0])
    of = _names(names)
    return pl.DataFrame(
        {
            "entity": of.gather(mine),
            "rival": of.gather(theirs),
            "pairs": sums[0, mine, theirs],
            "lost": sums[1, mine, theirs],
        }
    )


def changes(*columns: NDArray[np.integer]) -> Ints:
    """Return the places of elements that differ from the one before, and of the first."""
    differs = np.ones(len(columns[0]), np.bool_)
    differs[1:] = False
    for column in columns:
        unequal = column[1:] != column[:-1]
        differs[1:] |= unequal if column.ndim == 1 else unequal.any(axis=1)
    return np.flatnonzero(differs)
