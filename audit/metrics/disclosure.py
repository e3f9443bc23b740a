"""Disclosure control: figures about all users that reveal no single one.

Pages for one user or account compare it with all others. Their readers can subtract: their own
figures from those of all, an account's from those of all, yesterday's page from today's. Therefore
each figure describes all attempts of a *block* of whole, closed weeks, and a block is published
only once. A set of attempts may be published only if, without those of any one user or any one
account, at least ``FEWEST`` users remain, or no attempt of an account's set does.

    block        the fewest consecutive closed weeks that may be published, from the first week on
    class        width class × walltime class; its set is the class's attempts in a block
    remainder    the block's attempts in unpublished classes: it must be publishable, too

An attempt belongs to the week in which it ended, in local time. Attempts without a user add no
user, but they remain. Figures are rounded: durations and amounts to two significant digits, shares
to 1 %.

Source: A. Hundepool et al., Statistical Disclosure Control (2012), chapter 4 (minimum frequency
rule, secondary suppression).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.metrics.attempts.population import numbered, only
from audit.metrics.attempts.similar import WALLTIMES, walltime_class
from audit.metrics.quantiles import grouped_sums
from audit.model import Period
from audit.registry.causes import CAUSES

FEWEST: Final = 5  # users that must remain without those that a reader knows
DEFINITION: Final = 2
"""Number of the definition of causes (SPEC §11) behind the figures that are published now; with
another one, figures are not comparable."""
BLOCKS: Final = pl.Schema(
    {
        "from_time": pl.Int64,  # of the block, epoch s
        "to_time": pl.Int64,
        "width": pl.String,  # null: all classes together
        "walltime": pl.String,
        "metric": pl.String,
        "value": pl.Float64,
    }
)
"""Published figures. ``wait_mean`` in s: over attempts, or in a class the mean of the users' means.
``wait_median`` in s, of a class: half of the attempts waited at most this, each user's attempts
together having equal weight, so that no user decides it alone.
``cause_CAUSE_share``: parts of all waiting. ``consumed``: resource-seconds."""

WAITS: Final = pl.Schema(
    {
        "from_time": pl.Int64,  # of the block, epoch s
        "to_time": pl.Int64,
        "entity_kind": pl.String,  # user | account
        "entity": pl.String,
        "part": pl.String,  # key of a cause
        "wait_s": pl.Float64,
    }
)
"""The waits of each user's and account's own attempts in a block, by cause."""

COLUMNS: Final = (
    *("user", "account", "width_class", "walltime_s", "size"),
    *("end_time", "occupancy_s", "wait_s", *dict.fromkeys(cause.column for cause in CAUSES)),
)
"""Columns of attempts that figures read."""

_CLASS: Final = ("width", "walltime")
_ROUNDING: Final = 1e-6
"""Of sums of weights."""

Pair = tuple[str | None, str | None]  # user and account of an attempt
Class = tuple[str | None, str]  # width and walltime class of an attempt


def may_be_published(pairs: Collection[Pair]) -> bool:
    """Return whether a figure about the attempts of these users and accounts may be published.

    ``pairs``: user and account of the attempts, each combination once.
    """
    accounts = defaultdict(set)
    for user, account in pairs:
        accounts[user].add(account)
    users = accounts.keys() - {None}
    if len(users) <= FEWEST:
        return False
    confined = Counter(next(iter(accounts[user])) for user in users if len(accounts[user]) == 1)
    return all(
        account is None
        or len(users) - count >= FEWEST
        or all(other == account for _, other in pairs)
        for account, count in confined.items()
    )


def published_classes(pairs: Collection[tuple[Class, Pair]]) -> set[Class]:
    """Return the classes of a block that may be published, so that their remainder may be, too.

    Args:
        pairs: class, user and account of the block's attempts, each combination once. Attempts of
            unknown width have no class and belong to the remainder.
    """
    of = defaultdict(set)
    for label, pair in pairs:
        of[label].add(pair)
    allowed = [label for label in of if label[0] is not None and may_be_published(of[label])]
    allowed.sort(key=lambda label: (len(of[label]), label))
    rest = set().union(*(of[label] for label in of.keys() - set(allowed)))
    while allowed and rest and not may_be_published(rest):
        rest |= of[allowed.pop(0)]
    return set(allowed)


def blocks(weeks: Sequence[Period], pairs: Collection[tuple[int, Pair]]) -> Iterator[range]:
    """Yield the indices of the weeks of each block; weeks after the last block wait for more users.

    Args:
        weeks: unpublished, in order; a block contains no gap.
        pairs: index of the week, user and account of the attempts, each combination once.
    """
    of = defaultdict(set)
    for number, pair in pairs:
        of[number].add(pair)
    first, held = 0, set[Pair]()
    for place, week in enumerate(weeks):
        if place and weeks[place - 1].to_time != week.from_time:
            first, held = place, set()
        held |= of[place]
        if may_be_published(held):
            yield range(first, place + 1)
            first, held = place + 1, set()


def publish(attempts: pl.DataFrame, weeks: Sequence[Period]) -> pl.DataFrame:
    """Return the figures about all users in closed weeks that were not yet published.

    Args:
        attempts: of one pool, ended, with an account of the wait: ``COLUMNS``. Those that ended in
            none of ``weeks`` are left out.
        weeks: closed, unpublished, in order.

    Returns:
        Columns of ``BLOCKS``.
    """
    placed = _placed(attempts, weeks)
    over = list(blocks(weeks, _pairs(placed, "week")))
    of_week = {week: number for number, one in enumerate(over) for week in one}
    blocked = pl.col("week").replace_strict(of_week, default=None, return_dtype=pl.Int32)
    held = only(placed.with_columns(block=blocked), pl.col("block").is_not_null()).drop("week")
    del placed  # before more is made
    rows = [
        (weeks[over[number][0]].from_time, weeks[over[number][-1]].to_time, *figure)
        for number, *figure in (*_overall(attempts, held, len(over)), *_of_classes(attempts, held))
    ]
    return pl.DataFrame(rows, BLOCKS, orient="row").sort("from_time", maintain_order=True)


def waits(attempts: pl.DataFrame, published: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the waits of each user and account in newly published blocks, by cause: ``WAITS``."""
    spans = published.select("from_time", "to_time").unique().sort("from_time")
    over = [Period("", *span) for span in spans.iter_rows()]
    weeks = spans.with_row_index("week").cast({"week": pl.Int32})
    held = _placed(attempts, over)
    for kind in ("user", "account"):
        named = only(held.select("row", "week", entity=kind), pl.col("entity").is_not_null())
        who = named.select("week", "entity").unique().sort(pl.all()).with_row_index("code")
        codes = named.join(who, on=("week", "entity"), how="left", maintain_order="left")["code"]
        code = codes.cast(pl.Int64).to_numpy()
        timed = who.join(weeks, on="week", maintain_order="left")
        timed = timed.with_columns(entity_kind=pl.lit(kind))
        every = []
        for cause in CAUSES:
            sums = grouped_sums(code, _values(attempts[cause.column], named), who.height)
            waited = pl.Series(sums, dtype=pl.Float64)
            every.append(timed.with_columns(part=pl.lit(cause.key), wait_s=waited))
        yield pl.concat(every).select(pl.col(name).cast(dtype) for name, dtype in WAITS.items())


