"""What other choices go with, against the definition, and by hand."""

from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.choices import HOURS, gains, hour_classes
from tests.naive import choices as naive

ATTEMPTS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["1", "2", "3-4"]), st.integers(0, 99)),
    max_size=200,
)


def frame(attempts: list[naive.Attempt]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user": [user for user, _, _ in attempts],
            "label": [label for _, label, _ in attempts],
            "arrival_time": list(range(len(attempts))),
            "wait_s": [wait for _, _, wait in attempts],
        },
        schema={
            "user": pl.String,
            "label": pl.String,
            "arrival_time": pl.Int64,
            "wait_s": pl.Int64,
        },
    )


@given(ATTEMPTS)
def test_gains_are_those_of_the_definition(attempts: list[naive.Attempt]) -> None:
    found = gains(frame(attempts), "1", 0, resamples=20)
    assert {gain.label: gain.value for gain in found} == naive.gains(attempts, "1")
    assert [gain.label for gain in found] == sorted(gain.label for gain in found)


@given(ATTEMPTS)
def test_names_change_nothing(attempts: list[naive.Attempt]) -> None:
    renamed = [(user * 2 + "z" if user < "d" else user, *rest) for user, *rest in attempts]
    assert gains(frame(renamed), "1", 0, 20) == gains(frame(attempts), "1", 0, 20)  # type: ignore[arg-type]


def several(users: int, each: int) -> list[naive.Attempt]:
    """Users whose wide jobs wait from 100 s on, and whose narrow ones 10 s."""
    return [
        (f"u{user}", label, wait)
        for user in range(users)
        for k in range(each)
        for label, wait in (("5-8", 100 + 7 * user + k), ("1", 10))
    ]


def test_a_gain_by_hand_with_its_interval() -> None:
    attempts = several(users=9, each=10)
    (gain,) = gains(frame(attempts), "5-8", 0)
    assert (gain.label, gain.users, gain.attempts) == ("1", 9, 90)
    assert gain.value == naive.median([w for _, label, w in attempts if label == "5-8"]) - 10
    expected = naive.interval(attempts, "5-8", "1", 500)
    assert gain.within == pytest.approx(expected, abs=6)
    assert gains(frame(attempts), "1", 0)[0].value == -gain.value


@pytest.mark.parametrize(("users", "each"), [(4, 20), (5, 5)])
def test_too_few_users_or_attempts_are_not_compared(users: int, each: int) -> None:
    assert gains(frame(several(users, each)), "5-8", 0) == ()
    assert gains(frame(several(5, 6)), "5-8", 0)


def test_hours_are_those_of_the_clock_of_the_zone() -> None:
    monday = 1_767_567_600  # 2026-01-05, midnight in Berlin
    arrivals = [monday + hour * 3_600 for hour in (7, 8, 16, 17, 5 * 24 + 12)]
    found = hour_classes(pl.Series(arrivals), ZoneInfo("Europe/Berlin"))
    peak, off_peak, weekend = HOURS
    assert found.to_list() == [off_peak, peak, peak, off_peak, weekend]
    assert hour_classes(pl.Series([monday + 7 * 3_600 + 1]), ZoneInfo("Asia/Tokyo"))[0] == peak
