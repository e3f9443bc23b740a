"""Jobs of a made site, before anything is scheduled.

Sessions arrive by day more than by night. Users differ in activity, size, length and in how much
walltime they request. Lengths are scaled so that each class of nodes has the load of the site.
"""

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from bench.logs.sites.kinds import (
    DAY,
    EPOCH,
    HOUR,
    LONGEST_S,
    SHORTEST_S,
    WALLTIMES,
    SiteKind,
    Traffic,
)

Random = np.random.Generator

NEVER: Final = 1 << 60
NO_JOB: Final = -1


@dataclass(frozen=True)
class Demand:
    """The jobs, by submission; users, accounts and the like as places in the lists of the kind."""

    submit: Ints  # epoch s; of a job with ``follows`` not before that one's end
    user: Ints
    account: Ints
    partition: Ints
    qos: Ints
    node_class: Ints
    size: Ints
    runtime: Ints
    walltime: Ints
    release: Ints  # epoch s until which it is held
    depends: Ints  # job that must have ended before, or ``NO_JOB``
    follows: Ints  # job whose end submits it, or ``NO_JOB``
    array: Ints  # number of its array, or ``NO_JOB``
    gives_up: Ints  # s of waiting after which it is cancelled
    exempt: Ints  # 1: no limit applies


@dataclass(frozen=True)
class Habits:
    """Habits of each user, which all of its sessions share."""

    weight: Floats
    size: Ints
    length: Floats  # ln of the median runtime, before scaling
    chains: NDArray[np.bool_]
    arrays: NDArray[np.bool_]
    scripts: NDArray[np.bool_]


def demand(kind: SiteKind, random: Random) -> Demand:
    """Return the jobs of a site."""
    traffic = kind.traffic
    habits = _habits(kind, random)
    accounts = np.arange(traffic.users) % traffic.accounts
    hours = _hours(traffic)
    rows: list[dict[str, Any]] = []
    session = 0
    while len(rows) < traffic.jobs:
        user = int(random.choice(traffic.users, p=habits.weight))
        hour = int(random.choice(len(hours), p=hours))
        begin = EPOCH + hour * HOUR + int(random.integers(HOUR))
        shared = {
            "user": user,
            "account": accounts[user],
            "partition": _drawn(traffic.partitions, random),
            "qos": _drawn(traffic.qos, random),
            "node_class": _drawn([(one.name, one.share) for one in kind.classes], random),
        }
        for row in _session(kind, habits, user, begin, session, random):
            rows.append(row | shared)
        session += 1
    _scale(rows, kind, random)
    return _sorted(rows)


def _habits(kind: SiteKind, random: Random) -> Habits:
    traffic = kind.traffic
    count = traffic.users
    weight = 1 / np.arange(1, count + 1) ** traffic.skew
    shares = np.array(traffic.sizes) / sum(traffic.sizes)
    drawn = random.random(count)
    edges = np.cumsum([kind.chains, kind.arrays, kind.scripts])
    return Habits(
        weight / weight.sum(),
        2 ** random.choice(len(shares), count, p=shares),
        random.normal(0, traffic.spread[0], count),
        drawn < edges[0],
        (drawn >= edges[0]) & (drawn < edges[1]),
        (drawn >= edges[1]) & (drawn < edges[2]),
    )


