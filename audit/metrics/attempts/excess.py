"""Who waits longer than their peers, and who may be named for it (SPEC §10, *Peers*).

Of a user or account o, over its attempts that ended in the period and have peers,

    peer_ratio = Σ wait / Σ peer_wait        excess_wait = Σ (wait − peer_wait), s

Intervals are bootstrapped over days (of arrival, on the cluster's clock), none with fewer than 10.
For naming, with B = 20,000 resamples,

    p_o = (1 + #{resamples with ratio ≤ 1}) / (1 + B)

and o is beyond chance where p_o passes Benjamini-Yekutieli at 5 % over all of its kind that have a
p. It is *named* only if it is so too, in the same way, over those of its attempts that arrived when
it had nothing active (waiting or running in the pool); else it is shown as a *flood*: many attempts
at once make their own waits.

Conventions: all of a kind are computed on the same resamples of days, of which each takes those on
which it has attempts; a resample without any counts as ratio ≤ 1. No resample is drawn for who is
above 1 in all of them but for a chance of one in a million (``surely_above``), and no more for who
cannot become significant any more, which changes no decision.

Source: Y. Benjamini, D. Yekutieli, The Control of the False Discovery Rate in Multiple Testing
under Dependency, Annals of Statistics 29 (2001), theorem 1.3.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.parts import Row, row
from audit.metrics.attempts.population import ended, in_period, numbered, only, ordered
from audit.metrics.uncertainty import NONE, Interval, Resamples, interval
from audit.model import SEQUENCE, Period, Standing
from audit.workers.executors import IN_TURN, Executor

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

KINDS: Final = ("user", "account")
LEAST_DAYS: Final = 10
NAMING: Final = 20_000
"""Resamples for a p."""
LEVEL: Final = 0.05
_CHUNK: Final = 1_000
"""Resamples held at one time."""
_SURE: Final = 1e-6
_ROOMY: Final = 8
"""Keys are counted, not sorted, while there are at most so many times as many as could be."""


class Days(NamedTuple):
    """What the attempts of one owner waited, by day; one element per day on which it has any."""

    day: Ints  # number of the day
    wait: Floats
    peer_wait: Floats
    waited: float
    """In all: summed up in the order of attempts, as ``users.by_entity`` does."""
    peers_waited: float
    attempts: int

    @property
    def ratio(self) -> float | None:
        """Σ wait / Σ peer_wait; null where peers did not wait."""
        return self.waited / self.peers_waited if self.peers_waited > 0 else None

    @property
    def excess(self) -> float:
        """Σ (wait − peer_wait)."""
        return self.waited - self.peers_waited


Owners = Mapping[str, Days]


def of_peers(
    with_peers: pl.DataFrame,
    period: Period,
    zone: ZoneInfo,
    seed: int,
    resamples: int,
    naming: int = NAMING,
    executor: Executor = IN_TURN,
) -> list[Row]:
    """Rows of the summary about each user and account whose attempts have peers.

    Args:
        with_peers: *all* attempts of one pool, or those ``population.around`` the period, with
            what ``peer_waits`` adds.
        naming: for p, a multiple of 1,000.
        executor: who draws them; the result does not depend on that.
    """
    if "peer_wait_s" not in with_peers.columns:
        return []
    compared = _subjects(with_peers, period, zone)
    owned = compared.filter(pl.any_horizontal(pl.col(KINDS).is_not_null()))
    days = 1 + int(owned["day"].max() or 0)  # type: ignore[arg-type]
    everyone = {kind: dict(_by_owner(only(compared, _owned(kind)), kind)) for kind in KINDS}
    alone = {
        kind: dict(_by_owner(compared.filter(_owned(kind), f"alone_{kind}"), kind))
        for kind in KINDS
    }
    del compared, owned  # before anything is drawn
    rows = []
    drawn = Resamples(days, seed, resamples)
    for kind in KINDS:
        for owner, mine in everyone[kind].items():
            ratio, excess = _intervals(mine, drawn)
            rows += [
                row("peer_ratio", kind, owner, mine.ratio, mine.attempts, ratio),
                row("excess_wait", kind, owner, mine.excess, mine.attempts, excess),
            ]
            if first := alone[kind].get(owner):
                rows.append(row("peer_ratio_alone", kind, owner, first.ratio, first.attempts))
    del drawn  # before more is drawn
    families = [*everyone.values(), *alone.values()]
    beyond = _beyond_chance(families, days, seed, naming, executor)
    for kind, of_all, of_alone in zip(KINDS, beyond, beyond[len(KINDS) :], strict=False):
        for owner, longer in of_all.items():
            named = longer and of_alone.get(owner, False)
            for metric, holds in (("peer_named", named), ("peer_flood", longer and not named)):
                number = everyone[kind][owner].attempts
                rows.append(row(metric, kind, owner, float(holds), number))
    return rows


def by_yekutieli(p: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which of the hypotheses with these p are rejected.

    The greatest k with p_(k) ≤ k · level / (m · Σ 1/i) is looked for; the k least are rejected.
    """
    m = len(p)
    harmonic = sum(1 / i for i in range(1, m + 1))
    ascending = sorted(p)
    passing = [k for k in range(1, m + 1) if ascending[k - 1] <= k * level / (m * harmonic)]
    return [bool(passing) and one <= ascending[passing[-1] - 1] for one in p]


