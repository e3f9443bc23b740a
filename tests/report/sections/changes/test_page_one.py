"""How waits changed, in the words of page one."""

import pytest

from audit.report.first_page.compose import lines
from audit.report.sections.changes import page_one as changes_page_one
from audit.report.sections.changes.record import Half
from tests.report.first_page.sample import compared, facts


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [  # typical wait, that of one job in ten, load, the first without user 3, jobs, the second
        ((540, 9_000, 0.7, 500), (180, 9_000, 0.7, 180), "fell from 9 min to 3 min"),
        ((540, 9_000, 0.7, 500), (180, 9_000, 0.7, 500), "The change is that of User 3."),
        ((180, 9_000, 0.7, 500), (540, 9_000, 0.7, 500), "The change is that of User 3."),
        ((180, 9_000, 0.7, 500), (540, 9_000, 0.7, 400), "The change is that of User 3."),
    ],
)
def test_a_change_without_the_largest_user(
    first: tuple[int, int, float, int], last: tuple[int, int, float, int], text: str
) -> None:
    of = compared(first=Half(*first), last=Half(*last))
    assert text in changes_page_one.changed(facts(compared=of)).plain


def test_a_log_of_less_than_a_day_compares_nothing() -> None:
    short = facts(compared=None, log_days=0.04)
    assert changes_page_one.changed(short).plain == (
        "No comparison: the records cover less than a day, and two weeks are needed."
    )


def test_waits_of_one_job_in_ten_are_compared_without_the_largest_user_too() -> None:
    first, last = Half(2, 600, 0.5, 2, 600), Half(2, 60, 0.5, 2, 600)
    alone = compared(first=first, last=last)
    assert changes_page_one.changed(facts(compared=alone)).plain == "The change is that of User 3."
    others = alone._replace(last=last._replace(p90_without=55))
    assert changes_page_one.changed(facts(compared=others)).plain == (
        "At almost the same load (50, then 50 %), the wait of one job in ten fell from 10 min to "
        "1 min between the halves of the log. Without User 3: about the same."
    )


@pytest.mark.parametrize(
    ("loads", "text"),
    [
        ((0.2, 0.25), "At almost the same load (20, then 25 %), "),
        ((0.003, 0.036), "With the load up from 0.3 to 3.6 %, "),
    ],
)
def test_small_loads_that_differ_by_a_factor(loads: tuple[float, float], text: str) -> None:
    before, now = (
        Half(wait, wait * 3, load, wait) for wait, load in zip((60, 600), loads, strict=True)
    )
    made = changes_page_one.changed(facts(compared=compared(first=before, last=now))).plain
    assert made.startswith(text)


@pytest.mark.parametrize(
    ("growth", "page", "line"),
    [
        (-0.24, "The capacity fell by 24 %.", "down 24 %"),
        (0.5, "The capacity rose by 50 %.", "up 50 %"),
    ],
)
def test_a_machine_that_lost_nodes_is_no_higher_demand(growth: float, page: str, line: str) -> None:
    of = facts(compared=compared(growth=growth))
    same = changes_page_one.changed(facts(compared=compared(growth=0.09))).plain
    assert changes_page_one.changed(of).plain == f"{same} {page}"
    assert dict(lines(of))["Changed"].startswith(f"Capacity {line}. ")
    assert "apacity" not in same


def test_nodes_that_nobody_needed_may_only_have_been_idle() -> None:
    idle = compared(last=Half(180, 9_000, 0.49, 180), growth=-0.9)
    assert "apacity" not in changes_page_one.changed(facts(compared=idle)).plain