def _hours(traffic: Traffic) -> Floats:
    """Return the share of the sessions that begin in each hour of the log."""
    hour = np.arange(traffic.days * 24)
    rate = np.where((hour % 24 >= 8) & (hour % 24 < 19), 1.0, traffic.night)
    rate = rate * np.where(hour // 24 % 7 >= 5, traffic.weekend, 1.0)
    return np.asarray(rate / rate.sum())


def _drawn(shares: Any, random: Random) -> int:
    if len(shares) == 1:
        return 0
    weights = np.array([share for _, share in shares])
    return int(random.choice(len(weights), p=weights / weights.sum()))


def _session(
    kind: SiteKind, habits: Habits, user: int, begin: int, number: int, random: Random
) -> list[dict[str, Any]]:
    """Return the jobs that a user submits at once; links between them count within the session."""
    traffic = kind.traffic
    together = habits.chains[user] or habits.arrays[user] or habits.scripts[user]
    burst = random.random() < traffic.bursts
    count = (
        int(random.integers(*traffic.burst_jobs))
        if burst
        else int(random.geometric(1 / traffic.session))
    )
    count = max(count, int(random.integers(4, 13))) if together else count
    size = int(np.clip(habits.size[user] * 2.0 ** random.integers(-1, 2), 1, 2**7))
    length = habits.length[user] + random.normal(0, traffic.spread[1])
    if count >= traffic.burst_jobs[0]:  # many jobs at once are smaller and shorter ones
        size, length = max(size // 4, 1), length - 1
    factor = float(random.choice(traffic.overestimates))
    at = begin + np.cumsum(random.integers(1, 30, count))
    lengths = np.exp(length + random.normal(0, traffic.spread[2], count))
    release = _releases(kind, at, random)
    patience = np.where(
        random.random(count) < traffic.gives_up, random.integers(DAY // 2, 2 * DAY, count), NEVER
    )
    exempt = random.random(count) < traffic.exempt
    return [
        {
            "submit": int(at[k]),
            "size": size,
            "length": float(lengths[k]),
            "factor": factor,
            "release": int(release[k]),
            "depends": 1 if habits.chains[user] and k else 0,
            "follows": 2 if habits.scripts[user] and k >= 2 else 0,
            "array": number if habits.arrays[user] else NO_JOB,
            "gives_up": NEVER if together else int(patience[k]),
            "exempt": int(exempt[k]),
        }
        for k in range(count)
    ]


def _releases(kind: SiteKind, at: Ints, random: Random) -> Ints:
    """Return until when each job of a session is held; when it is submitted, if it is not."""
    for habit in kind.holds:
        if random.random() >= habit.share or (habit.together and len(at) < 5):
            continue
        count = 1 if habit.together else len(at)
        lasts = np.clip(habit.median_s * random.lognormal(0, 0.8, count), 600, 12 * DAY)
        since = at[-1:] if habit.together else at
        return np.broadcast_to((since + lasts).astype(np.int64), len(at))
    return at


def _scale(rows: list[dict[str, Any]], kind: SiteKind, random: Random) -> None:
    """Replace lengths by runtimes that make the load, and by walltimes; clip sizes to classes."""
    load = random.uniform(*kind.traffic.load)
    for number, one in enumerate(kind.classes):
        mine = [row for row in rows if row["node_class"] == number]
        capacity = kind.capacity * one.share
        least = max(one.cpus_per_gpu, 1)
        for row in mine:
            row["size"] = max(min(row["size"], 2 ** int(np.log2(capacity / 2))), least)
        size = np.array([row["size"] for row in mine])
        length = np.array([row.pop("length") for row in mine])
        span = kind.traffic.days * DAY
        user = np.array([row["user"] for row in mine])
        runtime = length
        for _ in range(6):  # clipping changes the load
            runtime = runtime * (load * capacity * span / float(size @ runtime))
            running = np.bincount(user, runtime) / span
            runtime = runtime * np.minimum(1, kind.traffic.running / running[user])
            runtime = np.clip(runtime, SHORTEST_S, LONGEST_S)
        for row, seconds in zip(mine, runtime.astype(np.int64).tolist(), strict=True):
            asked = seconds * row.pop("factor")
            row["runtime"] = seconds
            row["walltime"] = next((one for one in WALLTIMES if one >= asked), WALLTIMES[-1])


def _sorted(rows: list[dict[str, Any]]) -> Demand:
    """Return the jobs by submission, with links as their places."""
    order = sorted(range(len(rows)), key=lambda k: (rows[k]["submit"], k))
    place = {k: number for number, k in enumerate(order)}
    columns: dict[str, Any] = {}
    for field in fields(Demand):
        name = field.name
        if name in {"depends", "follows"}:
            linked = [place[k - rows[k][name]] if rows[k][name] else NO_JOB for k in order]
            columns[name] = np.array(linked, np.int64)
        else:
            columns[name] = np.array([rows[k][name] for k in order], np.int64)
    return Demand(**columns)
