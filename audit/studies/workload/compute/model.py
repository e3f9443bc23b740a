"""A workload as a few numbers: requests and arrivals of each class of attempts ([B] §3).

A class is a label in one part of the week (``classes``). Its arrivals are a renewal process on the
clock of that part: independent gaps of a two-phase hyper-exponential distribution. The log is read
as a circle: one gap leads from its last arrival to its first, so the mean gap is the length of the
part by the number of arrivals. Occupancies (runtimes in [B]) have such a distribution as well.
Sizes, walltimes and users are short tables.

The model ignores that arrivals of a session follow each other, that classes grow and shrink
together, and that users come and go; ``likeness`` measures the consequences.

Attempts that never started, are open, or have no size are left out and counted. Users are known by
rank, not by name; a class by group has its group's name.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from typing import Annotated, ClassVar, Final, Literal, Self
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from audit import periods
from audit.array_types import Ints
from audit.errors import LogError, UsageError
from audit.metrics.attempts.fidelity import rank_correlation
from audit.model import Pool, Standing
from audit.studies.workload.compute import hyper_exponential
from audit.studies.workload.compute.classes import (
    OTHERS,
    PARTS,
    TECHNIQUES,
    WeeklyClock,
    labels,
    weekly_clock,
)
from audit.studies.workload.compute.hyper_exponential import STRICT, FittedDistribution, Part
from audit.words import Resource


def _summing_to_1(shares: "Shares") -> "Shares":
    total = sum(share for _, share in shares)
    if len(dict(shares)) < len(shares) or (shares and abs(total - 1) > 1e-6):
        raise ValueError("needs pairs of different numbers and their shares, which add up to 1")
    return tuple(sorted(shares))


def _known_zone(name: str) -> str:
    try:
        return periods.zone(name).key
    except UsageError as error:
        raise ValueError(str(error)) from error


_Least0 = Annotated[int, Field(ge=0)]
_Least1 = Annotated[int, Field(ge=1)]
Shares = Annotated[tuple[tuple[_Least0, Part], ...], AfterValidator(_summing_to_1)]

LISTED: Final = 12
"""Greatest number of users of a class that are listed."""
SIZES: Final = 16
"""Greatest number of sizes of a class."""
_PARTS: Final = 3
QUANTILES: Final = 20
"""Number of walltimes that represent those of a class."""


@dataclass(frozen=True, slots=True)
class Class:
    """Attempts of one label in one part of the week; fields in the order of the model's file."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    label: Annotated[str, Field(alias="class")]
    part: Literal[PARTS]  # type: ignore[valid-type]
    attempts: _Least1
    hours: Annotated[float, Field(gt=0)]  # length of the part in all
    mean_size: Annotated[float, Field(ge=0)]
    mean_occupancy_s: Annotated[float, Field(ge=0)]
    used: Part  # share of all size-seconds of the workload
    gaps: FittedDistribution  # between arrivals, on the clock of the part
    occupancies: FittedDistribution
    sizes: Annotated[
        tuple[tuple[_Least1, Part], ...], Field(min_length=1), AfterValidator(_summing_to_1)
    ]
    """Ascending; the shares add up to 1, and the mean is that of all sizes."""
    walltimes: Shares  # ascending, s; shares of those that have one, in twentieths
    with_walltime: Part  # share of the attempts
    foresight: Annotated[float, Field(ge=-1, le=1)]
    """Spearman correlation of walltimes and occupancies; 0 if undefined."""
    users: Annotated[Shares, Field(min_length=1)]  # ranks; 0 is all other users

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.with_walltime and not self.walltimes:
            raise ValueError("walltimes is empty, but with_walltime is above 0")
        return self

    @property
    def rate(self) -> float:
        """Arrivals per hour of its part of the week."""
        return self.attempts / self.hours

    @property
    def known_foresight(self) -> float | None:
        """Foresight; None with fewer than three attempts, or if all walltimes are equal."""
        known = self.attempts > 2 and len(self.walltimes) > 1
        return self.foresight if known else None


