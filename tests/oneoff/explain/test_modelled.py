"""When the model would have started an attempt, by hand."""

from audit.model import Backfill
from audit.oneoff.explain import modelled
from audit.oneoff.explain.story import Starts
from tests.oneoff.explain.scenes import ORIGIN, scene


def starts(job: str) -> Starts | None:
    found = scene(job)
    return modelled.starts(found, modelled.decided(found))


def test_alone_and_with_those_before_it() -> None:
    # Alone, 4 needs the end of 1; with 3 before it, that of 3, which starts then.
    made = starts("4")
    assert made is not None
    assert (made.alone, made.strict) == (ORIGIN + 100, ORIGIN + 120)
    assert made.relaxed == ORIGIN + 120


def test_later_arrivals_that_may_not_delay_cost_nothing() -> None:
    # 5 and 6 would delay the head, 3, so EASY lets neither start before it, nor 4.
    made = starts("4")
    assert made is not None
    assert (made.modelled, made.own_s, made.ready) == (ORIGIN + 120, 0, ORIGIN + 180)
    assert modelled.costs(scene("4"), made.modelled) == ()


def test_whose_later_arrivals_cost_is_found() -> None:
    # Under no_guarantee 5 starts at 60 and 6 at 100: 3 waits for the end of 5, 4 for that of 3.
    # Without 5, 6 would start at 60 and 3 at 110. Without 6 nothing changes.
    found = scene("4", Backfill.no_guarantee)
    made = modelled.starts(found, modelled.decided(found))
    assert made is not None
    assert (made.strict, made.modelled) == (ORIGIN + 120, ORIGIN + 180)
    assert [
        (cost.user, cost.arrivals, cost.cost_s) for cost in modelled.costs(found, made.modelled)
    ] == [("4", 1, 50)]


def test_how_far_the_pool_s_policy_explains_it() -> None:
    found = scene("4")
    trust = modelled.trust(found, modelled.decided(found))
    # of those that waited for more than a minute (3 and 4) it foresees 4 alone
    assert trust.judged == 2


def test_with_nobody_before_it_alone_is_fair() -> None:
    made = starts("3")
    assert made is not None
    assert made.alone == made.strict == ORIGIN + 100


def test_who_is_never_queued_has_none() -> None:
    assert starts("8") is None
    assert starts("7") is None
