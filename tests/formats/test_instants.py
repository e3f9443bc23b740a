"""Times: forms, zones, hours that a clock change repeats or skips."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.instants import instants, is_zone
from bench.logs.writers.sacct import local_texts

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"]


def one(text: str, zone: str = "UTC") -> tuple[int | None, int | None, str | None]:
    read = instants(pl.Series([text], dtype=pl.String), zone)
    return read.early.item(), read.late.item(), read.problem.item()


@given(
    st.lists(st.integers(100_000, 2_000_000_000), min_size=1, max_size=30), st.sampled_from(ZONES)
)
def test_what_a_zone_shows_is_read_again(seconds: list[int], zone: str) -> None:
    frame = pl.DataFrame({"t": seconds})
    read = instants(frame.select(local_texts(pl.col("t"), zone)).to_series(), zone)
    assert read.problem.null_count() == len(seconds)
    for second, early, late in zip(seconds, read.early, read.late, strict=True):
        assert second in (early, late)


@given(st.integers(40_000_000, 4_000_000_000), st.sampled_from(ZONES))
def test_as_the_slow_twin(second: int, zone: str) -> None:
    wall = datetime.fromtimestamp(second, UTC).replace(tzinfo=None)
    local = wall.replace(tzinfo=ZoneInfo(zone))
    early, late, problem = one(wall.isoformat(), zone)
    if local.astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) != wall:
        assert (early, late) == (None, None)
        assert problem is not None
        assert f"never was in {zone}" in problem
    else:
        assert (early, late) == tuple(int(local.replace(fold=f).timestamp()) for f in (0, 1))


def test_an_hour_that_comes_twice_has_two_readings() -> None:
    early, late, problem = one("2026-10-25T02:30:00", "Europe/Berlin")
    assert (early, late, problem) == (1792888200, 1792888200 + 3600, None)


def test_an_hour_that_never_was_is_no_time() -> None:
    assert one("2026-03-29T02:30:00", "Europe/Berlin")[2] == (
        "never was in Europe/Berlin: is that the zone of the log?"
    )


@pytest.mark.parametrize(
    "text",
    [
        "2026-07-01T00:00:00Z",
        "2026-07-01T02:00:00+0200",
        "2026-06-30T19:30:00-04:30",
        "1782864000",
        "1782864000.75",
    ],
)
def test_what_names_its_own_zone_needs_none(text: str) -> None:
    assert one(text, "Europe/Berlin")[0] == 1782864000


def test_other_forms() -> None:
    assert one("2026-07-01 00:00:00.25")[0] == 1782864000
    for unknown in ("", "Unknown", "None", "N/A", "INVALID"):
        assert one(unknown) == (None, None, None)


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-02-30T00:00:00", "12:00", "2026-07-01", "2026-07-01T00:00:00+"]
)
def test_no_times(text: str) -> None:
    assert one(text) == (None, None, "is not a time")


def test_times_out_of_range() -> None:
    for text in ("9999-01-01T00:00:00", "1969-12-31T23:00:00", "99999999999"):
        assert one(text)[2] == "lies before 1970 or beyond 2242"


@given(st.lists(st.text(max_size=25), max_size=5), st.sampled_from(ZONES))
def test_no_text_makes_it_fail(texts: list[str], zone: str) -> None:
    assert len(instants(pl.Series(texts, dtype=pl.String), zone).early) == len(texts)


def test_zones() -> None:
    assert is_zone("Europe/Berlin")
    assert not is_zone("Europe/Atlantis")


def test_milliseconds_are_distinguished_from_damage() -> None:
    assert one("1700000000000")[2] == "is not a time in seconds: milliseconds?"
