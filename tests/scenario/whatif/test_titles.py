"""Titles of changes."""

from fractions import Fraction
from typing import Any

import pytest

from audit.model import Limit, Order, Policy, Pool, Resource
from audit.policies import Backfill
from audit.rules import Window
from audit.scenario.scenario import Amount, Change
from audit.scenario.whatif.options import limits
from audit.scenario.whatif.titles import title

REPLAN = Backfill.conservative_replan
POOL = Pool("p", Resource.cpus, 8)


@pytest.mark.parametrize(
    ("policy", "reservations", "expected"),
    [
        (Policy(), 4, "Reserve for the first four in the queue instead of one"),
        (
            Policy(Order.fcfs, Backfill.none),
            1,
            "Reserve for the first in the queue instead of none",
        ),
        (
            Policy(Order.fcfs, REPLAN),
            1,
            "Reserve for the first in the queue instead of all that wait",
        ),
        (
            Policy(Order.fcfs, REPLAN, reservations=10),
            12,
            "Reserve for the first 12 in the queue instead of ten",
        ),
        (Policy(Order.fcfs, REPLAN, reservations=3), 3, "Backfill by conservative_replan"),
    ],
)
def test_reservations(policy: Policy, reservations: int, expected: str) -> None:
    change = Change(policy={"backfill": REPLAN, "reservations": reservations})
    assert title(change, POOL._replace(policy=policy)) == expected


LIMITS = (
    Limit(most=1, per="user"),
    Limit(most=32, resource="cpus", per="account"),
    Limit(most=1024, resource="cpus", partition=("a", "b"), qos=("long",)),
    Limit(most=3 << 29, resource="mem_bytes", per="job", walltime_above_s=14400),
)
WINDOWS = (Window(hours=(1, 2)), Window(hours=(1,), size_above=4, size_up_to=8))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("1", "Lift the limit of 1 job per user"),
        ("2", "Lift the limit of 32 CPUs per account"),
        ("3", "Lift the limit of 1,024 CPUs in all for jobs of qos long and partition a, b"),
        ("4", "Lift the limit of 1.5 GiB of memory per job for jobs asking for more than 4 h"),
        ("window1", "Start jobs at any hour of the week, not only at 166 of 168"),
        (
            "window2",
            "Start jobs asking for more than 4 CPUs and up to 8 CPUs at any hour of the week, not "
            "only at 167 of 168",
        ),
        ("all", "Lift all limits and windows"),
        ("windows", "Lift all windows"),
    ],
)
def test_lifted_rules(rule: str, expected: str) -> None:
    pool = POOL._replace(limits=LIMITS, windows=WINDOWS)
    assert title(Change(lift=(rule,)), pool) == expected


@pytest.mark.parametrize(
    ("rule", "bound", "expected"),
    [
        ("1", 2, "Raise the limit of 1 job per user to 2 jobs"),
        ("window2", 8, "Close 1 of 168 hours of the week only to jobs asking for more than 8 CPUs"),
        (
            "window3",
            28_800,
            "Close 1 of 168 hours of the week only to jobs asking for more than 8 h",
        ),
    ],
)
def test_relaxed_rules(rule: str, bound: int, expected: str) -> None:
    windows = (*WINDOWS, Window(hours=(1,), walltime_above_s=14_400))
    pool = POOL._replace(limits=LIMITS, windows=windows)
    assert title(Change(relax={rule: bound}), pool) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"walltimes": Fraction(2)}, "Limit walltimes to twice the run time"),
        (
            {"walltimes": Fraction(1), "walltimes_of": ("ann", "bob")},
            "Limit walltimes of ann, bob to the run time",
        ),
        (
            {"walltimes": Fraction(3, 2), "walltimes_of": tuple("abcdefghij")},
            "Limit walltimes of 10 users to 1.5 times the run time",
        ),
        (
            {"limits": limits(["user:*=50:narrow", "long=8", "user:ann=1gpus"])},
            "Let no user have more than 50 CPUs at a time; let partition long have no more than 8 "
            "CPUs at a time; let user ann have no more than 1 GPU at a time",
        ),
        ({"policy": {"depth": 4_000}}, "Let backfilling look at 4,000 jobs instead of 1,000"),
        (
            {"policy": {"interval_s": 30}},
            "Let the scheduler look at the queue every 30 s instead of 120 s",
        ),
        (
            {"policy": {"order": Order.sjf, "window_s": 5_400}},
            "Serve the queue by order sjf; let only jobs of at most 90 min overtake others",
        ),
        (
            {"targets": {"a": 2.0}, "weights": {"age": 0.0, "qos": 2.5}, "half_life_s": 86400.0},
            "Set the targets a 2; set the weights age 0, qos 2.5; halve usage every 24 h",
        ),
        (
            {"capacity": Amount(-2, True), "nodes": Amount(5, False)},
            "Remove 2 CPUs; size the pool to 5 nodes",
        ),
        (
            {"walltime_limits": {"long": 36_000}, "without": ("u", "v")},
            "Limit walltimes in partition long to 10 h; leave out the jobs of u, v",
        ),
    ],
)
def test_each_part_has_a_title(change: dict[str, Any], expected: str) -> None:
    policy = Policy(Order.fcfs, REPLAN, depth=1_000, interval_s=120)
    assert title(Change(**change), POOL._replace(policy=policy)) == expected
