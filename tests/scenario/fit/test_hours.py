"""Hours of the week at which nobody is started."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.model import Scope
from audit.scenario.fit import hours
from audit.scenario.fit.observed import Trials

MONDAY = 1_704_067_200  # 2024-01-01, 00:00 UTC


@given(st.integers(0, 2**31), st.sampled_from(["UTC", "Europe/Stockholm", "Asia/Kolkata"]))
def test_hours_are_those_of_the_clock(at: int, zone: str) -> None:
    local = datetime.fromtimestamp(at, ZoneInfo(zone))
    assert hours.hour_of_week(np.array([at]), zone).tolist() == [local.weekday() * 24 + local.hour]


def trials(closed: set[int], weeks: int = 4, left_out: frozenset[int] = frozenset()) -> Trials:
    """Two trials at each hour of some weeks; none is served at closed ones."""
    at = [
        MONDAY + hour * 3_600 + minute * 60
        for hour in range(weeks * 168)
        for minute in (5, 35)
        if hour % 168 not in left_out
    ]
    served = np.array([(t - MONDAY) // 3_600 % 168 not in closed for t in at])
    return Trials(np.arange(len(at)), np.array(at), served, np.where(served, 0, 1_000))


WORKING = {day * 24 + hour for day in range(5) for hour in range(8, 17)}
NIGHTS = {day * 24 + hour for day in range(7) for hour in (22, 23, 0, 1, 2, 3)}
WEEK = set(range(30, 110))
WEEKENDS = {day * 24 + hour for day in (5, 6) for hour in range(10, 20)}


@pytest.mark.parametrize("closed", [WORKING, NIGHTS, WEEK, WEEKENDS])
def test_a_stretch_is_found_as_it_is(closed: set[int]) -> None:
    made = trials(closed)
    everybody = np.ones(len(made.job), np.bool_)
    [found] = hours.windows(made, [(Scope(), everybody)], "UTC")
    assert set(found.window.hours) == closed
    assert (found.split.served, found.split.failed) == (0, 8 * len(closed))
    assert found.explained == 8_000 * len(closed)


def test_what_nobody_tried_is_closed_after_a_failure_and_open_before() -> None:
    left_out = frozenset({8, 16, 24 + 8, 24 + 16})
    made = trials(WORKING - left_out, left_out=left_out)
    everybody = np.ones(len(made.job), np.bool_)
    [found] = hours.windows(made, [(Scope(), everybody)], "UTC")
    assert set(found.window.hours) == WORKING  # other days tell
    nobody = frozenset(day * 24 + hour for day in range(5) for hour in (8, 16))
    made = trials(WORKING - nobody, left_out=nobody)
    everybody = np.ones(len(made.job), np.bool_)
    [found] = hours.windows(made, [(Scope(), everybody)], "UTC")
    assert set(found.window.hours) == {hour for hour in WORKING if hour % 24 != 8}


def test_nothing_is_found_where_nothing_is() -> None:
    made = trials(set())
    everybody = np.ones(len(made.job), np.bool_)
    assert hours.windows(made, [(Scope(), everybody)], "UTC") == []
    half = made._replace(served=np.arange(len(made.job)) % 2 == 0)
    assert hours.windows(half, [(Scope(), everybody)], "UTC") == []


def test_clocks() -> None:
    year = 365 * 86_400
    assert hours.clocks("Europe/Stockholm", MONDAY, MONDAY + year) == [
        "Europe/Stockholm",
        "Etc/GMT-1",
    ]
    assert hours.clocks("US/Mountain", MONDAY, MONDAY + year) == ["US/Mountain", "Etc/GMT+7"]
    assert hours.clocks("Europe/London", MONDAY, MONDAY + year) == ["Europe/London", "UTC"]
    assert hours.clocks("UTC", MONDAY, MONDAY + year) == ["UTC"]
    assert hours.clocks("Europe/Stockholm", MONDAY, MONDAY + 9) == ["Europe/Stockholm"]
    for zone in ("Etc/GMT-1", "Etc/GMT+7"):
        ZoneInfo(zone)