def _owned(kind: str) -> pl.Expr:
    return pl.col(kind).is_not_null()


def _subjects(with_peers: pl.DataFrame, period: Period, zone: ZoneInfo) -> pl.DataFrame:
    """Those that ended in the period and have peers: owners, waits and day.

    ``alone_user`` and ``alone_account``: whether the owner had nothing active when it arrived.
    """
    gone = (
        pl.when(pl.col("standing").is_in([Standing.RUNNING.value, Standing.PENDING.value]))
        .then(pl.lit(np.iinfo(np.int64).max))
        .otherwise(pl.coalesce("end_time", "arrival_time"))
    )
    read = with_peers.select(
        *("standing", "arrival_time", "start_time", "submit_time", "end_time", "wait_s"),
        *("peer_wait_s", *SEQUENCE, *(numbered(with_peers[kind]) for kind in KINDS)),
    )
    came = pl.coalesce("arrival_time", "start_time")
    known = only(read, came.is_not_null()).with_columns(arrival_time=came, gone=gone)
    marked = ordered(known, "arrival_time", "submit_time", *SEQUENCE)
    del read, known
    marked = marked.with_columns(_alone(marked, kind).alias(f"alone_{kind}") for kind in KINDS)
    held = only(ended(in_period(marked, period)), pl.col("peer_wait_s").is_not_null())
    day = (
        pl.from_epoch("arrival_time", time_unit="s")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(zone.key)
        .dt.date()
        .cast(pl.Int64)
    )
    first = in_period(with_peers, period).select(pl.col("arrival_time").min())
    origin = first.select(day).item()
    return held.select(
        *("wait_s", "peer_wait_s", *KINDS, *(f"alone_{kind}" for kind in KINDS)), day=day - origin
    )


def _alone(arrivals: pl.DataFrame, kind: str) -> pl.Series:
    """Whether each, in order, arrived when those of its owner that had come before were gone."""
    from audit.kernels import peers

    owner = (arrivals[kind].to_physical().cast(pl.Int64) + 1).fill_null(0).to_numpy()
    latest = np.full(int(owner.max(initial=0)) + 1, np.iinfo(np.int64).min)
    before = np.empty(len(owner), np.int64)
    peers.last_gone(owner, arrivals["gone"].to_numpy(), latest, before)
    return pl.Series(before) <= arrivals["arrival_time"]


def _by_owner(subjects: pl.DataFrame, kind: str) -> Iterator[tuple[str, Days]]:
    """What each owner's attempts waited, by day; owners in the order of their names."""
    number = subjects[kind].to_physical().cast(pl.Int64).to_numpy()
    found = np.flatnonzero(np.bincount(number))
    owners = subjects[kind].dtype.categories.gather(found)  # type: ignore[attr-defined]
    place = np.zeros(int(found.max(initial=-1)) + 1, np.int64)
    place[found] = np.arange(len(found))
    number = place[number]
    day = subjects["day"].to_numpy()
    days = int(day.max(initial=0)) + 1
    cells, place = _cells(number * days + day, len(owners) * days)
    waits = [subjects[name].to_numpy().astype(np.float64) for name in ("wait_s", "peer_wait_s")]
    by_day = [np.bincount(place, each).astype(np.float64) for each in waits]
    in_all = [np.bincount(number, each) for each in (*waits, None)]
    begin = 0
    for k, end in enumerate(np.searchsorted(cells, np.arange(1, len(owners) + 1) * days)):
        wait, peer_wait = (each[begin:end] for each in by_day)
        waited, peers_waited, attempts = (each[k] for each in in_all)
        yield (
            owners[k],
            Days(
                cells[begin:end] % days,
                wait,
                peer_wait,
                float(waited),
                float(peers_waited),
                int(attempts),
            ),
        )
        begin = end


