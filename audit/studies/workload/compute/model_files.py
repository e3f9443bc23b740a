"""Workload models as TOML files, to be read and changed by hand; numbers are not rounded."""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from audit.errors import UsageError
from audit.studies.workload.compute.classes import PARTS, TECHNIQUES
from audit.studies.workload.compute.hyper_exponential import LEAST_S, Fit, HyperExponential
from audit.studies.workload.compute.model import Class, Model
from audit.words import Resource

VERSION: Final = 1

_HEAD: Final = """\
# A workload: what is asked for, and when it arrives. Made by fairaudit from an accounting log;
# `fairaudit experiment synthetic` makes logs of it. Change what you like.
#
# Of each class, in one part of the week (peak: Monday to Friday, 8 to 17; weekend; off_peak: else):
#   attempts, hours        how many arrived, in how many hours of that part of the week
#   mean_size, mean_occupancy_s, used   for the reader; used: share of all size-seconds
#   gaps, occupancies      p of one exponential distribution of mean short_s, else long_s, in s;
#                          distance, p_value, exponential_distance, gain say how well they fit
#   sizes, walltimes       [value, share]; walltimes in s, of the attempts that have one
#   foresight              rank correlation of walltimes and occupancies
#   users                  [rank, share]; 0: one of the others
"""


def to_toml(model: Model) -> str:
    """Return a model as the text of its file."""
    lines = [_HEAD, f"version = {VERSION}"]
    lines += [f"{key} = {_text(getattr(model, key))}" for key in _MODEL]
    for one in model.classes:
        lines += ["", "[[classes]]"]
        lines += [f"{key} = {_text(getattr(one, _name(key)))}" for key in _CLASS]
    return "\n".join(lines) + "\n"


