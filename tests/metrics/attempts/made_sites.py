"""Made sites on which it is known who is passed over: eight weeks of forty users, simulated.

Each site's jobs are simulated under the policy of its kind, with EASY backfilling, and again with a
victim, if its kind has one. A victim is *hurt* if its waiting grew by half, and by 0.5 % of the
pool's waiting or one day per job, against the same site without a victim.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics import pairs
from audit.metrics.attempts import passed_over
from audit.metrics.attempts.population import describe
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.usage import HalfLife
from audit.model import ATTEMPTS, Period, Pool, Resource
from audit.policies import Backfill, Order, Policy
from audit.registry.passed import PassedWhy
from audit.scenario.engine import simulate
from audit.scenario.ownership import EQUAL_SHARES, Fairshare

DAY: Final = 86_400
WEEK: Final = 7 * DAY
HOUR: Final = 3_600
POOL: Final = Pool("main", Resource.cpus, 256)
LOAD: Final = 0.85
USERS: Final = 40
JOBS_PER_WEEK: Final = 1_000
EASY: Final = Policy(Order.fcfs, Backfill.easy)
BY_PRIORITY: Final = Policy(Order.recorded, Backfill.easy)
BY_USAGE: Final = Policy(Order.fairshare, Backfill.easy)
NEXT_TO_NOTHING: Final = 1e-9
"""Share of a user whom fairshare is to serve last."""
UTC: Final = ZoneInfo("UTC")

Random = np.random.Generator


class Outcome(NamedTuple):
    """The result on one site."""

    hurt: bool
    found: bool  # whether the victim was named; of a partition or QOS, whether the order was stated
    others: tuple[str, ...]  # the others that were named


@dataclass(frozen=True)
class Kind:
    """One kind of site."""

    victim: pairs.Kind | None = None
    """Kind of the entity that has the lowest priority; None: there is no victim."""
    weeks: int = 8
    policy: Policy = EASY
    priority: Callable[[pl.DataFrame, Random], pl.Series] | None = None
    shares: tuple[float, float] | None = None
    """Least and greatest usage of a user, in shares; None: a few users bring most jobs."""
    session: float = 3.0  # mean number of jobs that a user submits at once
    order: Fairshare = EQUAL_SHARES  # how the policy ranks users, if by usage
    campaigns: bool = False  # whether users work in some weeks only
    flood: bool = False  # whether one user submits hundreds of jobs at once
    reported: int | None = None  # the last weeks, about which the report is; None: all of them


def _random_priorities(jobs: pl.DataFrame, random: Random) -> pl.Series:
    return pl.Series(random.random(jobs.height))


def _half_life(days: int, owners: Literal["user", "account"] = "user") -> Fairshare:
    return Fairshare(kind=owners, method=HalfLife(half_life_s=days * DAY))


_UNEQUAL: Final = (0.7, 1.4)
KINDS: Final[Mapping[str, Kind]] = {
    "user": Kind("user"),
    "user, 26 weeks": Kind("user", weeks=26),
    "account": Kind("account"),
    "partition": Kind("partition"),
    "qos": Kind("qos"),
    "plain EASY": Kind(),
    "random priorities": Kind(policy=BY_PRIORITY, priority=_random_priorities),
    "campaigns": Kind(campaigns=True, session=15.0),
    "huge bursts of one user": Kind(flood=True),
    "user, under fairshare": Kind("user", policy=BY_USAGE, shares=_UNEQUAL),
    "fairshare, equal usage": Kind(policy=BY_USAGE, shares=(1.0, 1.0)),
    "fairshare, usage of 0.7 to 1.4 shares": Kind(policy=BY_USAGE, shares=_UNEQUAL),
    "fairshare, half-life of 2 days": Kind(policy=BY_USAGE, shares=_UNEQUAL, order=_half_life(2)),
    "fairshare, half-life of 30 days": Kind(policy=BY_USAGE, shares=_UNEQUAL, order=_half_life(30)),
    "fairshare of accounts": Kind(policy=BY_USAGE, shares=_UNEQUAL, order=_half_life(7, "account")),
    "user, under fairshare, last 4 weeks": Kind(
        "user", policy=BY_USAGE, shares=_UNEQUAL, reported=4
    ),
    "fairshare, equal usage, last 4 weeks": Kind(policy=BY_USAGE, shares=(1.0, 1.0), reported=4),
    "fairshare, usage of 0.7 to 1.4 shares, last 4 weeks": Kind(
        policy=BY_USAGE, shares=_UNEQUAL, reported=4
    ),
    "fairshare, half-life of 2 days, last 4 weeks": Kind(
        policy=BY_USAGE, shares=_UNEQUAL, order=_half_life(2), reported=4
    ),
    "fairshare, half-life of 30 days, last 4 weeks": Kind(
        policy=BY_USAGE, shares=_UNEQUAL, order=_half_life(30), reported=4
    ),
}


class Site(NamedTuple):
    """A simulated site."""

    kind: Kind
    jobs: pl.DataFrame
    schedule: pl.DataFrame
    undisturbed: pl.DataFrame  # the same without a victim
    victim: str | None
    period: Period


def site(name: str, seed: int) -> Site:
    """Make a site of a kind."""
    kind = KINDS[name]
    random = np.random.default_rng([seed, *name.encode()])
    jobs = _jobs(kind, random)
    now = int(jobs["submit_time"].max()) + 3 * WEEK  # type: ignore[arg-type]
    victim = None if kind.victim is None else _victim(jobs, kind.victim, random)
    priority = kind.priority(jobs, random) if kind.priority else pl.Series(np.zeros(jobs.height))
    without = describe(jobs.with_columns(priority=priority), [POOL])
    schedule = undisturbed = simulate(without, POOL, now, kind.policy, fairshare=kind.order)
    if kind.victim is not None and kind.policy is BY_USAGE:
        users = jobs[kind.victim].unique().sort().to_list()
        shares = {user: NEXT_TO_NOTHING if user == victim else 1.0 for user in users}
        schedule = simulate(without, POOL, now, kind.policy, fairshare=by_share(shares, kind.order))
    elif kind.victim is not None:
        first = pl.Series((jobs[kind.victim] != victim).cast(pl.Float64))
        described = describe(jobs.with_columns(priority=first), [POOL])
        schedule = simulate(described, POOL, now, BY_PRIORITY)
    begin = 0 if kind.reported is None else (kind.weeks - kind.reported) * WEEK
    return Site(kind, jobs, schedule, undisturbed, victim, Period("all", begin, now))


def by_share(shares: Mapping[str, float], order: Fairshare = EQUAL_SHARES) -> Fairshare:
    """Rank users by usage relative to their shares."""
    return order._replace(operator="relative", tree=trees.flat(shares, shares))


def outcome(name: str, seed: int) -> Outcome:
    """Make a site, and say who is named on it."""
    kind, jobs, schedule, undisturbed, victim, period = site(name, seed)
    results = passed_over.of_period(schedule, POOL, period, UTC)
    named = results.filter("named").select("entity_kind", "entity").rows()
    if kind.victim is None or victim is None:
        return Outcome(False, False, tuple(": ".join(one) for one in named))
    hurt = _hurt(schedule, undisturbed, kind.victim, victim)
    excused = _excused(jobs, kind.victim, victim)
    others = tuple(": ".join(one) for one in named if one not in excused)
    stated = results.filter(why=PassedWhy.ORDER.value).select("entity_kind", "entity").rows()
    return Outcome(hurt, (kind.victim, victim) in {*named, *stated}, others)


def _jobs(kind: Kind, random: Random) -> pl.DataFrame:
    """Jobs of users who submit some at once, by day more than by night, on workdays more."""
    count = JOBS_PER_WEEK * kind.weeks
    weight = random.lognormal(0, 0.1 if kind.shares else 1, USERS)
    sessions: list[tuple[int, int, int]] = []  # arrival, user, jobs
    total = 0
    active = random.random((USERS, kind.weeks)) < (0.25 if kind.campaigns else 1.1)
    while total < count:
        week = int(random.integers(kind.weeks))
        allowed = weight * active[:, week]
        if allowed.sum() == 0:
            continue
        user = int(random.choice(USERS, p=allowed / allowed.sum()))
        size = int(min(random.geometric(1 / kind.session), count - total))
        sessions.append((week * WEEK + _instant(random), user, size))
        total += size
    if kind.flood:
        user = int(random.integers(USERS))
        sessions += [(int(at), user, 300) for at in random.integers(0, kind.weeks * WEEK, 3)]
    rows = [job for session in sorted(sessions) for job in _session(*session, random)]
    _scale(rows, kind, random)
    accounts = random.integers(0, 8, USERS)
    for number, row in enumerate(rows):
        length = max(int(row.pop("length")), 10)
        asked = length * random.choice([1.1, 1.5, 3.0, 8.0])
        row |= {
            "cluster": "made",
            "job_id": str(number),
            "job_number": number,
            "attempt": 1,
            "line": number,
            "state": "COMPLETED",
            "user": f"u{row['user']:02}",
            "account": f"a{accounts[row['user']]}",
            "partition": f"p{random.integers(4)}" if kind.victim == "partition" else "main",
            "qos": f"q{random.integers(4)}" if kind.victim == "qos" else None,
            "start_time": row["submit_time"],
            "end_time": row["submit_time"] + length,
            "walltime_s": int(-(-asked // HOUR)) * HOUR,
        }
    return pl.DataFrame([{name: row.get(name) for name in ATTEMPTS} for row in rows], ATTEMPTS)


def _scale(rows: list[dict[str, Any]], kind: Kind, random: Random) -> None:
    """Change lengths so that they make the load, and the usage that users should have."""
    user = [row["user"] for row in rows]
    area = np.bincount(user, [row["cpus"] * row["length"] for row in rows], USERS)
    wanted = area if kind.shares is None else random.uniform(*kind.shares, USERS) * (area > 0)
    wanted = wanted * (LOAD * POOL.capacity * kind.weeks * WEEK / wanted.sum())
    for row in rows:
        row["length"] *= wanted[row["user"]] / area[row["user"]]


def _instant(random: Random) -> int:
    """An instant of a week: two thirds of the sessions begin on workdays from 8 to 18 h."""
    if random.random() < 2 / 3:
        return int(random.integers(5)) * DAY + 8 * HOUR + int(random.integers(10 * HOUR))
    return int(random.integers(WEEK))


def _session(arrival: int, user: int, count: int, random: Random) -> list[dict[str, Any]]:
    """Jobs that a user submits within minutes, of one size and of similar lengths."""
    cpus = int(2 ** random.integers(0, 7))
    length = float(random.lognormal(8, 1.2))
    at = arrival + np.cumsum(random.integers(0, 30, count))
    return [
        {
            "user": user,
            "submit_time": int(instant),
            "cpus": cpus,
            "length": length * float(random.lognormal(0, 0.3)),
        }
        for instant in at
    ]


def _victim(jobs: pl.DataFrame, kind: str, random: Random) -> str:
    """One of those with at least 50 jobs."""
    counted = jobs.group_by(kind).len().filter(pl.col("len") >= 50).sort(kind)
    return str(random.choice(counted[kind].to_list()))


def _hurt(schedule: pl.DataFrame, without: pl.DataFrame, kind: str, victim: str) -> bool:
    """Whether the victim is hurt, as defined above."""

    def waited(of: pl.DataFrame) -> int:
        return int(of.filter(pl.col(kind) == victim)["wait_s"].sum())

    more = waited(schedule) - waited(without)
    jobs = schedule.filter(pl.col(kind) == victim).height
    enough = min(0.005 * int(schedule["wait_s"].sum()), DAY * jobs)
    return more >= 0.5 * waited(without) and more >= enough


def _excused(jobs: pl.DataFrame, kind: str, victim: str) -> set[tuple[str, str]]:
    """The victim, the account of a user, and the users of an account."""
    mine = jobs.filter(pl.col(kind) == victim)
    excused = {(kind, victim)}
    if kind == "user":
        excused |= {("account", name) for name in mine["account"].unique()}
    if kind == "account":
        excused |= {("user", name) for name in mine["user"].unique()}
    return excused
