"""What changes are called."""

import pytest

from audit.model import Limit, Resource, Scope, Window
from audit.scenario.advice import titles

CPUS = Resource.cpus


@pytest.mark.parametrize(
    ("depth", "had", "title"),
    [
        (4, 1, "Reserve for the first four in the queue instead of one"),
        (1, 0, "Reserve for the first in the queue instead of none"),
        (1, None, "Reserve for the first in the queue instead of all that wait"),
        (12, 10, "Reserve for the first 12 in the queue instead of ten"),
    ],
)
def test_reservations(depth: int, had: int | None, title: str) -> None:
    assert titles.reservations(depth, had) == title


@pytest.mark.parametrize(
    ("limit", "title"),
    [
        (Limit(1, None, "user"), "Lift the limit of 1 job per user"),
        (Limit(32, "cpus", "account"), "Lift the limit of 32 CPUs per account"),
        (
            Limit(1_024, "cpus", None, Scope(partition=("a", "b"), qos="long")),
            "Lift the limit of 1,024 CPUs in all for jobs of qos long and partition a, b",
        ),
        (
            Limit(3 << 29, "mem_bytes", "job", Scope(walltime_above_s=14_400)),
            "Lift the limit of 1.5 GiB of memory per job for jobs asking for more than 4 h",
        ),
    ],
)
def test_limits(limit: Limit, title: str) -> None:
    assert titles.lifted(limit, CPUS) == title


def test_windows() -> None:
    assert titles.opened(Window((1, 2)), CPUS) == (
        "Start jobs at any hour of the week, not only at 166 of 168"
    )
    wide = Window((1,), Scope(size_above=4, size_up_to=8))
    assert titles.opened(wide, Resource.nodes) == (
        "Start jobs asking for more than 4 nodes and up to 8 nodes at any hour of the week, not "
        "only at 167 of 168"
    )


def test_walltimes_users_targets_and_passes() -> None:
    asking = "ask for at most twice the time that their jobs take"
    assert titles.asking(None) == f"Have everybody {asking}"
    assert titles.asking(1) == f"Have the user who overasks most {asking}"
    assert titles.asking(10) == f"Have the ten users who overask most {asking}"
    assert titles.per_user(50, CPUS) == "Let no user have more than 50 CPUs at a time"
    assert titles.spread("ann", 1, Resource.gpus) == (
        "Let user ann, who brought the largest flood, have no more than 1 GPU at a time"
    )
    assert titles.targets("equal") == "Give each account the same target"
    assert titles.targets("use") == "Give each account what it used as its target"
    assert titles.depth(4_000, 1_000) == "Let backfilling look at 4,000 jobs instead of 1,000"
    assert titles.often(30, 120).endswith("every 30 s instead of 120 s")
