"""Days on which records ended, of a whole log and of a window."""

from datetime import date
from zoneinfo import ZoneInfo

import polars as pl

from audit.cluster import coverage
from audit.cluster.setting import Setting
from audit.cluster.windows import WHOLE, Window

DAY = 86_400
SETTING = Setting("c", ZoneInfo("UTC"), (), {}, 9 * DAY, (), ())


def told(window: Window, *ends: int | None) -> list[tuple[int, int, str]]:
    times = {name: pl.Series(ends, dtype=pl.Int64) for name in ("end_time", "arrival_time")}
    frame = pl.DataFrame({**times, "start_time": pl.Series([None] * len(ends), dtype=pl.Int64)})
    rows = coverage.of_days(frame, SETTING, window).select("day", "records", "state").rows()
    return [((day - date(1970, 1, 1)).days, records, state) for day, records, state in rows]


def test_days_between_are_empty() -> None:
    assert told(WHOLE, 0, 1, 2 * DAY, None) == [(0, 2, "full"), (1, 0, "empty"), (2, 1, "full")]
    assert told(WHOLE) == []


def test_a_window_tells_of_its_own_days_all_of_them() -> None:
    ends = (0, 2 * DAY, 6 * DAY)
    assert told(Window(None, 3 * DAY), *ends) == [(0, 1, "full"), (1, 0, "empty"), (2, 1, "full")]
    assert told(Window(3 * DAY, 5 * DAY), *ends) == [(3, 0, "empty"), (4, 0, "empty")]
    assert told(Window(5 * DAY, None), *ends) == [(5, 0, "empty"), (6, 1, "full")]
