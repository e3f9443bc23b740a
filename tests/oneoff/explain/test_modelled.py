"""When the model would have started an attempt, by hand."""

from audit.oneoff.explain.modelled import starts
from tests.oneoff.explain.scenes import ORIGIN, scene


def test_alone_and_with_those_before_it() -> None:
    # Alone, 4 needs the end of 1; with 3 before it, that of 3, which starts then.
    made = starts(scene("4"))
    assert made is not None
    assert (made.alone, made.strict) == (ORIGIN + 100, ORIGIN + 120)
    assert made.relaxed == ORIGIN + 120


def test_with_nobody_before_it_alone_is_fair() -> None:
    made = starts(scene("3"))
    assert made is not None
    assert made.alone == made.strict == ORIGIN + 100


def test_who_is_never_queued_has_none() -> None:
    assert starts(scene("8")) is None
    assert starts(scene("7")) is None
