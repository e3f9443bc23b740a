"""Who is named as passed over, on made sites of which it is known whom the order hurts.

Chains are held, and the limits that the log shows are accepted. Two seeds of each kind run with the
thorough tests; `make test-sites` runs forty.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from audit.metrics.attempts import passed_over
from audit.metrics.attempts.account import KEY
from audit.metrics.attempts.passed_over import OwnEnds, PassedEvidence
from audit.metrics.pairs import Barred, Unstarted
from audit.metrics.passed.limited import forbidden, joined, users_under
from audit.model import Period
from audit.registry.passed import PassedWhy
from audit.scenario.plateaus.search import find_plateaus
from audit.scenario.releases.chains import find_chains
from audit.scenario.releases.queue import NEVER, SHIFTS_S, UserJobs, user_jobs
from tests.places import ROOT
from tests.sites.planted import ORDERED
from tests.sites.site import TrueSite, made
from tests.tables import write_row

Ints = NDArray[np.int64]

PAGE: Final = ROOT / "docs" / "report" / "sites-passed.md"
SEEDS: Final = 40
ALL: Final = Period("all", 0, 1 << 40)
INNOCENT: Final = {
    "chains": 2,
    "held bursts": 10,
    "user of lowest priority": 2,
    "account of lowest priority": 2,
}
"""Greatest number of forty sites on which an innocent entity is named; of other kinds, none."""
FOUND: Final = {"user of lowest priority": 13, "account of lowest priority": 39}
"""Least number of forty sites on which the entity of lowest priority is named."""
STATED: Final = {
    "paid queue": ("qos", "paid"),
    "partition of lowest priority": ("partition", None),
    "QOS of lowest priority": ("qos", None),
}
"""Kinds of which the order is stated, and whose later jobs start first; None: any other's."""
LEAST_STATED: Final = 36


class Named(NamedTuple):
    """The result on one site."""

    victim: bool  # whether the entity of lowest priority is named
    innocent: tuple[tuple[str, str], ...]
    stated: tuple[tuple[str, str], ...]  # kinds and names of those ahead


def evidence_of(site: TrueSite) -> PassedEvidence:
    """What the log shows: chains, and limits of users and accounts."""
    jobs, pool, now = site.jobs, site.pool, site.now
    ends = jobs.filter(pl.col("start_time").is_not_null())["end_time"]
    found = find_plateaus(jobs, pool, now, int(ends.to_numpy().min()))
    limits = [*found.limits, *(rule.limit for rule in found.own)]
    keys = jobs.select(*KEY, row=pl.int_range(pl.len()))
    spans = forbidden(jobs, pool, now, limits).join(keys, on=KEY)
    queue = user_jobs(jobs, pool, now)
    held = [
        (row, int(jobs["arrival_time"][row]), end - 1)
        for chain in find_chains(queue)
        if chain.accepted
        for row, end in zip(chain.held.tolist(), chain.until.tolist(), strict=True)
    ]
    schema = dict.fromkeys(("row", "begin", "end"), pl.Int64)
    held_spans = pl.DataFrame(held, schema, orient="row")
    chains = joined(held_spans, ["row"])
    unstarted = Unstarted(_barred(chains), _barred(spans))
    after = own_ends(queue)
    return PassedEvidence(
        unstarted, users_under(jobs, limits), triggered=triggered(queue, after), own_ends=after
    )


def triggered(jobs: UserJobs, ends: Mapping[str, OwnEnds]) -> pl.Series:
    """Which jobs start within 120 s after an own end, of users most of whose jobs do.

    Whether as many are expected is not asked.
    """
    found = np.zeros(len(jobs.start), np.bool_)
    for number, name in enumerate(jobs.names, 1):
        of = ends[name]
        if of.jobs >= 20 and of.share >= max(0.5, 2.5 * of.shifted):
            mine = np.flatnonzero((jobs.user == number) & (jobs.start != NEVER))
            ended = np.sort(jobs.end[mine])
            found[mine] = _ended(jobs.start[mine], ended)
    return pl.Series(found)