def from_toml(text: str, where: str) -> Model:
    """Return the model of the text of the file that errors call ``where``.

    Raises:
        UsageError: it is not a model; the message says where and why.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: is no TOML: {error}") from error
    if _read(table, where, "version", _whole(1)) != VERSION:
        raise UsageError(
            f"{where}: version {table['version']} of a workload model; this fairaudit reads "
            f"{VERSION}: make it again with `fairaudit experiment workload`"
        )
    listed = table.get("classes")
    if not isinstance(listed, list) or not listed or not all(isinstance(c, dict) for c in listed):
        raise UsageError(f"{where}: has no [[classes]]: a workload has one at least")
    values = {key: _read(table, where, key, kind) for key, kind in _MODEL.items()}
    classes = tuple(
        _class(one, f"{where}: class {number}", values) for number, one in enumerate(listed, 1)
    )
    return Model(**values, classes=classes)


class _Kind(NamedTuple):
    needed: str
    fits: Callable[[Any], bool]
    make: Callable[[Any], Any]


def _read(table: Mapping[str, Any], where: str, key: str, kind: _Kind) -> Any:
    value = table.get(key)
    if not kind.fits(value):
        raise _wrong(table, where, key, kind.needed)
    if isinstance(value, dict):
        return _fit(value, f"{where}, {key}")
    return kind.make(value)


def _wrong(table: Mapping[str, Any], where: str, key: str, needed: str) -> UsageError:
    state = f"is {table[key]!r}" if key in table else "is missing"
    return UsageError(f"{where}, {key}: {state}; it must be {needed}")


def _class(table: Mapping[str, Any], where: str, model: Mapping[str, Any]) -> Class:
    one = Class(**{_name(key): _read(table, where, key, kind) for key, kind in _CLASS.items()})
    if one.users[-1][0] > model["users"]:
        needed = f"of ranks up to {model['users']}, the number of users"
        raise _wrong(table, where, "users", needed)
    if one.with_walltime and not one.walltimes:
        raise _wrong(table, where, "walltimes", "those of the attempts that have one")
    if (widest := one.sizes[-1][0]) > model["capacity"]:
        raise UsageError(f"{where}, sizes: {widest} is more than the capacity, {model['capacity']}")
    return one


def _name(key: str) -> str:
    """Return the attribute of a class that a key gives."""
    return "label" if key == "class" else key


def _fit(table: Mapping[str, Any], where: str) -> Fit:
    short = _read(table, where, "short_s", _number(LEAST_S))
    part = _number(0, 1)
    law = (_read(table, where, "p", part), short, _read(table, where, "long_s", _number(short)))
    return Fit(
        HyperExponential(*law),
        _read(table, where, "distance", part),
        _read(table, where, "p_value", part) if "p_value" in table else None,
        _read(table, where, "exponential_distance", part),
        _read(table, where, "gain", _number(0)),
    )


# --- kinds of values -----------------------------------------------------------------------------


def _is_whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _is_number(value: object, least: float, most: float) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and least <= value <= most
        and value != float("inf")
    )


def _whole(least: int) -> _Kind:
    return _Kind(f"a whole number, {least} or more", lambda value: _is_whole(value, least), int)


def _number(least: float, most: float = float("inf")) -> _Kind:
    needed = f"a number, {least:g} or more" + f" and at most {most:g}" * (most < float("inf"))
    return _Kind(needed, lambda value: _is_number(value, least, most), float)


def _one_of(allowed: Sequence[str]) -> _Kind:
    needed = f"one of {', '.join(allowed)}"
    return _Kind(needed, lambda value: isinstance(value, str) and value in allowed, str)


def _shares(least: int, *, empty: bool = False) -> _Kind:
    """Pairs of a whole number and its share; shares add up to 1."""

    def is_pair(pair: object) -> bool:
        if not isinstance(pair, list) or len(pair) != 2:
            return False
        return _is_whole(pair[0], least) and _is_number(pair[1], 0, 1)

    def fits(value: Any) -> bool:
        if not isinstance(value, list) or not all(map(is_pair, value)):
            return False
        if not value:
            return empty
        different = len({whole for whole, _ in value}) == len(value)
        return different and abs(sum(share for _, share in value) - 1) <= 1e-6

    return _Kind(
        f"pairs of a whole number, {least} or more, and a share; shares add up to 1",
        fits,
        lambda pairs: tuple(sorted((whole, float(share)) for whole, share in pairs)),
    )


def _is_zone(name: object) -> bool:
    try:
        return isinstance(name, str) and bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


def _is_day(text: object) -> bool:
    try:
        return isinstance(text, str) and bool(date.fromisoformat(text))
    except ValueError:
        return False


_TEXT: Final = _Kind("a text", lambda value: isinstance(value, str), str)
_TABLE: Final = _Kind("a table in braces", lambda value: isinstance(value, dict), dict)

_MODEL: Final[Mapping[str, _Kind]] = {
    "cluster": _TEXT,
    "by": _one_of(TECHNIQUES),
    "resource": _one_of(tuple(Resource)),
    "capacity": _whole(1),
    "zone": _Kind("one of the IANA database, like Europe/Berlin or UTC", _is_zone, str),
    "first_day": _Kind("a day like 2026-10-31", _is_day, date.fromisoformat),
    "days": _whole(1),
    "users": _whole(1),
    "left_out": _whole(0),
}
"""Keys of a model, named like its attributes."""

_CLASS: Final[Mapping[str, _Kind]] = {
    "class": _TEXT,
    "part": _one_of(PARTS),
    "attempts": _whole(1),
    "hours": _number(1e-9),
    "mean_size": _number(0),
    "mean_occupancy_s": _number(0),
    "used": _number(0, 1),
    "gaps": _TABLE,
    "occupancies": _TABLE,
    "sizes": _shares(1),
    "walltimes": _shares(0, empty=True),
    "with_walltime": _number(0, 1),
    "foresight": _number(-1, 1),
    "users": _shares(0),
}
"""Keys of a class, in the order of the file."""


def _text(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, Fit):
        law, distance, p_value, exponential_distance, gain = value
        parts = {
            "p": law.share,
            "short_s": law.short_s,
            "long_s": law.long_s,
            "distance": distance,
            "p_value": p_value,
            "exponential_distance": exponential_distance,
            "gain": gain,
        }
        written = (f"{key} = {_text(part)}" for key, part in parts.items() if part is not None)
        return f"{{ {', '.join(written)} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(_text(part) for part in value)}]"
    if isinstance(value, date):
        value = value.isoformat()
    if isinstance(value, str):
        # A JSON text is a TOML one, except for the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return repr(value)
