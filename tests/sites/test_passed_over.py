"""Who is named as passed over, on made sites of which it is known whom the order hurts.

Chains are held, and the limits that the log shows are accepted, as in an audit. Two seeds of each
kind run with the thorough tests; `make test-sites` runs forty or sixty.
"""

from functools import cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from audit.cluster.passed import OfLog
from audit.metrics.attempts.account import KEY
from audit.metrics.attempts.passed_over import EQUAL
from audit.model import Period
from audit.pipeline.shown import look
from audit.registry.passed import PassedWhy
from audit.scenario.plateaus.sweeping import unstartable
from audit.scenario.releases.holds import inferred_holds
from bench.logs.sites.planted import ORDERED
from bench.logs.sites.site import TrueSite, made
from tests.places import ROOT
from tests.tables import write_row

PAGE: Final = ROOT / "docs" / "report" / "sites-passed.md"
SEEDS: Final = {"chains": 60, "held bursts": 60}
"""Of other kinds, 40."""
ALL: Final = Period("all", 0, 1 << 40)
INNOCENT: Final = {"held bursts": 14}
"""Greatest number of sites on which an innocent entity is named; of other kinds, none."""
FOUND: Final = {"user of lowest priority": 35, "account of lowest priority": 39}
"""Least number of sites on which the entity of lowest priority is named."""
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


def judged(site: TrueSite) -> pl.DataFrame:
    """The answer of the test, with all that an audit sees in the log."""
    jobs, pool, now = site.jobs, site.pool, site.now
    ends = jobs.filter(pl.col("start_time").is_not_null())["end_time"]
    begin = int(ends.to_numpy().min())
    found = look(jobs, pool, now, begin)
    pool, holding = found.plateaus.pool, found.holding
    keys = jobs.select(*KEY, row=pl.int_range(pl.len()))
    held = inferred_holds(jobs, pool, now, holding).join(keys, on="row")
    jobs = jobs.with_columns(unstartable(jobs, pool, now, begin, holding.own))
    return OfLog.of(jobs, pool, now, holding, held).passed_over(jobs, ALL, ZoneInfo("UTC"), EQUAL)


@cache
def named(kind: str, seed: int) -> Named:
    """The users named on a site."""
    site = made(ORDERED[kind], seed)
    found = judged(site)
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
def test_all_seeds(kind: str) -> None:
    seeds = range(SEEDS.get(kind, 40))
    results = [named(kind, seed) for seed in seeds]
    innocent = sum(bool(one.innocent) for one in results)
    victims = sum(one.victim for one in results)
    right = sum(stated(kind, seed) for seed in seeds) if kind in STATED else 0
    found = f"{victims} of {len(seeds)}" if kind in FOUND else "–"
    found = f"order stated on {right} of {len(seeds)}" if kind in STATED else found
    write_row(PAGE, f"true scheduler: {kind}", found, f"{innocent} of {len(seeds)}")
    assert innocent <= INNOCENT.get(kind, 0)
    assert victims >= FOUND.get(kind, 0)
    assert kind not in STATED or right >= LEAST_STATED
