"""Amounts in two digits, shares in words, and whole numbers that add up."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.report.first_page import amounts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (49, "49 s"),
        (60, "1 min"),
        (96, "1.6 min"),
        (354, "5.9 min"),
        (5_220, "87 min"),
        (5_400, "1.5 h"),
        (12_960, "3.6 h"),
        (36_000, "10 h"),
        (93_600, "26 h"),
        (172_799, "48 h"),
        (172_800, "2 d"),
        (371_520, "4.3 d"),
        (8_640_000, "100 d"),
    ],
)
def test_times(seconds: int | None, text: str) -> None:
    assert amounts.short_time(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "–"),
        (0.0, "0 %"),
        (0.004, "under 1 %"),
        (0.00995, "1 %"),
        (0.0771, "7.7 %"),
        (0.0996, "10 %"),
        (0.465, "46 %"),
        (1.0, "100 %"),
        (0.9951, "over 99 %"),
        (0.994, "99 %"),
    ],
)
def test_shares(share: float | None, text: str) -> None:
    assert amounts.short_share(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.46, "half"),
        (0.54, "half"),
        (0.55, "55 %"),
        (0.3, "a third"),
        (0.36, "a third"),
        (0.627, "two thirds"),
        (0.22, "a quarter"),
        (0.77, "three quarters"),
        (0.78, "four fifths"),
        (0.85, "85 %"),
        (0.95, "nearly all"),
    ],
)
def test_the_nearest_word_within_four_points(share: float, text: str) -> None:
    assert amounts.spoken(share) == text


def test_small_numbers_of_users_are_words() -> None:
    assert [amounts.counted(n, "user") for n in (1, 2, 3, 4, 1_000)] == [
        *("one user", "two users", "three users", "4 users", "1,000 users"),
    ]


def test_an_interval_does_not_break() -> None:
    assert amounts.between(0.469, 0.5245) == "47\u00a0to\u00a052\u00a0%"


def test_hours_have_three_digits() -> None:
    assert [amounts.hours(3_600 * h) for h in (0.1, 1.5, 12.34, 870, 12_487, 120_984)] == [
        *("6 min", "1.5 hours", "12.3 hours", "870 hours", "12,500 hours", "121,000 hours"),
    ]


@given(st.dictionaries(st.text("abc", min_size=1), st.fractions(0, 1000), min_size=1, max_size=6))
def test_rounded_shares_add_up_and_stay_near(parts: dict[str, Fraction]) -> None:
    total = sum(parts.values())
    shares = {key: float(100 * part / total) if total else 0.0 for key, part in parts.items()}
    whole = amounts.adding_up(shares, 100)
    if total:
        assert sum(whole.values()) == 100
    assert all(abs(whole[key] - share) < 1 + 1e-9 or not total for key, share in shares.items())