def _cells(keys: Ints, room: int) -> tuple[Ints, Ints]:
    """The keys that there are, all below ``room``, ascending; and which of these each one is."""
    if room > _ROOMY * len(keys):
        return np.unique(keys, return_inverse=True)
    found = np.flatnonzero(np.bincount(keys, minlength=room))
    place = np.zeros(room, np.int64)
    place[found] = np.arange(len(found))
    return found, place[keys]


def _intervals(of_owner: Days, drawn: Resamples) -> tuple[Interval, Interval]:
    """Of the ratio and the excess."""
    if len(of_owner.day) < LEAST_DAYS:
        return NONE, NONE
    waits, peer_waits = drawn.sums(of_owner.day, of_owner.wait, of_owner.peer_wait)
    waited = peer_waits > 0
    return interval(waits[waited] / peer_waits[waited]), interval(waits - peer_waits)


class _Trial(NamedTuple):
    """An owner whose ratio may be above 1 beyond chance."""

    family: int
    owner: str
    day: Ints
    difference: Floats  # wait − peer_wait of each day
    most: float
    """Resamples that may be at most 0 where it is still to be significant."""
    alike: bytes
    """The same of all with the same days: of an account of one user, of who is always alone."""


def _beyond_chance(
    families: Sequence[Owners], days: int, seed: int, naming: int, executor: Executor
) -> list[dict[str, bool]]:
    """Of each owner with enough days, whether its ratio is above 1 beyond chance; by family.

    All are judged on the same resamples, each within its family.
    """
    hopeful = []
    below: list[dict[str, int]] = []
    for number, family in enumerate(families):
        judged = {owner: one for owner, one in family.items() if len(one.day) >= LEAST_DAYS}
        below.append(dict.fromkeys(judged, 0))
        harmonic = sum(1 / i for i in range(1, len(judged) + 1))
        for owner, one in judged.items():
            difference = one.wait - one.peer_wait
            if not surely_above(difference, days, naming):
                most = (1 + naming) * LEVEL / harmonic - 1  # no greater p is ever rejected
                alike = sha256(one.day.tobytes() + difference.tobytes()).digest()
                hopeful.append(_Trial(number, owner, one.day, difference, most, alike))
    seeds = [seed + chunk for chunk in range(naming // _CHUNK)]
    while seeds and hopeful:
        at_once, seeds = seeds[: executor.width], seeds[executor.width :]
        trials = {trial.alike: (trial.day, trial.difference) for trial in hopeful}
        drawn = _Drawn(days, list(trials.values()))
        for _, not_above in executor.each(_not_above, drawn, at_once):
            counted = dict(zip(trials, not_above, strict=True))
            for trial in hopeful:
                below[trial.family][trial.owner] += counted[trial.alike]
        hopeful = [one for one in hopeful if below[one.family][one.owner] <= one.most]
    return [
        dict(zip(of, by_yekutieli([(1 + n) / (1 + naming) for n in of.values()]), strict=True))
        for of in below
    ]


class _Drawn(NamedTuple):
    """What is drawn of: so many days, and the days and differences of each trial."""

    days: int
    trials: list[tuple[Ints, Floats]]


def _not_above(drawn: _Drawn) -> Callable[[int], list[int]]:
    """What tells in how many of ``_CHUNK`` resamples of a seed each trial's sum is at most 0."""

    def count(seed: int) -> list[int]:
        resamples = Resamples(drawn.days, seed, _CHUNK)
        return [int((resamples.sums(*trial)[0] <= 0).sum()) for trial in drawn.trials]

    return count


def surely_above(difference: Floats, days: int, naming: int) -> bool:
    """Whether all of ``naming`` resampled sums are above 0, but for a chance of one in a million.

    Chernoff's bound: a sum of n draws is at most 0 with a chance of at most (mean of e^(−t·x))^n,
    whatever t > 0; here n days are drawn of n, those without attempts being 0.

    Args:
        difference: of the days with attempts.
    """
    scale = float(np.abs(difference).mean())
    if float(difference.sum()) <= 0:
        return False
    with np.errstate(over="ignore"):
        means = [
            1 + float(np.expm1(-(2.0**k) / scale * difference).sum()) / days for k in range(-8, 9)
        ]
    least = min(means)
    return least <= 0 or naming * math.exp(days * math.log(least)) < _SURE