def own_ends(jobs: UserJobs) -> dict[str, OwnEnds]:
    """How often each user's jobs start within 120 s after an own end (SPEC §11)."""
    started = np.flatnonzero(jobs.start != NEVER)
    waited = started[jobs.wait[started] > 600]
    waited = waited[jobs.has_room(waited, jobs.start[waited] - 120)]
    found = {}
    for number, name in enumerate(jobs.names, 1):
        mine = np.sort(jobs.start[waited[jobs.user[waited] == number]])
        ends = np.sort(jobs.end[started[jobs.user[started] == number]])
        shares = [_after(mine, ends + shift) for shift in (0, *SHIFTS_S)]
        found[name] = OwnEnds(len(mine), shares[0], float(np.mean(shares[1:])))
    return found


def _after(starts: Ints, ends: Ints) -> float:
    """The share of starts within 120 s after one of the ends."""
    return float(_ended(starts, ends).mean()) if len(starts) else 0.0


def _ended(starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Whether one of the ends, ascending, lies in the 120 s before each start."""
    found = np.searchsorted(ends, starts, side="right") - np.searchsorted(ends, starts - 120)
    return np.asarray(found > 0)


def _barred(spans: pl.DataFrame) -> Barred:
    ascending = spans.sort("row", "begin")
    return Barred(*(ascending[name].to_numpy() for name in ("row", "begin", "end")))


@cache
def named(kind: str, seed: int) -> Named:
    """Who is named on a site."""
    site = made(ORDERED[kind], seed)
    found = passed_over.of_period(
        site.jobs, site.pool, ALL, ZoneInfo("UTC"), evidence=evidence_of(site)
    )
    accused = found.filter("named").select("entity_kind", "entity").rows()
    ahead = found.filter(why=PassedWhy.ORDER.value).select("entity_kind", "ahead").rows()
    last = ORDERED[kind].last
    excused: set[tuple[str, str]] = set()
    if last is not None:
        mine = site.jobs.filter(pl.col(last[0]) == last[1])
        excused = {last}
        if last[0] == "user":
            excused |= {("account", name) for name in mine["account"].unique()}
        if last[0] == "account":
            excused |= {("user", name) for name in mine["user"].unique()}
    innocent = tuple(one for one in accused if one not in excused)
    return Named(last in accused, innocent, tuple(ahead))


def stated(kind: str, seed: int) -> bool:
    """Whether the order is stated, with the right one ahead."""
    of, name = STATED[kind]
    return any(one == of and name in (None, other) for one, other in named(kind, seed).stated)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ORDERED)
def test_two_seeds(kind: str) -> None:
    results = [named(kind, seed) for seed in range(2)]
    if kind not in INNOCENT:
        assert [one.innocent for one in results] == [(), ()]
    if kind in FOUND:
        assert any(one.victim for one in results)
    if kind in STATED:
        assert [stated(kind, seed) for seed in range(2)] == [True, True]
    else:
        assert [one.stated for one in results] == [(), ()]


@pytest.mark.sites
@pytest.mark.parametrize("kind", ORDERED)
def test_forty_seeds(kind: str) -> None:
    results = [named(kind, seed) for seed in range(SEEDS)]
    innocent = sum(bool(one.innocent) for one in results)
    victims = sum(one.victim for one in results)
    right = sum(stated(kind, seed) for seed in range(SEEDS)) if kind in STATED else 0
    found = f"{victims} of {SEEDS}" if kind in FOUND else "–"
    found = f"order stated on {right} of {SEEDS}" if kind in STATED else found
    write_row(PAGE, f"true scheduler: {kind}", found, f"{innocent} of {SEEDS}")
    assert innocent <= INNOCENT.get(kind, 0)
    assert victims >= FOUND.get(kind, 0)
    assert kind not in STATED or right >= LEAST_STATED
