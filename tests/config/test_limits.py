"""Hours of the week as people write them, and what is wrong in limits and windows."""

from pathlib import Path

import pytest

from audit import config
from audit.config.limits import hours_of_week
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
    ],
)
def test_hours(text: str, hours: set[int]) -> None:
    assert hours_of_week(text) == hours


def test_all_week() -> None:
    assert hours_of_week("Mon-Sun") == set(range(168))


@pytest.mark.parametrize(
    "text", ["", "mon 08-18", "Mon 8:00-9:00", "Mon 08-08", "Mon 24-25", "Mon 08", "Mon,Tue 8-9"]
)
def test_what_says_no_hours(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be days|hours are from"):
        hours_of_week(text)


def test_all_that_is_wrong_is_told(tmp_path: Path) -> None:
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
