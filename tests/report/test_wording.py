from datetime import datetime

import pytest

from audit.report import wording
from audit.report.figures import Figure
from tests.report.sample import HOSTILE, usage


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0, "0 s"),
        (0.25, "0.25 s"),
        (59, "59 s"),
        (61, "1 min 1 s"),
        (3_569, "59 min"),
        (3_599, "1 h"),
        (3_600, "1 h"),
        (12_000, "3 h 20 min"),
        (200_000, "2 d 8 h"),
        (-90, "−1 min 30 s"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert wording.duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "–"),
        (0, "0"),
        (2.0, "2"),
        (-1234.5, "−1,234"),
        (39.53, "39.5"),
        (0.19, "0.190"),
        (0.00003456, "0.0000346"),
        (1e-9, "1.00e-09"),
        (0.9996, "1.000"),
    ],
)
def test_number(number: float | None, text: str) -> None:
    assert wording.number(number) == text


def test_percent_never_rounds_something_to_nothing() -> None:
    assert wording.percent(0.0) == "0.0 %"
    assert wording.percent(0.0001) == "under 0.1 %"
    assert wording.percent(0.123) == "12.3 %"
    assert wording.percent(5.489) == "549 %"


def test_days_are_those_of_the_zone() -> None:
    assert wording.day(1790805600, "Europe/Berlin") == "1 October 2026"
    assert wording.day(1790805600, "UTC") == "30 September 2026"
    assert wording.instant(1790805600, "UTC") == "2026-09-30 22:00"


@pytest.mark.parametrize(
    ("first", "days", "text"),
    [
        ("2026-09-28", 7, "28 Sep to 4 Oct 2026"),  # one of several weeks in these months
        ("2026-12-28", 7, "28 Dec 2026 to 3 Jan 2027"),
        ("2026-11-03", 7, "3 to 9 Nov 2026"),
        ("2026-11-03", 1, "3 Nov 2026"),
        ("2027-02-01", 28, "Feb 2027"),
        ("2026-09-05", 70, "Sep 2026 to Nov 2026"),
    ],
)
def test_days_in_brief(first: str, days: int, text: str) -> None:
    begin = int(datetime.fromisoformat(f"{first}T00:00:00+00:00").timestamp())
    assert wording.brief_days(begin, begin + days * 86_400 - 1, "UTC") == text


def test_an_interval_says_its_unit_once() -> None:
    assert wording.interval(Figure("wait_mean", 1.0, 7_200.0, 9_000.0, "s")) == "2 to 2.50 h"
    assert wording.interval(Figure("wait_mean", 1.0, 2.0, 9_000.0, "s")) == "2 s to 2 h 30 min"
    assert wording.interval(Figure("wait_mean", 1.0, 0.0, 9_000.0, "s")) == "0 to 2.50 h"
    assert wording.interval(Figure("utilization", 0.5, 0.25, 1.5, "1")) == "25.0 to 150 %"
    assert wording.interval(Figure("re_unfairness", 1.0, 3_600.0, 7_200.0)) == "1 to 2"
    assert wording.interval(Figure("wait_mean", 1.0, None, None, "s")) == ""


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_is_one_short_printable_line(text: str) -> None:
    shown = wording.name(text)
    assert shown.isprintable()
    assert 0 < len(shown) <= 60
    assert "\u202e" not in shown


def test_names_that_differ_at_the_end_stay_apart() -> None:
    assert wording.name("a" * 200 + "1") != wording.name("a" * 200 + "2")
    assert wording.name(None) == wording.NOT_NAMED


def test_how_usage_decays_is_stated_or_left_out() -> None:
    half_life = {"method": "half_life", "penalty": "max", "half_life_days": 1.0}
    assert wording.decay(half_life).startswith(
        "Usage loses half of its weight in 1 day. Each second"
    )
    calendar = {**usage().settings, "alignment": "calendar", "depth": 1, "penalty": "billing"}
    assert wording.decay(calendar) == (
        "Usage at an instant covers the last window of 7 days, up to midnight. Each second of a "
        "job costs its billing weight."
    )
    for unknown in ({}, {"method": "half_life"}, {**half_life, "penalty": "<b>"}):
        assert wording.decay(unknown) == ""


def test_types_of_gpus_have_units() -> None:
    assert wording.resource("gpus:a100") == "a100 GPU"
    assert wording.resources("gpus:a100") == "a100 GPUs"
    assert (wording.resources("mem_bytes"), wording.resource("nodes")) == ("memory", "node")


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure("cause_held_share", 0.004, 0.0002, 0.009), "0.4 % (under 0.1–0.9 %)"),
        (Figure("cause_held_share", 0.0001, 0.0, 0.0004), "under 0.1 % (0–under 0.1 %)"),
        (Figure("cause_held_share", 0.0003, 0.0002, 0.0004), "under 0.1 % (under 0.1 %)"),
        (Figure("miss_delivered_mean", 47_000.0, 14_500.0, 58_000.0, "s"), "13 h (4–16 h)"),
        (Figure("miss_delivered_mean", 47_000.0, -700.0, 58_000.0, "s"), "13 h (−0.2 to 16 h)"),
    ],
)
def test_two_digits_never_round_something_to_nothing(figure: Figure, text: str) -> None:
    assert f"{wording.rough(figure)} ({wording.rough_interval(figure)})" == text
