"""The clock of the search for windows."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.windows import observed


@given(st.integers(0, 2**31), st.sampled_from(["UTC", "Europe/Stockholm", "Asia/Kolkata"]))
def test_hours_are_those_of_the_clock(at: int, zone: str) -> None:
    clock = datetime.fromtimestamp(at, ZoneInfo(zone))
    begin = observed.local(np.array([at]), zone)
    assert observed.hour_of_week(begin).tolist() == [clock.weekday() * 24 + clock.hour]
    assert int(begin[0]) % 86_400 == clock.hour * 3_600 + clock.minute * 60 + clock.second
