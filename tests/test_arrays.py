"""Lists of the tasks of arrays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.arrays import LARGEST, Tasks, count, read


@pytest.mark.parametrize(
    ("text", "listed", "more"),
    [
        ("0-3", [0, 1, 2, 3], 0),
        ("7", [7], 0),
        ("1-9:4,3", [1, 3, 5, 9], 0),
        ("4,0-2,1", [0, 1, 2, 4], 0),
        ("1,3,+5", [1, 3], 5),
        ("+2", [], 2),
        ("5-5:0", [5], 0),
    ],
)
def test_lists_name_tasks(text: str, listed: list[int], more: int) -> None:
    tasks = read(text)
    assert tasks is not None
    assert (tasks.listed.tolist(), tasks.more) == (listed, more)
    assert count(text) == len(listed) + more


@pytest.mark.parametrize(
    "text", [None, "", "x", "1-", "1,,2", "9-1", "0-9%2", "1,...", f"0-{LARGEST}", "0-999999999,+9"]
)
def test_other_texts_are_no_lists(text: str | None) -> None:
    assert read(text) is None
    assert count(text) is None


def test_the_largest_array_is_a_list() -> None:
    assert count(f"0-{LARGEST - 1}") == LARGEST
    assert count(f"0-{LARGEST - 1},+1") is None
    assert count(",".join([f"0-{LARGEST - 1}"] * 3)) is None


def test_tasks_that_are_not_listed_follow_the_last() -> None:
    tasks = read("1,3,+2")
    assert tasks is not None
    assert tasks.numbers.tolist() == [1, 3, 4, 5]


@given(st.sets(st.integers(0, 30), min_size=1), st.integers(0, 3), st.sets(st.integers(0, 40)))
def test_tasks_that_are_seen_are_taken_once(own: set[int], more: int, seen: set[int]) -> None:
    tasks = read(",".join([*map(str, own), f"+{more}"]))
    assert tasks is not None
    left = tasks.without(seen)
    assert set(left.listed.tolist()) == own - seen
    assert left.more == (0 if seen and max(seen) >= max(own) else more)
    again = left.without(seen)
    assert (again.listed.tolist(), again.more) == (left.listed.tolist(), left.more)
    if left.number:
        written = read(left.text)
        assert written is not None
        assert (written.listed.tolist(), written.more) == (left.listed.tolist(), left.more)


def test_runs_are_written_short() -> None:
    tasks = read("0-2,4,6-7,+8")
    assert isinstance(tasks, Tasks)
    assert tasks.text == "0-2,4,6-7,+8"
