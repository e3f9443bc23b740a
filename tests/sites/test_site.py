"""Made sites: schedules are possible, no rule is broken, and reasons cover each wait exactly.

Few days of each kind run by default; ``make test-sites`` checks whole sites.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from bench.logs.sites.kinds import DAY, EPOCH, HOUR, WAITING, WEEK, SiteKind, TrueRule
from bench.logs.sites.planted import ORDERED, PLANTED, WITHOUT
from bench.logs.sites.reasons import TrueReason
from bench.logs.sites.scheduler import capacities
from bench.logs.sites.site import TrueSite, made

KINDS = {
    f"{group}: {name}": kind
    for group, kinds in (
        ("waiting", WAITING),
        ("planted", PLANTED),
        ("without", WITHOUT),
        ("ordered", ORDERED),
    )
    for name, kind in kinds.items()
}
DAYS = 4


def of_kind(name: str, seed: int, days: int | None = None) -> TrueSite:
    kind = KINDS[name]
    return made(kind if days is None else kind.shorter(days), seed, *name.encode())


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.thorough if k % 6 else ()) for k, one in enumerate(KINDS)],
)
def test_a_short_site(name: str) -> None:
    _check(of_kind(name, 0, DAYS))


@pytest.mark.sites
@pytest.mark.parametrize("name", KINDS)
def test_a_whole_site(name: str) -> None:
    site = of_kind(name, 0)
    _check(site)
    _check_planted(site)


def test_the_seed_decides_every_byte() -> None:
    name = "waiting: mixed"
    one, same, other = (of_kind(name, seed, DAYS) for seed in (3, 3, 4))
    assert one.jobs.equals(same.jobs)
    assert one.reasons.equals(same.reasons)
    assert not one.jobs.equals(other.jobs)


def test_the_load_is_that_of_the_kind() -> None:
    site = of_kind("ordered: EASY", 0, 14)
    work = int(site.jobs.select((pl.col("size") * pl.col("occupancy_s")).sum()).item())
    assert 0.82 < work / (site.pool.capacity * 14 * DAY) < 0.86


def _check(site: TrueSite) -> None:
    _check_reasons(site)
    _check_capacity(site)
    for rule in site.rules:
        _check_rule(site, rule)
    _check_closed(site)
    _check_order(site)


def _check_reasons(site: TrueSite) -> None:
    """Stretches of a job follow each other from its arrival until it starts or leaves."""
    leaves = pl.coalesce("start_time", "end_time")
    waits = site.jobs.with_row_index("row").select(
        pl.col("row").cast(pl.Int64), "arrival_time", leaves=leaves
    )
    found = site.reasons.group_by("row", maintain_order=True).agg(
        arrival_time=pl.col("begin").first(),
        leaves=pl.col("end").last(),
        gaps=(pl.col("begin").shift(-1) - pl.col("end")).drop_nulls().abs().sum(),
        least=(pl.col("end") - pl.col("begin")).min(),
    )
    assert found.filter((pl.col("gaps") != 0) | (pl.col("least") <= 0)).is_empty()
    waited = waits.filter(pl.col("leaves") > pl.col("arrival_time"))
    assert found.select("row", "arrival_time", "leaves").equals(waited)
    assert waits.filter(pl.col("leaves") < pl.col("arrival_time")).is_empty()
    besides = site.reasons.filter(pl.col("besides").is_not_null())
    assert set(besides["reason"]) <= {TrueReason.FULL.value}


def _check_capacity(site: TrueSite) -> None:
    """No start takes more than its class of nodes has left then."""
    ran = site.jobs.with_columns(place=pl.Series(site.node_class)).filter(
        pl.col("start_time").is_not_null()
    )
    for number, declared in enumerate(capacities(site.kind)):
        mine = ran.filter(place=number)
        begin, end, size = (mine[name].to_numpy() for name in ("start_time", "end_time", "size"))
        withheld = 0 if number else site.kind.withheld
        used = _at(begin, begin, end, size)
        steps = [step for step in site.steps if step[1] == number]
        out = sum((begin >= at) * -change for at, _, change in steps)
        assert (used <= declared - withheld - out).all()


def _at(instants: np.ndarray, begin: np.ndarray, end: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """Return the sum of what runs at each instant, that begins then included."""

    def until(times: np.ndarray) -> np.ndarray:
        order = np.argsort(times, kind="stable")
        sums = np.concatenate([[0], np.cumsum(amount[order])])
        return np.asarray(sums[np.searchsorted(times[order], instants, side="right")])

    return np.asarray(until(begin) - until(end))


def _check_rule(site: TrueSite, rule: TrueRule) -> None:
    """No entity's level is above the limit just after a start that is not exempt."""
    if rule.within is not None and rule.within[0] == "node_class":
        inside = pl.lit(pl.Series(site.node_class == 1))
    else:
        inside = pl.lit(True) if rule.within is None else pl.col(rule.within[0]) == rule.within[1]
    ran = site.jobs.filter(inside, pl.col("start_time").is_not_null())
    broken = starts = 0
    for (entity,), mine in ran.group_by(rule.per, maintain_order=True):
        if rule.only not in {None, entity}:
            continue
        begin, end = mine["start_time"].to_numpy(), mine["end_time"].to_numpy()
        amount = {
            "jobs": np.ones(mine.height, np.int64),
            "gpus": mine["gpus"].to_numpy(),
        }.get(rule.counts, mine["size"].to_numpy())
        level = _at(begin, begin, end, amount)
        if rule.counts == "cpu_s":
            level = _at(begin, begin, end, amount * (begin + mine["walltime_s"].to_numpy()))
            level = level - begin * _at(begin, begin, end, amount)
        day = (begin - EPOCH) // DAY
        first, last = rule.days or (0, 1 << 30)
        applies = (day >= first) & (day < last)
        broken += int((applies & (level > rule.level)).sum())
        starts += int(applies.sum())
    # An exempt job also raises the level for the next ones, which are not above it by themselves.
    assert broken <= 5 * site.kind.traffic.exempt * starts


