"""Local clocks."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.closed_hours import DAY_S, LocalClock, hour_of_week


@given(st.integers(0, 2**31), st.sampled_from(["UTC", "Europe/Stockholm", "Asia/Kolkata"]))
def test_hours_are_those_of_the_clock(at: int, zone: str) -> None:
    clock = datetime.fromtimestamp(at, ZoneInfo(zone))
    begin = LocalClock.of(zone, at, at).seconds(np.array([at]))
    assert hour_of_week(begin).tolist() == [clock.weekday() * 24 + clock.hour]
    assert int(begin[0]) % DAY_S == clock.hour * 3_600 + clock.minute * 60 + clock.second


def test_days_of_summer_and_winter_time() -> None:
    clock = LocalClock.of("Europe/Berlin", 0, 60 * 365 * DAY_S)
    summer = 1_719_784_800  # 2024-07-01 00:00 there, 22:00 UTC
    days = clock.seconds(np.array([summer - 1, summer, 0])) // DAY_S
    first = date(1970, 1, 1).toordinal()
    assert [date.fromordinal(first + day) for day in days.tolist()] == [
        *(date(2024, 6, 30), date(2024, 7, 1), date(1970, 1, 1)),
    ]
