"""Which findings are told, and in which order."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from audit.report.judgement.finding import Cause, Finding, ranked
from tests.report.sample import figure

ONE = Finding(
    subject="All jobs",
    about="pool",
    name=None,
    measure="wait_room_share",
    figure=figure("wait_room_share", 0.4, 0.2, 0.6),
    effect=0.4,
    sure=0.2,
    part=1.0,
    cause=Cause.NOT_COMPETITION,
    action="Look.",
    anchor="pool-1-why",
    sql="SELECT 1",
    text="Something.",
)


def test_weight_is_effect_times_part_times_confidence() -> None:
    assert ONE.confidence == 0.5
    assert ONE.weight == 0.4 * 1.0 * 0.5
    assert replace(ONE, part=0.25).weight == 0.05
    assert replace(ONE, sure=0.8).confidence == 1.0  # no more than all of it


def test_what_its_interval_does_not_carry_is_not_told() -> None:
    assert ranked([ONE, replace(ONE, about="user", name="ann", sure=0.0)]) == (ONE,)
    assert ranked([replace(ONE, sure=-0.1)]) == ()


def test_of_one_subject_and_cause_the_weightier_is_told() -> None:
    better = replace(ONE, effect=0.5, sure=0.5)
    other = replace(ONE, cause=Cause.IDLE, part=0.1)
    assert ranked([ONE, other, better]) == (better, other)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1)), max_size=6))
def test_the_weightiest_comes_first_in_whatever_order_they_come(
    drawn: list[tuple[float, float, float]],
) -> None:
    made = [
        replace(ONE, about="user", name=str(at), subject=str(at), effect=e, sure=s, part=p)
        for at, (e, s, p) in enumerate(drawn)
    ]
    told = ranked(made)
    assert told == ranked(reversed(made))
    assert [one.weight for one in told] == sorted((one.weight for one in told), reverse=True)
