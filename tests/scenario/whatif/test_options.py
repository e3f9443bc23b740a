"""What the options of a change say."""

from fractions import Fraction
from typing import Any

import pytest

from audit.errors import UsageError
from audit.model import Limit, Pool, Resource
from audit.policies import Order
from audit.rules import Window
from audit.scenario.scenario import Amount, Change, lifted, relaxed
from audit.scenario.whatif import options

POOL = Pool(
    *("p", Resource.cpus, 4),
    limits=(Limit(most=1), Limit(most=2, per="user")),
    windows=(Window(hours=(0, 1)),),
)


def test_options() -> None:
    assert options.change() == options.change(limit=[], targets=None) == Change()
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
        max_walltime=["a=1-12:00:00,b=30", "c=0:00:01"],
        without_user=["u"],
    )
    assert found == Change(
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
        walltime_limits={"a": 129_600, "b": 1_800, "c": 1},
        without=("u",),
    )
    assert options.written(found) == (
        "--order sjf --depth 3 --targets a=2,b=0.5 --half-life 0.5 --walltimes 3/2 --capacity -3 "
        "--nodes 30 --lift 1 --lift windows --relax 1=5 --relax window1=60 --walltimes-of v "
        "--walltimes-of w --weight fairshare=20000 --weight age=0 --weight qos=2.5 "
        "--max-walltime a=2160:00 --max-walltime b=30:00 --max-walltime c=00:01 --without-user u"
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
        ("walltimes", "--walltimes", ["", "0.9", "x", "nan", "-1", "1/0", "1e9"]),
    ],
)
def test_what_says_nothing_is_refused_by_its_option(name: str, flag: str, texts: list[Any]) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=flag):
            options.change(**{name: text})


def test_limits() -> None:
    texts = ["long=8, user:*=4jobs", "account:a=b=7gpus", "user:*=2:narrow"]
    found = options.limits(texts)
    assert [each.of(POOL) for each in found] == [
        Limit(most=8, resource="cpus", partition=("long",)),
        Limit(most=4, per="user"),
        Limit(most=7, resource="gpus", account=("a=b",)),
        Limit(most=2, resource="cpus", per="user", size_up_to=2),
    ]


def test_lifting() -> None:
    assert lifted(POOL, ["all"]) == POOL._replace(limits=(), windows=())
    assert lifted(POOL, ["limits"]) == POOL._replace(limits=())
    assert lifted(POOL, ["windows", "1"]) == POOL._replace(limits=POOL.limits[1:], windows=())
    assert lifted(POOL, ["1", "2"]).limits == ()
    assert lifted(POOL, ["window1"]) == POOL._replace(windows=())
    for wrong in ("3", "0", "x", "window0", "window2"):
        with pytest.raises(UsageError, match="--lift"):
            lifted(POOL, [wrong])


def test_relaxing() -> None:
    by_size = Window(hours=(3,), size_above=4)
    pool = POOL._replace(windows=(*POOL.windows, by_size))
    found = relaxed(pool, {"1": 3, "window2": 8})
    assert found.limits == (Limit(most=3), Limit(most=2, per="user"))
    assert found.windows == (*POOL.windows, by_size.but(size_above=8))
    for wrong in ("3", "window1", "window3"):
        with pytest.raises(UsageError, match=f"--relax {wrong}"):
            relaxed(pool, {wrong: 2})
