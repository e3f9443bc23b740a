"""Times in a log's time zone → epoch seconds.

Slurm writes `2026-10-25T02:30:00` in the zone of the host that runs `sacct`, without naming it
(`SLURM_TIME_FORMAT` changes the form; sacct's manual page, "ENVIRONMENT VARIABLES"). Read are that
form, a blank instead of the T, fractions of a second (dropped), an offset or `Z` at the end, and
epoch seconds. A time that a clock change repeats has an earlier and a later reading; a time that it
skips is refused as such.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import polars as pl

from audit.array_types import Ints

UNKNOWN: Final = ("Unknown", "None", "N/A", "INVALID", "(null)")
"""Texts that mean an unknown time or duration."""

LATEST: Final = 1 << 33  # latest time of any log (the year 2242): later ones are damage

# Patterns list the digits: Unicode has many more.
_WALL: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}"
TIME: Final = (
    rf"(?:{_WALL}(?:\.[0-9]+)?(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?|[0-9]{{1,12}}(?:\.[0-9]+)?)"
)
"""Pattern of a time."""

_PARTS: Final = (
    rf"^(?:(?P<wall>{_WALL})(?:\.[0-9]+)?"
    r"(?P<offset>Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))?"
    r"|(?P<epoch>[0-9]{1,12})(?:\.[0-9]+)?)$"
)
_DAY: Final = 86_400
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 (a wall clock)


class Instants(NamedTuple):
    """A column of times in epoch seconds, null where unknown or unreadable."""

    early: pl.Series  # the earlier reading of a repeated hour; elsewhere the only one
    late: pl.Series  # the later reading
    problem: pl.Series  # why a value is unreadable; null for others


def instants(text: pl.Series, zone: str) -> Instants:
    """Convert a column of times of ``zone`` (an IANA name).

    Offsets and epoch seconds need no zone. Nulls, empty texts and ``UNKNOWN`` are unknown.
    """
    local = _parse(text)
    absolute = unread = pl.Series(np.zeros(len(text), dtype=np.bool_))
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
        .then(pl.lit("is not a time in seconds: milliseconds?"))
        .when(unread)
        .then(pl.lit("is not a time"))
        .when(out_of_range)
        .then(pl.lit("lies before 1970 or beyond 2242"))
        .when(skipped)
        .then(pl.lit(f"never was in {zone}: is that the zone of the log?"))
        .otherwise(nothing)
    ).to_series()
    return Instants(early, late, problem)


def _parse(text: pl.Series) -> pl.Series:
    parsed = text.str.to_datetime(
        "%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms", ambiguous="raise"
    )
    return parsed.dt.epoch("s").cast(pl.Int64)


def _other_forms(text: pl.Series, local: pl.Series, odd: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Read the values that are ``odd``; also return which are independent of the zone."""
    parts = text.set(~odd, None).str.extract_groups(_PARTS).struct.unnest()
    wall = _parse(parts["wall"].str.replace(" ", "T", literal=True))
    hours, minutes = (pl.col(name).cast(pl.Int64).fill_null(0) for name in ("hours", "minutes"))
    offset = (3600 * hours + 60 * minutes) * pl.when(pl.col("sign") == "-").then(-1).otherwise(1)
    shifted = pl.when(pl.col("offset").is_not_null()).then(pl.col("wall") - offset)
    read = parts.with_columns(wall=wall).select(
        value=shifted.otherwise(pl.coalesce("wall", pl.col("epoch").cast(pl.Int64))),
        absolute=pl.col("offset").is_not_null() | pl.col("epoch").is_not_null(),
    )
    return read["value"].zip_with(odd, local), read["absolute"]


def _to_utc(
    local: pl.Series, absolute: pl.Series, zone: str
) -> tuple[pl.Series, pl.Series, pl.Series]:
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
    last = first if np.array_equal(early, late) else pl.Series(late).set(hidden, None)
    return first, last, pl.Series(skipped)


def _wall_to_utc(wall: Ints, zone: str) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Convert whole days with one offset at once, and days with a clock change by second."""
    days, day = np.unique(wall // _DAY, return_inverse=True)
    offsets = [_offset_of_day(int(number), zone) for number in days]
    early = wall - np.array([offset or 0 for offset in offsets], dtype=np.int64)[day]
    late = early.copy()
    skipped = np.zeros(len(wall), dtype=np.bool_)
    changing = np.array([offset is None for offset in offsets], dtype=np.bool_)[day]
    if changing.any():
        seconds, which = np.unique(wall[changing], return_inverse=True)
        both = np.array([_offsets(int(second), zone) for second in seconds], dtype=np.int64)
        early[changing], late[changing] = (seconds[:, None] - both)[which].T
        skipped[changing] = (both[:, 0] < both[:, 1])[which]
    return early, late, skipped


@lru_cache(maxsize=1 << 16)
def _offset_of_day(day: int, zone: str) -> int | None:
    """Return the offset of a whole day in s; None where the clock changes within it."""
    seconds = [day * _DAY + min(hour * 3600, 86_399) for hour in range(25)]
    found = {offset for second in seconds for offset in _offsets(second, zone)}
    return found.pop() if len(found) == 1 else None


def _offsets(wall: int, zone: str) -> tuple[int, int]:
    """Return the offsets in s of a wall clock's first and second instance of a time.

    The first is larger where it is shown twice, and smaller where it is skipped.
    """
    moment = (_EPOCH + timedelta(seconds=wall)).replace(tzinfo=ZoneInfo(zone))
    first, second = (moment.replace(fold=n).utcoffset() or timedelta() for n in (0, 1))
    return int(first.total_seconds()), int(second.total_seconds())


def is_zone(name: str) -> bool:
    """Return whether the IANA database has a time zone called ``name``."""
    try:
        datetime(2000, 1, 1, tzinfo=UTC).astimezone(ZoneInfo(name))
    except (ValueError, OSError, KeyError):
        return False
    return True