@dataclass(frozen=True, slots=True)
class LogModel:
    """The workload of a pool; fields in the order of its file."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    cluster: str
    by: Literal[TECHNIQUES]  # type: ignore[valid-type]
    resource: Literal[tuple(map(str, Resource))]  # type: ignore[valid-type]
    """The unit of sizes."""
    capacity: _Least1
    zone: Annotated[str, AfterValidator(_known_zone)]
    first_day: date
    days: _Least1  # whole days, from the first arrival's to the last one's
    users: _Least1
    left_out: _Least0  # number of attempts of the log that are not in the model
    classes: Annotated[tuple[Class, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for number, one in enumerate(self.classes, start=1):
            if one.users[-1][0] > self.users:
                raise ValueError(f"class {number}, users: ranks go up to {self.users} (users)")
            if (widest := one.sizes[-1][0]) > self.capacity:
                over = f"{widest} is more than the capacity, {self.capacity}"
                raise ValueError(f"class {number}, sizes: {over}")
        return self

    @property
    def attempts(self) -> int:
        """Number of attempts of all classes."""
        return sum(one.attempts for one in self.classes)

    def clock(self) -> WeeklyClock:
        """Return the clock of the model's days."""
        return weekly_clock(self.first_day, self.days, ZoneInfo(self.zone))


