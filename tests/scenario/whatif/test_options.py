"""Changes: their options and titles."""

import math
import shlex
from fractions import Fraction
from typing import Any

import pytest

from audit.errors import UsageError
from audit.model import Limit, Order, Policy, Pool, Resource
from audit.policies import Backfill
from audit.rules import Window
from audit.scenario.scenario import Amount, ScenarioChange, changed, lifted, relaxed
from audit.scenario.whatif import options
from tests.scenario.whatif.scenarios import scenario

POOL = Pool(
    *("p", Resource.cpus, 4),
    limits=(Limit(most=1), Limit(most=2, per="user")),
    windows=(Window(hours=(0, 1)),),
)


def test_options() -> None:
    assert options.change() == options.change(limit=[], targets=None) == ScenarioChange()
    found = options.change(
        order=Order.sjf,
        depth=3,
        reservations=None,
        lift=["1", "windows"],
        relax=["1=5,window1=60"],
        targets="a=2, b=0.5",
        weight=["fairshare=20000,AGE=0", "qos=2.5"],
        half_life=0.5,
        walltimes="1.5",
        walltimes_of=["v", "w"],
        capacity="-3",
        nodes="30",
        placement="packed",
        per_node=["gpus:a100=2,cpus=8"],
        max_walltime=["a=1-12:00:00,b=30", "c=0:00:01"],
        without_user=["u"],
    )
    assert found == ScenarioChange(
        policy={"order": Order.sjf, "depth": 3},
        lift=("1", "windows"),
        relax={"1": 5, "window1": 60},
        targets={"a": 2.0, "b": 0.5},
        weights={"fairshare": 20_000.0, "age": 0.0, "qos": 2.5},
        half_life_s=43_200.0,
        walltimes=Fraction(3, 2),
        walltimes_of=("v", "w"),
        capacity=Amount(-3, True),
        nodes=Amount(30, False),
        placement="packed",
        per_node={"gpus:a100": 2, "cpus": 8},
        walltime_limits={"a": 129_600, "b": 1_800, "c": 1},
        without=("u",),
    )
    assert options.written(found) == (
        "--order sjf --depth 3 --targets a=2,b=0.5 --half-life 0.5 --walltimes 3/2 --capacity -3 "
        "--nodes 30 --placement packed --per-node gpus:a100=2 --per-node cpus=8 --lift 1 "
        "--lift windows --relax 1=5 --relax window1=60 "
        "--walltimes-of v --walltimes-of w --weight fairshare=20000 --weight age=0 "
        "--weight qos=2.5 --max-walltime a=2160:00 --max-walltime b=30:00 --max-walltime c=00:01 "
        "--without-user u"
    )
    assert options.change(targets="x=y=3").targets == {"x=y": 3.0}
    assert options.change(capacity="+3").capacity == Amount(3, True)
    assert options.change(walltimes="exact").walltimes == 1


_LIMITS = [
    "a",
    "a=",
    "a=0",
    "a=-2",
    "a=1.5",
    "=4",
    "user:=4",
    "a=1,a=2",
    "a=4 jobs",
    "a=4:wide",
    f"a={2**60}",
]


@pytest.mark.parametrize(
    ("name", "flag", "texts"),
    [
        ("limit", "--limit", [[text] for text in _LIMITS]),
        ("relax", "--relax", [["1"], ["1=0"], ["1=x"], ["1=2,1=3"]]),
        ("weight", "--weight", [["age"], ["age=-1"], ["age=x"], ["age=1,age=2"]]),
        (
            "targets",
            "--targets",
            ["a", "=3", "a=-1", "a=x", "a=nan", "a=inf", "a=1,a=2", "", "a=1,"],
        ),
        (
            "max_walltime",
            "--max-walltime",
            [[f"a={time}"] for time in ("", "0", "-1", "UNLIMITED", "1h", "0:00")]
            + [["a"], ["=5"]],
        ),
        ("capacity", "--capacity", ["", "0", "x", "1.5", "+", "9" * 30]),
        ("placement", "--placement", ["", "Packed", "whole"]),
        ("per_node", "--per-node", [["gpus"], ["gpus=0"], ["=2"], ["cpus=1,cpus=2"]]),
        ("half_life", "--half-life", [math.inf, math.nan]),
        ("walltimes_of", "--walltimes-of", [["ann"]]),
        ("walltimes", "--walltimes", ["", "0.9", "x", "nan", "-1", "1/0", "1e9"]),
    ],
)
def test_what_says_nothing_is_refused_by_its_option(name: str, flag: str, texts: list[Any]) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=flag):
            options.change(**{name: text})


def test_limits() -> None:
    texts = ["long=8, user:*=4jobs", "account:a=b=7gpus", "user:*=2:narrow"]
    texts += ["user:ann=4gpus:a100", "user:ann=2gpus:narrow", "user:*=1gpus:a100_1g.5gb:narrow"]
    found = options.limits(texts)
    assert [each.of(POOL) for each in found] == [
        Limit(most=8, resource="cpus", partition=("long",)),
        Limit(most=4, per="user"),
        Limit(most=7, resource="gpus", account=("a=b",)),
        Limit(most=2, resource="cpus", per="user", size_up_to=2),
        Limit(most=4, resource="gpus:a100", user=("ann",)),
        Limit(most=2, resource="gpus", user=("ann",), size_up_to=2),
        Limit(most=1, resource="gpus:a100_1g.5gb", per="user", size_up_to=1),
    ]
    again = options.written(ScenarioChange(limits=tuple(found)))
    assert options.limits(shlex.split(again)[1::2]) == tuple(found)


