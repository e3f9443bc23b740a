"""Which small changes of a pool are worth a replay: what a site could set tomorrow.

- *reservations*: places kept for more of those that cannot start (Maui's RESERVATIONDEPTH, PBS'
  backfill_depth), or for any at all; more of the queue looked at; passes more often.
- *limits* lifted and *windows* opened, one by one.
- *walltimes*: those users who ask for most that they do not take, or all, ask for at most twice
  what they take. The replay knows what that is; people do not: this is the most there is to gain.
- *a limit per user*, on what one may have at a time: a half or a quarter of the pool for each, or a
  quarter for the one who brought the largest flood (``model.FLOOD_WORK``). Wider attempts are not
  in its scope.
- *targets* by what accounts used, or all the same, under the order fairshare.

Each belongs to a family, of which no more than one is advised.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import zip_longest
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.population import ended
from audit.metrics.fairshare import trees
from audit.model import FLOOD_ATTEMPTS, FLOOD_WORK, LIMITED, Backfill, Limit, Order, Scope
from audit.scenario.advice import titles
from audit.scenario.advice.scenario import Scenario, asking_for

DEPTHS: Final = (2, 4, 8)
"""Reservations that are tried."""
EACH: Final = 8
"""No more than so many limits are lifted, and windows opened."""
OVERASKING: Final = 10
"""So many users ask for less."""
TWICE: Final = Fraction(2)
DAY_S: Final = 86_400
RARE_S: Final = 60
"""Passes are made more often only where they are no less than so many seconds apart."""


class Candidate(NamedTuple):
    """A change that is tried."""

    family: str
    change: str
    """As JSON."""
    title: str
    """In plain words: an imperative without its stop."""
    after: Scenario


def candidates(today: Scenario) -> tuple[Candidate, ...]:
    """What is tried on a pool.

    Families take turns: where a budget ends, it leaves out the last of each, and no family.

    Args:
        today: as it is; its attempts are those of the period, or more.
    """
    families = (_reservations, _lifted, _opened, _walltimes, _per_user, _targets, _passes)
    turns = zip_longest(*(family(today) for family in families))
    return tuple(one for turn in turns for one in turn if one is not None)


def _candidate(family: str, title: str, after: Scenario, **change: object) -> Candidate:
    return Candidate(family, json.dumps(change, sort_keys=True), title, after)


def _reservations(today: Scenario) -> Iterator[Candidate]:
    policy = today.pool.policy
    had = {Backfill.easy: 1, Backfill.none: 0, Backfill.no_guarantee: 0}.get(policy.backfill)
    if policy.backfill is Backfill.conservative_replan:
        had = policy.reservations
    if had is None:  # for all that wait
        depths = [depth for depth in (1, 4) if policy.backfill is not Backfill.conservative]
    else:
        depths = [depth for depth in (1, *DEPTHS) if depth > had and (had or depth in (1, 4))]
    for depth in depths:
        easy = depth == 1 and policy.depth is None
        after = policy.changed(
            backfill=Backfill.easy if easy else Backfill.conservative_replan,
            reservations=None if easy else depth,
        )
        pool = today.pool._replace(policy=after)
        title = titles.reservations(depth, had)
        yield _candidate("reservations", title, today._replace(pool=pool), reservations=depth)


def _lifted(today: Scenario) -> Iterator[Candidate]:
    limits = today.pool.limits
    for k, limit in enumerate(limits[:EACH]):
        pool = today.pool._replace(limits=limits[:k] + limits[k + 1 :])
        title = titles.lifted(limit, today.pool.resource)
        yield _candidate("limits", title, today._replace(pool=pool), lift_limit=k + 1)


def _opened(today: Scenario) -> Iterator[Candidate]:
    windows = today.pool.windows
    for k, window in enumerate(windows[:EACH]):
        pool = today.pool._replace(windows=windows[:k] + windows[k + 1 :])
        title = titles.opened(window, today.pool.resource)
        yield _candidate("windows", title, today._replace(pool=pool), open_window=k + 1)


def _walltimes(today: Scenario) -> Iterator[Candidate]:
    policy = today.pool.policy
    planned = policy.backfill not in (Backfill.none, Backfill.no_guarantee)
    if not planned and policy.order not in (Order.sjf, Order.lxf):
        return  # nothing goes by walltimes
    unused = (pl.col("walltime_s") - pl.col("occupancy_s")) * pl.col("size")
    asked = ended(today.attempts).filter(unused > 0)
    worst = tuple(
        asked.drop_nulls("user")
        .group_by("user")
        .agg(unused.sum().alias("unused"))
        .sort("unused", "user", descending=[True, False])["user"]
        .head(OVERASKING)
    )
    if not worst:
        return
    after = today._replace(attempts=asking_for(today.attempts, TWICE, worst))
    title = titles.asking(len(worst))
    yield _candidate("walltimes", title, after, users=list(worst), walltimes=2)
    if asked["user"].n_unique() > len(worst):
        after = today._replace(attempts=asking_for(today.attempts, TWICE))
        yield _candidate("walltimes", titles.asking(None), after, walltimes=2)


def _per_user(today: Scenario) -> Iterator[Candidate]:
    pool = today.pool
    half, quarter = pool.capacity // 2, pool.capacity // 4
    if (flooding := _flooding(today)) and quarter:
        most = quarter
        flood = Limit(most, pool.resource, None, Scope(user=flooding, size_up_to=most))
        title = titles.spread(flooding, most, pool.resource)
        yield _candidate("per_user", title, _limited(today, flood), limit=most, user=flooding)
    for most in filter(None, dict.fromkeys((half, quarter))):
        each = Limit(most, pool.resource, "user", Scope(size_up_to=most))
        title = titles.per_user(most, pool.resource)
        yield _candidate("per_user", title, _limited(today, each), limit=most, per="user")


def _limited(today: Scenario, limit: Limit) -> Scenario:
    return today._replace(pool=today.pool._replace(limits=(*today.pool.limits, limit)))


def _flooding(today: Scenario) -> str | None:
    """The user who brought the most work in one day, where that is a flood."""
    work = pl.col("occupancy_s") * pl.col("size")
    days = (
        ended(today.attempts)
        .drop_nulls("user")
        .group_by("user", pl.col("arrival_time") // DAY_S)
        .agg(work.sum().alias("work"), attempts=pl.len())
        .filter(
            pl.col("attempts") >= FLOOD_ATTEMPTS,
            pl.col("work") >= FLOOD_WORK * today.pool.capacity * DAY_S,
        )
        .sort("work", "user", "arrival_time", descending=[True, False, False])
    )
    return None if days.is_empty() else str(days["user"][0])


def _targets(today: Scenario) -> Iterator[Candidate]:
    if today.pool.policy.order is not Order.fairshare:
        return
    work = pl.col("occupancy_s") * pl.col("size")
    used = (
        today.attempts.drop_nulls("account")
        .group_by("account")
        .agg(work.sum().cast(pl.Float64).alias("used"))
        .sort("account")
    )
    names = used["account"].to_list()
    if len(names) < 2 or used["used"].sum() <= 0:
        return
    for by, shares in (("use", used["used"].to_list()), ("equal", [1.0] * len(names))):
        tree = trees.flat(names, dict(zip(names, shares, strict=True)), kind="account")
        fairshare = today.fairshare._replace(kind="account", tree=tree)
        after = today._replace(fairshare=fairshare)
        yield _candidate("targets", titles.targets(by), after, targets=by)


def _passes(today: Scenario) -> Iterator[Candidate]:
    policy = today.pool.policy
    if policy.backfill in LIMITED and policy.depth is not None:
        pool = today.pool._replace(policy=policy._replace(depth=4 * policy.depth))
        title = titles.depth(4 * policy.depth, policy.depth)
        yield _candidate("passes", title, today._replace(pool=pool), depth=4 * policy.depth)
    if policy.interval_s is not None and policy.interval_s >= RARE_S:
        often = policy.interval_s // 4
        pool = today.pool._replace(policy=policy._replace(interval_s=often))
        title = titles.often(often, policy.interval_s)
        yield _candidate("passes", title, today._replace(pool=pool), interval_s=often)
