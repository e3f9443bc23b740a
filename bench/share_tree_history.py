"""Daily history of a share tree over five years against one polars pass over the rows, in turns.

Goal (issue 6): from the frame of a million attempts to the rows of ``fairshare_history``
(penalties, decayed usage, states, priorities and ranks of 2,000 users and their accounts at 1,826
midnights: 3.8 million rows), at most ten times the CPU of one pass. The pass is that of
``usage_history``: ``DataFrame.group_by("user")`` with Σ cpus · (end − start). CPU is user + system
of the whole process, all threads. Undecayed usage of each user must be what the pass says.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import polars as pl
from usage_history import BEGIN, DAY, DAYS, POOL, one_pass

from audit.metrics.fairshare import trees
from audit.metrics.fairshare.penalty import relative_penalty
from audit.metrics.fairshare.tree_history import tree_history
from audit.metrics.fairshare.trees import Node, Tree
from audit.metrics.fairshare.usage import HalfLife, Method, Windows

ATTEMPTS_MEASURED = 1_000_000
USERS = 2_000
GROUPS, ACCOUNTS = 8, 64
GOAL = 10.0
ROUNDS = 7


def share_tree() -> Tree:
    """Groups of accounts, and users below each account; shares are those of real sites: few."""
    nodes = [Node(f"group{k}", "account", 1.0 + k % 3) for k in range(GROUPS)]
    nodes += [
        Node(f"account{k:02d}", "account", 1.0 + k % 5, f"group{k % GROUPS}")
        for k in range(ACCOUNTS)
    ]
    nodes += [
        Node(f"user{k:04d}", "user", 1.0 + k % 2, f"account{k % ACCOUNTS:02d}")
        for k in range(USERS)
    ]
    return trees.build(nodes)


def workload(attempts: int = ATTEMPTS_MEASURED) -> pl.DataFrame:
    """Five years of attempts by users of very unequal activity; runtimes are heavy-tailed."""
    random = np.random.Generator(np.random.PCG64(1))
    arrival = BEGIN + np.sort(random.integers(0, DAYS * DAY, attempts))
    wait = random.exponential(3_600, attempts) * (random.random(attempts) < 2 / 3)
    start = arrival + wait.astype(np.int64)
    activity = random.pareto(1.0, USERS) + 0.1
    user = random.choice(USERS, attempts, p=activity / activity.sum())
    users = pl.Series([f"user{k:04d}" for k in range(USERS)])
    accounts = pl.Series([f"account{k:02d}" for k in range(ACCOUNTS)])
    return pl.DataFrame(
        {
            "user": users.gather(user),
            "account": accounts.gather(user % ACCOUNTS),
            "partition": pl.Series(["batch", "long"]).gather(random.integers(0, 2, attempts)),
            "start_time": start,
            "end_time": start + random.lognormal(7, 2, attempts).astype(np.int64),
            "cpus": 1 << random.integers(0, 9, attempts),
        }
    )


def daily(attempts: pl.DataFrame, tree: Tree, method: Method) -> pl.DataFrame:
    """Usage, priority and rank of each account and user at each midnight."""
    midnights = [BEGIN + DAY * day for day in range(1, DAYS + 1)]
    charged = relative_penalty(attempts, "cpu", POOL).charged
    return tree_history(charged, tree, method, midnights, now=BEGIN + 2 * DAYS * DAY)


def check(attempts: pl.DataFrame, tree: Tree) -> None:
    """Undecayed usage at the end is what the pass gives."""
    end = int(attempts["end_time"].to_numpy().max())
    charged = relative_penalty(attempts, "cpu", POOL).charged
    everything = Windows(interval_s=end, depth=1, decay=1.0)
    rows = tree_history(charged, tree, everything, [end], end).filter(
        pl.col("entity_kind") == "user", pl.col("usage") > 0
    )
    used = rows.sort("entity")["usage"] * POOL.available["cpus"]
    np.testing.assert_allclose(used, one_pass(attempts).sort("user")["cpus"], rtol=1e-12)


def ratio(attempts: int = ATTEMPTS_MEASURED) -> dict[str, float]:
    """Median CPU seconds of each, and the ratios to the pass.

    Raises:
        AssertionError: the history disagrees with the pass.
    """
    frame, tree = workload(attempts), share_tree()
    check(frame, tree)
    sides: dict[str, Callable[[], pl.DataFrame]] = {
        "windows": lambda: daily(frame, tree, Windows(interval_s=DAY, depth=7, decay=0.7)),
        "half_life": lambda: daily(frame, tree, HalfLife(half_life_s=7 * DAY)),
        "pass": lambda: one_pass(frame),
    }
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(ROUNDS + 1):  # the first compiles, or loads what is compiled
        for name, side in sides.items():
            begin = time.process_time()
            side()
            if turn > 0:
                spent[name].append(time.process_time() - begin)
    got = {f"cpu_{name}": statistics.median(seconds) for name, seconds in spent.items()}
    for name in ("windows", "half_life"):
        got[f"ratio_{name}"] = got[f"cpu_{name}"] / got["cpu_pass"]
    return got


def main() -> bool:
    """Prints a line per method; whether the goal is met by both."""
    got = ratio()
    for name in ("windows", "half_life"):
        print(
            f"daily history of a share tree, {name}, {ATTEMPTS_MEASURED:,} attempts, {DAYS:,} "
            f"days, {USERS:,} users: {got[f'cpu_{name}']:.3f} s CPU, one pass "
            f"{got['cpu_pass']:.3f} s, ratio {got[f'ratio_{name}']:.2f} (goal ≤ {GOAL:g})"
        )
    return all(got[f"ratio_{name}"] <= GOAL for name in ("windows", "half_life"))


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
