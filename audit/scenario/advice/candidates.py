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
from audit.model import FLOOD_ATTEMPTS, FLOOD_WORK, Backfill, Limit, Order, Resource, Scope, Window
from audit.rules import KINDS, WEEK
from audit.scenario.scenario import Scenario, asking_for

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
    had = policy.reservations or policy.backfill.traits.reservations
    if had is None:  # for all that wait
        depths = [] if policy.backfill.traits.keeps_plans else [1, 4]
    else:
        depths = [depth for depth in (1, *DEPTHS) if depth > had and (had or depth in (1, 4))]
    for depth in depths:
        easy = depth == 1 and policy.depth is None
        after = policy.changed(
            backfill=Backfill.easy if easy else Backfill.conservative_replan,
            reservations=None if easy else depth,
        )
        pool = today.pool._replace(policy=after)
        title = reservations(depth, had)
        yield _candidate("reservations", title, today._replace(pool=pool), reservations=depth)


def _lifted(today: Scenario) -> Iterator[Candidate]:
    limits = today.pool.limits
    for k, limit in enumerate(limits[:EACH]):
        pool = today.pool._replace(limits=limits[:k] + limits[k + 1 :])
        title = lifted(limit, today.pool.resource)
        yield _candidate("limits", title, today._replace(pool=pool), lift_limit=k + 1)


def _opened(today: Scenario) -> Iterator[Candidate]:
    windows = today.pool.windows
    for k, window in enumerate(windows[:EACH]):
        pool = today.pool._replace(windows=windows[:k] + windows[k + 1 :])
        title = opened(window, today.pool.resource)
        yield _candidate("windows", title, today._replace(pool=pool), open_window=k + 1)


def _walltimes(today: Scenario) -> Iterator[Candidate]:
    policy = today.pool.policy
    planned = policy.backfill.traits.reservations != 0
    if not planned and not policy.order.traits.by_estimates:
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
    title = asking(len(worst))
    yield _candidate("walltimes", title, after, users=list(worst), walltimes=2)
    if asked["user"].n_unique() > len(worst):
        after = today._replace(attempts=asking_for(today.attempts, TWICE))
        yield _candidate("walltimes", asking(None), after, walltimes=2)


def _per_user(today: Scenario) -> Iterator[Candidate]:
    pool = today.pool
    half, quarter = pool.capacity // 2, pool.capacity // 4
    if (flooding := _flooding(today)) and quarter:
        most = quarter
        flood = Limit(most=most, resource=pool.resource.value, user=(flooding,), size_up_to=most)
        title = spread(flooding, most, pool.resource)
        yield _candidate("per_user", title, _limited(today, flood), limit=most, user=flooding)
    for most in filter(None, dict.fromkeys((half, quarter))):
        each = Limit(most=most, resource=pool.resource.value, per="user", size_up_to=most)
        title = per_user(most, pool.resource)
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
        yield _candidate("targets", targets(by), after, targets=by)


def _passes(today: Scenario) -> Iterator[Candidate]:
    policy = today.pool.policy
    if policy.depth is not None:
        pool = today.pool._replace(policy=policy._replace(depth=4 * policy.depth))
        title = depth(4 * policy.depth, policy.depth)
        yield _candidate("passes", title, today._replace(pool=pool), depth=4 * policy.depth)
    if policy.interval_s is not None and policy.interval_s >= RARE_S:
        shorter = policy.interval_s // 4
        pool = today.pool._replace(policy=policy._replace(interval_s=shorter))
        title = often(shorter, policy.interval_s)
        yield _candidate("passes", title, today._replace(pool=pool), interval_s=shorter)


# --- what changes are called: an imperative, in plain words, without its stop --------------------


_NUMBERS: Final = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WHAT: Final = {"cpus": "CPU", "nodes": "node", "gpus": "GPU"}
_GIB: Final = 1 << 30
HOUR_S: Final = 3_600


def reservations(depth: int, had: int | None) -> str:
    """Places kept for the first so many; ``had`` None: for all."""
    before = "all that wait" if had is None else _number(had)
    first = "the first" if depth == 1 else f"the first {_number(depth)}"
    return f"Reserve for {first} in the queue instead of {before}"


def lifted(limit: Limit, resource: Resource) -> str:
    """A limit that is no more."""
    whom = {None: "in all", "job": "per job"}.get(limit.per) or f"per {limit.per}"
    return f"Lift the limit of {amount(limit.most, limit.resource)} {whom}{_of(limit, resource)}"


def opened(window: Window, resource: Resource) -> str:
    """A window that is always open."""
    hours = f"any hour of the week, not only at {WEEK - len(window.hours)} of {WEEK}"
    return f"Start jobs{_of(window, resource, jobs='')} at {hours}"


def asking(users: int | None) -> str:
    """Walltimes no longer than twice the run time; of so many users, None: of all."""
    asked = "ask for at most twice the time that their jobs take"
    if users is None:
        return f"Have everybody {asked}"
    who = "the user who overasks" if users == 1 else f"the {_number(users)} users who overask"
    return f"Have {who} most {asked}"


def spread(user: str, most: int, resource: Resource) -> str:
    """A limit for the user of a flood."""
    whom = f"user {user}, who brought the largest flood,"
    return f"Let {whom} have no more than {amount(most, resource)} at a time"


def per_user(most: int, resource: Resource) -> str:
    """A limit for each user."""
    return f"Let no user have more than {amount(most, resource)} at a time"


def targets(by: str) -> str:
    """Other targets of accounts."""
    what = "the same target" if by == "equal" else "what it used as its target"
    return f"Give each account {what}"


def depth(looked_at: int, had: int) -> str:
    """More of the queue in a pass."""
    return f"Let backfilling look at {looked_at:,} jobs instead of {had:,}"


def often(interval_s: int, had: int) -> str:
    """More passes."""
    return f"Let the scheduler look at the queue every {interval_s} s instead of {had} s"


def amount(most: int, resource: str | None) -> str:
    """So much, such as ``32 CPUs``, ``1 job``."""
    if resource == "mem_bytes":
        return f"{most / _GIB:,.3g} GiB of memory"
    word = "job" if resource is None else _WHAT[resource]
    return f"{most:,} {word}{'' if most == 1 else 's'}"


def _of(scope: Scope, resource: Resource, jobs: str = "for jobs") -> str:
    """Whom a limit or a window is about; nothing where it is everybody."""
    named = []
    for kind in KINDS:
        names = getattr(scope, kind)
        if names is not None:
            named.append(f"{kind} {', '.join(names)}")
    asking_for = []
    if scope.size_above is not None:
        asking_for.append(f"more than {amount(scope.size_above, resource)}")
    if scope.size_up_to is not None:
        asking_for.append(f"up to {amount(scope.size_up_to, resource)}")
    if scope.walltime_above_s is not None:
        asking_for.append(f"more than {scope.walltime_above_s / HOUR_S:,.3g} h")
    parts = [f"of {' and '.join(named)}"] if named else []
    if asking_for:
        parts.append(f"asking for {' and '.join(asking_for)}")
    return "".join(f" {part}" for part in (jobs, *parts) if part) if parts else ""


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else "ten" if number == 10 else str(number)
