"""Daily history of a share tree over five years against one polars pass over the rows.

Goal: from the frame of a million attempts to the rows of ``fairshare_history``
(penalties, decayed usage, states, priorities and ranks of 2,000 users and their accounts at 1,826
midnights: 3.8 million rows), at most ten times the CPU of one pass. The pass is that of
``usage``: ``DataFrame.group_by("user")`` with Σ cpus · (end − start). Undecayed usage of each user
must be what the pass says. Beside it what each priority operator costs ([R] §4.5), against numpy's
subtraction of the same arrays, which is what the cheapest of them computes; goal: at most forty
times as much, so that a day's 2,000 users of a tree take less than a tenth of a millisecond.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from audit.kernels import trees as kernels
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.history import tree_history
from audit.metrics.fairshare.operators import OPERATORS, code
from audit.metrics.fairshare.penalty import relative_penalty
from audit.metrics.fairshare.trees import Tree, TreeNode
from audit.metrics.fairshare.usage import Method, Windows
from bench.measure.figures import Figure
from bench.measure.pairs import measured
from bench.stages.usage import BEGIN, DAY, DAYS, METHODS, POOL, one_pass

ATTEMPTS_MEASURED = 1_000_000
USERS = 2_000
GROUPS, ACCOUNTS = 8, 64
GOAL = 10.0
EVALUATIONS = 1_000_000
OPERATOR_GOAL = 40.0


def share_tree() -> Tree:
    """Groups of accounts, and users below each account; shares are those of real sites: few."""
    nodes = [TreeNode(f"group{k}", "account", 1.0 + k % 3) for k in range(GROUPS)]
    nodes += [
        TreeNode(f"account{k:02d}", "account", 1.0 + k % 5, f"group{k % GROUPS}")
        for k in range(ACCOUNTS)
    ]
    nodes += [
        TreeNode(f"user{k:04d}", "user", 1.0 + k % 2, f"account{k % ACCOUNTS:02d}")
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


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Both methods of a tree of a million attempts, and each operator, whatever the sizes."""
    frame, tree = workload(), share_tree()
    check(frame, tree)
    for name, method in METHODS.items():
        yield measured(
            "Share trees",
            f"tree of {USERS:,} users on {DAYS:,} days, {name}",
            ATTEMPTS_MEASURED,
            partial(daily, frame, tree, method),
            twin=("one pass of polars", partial(one_pass, frame)),
            goal=GOAL,
        )
    targets, states = np.random.Generator(np.random.PCG64(1)).random((2, EVALUATIONS))
    out = np.empty(EVALUATIONS)
    for name in OPERATORS:
        yield measured(
            "Share trees",
            f"priority operator {name}",
            EVALUATIONS,
            partial(kernels.priorities, code(name), targets, states, out),
            twin=("numpy's subtraction", partial(np.subtract, targets, states, out=out)),
            goal=OPERATOR_GOAL,
        )
