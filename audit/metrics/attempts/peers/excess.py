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
which it has attempts; a resample without any counts as ratio ≤ 1. Resampling for one that cannot
become significant any more is given up, which changes no decision.

Source: Y. Benjamini, D. Yekutieli, The Control of the False Discovery Rate in Multiple Testing
under Dependency, Annals of Statistics 29 (2001), theorem 1.3.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.parts import Row, row
from audit.metrics.attempts.population import ended, in_period, ordered
from audit.metrics.uncertainty import NONE, Interval, Resamples
from audit.model import SEQUENCE, Period, Standing

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LEAST_DAYS: Final = 10
NAMING: Final = 20_000
"""Resamples for a p."""
LEVEL: Final = 0.05
_CHUNK: Final = 1_000
"""Resamples held at one time."""


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
    kind: str,
    period: Period,
    zone: ZoneInfo,
    seed: int,
    resamples: int,
    naming: int = NAMING,
) -> list[Row]:
    """Rows of the summary about each user, or account, whose attempts have peers.

    Args:
        with_peers: *all* attempts of one pool, with what ``peer_waits`` adds.
        kind: ``user`` or ``account``.
        period: whose attempts are subjects.
        zone: the cluster's, for days.
        seed: of the bootstrap.
        resamples: for intervals.
        naming: for p, a multiple of 1,000.
    """
    if "peer_wait_s" not in with_peers.columns:
        return []
    subjects = _subjects(with_peers, kind, period, zone)
    days = int(subjects["day"].max() or 0) + 1  # type: ignore[arg-type]
    everyone = dict(_by_owner(subjects, kind))
    alone = dict(_by_owner(subjects.filter("alone"), kind))
    drawn = Resamples(days, seed, resamples)
    beyond, beyond_alone = (_beyond_chance(each, days, seed, naming) for each in (everyone, alone))
    rows = []
    for owner, of_owner in everyone.items():
        ratio, excess = _intervals(of_owner, drawn)
        rows += [
            row("peer_ratio", kind, owner, of_owner.ratio, of_owner.attempts, ratio),
            row("excess_wait", kind, owner, of_owner.excess, of_owner.attempts, excess),
        ]
        if owner in alone:
            ratio, _ = _intervals(alone[owner], drawn)
            number = alone[owner].attempts
            rows.append(row("peer_ratio_alone", kind, owner, alone[owner].ratio, number, ratio))
        if owner in beyond:
            named = beyond[owner] and beyond_alone.get(owner, False)
            flood = beyond[owner] and not named
            for metric, holds in (("peer_named", named), ("peer_flood", flood)):
                rows.append(row(metric, kind, owner, float(holds), of_owner.attempts))
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


def _subjects(with_peers: pl.DataFrame, kind: str, period: Period, zone: ZoneInfo) -> pl.DataFrame:
    """Those that ended in the period and have peers; with ``day`` and ``alone``, by arrival."""
    gone = (
        pl.when(pl.col("standing").is_in([Standing.RUNNING.value, Standing.PENDING.value]))
        .then(pl.lit(np.iinfo(np.int64).max))
        .otherwise(pl.coalesce("end_time", "arrival_time"))
    )
    owned = with_peers.select(
        *("standing", "arrival_time", "start_time", "submit_time", "end_time", "wait_s"),
        *("peer_wait_s", kind, *SEQUENCE),
    ).filter(pl.col(kind).is_not_null(), pl.coalesce("arrival_time", "start_time").is_not_null())
    marked = (
        owned.with_columns(arrival_time=pl.coalesce("arrival_time", "start_time"), gone=gone)
        .pipe(ordered, "arrival_time", "submit_time", *SEQUENCE)
        .with_columns(before=pl.col("gone").cum_max().shift(1).over(kind))
        .with_columns(alone=(pl.col("before") <= pl.col("arrival_time")).fill_null(True))
    )
    local = (
        pl.from_epoch("arrival_time", time_unit="s")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(zone.key)
        .dt.date()
        .cast(pl.Int64)
    )
    held = ended(in_period(marked, period)).filter(pl.col("peer_wait_s").is_not_null())
    return held.with_columns(day=local - local.min())


def _by_owner(subjects: pl.DataFrame, kind: str) -> Iterator[tuple[str, Days]]:
    """What each owner's attempts waited, by day; owners in the order of their names."""
    owners = subjects[kind].unique().sort()
    number = subjects[kind].cast(pl.Enum(owners)).to_physical().cast(pl.Int64).to_numpy()
    day = subjects["day"].to_numpy()
    days = int(day.max(initial=0)) + 1
    cells, place = np.unique(number * days + day, return_inverse=True)
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


def _intervals(of_owner: Days, drawn: Resamples) -> tuple[Interval, Interval]:
    """Of the ratio and the excess."""
    if len(of_owner.day) < LEAST_DAYS:
        return NONE, NONE
    terms = {"wait": of_owner.wait, "peers": of_owner.peer_wait}
    (ratio,) = drawn.ratios(of_owner.day, terms, [("wait", "peers")])
    return ratio, drawn.sum(of_owner.day, of_owner.wait - of_owner.peer_wait)


def _beyond_chance(owners: Owners, days: int, seed: int, naming: int) -> dict[str, bool]:
    """Of each owner with enough days, whether its ratio is greater than 1 beyond chance."""
    differences = {
        owner: (one.day, one.wait - one.peer_wait)
        for owner, one in owners.items()
        if len(one.day) >= LEAST_DAYS
    }
    below = dict.fromkeys(differences, 0)
    hopeful = list(differences)
    harmonic = sum(1 / i for i in range(1, len(hopeful) + 1))
    for chunk in range(naming // _CHUNK):
        if not hopeful:
            break
        drawn = Resamples(days, seed + chunk, _CHUNK)
        for owner in hopeful:
            (sums,) = drawn.sums(differences[owner][0], differences[owner][1])
            below[owner] += int((sums <= 0).sum())
        # no p above level / Σ 1/i is ever rejected
        hopeful = [o for o in hopeful if (1 + below[o]) / (1 + naming) <= LEVEL / harmonic]
    p = [(1 + below[owner]) / (1 + naming) for owner in differences]
    return dict(zip(differences, by_yekutieli(p), strict=True))
