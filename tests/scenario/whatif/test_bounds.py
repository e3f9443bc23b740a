"""Limits from config.toml and from a command line."""

import pytest

from audit import config
from audit.errors import UsageError
from audit.model import Limit, Pool, Resource, Scope, Window
from audit.scenario.whatif import bounds as limits

POOL = Pool(
    *("p", Resource.cpus, 4),
    limits=(Limit(1), Limit(2, per="user")),
    windows=(Window((0, 1)),),
)


def test_what_is_configured() -> None:
    asked = config.Pool(
        name="p",
        limits=(
            config.Limit(most=3, per="user", qos=("long",), exempt_qos=("high",)),
            config.Limit(most=64, resource="cpus", account=("a", "b"), walltime_above_s=60),
        ),
        windows=(config.Window(hours=("Mon 08-10", "Mon 09-11"), size_above=8),),
    )
    assert limits.limits(asked) == (
        Limit(3, None, "user", Scope(qos=("long",)), ("high",)),
        Limit(64, "cpus", None, Scope(account=("a", "b"), walltime_above_s=60)),
    )
    assert limits.windows(asked) == (Window((8, 9, 10), Scope(size_above=8)),)


def test_what_is_asked_for() -> None:
    asked = limits.asked(["long=8, user:*=4jobs", "account:a=b=7gpus"])
    assert [each.of(POOL) for each in asked] == [
        Limit(8, "cpus", None, Scope(partition="long")),
        Limit(4, None, "user"),
        Limit(7, "gpus", None, Scope(account="a=b")),
    ]


@pytest.mark.parametrize(
    "text",
    ["a", "a=", "a=0", "a=-2", "a=1.5", "=4", "user:=4", "a=1,a=2", "a=4 jobs", f"a={2**60}"],
)
def test_what_says_no_limit(text: str) -> None:
    with pytest.raises(UsageError, match="--limit"):
        limits.asked([text])


def test_lifting() -> None:
    assert limits.lifted(POOL, ["all"]) == POOL._replace(limits=(), windows=())
    assert limits.lifted(POOL, ["limits"]) == POOL._replace(limits=())
    assert limits.lifted(POOL, ["windows", "1"]) == POOL._replace(
        limits=POOL.limits[1:], windows=()
    )
    assert limits.lifted(POOL, ["1", "2"]).limits == ()
    for wrong in ("3", "0", "x"):
        with pytest.raises(UsageError, match="--lift"):
            limits.lifted(POOL, [wrong])
