"""Hours of the week as people write them, and what is wrong in limits and windows."""

from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import config
from audit.rule_text import amount, rule_text, short_text
from audit.rules import WEEK, Limit, Scope, Window, hours_of_week, texts
from tests.config.refusals import usage_refusal


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("Mon 08-10", {8, 9}),
        ("Tue", set(range(24, 48))),
        ("Tue 00-24", set(range(24, 48))),
        ("Sat-Sun 0-1", {120, 144}),
        ("Sun-Mon 23-24", {167, 23}),
        ("Fri 22-06", {118, 119, 120, 121, 122, 123, 124, 125}),
        ("Sun 23-1", {167, 0}),  # until Monday
        ("Mon-Sun", set(range(WEEK))),
    ],
)
def test_hours(text: str, hours: set[int]) -> None:
    assert hours_of_week(text) == hours


@pytest.mark.parametrize(
    "text", ["", "mon 08-18", "Mon 8:00-9:00", "Mon 08-08", "Mon 24-25", "Mon 08", "Mon,Tue 8-9"]
)
def test_what_says_no_hours(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be days|hours must be from"):
        hours_of_week(text)


@given(st.sets(st.integers(0, WEEK - 1), min_size=1, max_size=60))
def test_a_window_comes_back(closed: set[int]) -> None:
    window = Window(hours=tuple(sorted(closed)), partition=("long",))
    assert Window.model_validate_json(window.model_dump_json()) == window


def test_hours_are_as_people_write_them() -> None:
    office = [day * 24 + hour for day in range(5) for hour in range(8, 17)]
    assert texts(office) == ["Mon-Fri 08-17"]
    assert texts(range(5 * 24, WEEK)) == ["Sat-Sun"]


def test_rules_name_types_of_gpus() -> None:
    one = Limit(most=1, resource="gpus:a100", per="user")
    assert rule_text(one, "cpus", "UTC") == "limit of 1 a100 GPU per user"
    assert rule_text(one.but(most=8), "cpus", "UTC") == "limit of 8 a100 GPUs per user"
    assert amount(1_438 << 30, "mem_bytes") == "1,438 GiB of memory"
    assert amount(3 << 29, "mem_bytes") == "1.5 GiB of memory"


def test_limits_of_remaining_times() -> None:
    one = Limit(most=64 * 3_600, resource="cpus", remaining=True, per="user")
    text = "limit of 64 CPUs × h of remaining walltime per user"
    assert rule_text(one, "cpus", "UTC") == text
    reached = one.but(most=200 * 3_600 - 140)  # by jobs that run for some seconds
    assert short_text(reached, "cpus") == "limit of 200 CPUs × h of remaining time per user"
    few = one.but(most=90_001)
    assert short_text(few, "cpus") == "limit of 1,500 CPUs × min of remaining time per user"
    assert short_text(one.but(most=99), "cpus").startswith("limit of 99 CPUs × s of")
    for wrong in ({"resource": None}, {"per": "job"}):
        with pytest.raises(ValueError, match="remaining needs a resource"):
            Limit.model_validate({**one.model_dump(exclude_none=True), **wrong})


def test_days_and_overlap_come_back_and_are_no_conditions() -> None:
    window = Window(hours=(5,), valid_from=date(2024, 1, 1), overlap=True)
    assert Window.model_validate_json(window.model_dump_json()) == window
    limit = Limit(most=3, valid_to=date(2024, 2, 1))
    assert limit.conditions == Scope().conditions


def test_all_that_is_wrong_is_reported(tmp_path: Path) -> None:
    pool = """[[clusters.pools]]
name = "all"
interval_s = 0
limits = [{ most = -1 }, { most = 3, per = "group" }, { per = "user", users = "ann" }]
[[clusters.pools.windows]]
hours = ["Mon 08-18", "Montag 08-18"]
partition = []
"""
    found = usage_refusal(tmp_path, "", pool)
    for said in (
        "clusters[0].pools[0].interval_s: ",
        "clusters[0].pools[0].limits[0].most: ",
        "clusters[0].pools[0].limits[1].per: ",
        "clusters[0].pools[0].limits[2].most: is missing",
        "did you mean clusters[0].pools[0].limits[2].user?",
        "clusters[0].pools[0].windows[0].hours[1]: must be days",
        "clusters[0].pools[0].windows[0].partition: ",
    ):
        assert any(said in line for line in found), (said, found)
    assert len(found) == 7


def test_one_name_or_several(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(
        '[[clusters]]\nname = "c"\n[[clusters.pools]]\nname = "p"\n'
        'limits = [{ most = 1, user = "ann" }, { most = 2, user = ["ann", "bob"] }]\n'
    )
    one, two = config.load(path).clusters[0].pools[0].limits
    assert (one.user, two.user) == (("ann",), ("ann", "bob"))


@pytest.mark.parametrize(
    ("partition", "of_limit", "of_window"),
    [
        ("long", "limit of 8 CPUs in long", "closed hours of long"),
        ("1", "limit of 8 CPUs in partition 1", "closed hours of partition 1"),  # SWF's number
    ],
)
def test_short_names_say_what_a_number_is(partition: str, of_limit: str, of_window: str) -> None:
    limit = Limit(most=8, resource="cpus", partition=(partition,))
    window = Window(hours=(1, 2), partition=(partition,))
    assert short_text(limit, "cpus") == of_limit
    assert short_text(window, "cpus") == of_window


@pytest.mark.parametrize(
    ("limit", "name"),
    [
        (
            Limit(most=0, walltime_above_s=600, partition=("short",)),
            "longest time limit allowed in short",
        ),
        (Limit(most=64, resource="cpus", per="job", qos=("q",)), "largest job allowed in QOS q"),
        (Limit(most=4, per="user", user=("ann",)), "limit of 4 running jobs of user ann"),
        (
            Limit(most=4, per="user", walltime_above_s=14_400),
            "limit of 4 running jobs per user for jobs over 4 h",
        ),
        (
            Limit(most=4, per="user", user=("ann", "bob")),
            "limit of 4 running jobs per user of user ann, bob",
        ),
    ],
)
def test_short_names_of_limits_say_each_thing_once(limit: Limit, name: str) -> None:
    assert short_text(limit, "cpus") == name


@pytest.mark.parametrize(
    ("hours", "name"),
    [
        (range(8, 18), "daytime closure for jobs over 12 h"),
        ((*range(18, 24), *range(6)), "night closure for jobs over 12 h"),
        ((*range(30), *range(159, 168)), "closed hours for jobs over 12 h"),  # Sunday 15 on
    ],
)
def test_a_closure_is_named_by_most_of_its_hours(hours: Iterable[int], name: str) -> None:
    assert short_text(Window(hours=tuple(hours), walltime_above_s=43_200), "cpus") == name
