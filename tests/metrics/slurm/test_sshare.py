"""Figures of an instant between two ticks."""

import numpy as np
import polars as pl
import pytest

from audit.metrics.fairshare.trees import Node, Tree
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm.shares import tree_of
from audit.metrics.slurm.sshare import run_minutes, usage_and_shares
from audit.metrics.slurm.usage import SlurmUsage

UNDECAYED = SlurmUsage(half_life_s=1e12, period_s=10)
"""Ticks at 0, 10, 20, …"""


def tree() -> Tree:
    """Root, physics and chemistry, ann and bob."""
    return tree_of(
        [
            Node("physics", "account", 3.0, "root"),
            Node("ann", "user", 1.0, "physics"),
            Node("chemistry", "account", 1.0, "root"),
            Node("bob", "user", 1.0, "chemistry"),
        ]
    )


def used(*jobs: tuple[str, int, int]) -> Grouped:
    """One billed unit of each user from and to."""
    names = tree().names
    ordered = sorted((names.index(name), start, end) for name, start, end in jobs)
    nodes = [node for node, *_ in ordered]
    return Grouped(
        np.searchsorted(nodes, np.arange(len(names) + 1)).astype(np.int64),
        np.array([start for _, start, _ in ordered], np.int64),
        np.array([end for *_, end in ordered], np.int64),
        np.ones(len(ordered)),
    )


def test_raw_usage_grows_between_ticks_and_ranks_do_not() -> None:
    """At 27: what ann ended at 24 shows, what bob runs does not; factors are of the tick at 20."""
    names = tree().names
    ann, bob = names.index("ann"), names.index("bob")
    grouped = used(("ann", 12, 24), ("bob", 14, 90))
    raw, shares = usage_and_shares(tree(), grouped, UNDECAYED, 27)
    assert raw[[0, ann, bob]].tolist() == pytest.approx([18, 12, 6])
    assert shares.norm_usage[[ann, bob]].tolist() == pytest.approx([8 / 14, 6 / 14])
    assert shares.fairshare[[ann, bob]].tolist() == [1.0, 0.5]


def test_accounts_of_classic_fairshare_are_a_tick_behind() -> None:
    names = tree().names
    ann, physics = names.index("ann"), names.index("physics")
    grouped = used(("ann", 2, 24), ("bob", 0, 90))

    def norm_usage(*, just_recalculated: bool) -> np.ndarray:
        _, shares = usage_and_shares(
            tree(),
            grouped,
            UNDECAYED,
            20,
            algorithm="classic",
            just_recalculated=just_recalculated,
        )
        return shares.norm_usage[[physics, ann]]

    assert norm_usage(just_recalculated=True).tolist() == pytest.approx([18 / 38, 18 / 38])
    assert norm_usage(just_recalculated=False).tolist() == pytest.approx([8 / 18, 18 / 38])


def test_what_running_jobs_may_still_use() -> None:
    """Up to their walltimes as of the tick; what has ended, waits or is nobody's counts nothing."""
    jobs = pl.DataFrame(
        {
            "start_time": [100, 100, 0, None, 100, 130],
            "end_time": [None, 500, 90, None, None, None],
            "walltime_s": [620, 260, 900, 900, 900, None],
            "usage_factor": [1.0, 0.5, 1.0, 1.0, 1.0, 1.0],
        }
    )
    names = tree().names
    ann, bob = names.index("ann"), names.index("bob")
    nodes = np.array([ann, bob, ann, ann, -1, bob])
    amounts = {"cpu": pl.Series([2.0, 4.0, 1.0, 1.0, 1.0, 1.0])}
    minutes = run_minutes(tree(), nodes, jobs, amounts, ["cpu", "mem"], at=150, tick=120)
    # ann 2 · 600 s, bob 4 · 240 s · ½
    assert minutes[0, [0, ann, bob]].tolist() == [28, 20, 8]
    assert not minutes[1].any()
