"""Every time on the clock's face once; after an outage one run."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from zoneinfo import ZoneInfo

import pytest
from apscheduler.schedulers.blocking import BlockingScheduler
from apscheduler.triggers.base import BaseTrigger

from audit.errors import ConfigError
from audit.nightly.timetable import Times, Timetable, next_after
from tests.nightly.test_run import site

BERLIN = ZoneInfo("Europe/Berlin")


def weeks_ago() -> int:
    """When a run was due that forty others have followed: each of them is worked out."""
    return int(datetime.now(UTC).timestamp()) - 40 * 86_400


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def fired(trigger: BaseTrigger, begin: str, end: str) -> list[str]:
    """The times at which APScheduler would fire, in simulated time."""
    return [f"{at:%d %H:%M %Z}" for at in _fires(trigger, epoch(begin), epoch(end))]


def _fires(trigger: BaseTrigger, begin: int, end: int) -> Iterator[datetime]:
    now = datetime.fromtimestamp(begin, UTC)
    at = trigger.get_next_fire_time(None, now)
    while at.timestamp() < end:
        yield at.astimezone(BERLIN)
        at = trigger.get_next_fire_time(at, at + timedelta(seconds=1))


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
    trigger = Times(times, "Europe/Berlin")
    assert fired(trigger, "2026-03-28T00:00+01:00", "2026-03-31T00:00+02:00") == spring
    assert fired(trigger, "2026-10-24T00:00+02:00", "2026-10-27T00:00+01:00") == autumn


def test_frequent_times_around_the_leap_are_in_order_and_each_once() -> None:
    trigger = Times("*/30 * * * *", "Europe/Berlin")
    spring = fired(trigger, "2026-03-29T01:00+01:00", "2026-03-29T04:00+02:00")
    assert spring == ["29 01:00 CET", "29 01:30 CET", "29 03:00 CEST", "29 03:30 CEST"]


def test_every_instant_asks_for_the_next_and_none_is_passed_over() -> None:
    """Asked at any moment, also between the two showings of an hour, it names the same instants."""
    known = [epoch(f"2026-10-{day}T02:30+0{zone}:00") for day, zone in ((24, 2), (25, 2), (26, 1))]
    for at in range(known[0], known[-1], 613):
        expected = next(instant for instant in known if instant > at)
        assert next_after("30 2 * * *", "Europe/Berlin", at) == expected


def test_a_day_or_a_day_of_the_week_suffices_as_in_crontab() -> None:
    """APScheduler alone requires both: the first Monday that is also the first of a month."""
    times = Times("0 4 1 * mon", "Europe/Berlin")
    expected = ["26 04:00 CET", "01 04:00 CET", "02 04:00 CET"]
    assert fired(times, "2026-10-26T00:00:00+01:00", "2026-11-03T00:00:00+01:00") == expected
    both = Times("0 4 */30 * mon", "Europe/Berlin")  # as in crontab, an asterisk requires both
    assert fired(both, "2026-05-20T00:00:00+02:00", "2026-06-02T00:00:00+02:00") == [
        "01 04:00 CEST"
    ]


@pytest.mark.parametrize("times", ["61 4 * * *", "30 4 31 2 *", "30 4 * * foo"])
def test_times_that_cannot_be_are_named(times: str) -> None:
    with pytest.raises(ConfigError, match=r"service\.times"):
        next_after(times, "UTC", 0)


def test_however_many_were_missed_one_run_makes_up_for_them(tmp_path: Path) -> None:
    ran = Event()
    calls: list[str] = []

    def do(cluster: str) -> None:
        calls.append(cluster)
        ran.set()

    table = Timetable(site(tmp_path), do)
    table.start({"c": weeks_ago()})
    assert ran.wait(60)
    table.stop()
    assert calls == ["c"]
    assert table.error is None


def test_a_timetable_that_fails_ends_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service must not sit there and do nothing."""

    def broken(*_: object) -> None:
        raise OSError("broken")

    monkeypatch.setattr("apscheduler.jobstores.memory.MemoryJobStore.update_job", broken)
    table = Timetable(site(tmp_path), lambda _: None)
    table.start({"c": weeks_ago()})
    assert table.ended.wait(60)
    assert str(table.error) == "broken"
    table.stop()


def test_it_can_be_stopped_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = BlockingScheduler.start

    def late(scheduler: BlockingScheduler) -> None:
        time.sleep(0.2)  # as on a busy machine
        start(scheduler)

    monkeypatch.setattr(BlockingScheduler, "start", late)
    table = Timetable(site(tmp_path), lambda _: None)
    table.start({"c": int(datetime.now(UTC).timestamp()) + 86_400})
    table.stop()
    assert table.ended.is_set()
    assert table.error is None
