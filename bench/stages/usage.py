"""Daily usage history of five years against one polars pass over the same rows.

Goal: from the frame of a million attempts to the rows of ``fairshare_history`` (penalties, decayed
usage of every user at 1,826 midnights, fractions and ranks: some 900,000), at most three times the
CPU of one pass. The pass is ``DataFrame.group_by("user")`` with Σ cpus · (end − start): what each
user used, once and undecayed. Undecayed usage must add up to what the pass says.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from audit.metrics.fairshare.history import history_parts
from audit.metrics.fairshare.penalty import Hardware, relative_penalty
from audit.metrics.fairshare.usage import HalfLife, Method, Windows, usage
from bench.measure.figures import Figure
from bench.measure.pairs import measured

ATTEMPTS_MEASURED = 1_000_000
USERS = 500
DAYS = 1_826
DAY = 86_400
GOAL = 3.0
BEGIN = 1_600_041_600  # a midnight, UTC
POOL = Hardware(available={"cpus": 10_000})


def workload(attempts: int = ATTEMPTS_MEASURED) -> pl.DataFrame:
    """Five years of attempts by users of very unequal activity; runtimes are heavy-tailed."""
    random = np.random.Generator(np.random.PCG64(1))
    arrival = BEGIN + np.sort(random.integers(0, DAYS * DAY, attempts))
    wait = random.exponential(3_600, attempts) * (random.random(attempts) < 2 / 3)
    start = arrival + wait.astype(np.int64)
    activity = random.pareto(1.0, USERS) + 0.1
    users = pl.Series([f"user{number:03d}" for number in range(USERS)])
    return pl.DataFrame(
        {
            "user": users.gather(random.choice(USERS, attempts, p=activity / activity.sum())),
            "start_time": start,
            "end_time": start + random.lognormal(7, 2, attempts).astype(np.int64),
            "cpus": 1 << random.integers(0, 9, attempts),
        }
    )


USED = (pl.col("cpus") * (pl.col("end_time") - pl.col("start_time"))).sum()


def one_pass(attempts: pl.DataFrame) -> pl.DataFrame:
    """The usage of each user, in cpu-seconds."""
    return attempts.group_by("user").agg(USED)


def daily(attempts: pl.DataFrame, method: Method) -> pl.DataFrame:
    """Usage, fraction and rank of each user at each midnight."""
    midnights = [BEGIN + DAY * day for day in range(1, DAYS + 1)]
    charged = relative_penalty(attempts, "cpu", POOL).charged
    return pl.concat(history_parts(charged, "user", method, midnights, now=BEGIN + 2 * DAYS * DAY))


def check(attempts: pl.DataFrame) -> None:
    """Undecayed usage at the end is what the pass gives."""
    end = int(attempts["end_time"].to_numpy().max())
    charged = relative_penalty(attempts, "cpu", POOL).charged
    everything = Windows(interval_s=end, depth=1, decay=1.0)
    used = usage(charged, "user", everything, [end], end).usage[0] * POOL.available["cpus"]
    np.testing.assert_allclose(used, one_pass(attempts).sort("user")["cpus"], rtol=1e-12)


METHODS: dict[str, Method] = {
    "by windows": Windows(interval_s=DAY, depth=7, decay=0.7),
    "by half-life": HalfLife(half_life_s=7 * DAY),
}


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Both methods, of a million attempts whatever the sizes."""
    frame = workload()
    check(frame)
    for name, method in METHODS.items():
        yield measured(
            "Fairshare",
            f"usage of {USERS} users on {DAYS:,} days, {name}",
            ATTEMPTS_MEASURED,
            partial(daily, frame, method),
            twin=("one pass of polars", partial(one_pass, frame)),
            goal=GOAL,
        )