def test_lifting() -> None:
    assert lifted(POOL, ["all"]) == POOL._replace(limits=(), windows=())
    assert lifted(POOL, ["limits"]) == POOL._replace(limits=())
    assert lifted(POOL, ["windows", "1"]) == POOL._replace(limits=POOL.limits[1:], windows=())
    assert lifted(POOL, ["1", "2"]).limits == ()
    assert lifted(POOL, ["window1"]) == POOL._replace(windows=())
    today = scenario((0, 0, 9, 1, "ann")).but(pool=POOL)
    for wrong in ("3", "0", "x", "window0", "window2"):
        with pytest.raises(UsageError, match=r"--lift .* a rule of pool 'p': 1, 2, window1"):
            changed(today, ScenarioChange(lift=(wrong,)))
    bare = today.but(pool=lifted(POOL, ["all"]))
    with pytest.raises(UsageError, match="'p': it has no limits and no windows"):
        changed(bare, ScenarioChange(lift=("1",)))


def test_relaxing() -> None:
    by_size = Window(hours=(3,), size_above=4)
    pool = POOL._replace(windows=(*POOL.windows, by_size))
    found = relaxed(pool, {"1": 3, "window2": 8})
    assert found.limits == (Limit(most=3), Limit(most=2, per="user"))
    assert found.windows == (*POOL.windows, by_size.but(size_above=8))
    today = scenario((0, 0, 9, 1, "ann")).but(pool=pool)
    for wrong in ("3", "window1", "window3"):
        with pytest.raises(UsageError, match=f"--relax {wrong}"):
            changed(today, ScenarioChange(relax={wrong: 2}))


# --- titles --------------------------------------------------------------------------------------

REPLAN = Backfill.conservative_replan
TITLED = Pool("p", Resource.cpus, 8)


@pytest.mark.parametrize(
    ("policy", "reservations", "expected"),
    [
        (Policy(), 4, "Reserve for the first four in the queue instead of one"),
        (
            Policy(Order.fcfs, Backfill.none),
            1,
            "Let later jobs start if they do not delay the first one",
        ),
        (
            Policy(Order.fcfs, Backfill.none),
            4,
            "Let later jobs start if they do not delay the first four",
        ),
        (
            Policy(Order.fcfs, Backfill.no_guarantee),
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
    change = ScenarioChange(policy={"backfill": REPLAN, "reservations": reservations})
    assert options.title(change, TITLED._replace(policy=policy)) == expected


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
        ("1", "Lift the limit of 1 running job per user"),
        ("2", "Lift the limit of 32 CPUs per account"),
        ("3", "Lift the limit of 1,024 CPUs in total for jobs with qos long in partition a, b"),
        ("4", "Lift the limit of 1.5 GiB of memory per job for jobs over 4 h"),
        ("window1", "Lift the closed hours Mon 01–03 (UTC) for all jobs"),
        ("window2", "Lift the closed hours Mon 01–02 (UTC) for jobs over 4 CPUs up to 8 CPUs"),
        ("all", "Lift all limits and windows"),
        ("windows", "Lift all windows"),
    ],
)
def test_lifted_rules(rule: str, expected: str) -> None:
    pool = TITLED._replace(limits=LIMITS, windows=WINDOWS)
    assert options.title(ScenarioChange(lift=(rule,)), pool) == expected


@pytest.mark.parametrize(
    ("rule", "bound", "expected"),
    [
        ("1", 2, "Raise the limit of 1 running job per user to 2 running jobs"),
        (
            "window2",
            6,
            "Apply the closed hours Mon 01–02 (UTC) only to jobs over 6 CPUs up to 8 CPUs",
        ),
        ("window3", 28_800, "Apply the closed hours Mon 01–02 (UTC) only to jobs over 8 h"),
    ],
)
def test_relaxed_rules(rule: str, bound: int, expected: str) -> None:
    windows = (*WINDOWS, Window(hours=(1,), walltime_above_s=14_400))
    pool = TITLED._replace(limits=LIMITS, windows=windows)
    assert options.title(ScenarioChange(relax={rule: bound}), pool) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"walltimes": Fraction(2)},
            "Ask users for time limits of at most twice the run time",
        ),
        (
            {"walltimes": Fraction(1), "walltimes_of": ("ann", "bob")},
            "Ask ann, bob for time limits equal to the run time",
        ),
        (
            {"walltimes": Fraction(3, 2), "walltimes_of": tuple("abcdefghij")},
            "Ask 10 users for time limits of at most 1.5 times the run time",
        ),
        (
            {"limits": options.limits(["user:*=50:narrow", "long=8", "user:ann=1gpus"])},
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
    assert options.title(ScenarioChange(**change), TITLED._replace(policy=policy)) == expected
