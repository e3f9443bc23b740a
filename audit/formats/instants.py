"""Times as logs write them → epoch seconds, in the zone that a log was written in.

Slurm writes `2026-10-25T02:30:00` in the zone of the host that `sacct` ran on, and names it nowhere
(`SLURM_TIME_FORMAT` changes the form; sacct's manual page, "ENVIRONMENT VARIABLES"). Read here:
that form, a blank for the T, fractions of a second (dropped), an offset or `Z` behind, and epoch
seconds. What a clock change makes ambiguous is handed out twice, as its earlier and its later
reading; what it skips never was, and is told apart from what is no time at all.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import polars as pl

UNKNOWN: Final = ("Unknown", "None", "N/A", "INVALID", "(null)")
"""What stands where a time (or a length of time) is not known."""

LATEST: Final = 1 << 33
"""No time of a log lies beyond it (the year 2242): a later one is damage."""

_WALL: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}"
_OFFSET: Final = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
TIME: Final = rf"(?:{_WALL}(?:\.[0-9]+)?{_OFFSET}?|[0-9]{{1,12}}(?:\.[0-9]+)?)"
"""How a time may be written. (Patterns name the digits: what Unicode counts as such is many.)"""

_PARTS: Final = (
    rf"^(?:(?P<wall>{_WALL})(?:\.[0-9]+)?"
    r"(?P<offset>Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))?"
    r"|(?P<epoch>[0-9]{1,12})(?:\.[0-9]+)?)$"
)
_PLAIN: Final = "%Y-%m-%dT%H:%M:%S"
_DAY: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (a wall clock's)

Ints = npt.NDArray[np.int64]


class Instants(NamedTuple):
    """One column of times; epoch seconds, null where unknown or not read."""

    early: pl.Series
    """The earlier reading of an hour that a clock change repeats; the only one elsewhere."""
    late: pl.Series
    """The later reading of it."""
    problem: pl.Series
    """Why a value was not read, in words that follow it; null where it was, or is unknown."""


def instants(text: pl.Series, zone: str) -> Instants:
    """Reads a column of times that were written in ``zone`` (an IANA name).

    Offsets and epoch seconds need no zone. Nulls, empty texts and ``UNKNOWN`` are unknown.
    """
    local = _parse(text, _PLAIN)
    absolute = pl.Series(np.zeros(len(text), dtype=np.bool_))
    unread = absolute
    if local.null_count() > text.null_count():
        odd = local.is_null() & text.is_not_null() & (text != "") & ~text.is_in(list(UNKNOWN))
        if odd.any():
            local, absolute = _other_forms(text, local, odd)
            unread = odd & local.is_null()
    out_of_range = ((local < 0) | (local > LATEST)).fill_null(value=False)
    if out_of_range.any():
        local = local.set(out_of_range, None)
    early, late, skipped = _to_utc(local, absolute, zone)
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(text))
    if not (unread.any() or out_of_range.any() or skipped.any()):
        return Instants(early, late, nothing)
    problem = pl.select(
        pl.when(unread & text.str.contains(r"^[0-9]{13}(?:\.[0-9]+)?$"))
        .then(pl.lit("is no time in seconds: milliseconds?"))
        .when(unread)
        .then(pl.lit("is no time"))
        .when(out_of_range)
        .then(pl.lit("lies before 1970 or beyond 2242"))
        .when(skipped)
        .then(pl.lit(f"never was in {zone}: is that the zone of the log?"))
        .otherwise(nothing)
    ).to_series()
    return Instants(early, late, problem)


def _parse(text: pl.Series, form: str) -> pl.Series:
    parsed = text.str.to_datetime(form, strict=False, time_unit="ms", ambiguous="raise")
    return parsed.dt.epoch("s").cast(pl.Int64)


def _other_forms(text: pl.Series, local: pl.Series, odd: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Reads the values that are ``odd``; also says which are free of any zone."""
    parts = text.set(~odd, None).str.extract_groups(_PARTS).struct.unnest()
    wall = _parse(parts["wall"].str.replace(" ", "T", literal=True), _PLAIN)
    hours, minutes = (pl.col(name).cast(pl.Int64).fill_null(0) for name in ("hours", "minutes"))
    offset = (3600 * hours + 60 * minutes) * pl.when(pl.col("sign") == "-").then(-1).otherwise(1)
    read = parts.with_columns(wall=wall).select(
        value=pl.when(pl.col("offset").is_not_null())
        .then(pl.col("wall") - offset)
        .otherwise(pl.coalesce("wall", pl.col("epoch").cast(pl.Int64))),
        absolute=pl.col("offset").is_not_null() | pl.col("epoch").is_not_null(),
    )
    return read["value"].zip_with(odd, local), read["absolute"]


def _to_utc(
    local: pl.Series, absolute: pl.Series, zone: str
) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Wall-clock seconds → epoch seconds: the earlier, the later, and which never were."""
    skipped = np.zeros(len(local), dtype=np.bool_)
    known = local.is_not_null()
    moves = (known & ~absolute).to_numpy()
    if zone in ("UTC", "Etc/UTC") or not moves.any():
        return local, local, pl.Series(skipped)
    early = local.fill_null(0).to_numpy().copy()
    late = early.copy()
    early[moves], late[moves], skipped[moves] = _wall_to_utc(early[moves], zone)
    hidden = pl.Series(skipped) | ~known
    first = pl.Series(early).set(hidden, None)
    if np.array_equal(early, late):
        return first, first, pl.Series(skipped)
    return first, pl.Series(late).set(hidden, None), pl.Series(skipped)


def _wall_to_utc(wall: Ints, zone: str) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Whole days with one offset at a time; days with a clock change second by second."""
    days, day = np.unique(wall // _DAY, return_inverse=True)
    offsets = [_offset_of_day(int(number), zone) for number in days]
    offset = np.array([0 if known is None else known for known in offsets], dtype=np.int64)[day]
    early = wall - offset
    late = early.copy()
    skipped = np.zeros(len(wall), dtype=np.bool_)
    changing = np.array([known is None for known in offsets], dtype=np.bool_)[day]
    if changing.any():
        seconds, which = np.unique(wall[changing], return_inverse=True)
        both = np.array([_offsets(int(second), zone) for second in seconds], dtype=np.int64)
        early[changing] = (seconds - both[:, 0])[which]
        late[changing] = (seconds - both[:, 1])[which]
        skipped[changing] = (both[:, 0] < both[:, 1])[which]
    return early, late, skipped


@lru_cache(maxsize=1 << 16)
def _offset_of_day(day: int, zone: str) -> int | None:
    """The offset of a whole day in s; None where the clock changes within it."""
    found = {
        offset
        for hour in range(25)
        for offset in _offsets(day * _DAY + min(hour * 3600, 86_399), zone)
    }
    return found.pop() if len(found) == 1 else None


def _offsets(wall: int, zone: str) -> tuple[int, int]:
    """Offsets in s of a wall clock's first and second showing of a time.

    They differ where it is shown twice (the first is larger) or never (the first is smaller).
    """
    moment = (_EPOCH + timedelta(seconds=wall)).replace(tzinfo=ZoneInfo(zone))
    both = [moment.replace(fold=fold).utcoffset() or timedelta() for fold in (0, 1)]
    return int(both[0].total_seconds()), int(both[1].total_seconds())


def is_zone(name: str) -> bool:
    """Whether the IANA database has a time zone called ``name``."""
    try:
        datetime(2000, 1, 1, tzinfo=UTC).astimezone(ZoneInfo(name))
    except (ValueError, OSError, KeyError):
        return False
    return True