def _check_closed(site: TrueSite) -> None:
    ran = site.jobs.filter(pl.col("start_time").is_not_null())
    for closed in site.kind.closed:
        first, last = closed.days or (0, 1 << 30)
        theirs = ran.filter(
            pl.col("size") > closed.size_above,
            pl.col("walltime_s") > closed.walltime_above_s,
            ((pl.col("start_time") - EPOCH) // DAY).is_between(first, last, closed="left"),
        )
        broken = 0
        for begin, walltime in theirs.select("start_time", "walltime_s").iter_rows():
            hour = (begin - EPOCH) // HOUR
            behind = (begin + walltime - 1 - EPOCH) // HOUR if closed.overlap else hour
            week = WEEK // HOUR
            broken += any(one % week in closed.hours for one in range(hour, behind + 1))
        assert broken <= 2 * site.kind.traffic.exempt * theirs.height


def _check_order(site: TrueSite) -> None:
    """Under strict order, jobs start as they arrive."""
    if site.kind.strict:
        begin = site.jobs["start_time"].drop_nulls().to_numpy()
        assert (np.diff(begin) >= 0).all()


def _check_planted(site: TrueSite) -> None:
    """Planted rules, holds and drains keep jobs from starting on several days."""
    kind = site.kind
    told = site.reasons.with_columns(day=pl.col("begin") // DAY)
    for reason in _expected(kind):
        days = told.filter((pl.col("reason") == reason) | (pl.col("besides") == reason))["day"]
        rare = reason is TrueReason.UNAVAILABLE and kind.drains is not None
        assert days.n_unique() >= (2 if rare else 10)
    if not (kind.rules or kind.closed):
        assert TrueReason.RULE.value not in set(told["reason"])


def _expected(kind: SiteKind) -> Iterator[TrueReason]:
    if kind.rules or kind.closed:
        yield TrueReason.RULE
    if kind.chains:
        yield TrueReason.DEPENDENCY
    if kind.holds or kind.arrays:
        yield TrueReason.HELD
    if kind.drains or kind.withheld:
        yield TrueReason.UNAVAILABLE
    if len(kind.classes) > 1:
        yield TrueReason.NODES
    if kind.interval_s or kind.latency_s[1]:
        yield TrueReason.CYCLE
