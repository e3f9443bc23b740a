"""Every time on the clock's face once."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from audit.errors import ConfigError
from audit.nightly.timetable import next_after

BERLIN = ZoneInfo("Europe/Berlin")


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def fired(times: str, begin: str, end: str) -> list[str]:
    """The times of a span at which a run is due in Berlin."""
    return [f"{at:%d %H:%M %Z}" for at in _fires(times, epoch(begin) - 1, epoch(end))]


def _fires(times: str, after: int, end: int) -> Iterator[datetime]:
    while (after := next_after(times, "Europe/Berlin", after)) < end:
        yield datetime.fromtimestamp(after, BERLIN)


@pytest.mark.parametrize(
    ("times", "spring", "autumn"),
    [
        (
            "30 2 * * *",
            ["28 02:30 CET", "29 03:30 CEST", "30 02:30 CEST"],
            ["24 02:30 CEST", "25 02:30 CEST", "26 02:30 CET"],
        ),
        (
            "30 4 * * *",
            ["28 04:30 CET", "29 04:30 CEST", "30 04:30 CEST"],
            ["24 04:30 CEST", "25 04:30 CET", "26 04:30 CET"],
        ),
        ("0 3 * * sun", ["29 03:00 CEST"], ["25 03:00 CET"]),
    ],
)
def test_on_nights_when_clocks_change_it_runs_once(
    times: str, spring: list[str], autumn: list[str]
) -> None:
    assert fired(times, "2026-03-28T00:00+01:00", "2026-03-31T00:00+02:00") == spring
    assert fired(times, "2026-10-24T00:00+02:00", "2026-10-27T00:00+01:00") == autumn


def test_frequent_times_around_the_leap_are_in_order_and_each_once() -> None:
    spring = fired("*/30 * * * *", "2026-03-29T01:00+01:00", "2026-03-29T04:00+02:00")
    assert spring == ["29 01:00 CET", "29 01:30 CET", "29 03:00 CEST", "29 03:30 CEST"]


def test_every_instant_asks_for_the_next_and_none_is_passed_over() -> None:
    """Asked at any moment, also between the two showings of an hour, it names the same instants."""
    known = [epoch(f"2026-10-{day}T02:30+0{zone}:00") for day, zone in ((24, 2), (25, 2), (26, 1))]
    for at in range(known[0], known[-1], 613):
        expected = next(instant for instant in known if instant > at)
        assert next_after("30 2 * * *", "Europe/Berlin", at) == expected


def test_a_day_or_a_day_of_the_week_suffices_as_in_crontab() -> None:
    """APScheduler alone requires both: the first Monday that is also the first of a month."""
    times = "0 4 1 * mon"
    expected = ["26 04:00 CET", "01 04:00 CET", "02 04:00 CET"]
    assert fired(times, "2026-10-26T00:00:00+01:00", "2026-11-03T00:00:00+01:00") == expected
    both = "0 4 */30 * mon"  # as in crontab, an asterisk requires both
    assert fired(both, "2026-05-20T00:00:00+02:00", "2026-06-02T00:00:00+02:00") == [
        "01 04:00 CEST"
    ]


@pytest.mark.parametrize("times", ["61 4 * * *", "30 4 31 2 *", "30 4 * * foo"])
def test_times_that_cannot_be_are_named(times: str) -> None:
    with pytest.raises(ConfigError, match=r"service\.times"):
        next_after(times, "UTC", 0)