def rounded(value: float) -> float:
    """Return a number to two significant digits."""
    return round(value, 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def _placed(attempts: pl.DataFrame, weeks: Sequence[Period]) -> pl.DataFrame:
    """Return the rows of attempts that ended in ``weeks``, with the week, entities and class."""
    starts = np.array([week.from_time for week in weeks], np.int64)
    ends = np.array([week.to_time for week in weeks], np.int64)
    ended = attempts["end_time"].to_numpy()
    place = np.searchsorted(starts, ended, side="right") - 1
    inside = (place >= 0) & (ended < ends[np.maximum(place, 0)]) if weeks else place >= 0
    walltimes = pl.Enum(sorted(WALLTIMES))
    placed = pl.DataFrame(
        {
            "week": pl.Series(place, dtype=pl.Int32),
            "user": numbered(attempts["user"]),
            "account": numbered(attempts["account"]),
            "width": numbered(attempts["width_class"]),
            "walltime": pl.Series(WALLTIMES, dtype=walltimes).gather(
                walltime_class(attempts["walltime_s"])
            ),
        }
    )
    return only(placed.with_row_index("row"), pl.Series(inside, dtype=pl.Boolean))


def _values(column: pl.Series, of: pl.DataFrame) -> Floats:
    """Return the values of a column of attempts in the rows of ``_placed``."""
    values: Floats = column.gather(of["row"]).cast(pl.Float64).to_numpy()
    return values


def _pairs(attempts: pl.DataFrame, *by: str) -> list[tuple[Any, Pair]]:
    """Return each combination of ``by`` (one value, or a tuple), user and account, once."""
    rows = attempts.select(*by, "user", "account").unique().iter_rows()
    return [(row[0] if len(by) == 1 else row[:-2], row[-2:]) for row in rows]


Figure = tuple[int, str | None, str | None, str, float]  # block, class, metric, value


def _overall(attempts: pl.DataFrame, of: pl.DataFrame, count: int) -> Iterator[Figure]:
    """Yield the figures of all attempts of each of ``count`` blocks."""
    block = of["block"].cast(pl.Int64).to_numpy()

    def sums(values: pl.Series) -> list[float]:
        return grouped_sums(block, _values(values, of), count)

    waited = sums(attempts["wait_s"])
    consumed = sums(attempts["size"].fill_null(0) * attempts["occupancy_s"])
    passed = {cause: sums(attempts[cause.column]) for cause in CAUSES}
    for number, ended in enumerate(np.bincount(block, minlength=count).tolist()):
        yield number, None, None, "wait_mean", rounded(waited[number] / ended)
        yield number, None, None, "consumed", rounded(consumed[number])
        for cause in CAUSES if waited[number] else ():
            share = round(passed[cause][number] / waited[number], 2)
            yield number, None, None, cause.share, share


def _of_classes(attempts: pl.DataFrame, of: pl.DataFrame) -> Iterator[Figure]:
    """Yield the figures of each published class of each block."""
    pairs = defaultdict(list)
    for (block, *label), pair in _pairs(of, "block", *_CLASS):
        pairs[block].append((tuple(label), pair))
    chosen = {(block, *one) for block, each in pairs.items() for one in published_classes(each)}
    known = of.select("block", *_CLASS, "user", wait_s=attempts["wait_s"].gather(of["row"]))
    known = known.drop_nulls("user")
    means = (
        known.group_by("block", *_CLASS, "user")
        .agg(pl.col("wait_s").mean())
        .sort(pl.all())  # sums of one order, whatever the store gives
        .group_by("block", *_CLASS, maintain_order=True)
        .agg(pl.col("wait_s").mean())
        .join(_medians(known), on=("block", *_CLASS), nulls_equal=True)
        .sort("block", *_CLASS)
    )
    for block, width, walltime, *waits_s in means.iter_rows():
        if (block, width, walltime) in chosen:
            for metric, wait_s in zip(("wait_mean", "wait_median"), waits_s, strict=True):
                yield block, width, walltime, metric, rounded(wait_s)


def _medians(of: pl.DataFrame) -> pl.DataFrame:
    """Return the median wait of each block's classes, in which each user has equal weight."""
    by = ("block", *_CLASS)
    weight = 1 / pl.len().over(*by, "user")
    passed = of.sort("wait_s").select(
        *by,
        wait_median="wait_s",
        passed=weight.cum_sum().over(by),
        users=pl.col("user").n_unique().over(by),
    )
    at_least_half = passed.filter(2 * pl.col("passed") >= pl.col("users") - _ROUNDING)
    return at_least_half.group_by(by).agg(pl.col("wait_median").min())
