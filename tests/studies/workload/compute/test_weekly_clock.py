"""Peak hours, other hours and weekends, and the clock of each."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.studies.workload.compute.weekly_clock import PARTS, weekly_clock
from tests.naive import workload as naive

BERLIN = ZoneInfo("Europe/Berlin")
MARCH = date(2026, 3, 26)  # a Thursday; the clocks change on Sunday, the 29th
DAYS = 6


def at(day: int, hour: int, minute: int = 0) -> int:
    return int(datetime(2026, 3, day, hour, minute, tzinfo=BERLIN).astimezone(UTC).timestamp())


def test_parts_of_a_week_by_hand() -> None:
    clock = weekly_clock(MARCH, DAYS, BERLIN)
    instants = np.array([at(26, 7, 59), at(26, 8), at(26, 16, 59), at(26, 17), at(28, 12)])
    parts = [PARTS[k] for k in clock.part_of(instants)]
    assert parts == ["off_peak", "peak", "peak", "off_peak", "weekend"]
    assert clock.day_of(instants).tolist() == [0, 0, 0, 0, 2]


def test_a_clock_stands_still_outside_its_part() -> None:
    clock = weekly_clock(MARCH, DAYS, BERLIN)
    instants = np.array([at(26, 8), at(26, 9), at(27, 8), at(30, 8, 1)])
    assert clock.reading(instants).tolist() == [0, 3600, 9 * 3600, 18 * 3600 + 60]


def test_the_day_of_a_clock_change_lasts_as_long_as_it_does() -> None:
    clock = weekly_clock(MARCH, DAYS, BERLIN)
    assert clock.seconds("weekend") == (24 + 23) * 3600
    assert clock.seconds("peak") == 4 * 9 * 3600
    assert clock.seconds("off_peak") == 4 * 15 * 3600
    assert sum(map(clock.seconds, PARTS)) == clock.edges[-1] - clock.edges[0]


@pytest.mark.parametrize("name", ["Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "UTC"])
@given(st.lists(st.integers(0, DAYS * 86_400 - 3_601), min_size=1, max_size=5))
def test_fast_is_same_as_slow(name: str, offsets: list[int]) -> None:
    zone = ZoneInfo(name)
    clock = weekly_clock(MARCH, DAYS, zone)
    begin = int(clock.edges[0])
    instants = begin + np.array(offsets)
    assert [PARTS[k] for k in clock.part_of(instants)] == [
        naive.part(int(instant), zone) for instant in instants
    ]
    readings = clock.reading(instants)
    assert readings.tolist() == [naive.reading(int(instant), begin, zone) for instant in instants]


@given(st.lists(st.integers(0, DAYS * 86_400 - 3_601), min_size=1, max_size=20))
def test_instants_are_the_way_back_from_readings(offsets: list[int]) -> None:
    clock = weekly_clock(MARCH, DAYS, BERLIN)
    instants = clock.edges[0] + np.array(offsets)
    for number, part in enumerate(PARTS):
        own = instants[clock.part_of(instants) == number]
        back = clock.instants(part, clock.reading(own).astype(np.float64) + 0.5)
        assert back.tolist() == own.tolist()
