"""The jobs of the demo log: users, times, sizes, runtimes, and states at the end.

Sixty users of three accounts out of balance. They submit by day more than by night and on weekdays
more than on weekends, some weeks more than others; in sessions, at times in campaigns of dozens of
jobs, and one user floods the queue with hundreds of narrow jobs at once. Widths are mostly powers
of two, some very wide. Walltimes are the round numbers that people ask for, mostly far too long, a
few too short. Some jobs fail, at once or soon, some are cancelled while they run.

The parameters were chosen to look like a site's log; none is measured. Source of the kinds of
things that logs have (cycles, sessions, powers of two, round walltimes): D. Feitelson, "Workload
Modeling for Computer Systems Performance Evaluation", 2015.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.model import JobState
from audit.periods import day_start, zone

ZONE: Final = "Europe/Berlin"
FIRST_DAY: Final = date(2026, 3, 2)
"""A Monday; the clocks change on 29 March 2026."""

USERS: Final = 60
ACCOUNTS: Final = (1, 1, 2, 1, 2, 3)
"""Accounts of the users by rank of activity, repeated: the first has most, and the busiest."""
FLOODER: Final = 7
"""Rank of the user who floods the queue."""

MINUTE: Final = 60
HOUR: Final = 3600
WALLTIMES: Final = np.array(
    [10 * MINUTE, 30 * MINUTE] + [hours * HOUR for hours in (1, 2, 4, 8, 12, 24, 48)],
    dtype=np.int64,
)
"""Walltimes that users ask for, in s."""
QUEUES: Final = {"1": ("short", HOUR), "2": ("day", 24 * HOUR), "3": ("long", 48 * HOUR)}
"""Number, name and longest walltime (s) of each queue; all share the pool."""


@dataclass(frozen=True)
class Jobs:
    """Columns of the jobs that users submit, in the order of submission."""

    submit: Ints
    user: Ints  # rank of activity, from 0
    cpus: Ints
    occupancy: Ints
    walltime: Ints
    state: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.submit)

    def where(self, keep: NDArray[np.bool_]) -> "Jobs":
        """Those that ``keep`` is true for, in their order."""
        return Jobs(**{name: column[keep] for name, column in vars(self).items()})


def start_of_log() -> int:
    """Epoch second of the first midnight of every demo log."""
    return day_start(FIRST_DAY, zone(ZONE))


def draw(
    rng: np.random.Generator, count: int, running: int, days: int, capacity: int, load: float
) -> Jobs:
    """``count`` jobs of which any ``running`` drawn at random make about the offered ``load``.

    Times are epoch seconds, ``days`` days from ``start_of_log()`` on; occupancies and walltimes are
    seconds; no job asks for more than ``capacity`` processors. Offered load: SPEC §8.
    """
    submit, user, session = _submissions(rng, count, days)
    cpus = _widths(rng, user, session, capacity)
    runtime = _runtimes(rng, user, session, cpus)
    fate = rng.random(count)
    part = np.ones(count)
    fails = fate < 0.07
    part[fails] = rng.random(int(fails.sum())) ** 3
    cancelled = (fate >= 0.07) & (fate < 0.09)
    part[cancelled] = rng.random(int(cancelled.sum()))

    area = load * capacity * float(submit[-1] - submit[0]) * count / running
    runtime = _stretched(runtime, part * cpus, area)
    walltime = _asked_for(rng, user, runtime)
    occupancy = np.maximum(np.rint(runtime * part), 1).astype(np.int64)
    # Too little asked for: killed at the limit, or within the half minute that killing takes.
    too_short = (fate >= 0.09) & (fate < 0.12) & (runtime > WALLTIMES[0])
    fitting = np.maximum(np.searchsorted(WALLTIMES, runtime, side="left") - 1, 0)
    walltime[too_short] = WALLTIMES[fitting][too_short]
    occupancy[too_short] = walltime[too_short] + rng.integers(0, 31, int(too_short.sum()))
    occupancy[fate < 0.01] = 0  # fails before its first second is over
    at_limit = occupancy >= walltime

    state = np.full(count, str(JobState.COMPLETED), dtype="U9")
    state[fails | at_limit] = str(JobState.FAILED)
    state[cancelled] = str(JobState.CANCELLED)
    return Jobs(submit, user, cpus, occupancy, walltime, state)


def _submissions(rng: np.random.Generator, count: int, days: int) -> tuple[Ints, Ints, Ints]:
    """Submit time, user and session of ``count`` jobs, in the order of submission."""
    activity = 1.0 / np.arange(3, USERS + 3) ** 1.3
    # One flood in some two weeks, each of 1 to 3 % of the log.
    floods = max(1, days // 13)
    flood_length = rng.integers(count // 80, count // 40, floods)
    # More sessions than can be needed; only as many are used as make the number.
    enough = count // 2
    campaign = rng.random(enough) < 0.025
    length = np.where(campaign, rng.geometric(1 / 40, enough), rng.geometric(1 / 3, enough))
    needed = count - int(flood_length.sum())
    used = int(np.searchsorted(np.cumsum(length), needed)) + 1
    length, campaign = length[:used], campaign[:used]
    owner = rng.choice(USERS, used, p=activity / activity.sum())

    length = np.concatenate((length, flood_length))
    owner = np.concatenate((owner, np.full(floods, FLOODER)))
    pause = np.concatenate((np.where(campaign, 8.0, 400.0), np.full(floods, 1.5)))
    begun = _instants(rng, days, len(length))
    session = np.repeat(np.arange(len(length)), length)
    # Seconds since the session's first submission: pauses summed within each session.
    pauses = rng.exponential(pause[session])
    first = np.cumsum(length) - length
    since = np.cumsum(pauses)
    submit = begun[session] + np.rint(since - since[first][session]).astype(np.int64)
    last = day_start(FIRST_DAY + timedelta(days=days), zone(ZONE)) - 1
    submit = np.minimum(submit, last)
    # The last session but the floods is cut to make the number come out.
    surplus = len(submit) - count
    keep = np.ones(len(submit), np.bool_)
    cut_at = int(first[used - 1] + length[used - 1])
    keep[cut_at - surplus : cut_at] = False
    submit, session = submit[keep], session[keep]
    order = np.argsort(submit, kind="stable")
    return submit[order], owner[session][order], session[order]


def _instants(rng: np.random.Generator, days: int, count: int) -> Ints:
    """Instants that follow the hour of the day, the day of the week and the mood of the week.

    Hours are cut in UTC, so the day on which the clocks change has its 23 hours, and each has the
    weight of the hour that a clock on the wall shows.
    """
    in_zone = zone(ZONE)
    last = day_start(FIRST_DAY + timedelta(days=days), in_zone)
    hours = np.arange(start_of_log(), last, HOUR)
    shown = [datetime.fromtimestamp(int(hour), tz=in_zone) for hour in hours]
    by_hour = np.interp(
        np.arange(24), [0, 5, 8, 10, 12, 13, 16, 18, 21, 23], [2, 1, 4, 10, 9, 8, 10, 6, 4, 2.5]
    )
    by_weekday = np.array([1.1, 1.15, 1.1, 1.05, 0.95, 0.4, 0.35])
    week = np.exp(0.1 * rng.standard_normal(days // 7 + 1))
    weight = np.array(
        [
            by_hour[at.hour] * by_weekday[at.weekday()] * week[(at.date() - FIRST_DAY).days // 7]
            for at in shown
        ]
    )
    hour = rng.choice(len(hours), count, p=weight / weight.sum())
    instants: Ints = hours[hour] + rng.integers(0, HOUR, count)
    return instants


def _widths(rng: np.random.Generator, user: Ints, session: Ints, capacity: int) -> Ints:
    """Processors, the same for most jobs of a session: powers of two, odd ones, very wide ones."""
    sessions = int(session.max()) + 1
    habit = rng.choice(7, USERS, p=[0.1, 0.1, 0.16, 0.2, 0.2, 0.16, 0.08])
    habit[FLOODER] = 1
    owner = np.zeros(sessions, np.int64)
    owner[session] = user
    exponent = np.clip(habit[owner] + rng.integers(-1, 3, sessions), 0, 7)
    width = 2**exponent
    odd = rng.random(sessions) < 0.12
    width[odd] = 1 + rng.integers(0, width[odd] * 2)
    cpus: Ints = width[session]
    # Campaigns and floods are of narrow jobs.
    many = np.bincount(session)[session] > 12
    cpus[many] = np.minimum(cpus[many], 16)
    cpus[user == FLOODER] = np.minimum(cpus[user == FLOODER], 4)
    wide = (rng.random(len(user)) < 0.006) & ~many
    cpus[wide] = rng.choice(
        [3 * capacity // 8, capacity // 2, 3 * capacity // 4, capacity],
        int(wide.sum()),
        p=[0.4, 0.45, 0.1, 0.05],
    )
    return np.minimum(cpus, capacity)


def _runtimes(rng: np.random.Generator, user: Ints, session: Ints, cpus: Ints) -> Floats:
    """Seconds before the load is set: alike within a session, spread over four decades without."""
    habit = rng.normal(np.log(4000.0), 0.5, USERS)
    habit[FLOODER] = np.log(3000.0)
    of_session = rng.normal(0.0, 0.7, int(session.max()) + 1)
    of_job = rng.normal(0.0, 1.2, len(user))
    runtime: Floats = np.exp(habit[user] + of_session[session] + of_job) / cpus**0.3
    return runtime


def _stretched(runtime: Floats, weight: Floats, area: float) -> Floats:
    """Runtimes times the one factor that makes Σ runtime · weight the ``area`` (bisection)."""
    low, high = 0.0, 1000.0
    longest = float(WALLTIMES[-1])
    for _ in range(60):
        factor = (low + high) / 2
        if float((np.clip(runtime * factor, 1, longest) * weight).sum()) < area:
            low = factor
        else:
            high = factor
    return np.clip(runtime * low, 1, longest)


def _asked_for(rng: np.random.Generator, user: Ints, runtime: Floats) -> Ints:
    """Walltimes, in s: what one needs times too much, to the next round number, or a default."""
    caution = rng.choice([1.1, 1.5, 3.0, 6.0], USERS, p=[0.2, 0.3, 0.3, 0.2])
    wish = runtime * caution[user] * np.exp(0.5 * np.abs(rng.standard_normal(len(user))))
    wanted = np.minimum(np.searchsorted(WALLTIMES, wish), len(WALLTIMES) - 1)
    lazy = rng.random(len(user)) < 0.2
    day = int(np.searchsorted(WALLTIMES, 24 * HOUR))
    wanted[lazy] = np.maximum(wanted[lazy], day)
    walltime: Ints = WALLTIMES[wanted]
    return walltime
