"""What was found, as a config.toml: fairaudit reads the same back."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.config.limits import hours_of_week
from audit.oneoff.fit_policy import writing

hours = st.sets(st.integers(0, 167), max_size=60)


@given(hours)
def test_hours_come_back(closed: set[int]) -> None:
    back: set[int] = set()
    for said in writing.hours(sorted(closed)):
        back |= hours_of_week(said)
    assert back == closed


def test_hours_are_as_people_write_them() -> None:
    office = [day * 24 + hour for day in range(5) for hour in range(8, 17)]
    assert writing.hours(office) == ["Mon-Fri 08-17"]
    assert writing.hours(range(5 * 24, 168)) == ["Sat-Sun"]


@pytest.mark.parametrize("name", ["plain", 'a "b" \\ c', "x\n[[clusters]]", "\x7f\u202e\U0001f600"])
def test_any_name_comes_back(name: str) -> None:
    assert tomllib.loads(f"name = {writing.text(name)}") == {"name": name}