def population(described: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    """Return the attempts of a pool that a model describes, by arrival."""
    return described.filter(pl.col("size") > 0, pool=pool.name, standing=Standing.ENDED.value).sort(
        "arrival_time", maintain_order=True
    )


@dataclass(frozen=True)
class ClassifiedAttempts:
    """The attempts of a pool, each in its class."""

    attempts: pl.DataFrame
    """By arrival: label, part (index into ``PARTS``), day (from 0), reading (of the part's clock,
    s), gap_s (to the next of the class, see ``gaps``), size, occupancy_s, walltime_s, user (rank).
    """
    by: str
    clock: WeeklyClock
    first_day: date
    days: int
    zone: str
    users: int
    left_out: int


def place(
    described: pl.DataFrame,
    pool: Pool,
    zone: ZoneInfo,
    by: str,
    seed: int,
    clusters: int | None = None,
) -> ClassifiedAttempts:
    """Return the attempts of a pool, each in its class.

    Peak hours are by the clock of ``zone``. ``by`` is one of ``classes.TECHNIQUES``; ``seed`` and
    ``clusters`` (None chooses the number) are those of k-means.

    Raises LogError if no attempt has ended.
    """
    ended = population(described, pool)
    if ended.is_empty():
        raise LogError(
            f"pool {pool.name!r}: no attempt has ended, so there is no workload; use a longer log"
        )
    arrival = ended["arrival_time"].to_numpy()
    first, last = (periods.day_of(int(instant), zone) for instant in (arrival[0], arrival[-1]))
    days = (last - first) // timedelta(days=1) + 1
    clock = weekly_clock(first, days, zone)
    rank, users = _ranks(ended)
    placed = ended.select("size", "occupancy_s", "walltime_s").with_columns(
        label=labels(ended, by, seed, clusters),
        part=pl.Series(clock.part_of(arrival)),
        day=pl.Series(clock.day_of(arrival)),
        reading=pl.Series(clock.reading(arrival)),
        user=rank,
    )
    return ClassifiedAttempts(
        attempts=placed.with_columns(gap_s=gaps(clock)),
        by=by,
        clock=clock,
        first_day=first,
        days=days,
        zone=zone.key,
        users=users,
        left_out=described.filter(pl.col("pool") == pool.name).height - ended.height,
    )


def model_of(placed: ClassifiedAttempts, pool: Pool, cluster: str, seed: int) -> LogModel:
    """Return the model of a pool's attempts; ``seed`` is that of the bootstraps (PCG64)."""
    attempts = placed.attempts
    work = float((attempts["size"] * attempts["occupancy_s"]).sum())
    classes = []
    keys = product(_order(attempts["label"], placed.by), PARTS)
    for number, (label, part) in enumerate(keys):
        members = of_class(placed, label, part)
        if members.height:
            lasted = placed.clock.seconds(part)
            classes.append(_class(members, (label, part), lasted, work, seed + 2 * number))
    return LogModel(
        cluster=cluster,
        by=placed.by,
        resource=pool.resource.value,
        capacity=pool.largest,
        zone=placed.zone,
        first_day=placed.first_day,
        days=placed.days,
        users=placed.users,
        left_out=placed.left_out,
        classes=tuple(classes),
    )


def of_class(placed: ClassifiedAttempts, label: str, part: str) -> pl.DataFrame:
    """Return the attempts of one class, by arrival; ``part`` is one of ``PARTS``."""
    return placed.attempts.filter(label=label, part=PARTS.index(part))


def gaps(clock: WeeklyClock) -> pl.Expr:
    """Return the gap to the next arrival of the class on the clock of its part, s.

    The last gap leads to the first arrival, so the gaps of a class add up to the length of its
    part. Needs label, part and reading, by arrival.
    """
    lasted = {number: clock.seconds(part) for number, part in enumerate(PARTS)}
    reading, key = pl.col("reading"), ["label", "part"]
    round_ = reading.first().over(key) + pl.col("part").replace_strict(
        lasted, return_dtype=pl.Int64
    )
    return reading.shift(-1).over(key).fill_null(round_) - reading


def shares_of(sizes: Ints) -> Shares:
    """Return sizes and their shares: the most frequent, the widest, and a summary of the others.

    The others are cut, from narrow to wide, into thirds; the two whole numbers around its mean
    represent each third, in the shares that keep the mean. The widest is kept because few wide
    attempts cause most of the unfairness.
    """
    values, counts = np.unique(sizes, return_counts=True)
    by_count = np.argsort(-counts, kind="stable")
    kept = np.zeros(len(values), np.bool_)
    kept[by_count[: SIZES if len(values) <= SIZES else SIZES - 1 - 2 * _PARTS]] = True
    kept[-1] = True
    shares = {int(v): int(n) / len(sizes) for v, n in zip(values[kept], counts[kept], strict=True)}
    others, many = values[~kept], counts[~kept]
    middles = np.cumsum(many) - many / 2
    thirds = (middles * _PARTS / max(1, many.sum())).astype(np.int64)
    for third in np.unique(thirds):
        inside = thirds == third
        number = int(many[inside].sum())
        below, over = divmod(int((others[inside] * many[inside]).sum()), number)
        for value, share in ((below, 1 - over / number), (below + 1, over / number)):
            if share:
                shares[value] = shares.get(value, 0.0) + share * number / len(sizes)
    return tuple(sorted(shares.items()))


def _class(
    members: pl.DataFrame, key: tuple[str, str], lasted: int, work: float, seed: int
) -> Class:
    size, occupancy = members["size"].to_numpy(), members["occupancy_s"].to_numpy()
    asking = members.filter(pl.col("walltime_s").is_not_null())
    walltime = asking["walltime_s"].to_numpy()
    foresight = rank_correlation(walltime, asking["occupancy_s"].to_numpy()) or 0.0
    return Class(
        label=key[0],
        part=key[1],
        attempts=members.height,
        hours=lasted / 3600,
        mean_size=int(size.sum()) / members.height,
        mean_occupancy_s=int(occupancy.sum()) / members.height,
        used=int((size * occupancy).sum()) / work if work else 0.0,
        gaps=hyper_exponential.fit(members["gap_s"].to_numpy(), seed),
        occupancies=hyper_exponential.fit(occupancy, seed + 1),
        sizes=shares_of(size),
        walltimes=_walltimes(walltime),
        with_walltime=len(walltime) / members.height,
        foresight=min(max(foresight, -1.0), 1.0),
        users=_users(members["user"].to_numpy()),
    )


def _walltimes(walltime: Ints) -> Shares:
    """Return the values at the middles of ``QUANTILES`` equal parts of the walltimes."""
    ordered = np.sort(walltime)
    if not len(ordered):
        return ()
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    values, counts = np.unique(
        ordered[np.ceil(middles * len(ordered)).astype(np.int64) - 1], return_counts=True
    )
    return tuple((int(v), int(n) / QUANTILES) for v, n in zip(values, counts, strict=True))


def _users(ranks: Ints) -> Shares:
    """Return the most active users, and all others as rank 0."""
    users, counts = np.unique(ranks, return_counts=True)
    kept = np.argsort(-counts, kind="stable")[: LISTED - 1]
    shares = {int(users[k]): int(counts[k]) / len(ranks) for k in kept}
    others = len(ranks) - int(counts[kept].sum())
    if others:
        shares[0] = shares.get(0, 0.0) + others / len(ranks)
    return tuple(sorted(shares.items()))


def _ranks(attempts: pl.DataFrame) -> tuple[pl.Series, int]:
    """Return the rank, from 1, of each attempt's user by number of attempts, and the user count."""
    ranked = attempts.group_by("user").agg(jobs=pl.len(), first=pl.col("arrival_time").min())
    ranked = ranked.sort("jobs", "first", "user", descending=[True, False, False], nulls_last=True)
    ranked = ranked.with_columns(rank=pl.int_range(1, pl.len() + 1))
    by_attempt = attempts.select("user").join(
        ranked, on="user", how="left", nulls_equal=True, maintain_order="left"
    )
    return by_attempt["rank"], ranked.height


def _order(label: pl.Series, by: str) -> list[str]:
    """Return all labels: sizes from narrow to wide, groups and clusters by name, others last."""
    names = label.unique().to_list()
    if by == "size":
        return sorted(names, key=lambda name: int(name.split("-")[0]))
    return sorted(names, key=lambda name: (name == OTHERS, len(name), name))
