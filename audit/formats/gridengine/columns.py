"""The columns of Grid Engine's accounting file, and lines in which a `:` within a text moves them.

Nothing is escaped: a job's name or a request with a `:` in it moves all columns behind it. What
each column may hold tells where they belong, mostly: 24 numbers stand between the account and the
project, and the requests of a job are followed by a number, the name of a task and a number.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from audit.model import RefusalCode

SEPARATOR: Final = ":"
FEWEST: Final = 43
"""Columns that every version writes; 6.2 added the advance reservation, Univa's further ones."""


class Column(NamedTuple):
    """One that is read, or tells whether the others stand where they should."""

    place: int  # from 0
    holds: re.Pattern[str] | None = None  # None: any text
    what: str = ""  # what holds it is called


_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[-+.0-9eE]+")
_TASK: Final = re.compile(r"[^ ,=]*[^-+.0-9eE ,=][^ ,=]*")

COLUMNS: Final = {
    "qname": Column(0),
    "group": Column(2),
    "owner": Column(3),
    "job_number": Column(5, _WHOLE, "job number"),
    "account": Column(6),
    "priority": Column(7, _WHOLE, "whole number"),
    "submission_time": Column(8, _WHOLE, "time"),
    "start_time": Column(9, _WHOLE, "time"),
    "end_time": Column(10, _WHOLE, "time"),
    "failed": Column(11, _WHOLE, "code of a failure"),
    "exit_status": Column(12, _WHOLE, "exit status"),
    "ru_wallclock": Column(13, _NUMBER, "number"),
    "project": Column(31),
    "granted_pe": Column(33),
    "slots": Column(34, _WHOLE, "number of slots"),
    "task_number": Column(35, _WHOLE, "task number"),
    "category": Column(39),
    "iow": Column(40, _NUMBER, "number"),
    "pe_taskid": Column(41, _TASK, "task of a parallel job, or NONE"),
    "maxvmem": Column(42, _NUMBER, "number"),
    "arid": Column(43, _WHOLE, "number of an advance reservation"),
    "ar_submission_time": Column(44, _WHOLE, "time"),
}

RANGES: Final = {
    # what no number of these columns is below or above, in any version
    "job_number": (0, 1 << 53),
    "submission_time": (0, 1 << 53),
    "start_time": (0, 1 << 53),
    "end_time": (0, 1 << 53),
    "failed": (0, 999),
    "exit_status": (-1, (1 << 32) - 1),
    "slots": (0, 1 << 28),
    "task_number": (0, 1 << 53),
    "arid": (0, 1 << 32),
}

TEXTS: Final = tuple(name for name, column in COLUMNS.items() if column.holds is None)
WHOLE: Final = tuple(name for name, column in COLUMNS.items() if column.holds is _WHOLE)
NUMBERS: Final = tuple(name for name, column in COLUMNS.items() if column.holds is _NUMBER)

_NAME, _NUMBERS, _FOLLOWED_BY = 4, 24, 8
_SHOWN: Final = 40
"""Characters of a value that a refusal shows."""
_LONGEST: Final = 2_000
"""Pieces of a line beyond which nobody looks for its columns."""


def realigned(line: str) -> list[str] | None:
    """The columns of a line in which some text has the separator in it, up to the last that counts.

    None where it cannot be told which text it is, or no text explains what stands there.
    """
    pieces = line.split(SEPARATOR)
    if not FEWEST <= len(pieces) <= _LONGEST:
        return None
    numbers = [_NUMBER.fullmatch(piece) is not None for piece in pieces]
    found = [
        (job, usage)
        for usage in _usages(pieces, numbers)
        for job in range(_NAME + 1, usage - 1)
        if _WHOLE.fullmatch(pieces[job])
    ]
    if len(found) != 1:
        return None
    ((job, usage),) = found
    before = [
        *pieces[:_NAME],
        SEPARATOR.join(pieces[_NAME:job]),
        pieces[job],
        SEPARATOR.join(pieces[job + 1 : usage]),
    ]
    category = usage + _NUMBERS + _FOLLOWED_BY
    for end in range(category + 1, len(pieces) - 2):
        if numbers[end] and _TASK.fullmatch(pieces[end + 1]) and numbers[end + 2]:
            requests = SEPARATOR.join(pieces[category:end])
            return [*before, *pieces[usage:category], requests, *pieces[end : end + 5]]
    return None


def is_task(text: str) -> bool:
    """Whether the column `pe_taskid` may hold it."""
    return _TASK.fullmatch(text) is not None


def misfit(line: str) -> tuple[str, RefusalCode]:
    """What the first column of a line is that holds what it cannot, and a ``RefusalCode``."""
    pieces = line.split(SEPARATOR)
    if len(pieces) < FEWEST:
        why = f"{len(pieces)} columns, an accounting record has {FEWEST} or more"
        return why, RefusalCode.SHAPE
    for name, (place, holds, what) in COLUMNS.items():
        if holds is not None and place < len(pieces):
            text = pieces[place]
            least, most = RANGES.get(name, (-math.inf, math.inf))
            if not holds.fullmatch(text) or (holds is _WHOLE and not least <= int(text) <= most):
                shown = f"column {place + 1} ({name}): '{text[:_SHOWN]}' is no {what}"
                return shown, RefusalCode.VALUE
    return "some text has a ':' in it: its columns cannot be told", RefusalCode.SHAPE


def _usages(pieces: list[str], numbers: list[bool]) -> list[int]:
    """Where the 24 numbers may begin: behind them three texts, two whole numbers, three numbers."""
    places = []
    for place in range(_NAME + 3, len(pieces) - _NUMBERS - _FOLLOWED_BY):
        behind = place + _NUMBERS
        if (
            all(numbers[place:behind])
            and all(_WHOLE.fullmatch(piece) for piece in pieces[behind + 3 : behind + 5])
            and all(numbers[behind + 5 : behind + 8])
        ):
            places.append(place)
    return places
