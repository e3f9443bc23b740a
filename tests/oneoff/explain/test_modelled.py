"""When the model would have started an attempt, by hand; and when it is left out."""

from dataclasses import replace

import pytest

from audit.model import Backfill
from audit.oneoff.explain import modelled
from audit.oneoff.explain.modelled import Modelled
from audit.oneoff.explain.story import Starts
from tests.oneoff.explain.scenes import ORIGIN, POOL, simulated, story


def model(job: str, backfill: Backfill = Backfill.easy) -> Modelled:
    of = simulated(job, backfill)
    assert isinstance(of, Modelled)
    return of


def test_alone_and_with_those_before_it() -> None:
    # Alone, 4 needs the end of 1; with 3 before it, that of 3, which starts then. 5 and 6 would
    # delay the head, 3, so EASY lets neither start before it, nor 4.
    made = modelled.starts(model("4"), POOL)
    assert made == Starts(ORIGIN + 100, ORIGIN + 120, ORIGIN + 120, 0)
    assert modelled.costs(model("4"), made.modelled) == ()
    first = modelled.starts(model("3"), POOL)
    assert first.alone == first.fair == ORIGIN + 100


def test_users_whose_later_arrivals_delay_it_are_found() -> None:
    # Under no_guarantee 5 starts at 60 and 6 at 100: 3 waits for the end of 5, 4 for that of 3.
    # Without 5, 6 would start at 60 and 3 at 110. Without 6 nothing changes.
    of = model("4", Backfill.no_guarantee)
    made = modelled.starts(of, POOL)
    assert (made.fair, made.modelled) == (ORIGIN + 120, ORIGIN + 180)
    assert [(one.user, one.arrivals, one.cost_s) for one in modelled.costs(of, made.modelled)] == [
        ("4", 1, 50)
    ]


def test_the_model_is_left_out_where_the_job_has_no_part_in_it() -> None:
    assert "without having started" in story("7").unmodelled
    assert "more than the pool" in story("8").unmodelled
    assert story("7").model is None


def test_a_model_that_does_not_fit_is_left_out() -> None:
    # Of the jobs that waited for more than a minute, EASY starts none when the site did.
    made = story("4")
    assert made.model is None
    assert "it does not fit this log: it starts" in made.unmodelled
    assert "80.0 % needed" in made.unmodelled


@pytest.mark.parametrize(
    ("later", "wait_s", "passed_by", "said"),
    [
        (100, 99, 3, "longer than the wait"),
        (100, 100, 3, ""),
        (1, 100, 0, "none of which started before it"),
        (0, 100, 0, ""),
        (-50, 100, 0, ""),
    ],
)
def test_a_delay_that_the_log_contradicts_leaves_it_out(
    later: int, wait_s: int, passed_by: int, said: str
) -> None:
    starts = Starts(ORIGIN, ORIGIN, ORIGIN + later, 0)
    why = modelled.contradicted(starts, wait_s, passed_by)
    assert said in why
    assert bool(said) == bool(why)
    assert modelled.contradicted(replace(starts, fair=None), wait_s, passed_by)
