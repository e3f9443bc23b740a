"""A row of a table by its mapping, one value after the other, with exact numbers.

For mappings of times in seconds or as UTC texts, and no time that a clock change repeats.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil
from typing import Any, Final

from audit.config.table import COUNTS, DURATIONS, MEMORY, NULLS, TEXTS, TIMES, Mapped, TableMapping

_SIZES: Final[Mapping[str, int | Fraction]] = {
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 1000),
    "s": 1,
    "min": 60,
    "h": 3600,
    "d": 86400,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "milli": Fraction(1, 1000),
}
_LARGEST: Final = {**dict.fromkeys(COUNTS, 2**28), **dict.fromkeys(MEMORY, 2**62)}
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LATEST: Final = 2**33


class RefusedRowError(Exception):
    """The row is refused."""


def record(row: Mapping[str, str | None], mapping: TableMapping) -> dict[str, Any]:
    """Return the fields of a row; RefusedRowError if it is refused."""
    fields = mapping.fields
    found: dict[str, Any] = {}
    for name in (*TEXTS, *COUNTS, *MEMORY, *DURATIONS, *TIMES):
        if name in fields:
            found[name] = _value(name, fields, row, mapping)
    if found["job_id"] is None:
        raise RefusedRowError
    for length, column in (("walltime", "walltime_s"), ("suspended", "suspended_s")):
        if length in found:
            found[column] = found.pop(length)
    found |= _times(found, fields)
    found["state"] = _state(row, mapping, found.get("state"))
    start, end = found["start_time"], found["end_time"]
    if end is not None and (end > _LATEST or (start is not None and end < start)):
        raise RefusedRowError
    return found


def _text(of: Mapped, row: Mapping[str, str | None]) -> str | None:
    if of.column is None:
        return str(of.constant)
    text = row[of.column]
    if text is None or text in NULLS or text in of.nulls:
        return None
    if of.pattern is not None:
        match = re.search(of.pattern, text)
        text = match[1] if match else None
    if text is not None and (of.values or of.otherwise is not None):
        text = of.values.get(text, of.otherwise)
    return text


def _value(  # noqa: PLR0911 - a row of rules
    name: str, fields: Mapping[str, Mapped], row: Mapping[str, str | None], mapping: TableMapping
) -> Any:
    of = fields[name]
    text = _text(of, row)
    if name in TEXTS or text is None:
        return text
    if name in TIMES:
        return _instant(text, of, mapping)
    if of.unit == "items":
        return len(text.split(","))
    if not _NUMBER.fullmatch(text):
        return None
    number = Fraction(text) * _SIZES[of.unit or "s"]
    if name in DURATIONS:
        whole = number.numerator // number.denominator
        known = whole if 0 <= whole <= _LATEST else None
        return None if name == "walltime" and known == 0 else known
    number = Fraction(ceil(number)) if of.round == "up" else number
    if name in MEMORY:
        number = Fraction(number.numerator // number.denominator)
    most = _LARGEST[name]
    if number.denominator != 1 or not 0 <= number <= most:
        return None
    if of.per is None:
        return int(number)
    each = _value("cpus" if of.per == "cpu" else "nodes", fields, row, mapping)
    return None if each is None or number > most // max(each, 1) else int(number) * each


def _instant(text: str, of: Mapped, mapping: TableMapping) -> int | None:
    if of.unit is None and mapping.origin is None and not text.isdecimal():
        try:
            moment = datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            raise RefusedRowError from None
        instant = int(moment.timestamp())
    elif not _NUMBER.fullmatch(text):
        raise RefusedRowError
    else:
        seconds = Fraction(text) * _SIZES[of.unit or "s"]
        instant = seconds.numerator // seconds.denominator + mapping.origin_s
    if not 0 <= instant <= _LATEST:
        raise RefusedRowError
    return instant or None


def _times(found: Mapping[str, Any], fields: Mapping[str, Mapped]) -> dict[str, int | None]:
    submit, eligible, start, end = (found.get(name) for name in TIMES)
    wait, elapsed = found.get("wait"), found.get("elapsed")
    ready = submit if eligible is None else eligible
    if "start_time" not in fields:
        if ready is not None and wait is not None:
            start = ready + wait
        elif end is not None and elapsed is not None:
            start = end - elapsed
    elif "eligible_time" not in fields and start is not None and wait is not None:
        eligible = start - wait
    if "end_time" not in fields and start is not None and elapsed is not None:
        end = start + elapsed
    return {
        "submit_time": submit,
        "eligible_time": eligible,
        "start_time": start,
        "end_time": end,
        "occupancy_s": end - start if start is not None and end is not None else elapsed,
    }


def _state(row: Mapping[str, str | None], mapping: TableMapping, state: str | None) -> str | None:
    def known(name: str) -> bool:
        return row[name] is not None and row[name] not in NULLS

    for rule in mapping.state_when:
        among = rule.among if isinstance(rule.among, tuple) else (rule.among,)
        if (
            (rule.column is None or row[rule.column] in among)
            and (rule.present is None or known(rule.present))
            and (rule.absent is None or not known(rule.absent))
        ):
            return rule.state
    of = mapping.fields.get("state")
    if state is None or of is None or of.values or of.otherwise is not None:
        return state
    return state.upper()
