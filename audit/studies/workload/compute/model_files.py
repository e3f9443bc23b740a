"""Workload models as TOML: short, to be read and changed by hand, and read again.

What is read again makes the same synthetic logs: numbers are written as they are, not rounded.
"""

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from audit.errors import UsageError
from audit.studies.workload.compute.classes import TECHNIQUES
from audit.studies.workload.compute.hyper_exponential import LEAST_S, Fit, HyperExponential
from audit.studies.workload.compute.model import Class, Model, Shares
from audit.studies.workload.compute.weekly_clock import PARTS
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
    """A model as the text of its file."""
    lines = [_HEAD, f"version = {VERSION}"]
    lines += [f"{key} = {_text(getattr(model, key))}" for key in _MODEL]
    for one in model.classes:
        lines += ["", "[[classes]]"]
        lines += [f"{key} = {_text(getattr(one, name))}" for key, (name, _) in _CLASS.items()]
    return "\n".join(lines) + "\n"


def from_toml(text: str, where: str) -> Model:
    """A model from the text of the file that errors call ``where``.

    Raises:
        UsageError: it is no model; the message says where and why.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: is no TOML: {error}") from error
    top = _Table(table, where)
    if top.whole("version", 1) != VERSION:
        raise UsageError(
            f"{where}: version {table['version']} of a workload model; this fairaudit reads "
            f"{VERSION}: make it again with `fairaudit experiment workload`"
        )
    listed = table.get("classes")
    if not isinstance(listed, list) or not listed or not all(isinstance(c, dict) for c in listed):
        raise UsageError(f"{where}: has no [[classes]]: a workload has one at least")
    values: dict[str, Any] = {key: read(top, key) for key, read in _MODEL.items()}
    classes = tuple(
        _class(_Table(one, f"{where}: class {number}"), values["users"])
        for number, one in enumerate(listed, start=1)
    )
    model = Model(**values, classes=classes)
    for number, one in enumerate(classes, start=1):
        if one.sizes[-1][0] > model.capacity:
            raise UsageError(
                f"{where}: class {number}, sizes: {one.sizes[-1][0]} is more than the capacity, "
                f"{model.capacity}"
            )
    return model


class _Table:
    """A table of the file, whose values are asked for by type."""

    def __init__(self, values: Mapping[str, object], where: str) -> None:
        self.values = values
        self._where = where

    def wrong(self, key: str, needed: str) -> UsageError:
        state = f"is {self.values[key]!r}" if key in self.values else "is missing"
        return UsageError(f"{self._where}, {key}: {state}; it must be {needed}")

    def _checked(self, key: str, needed: str, fits: Callable[[Any], bool]) -> Any:
        value = self.values.get(key)
        if not fits(value):
            raise self.wrong(key, needed)
        return value

    def whole(self, key: str, least: int) -> int:
        needed = f"a whole number, {least} or more"
        return int(self._checked(key, needed, lambda value: _is_whole(value, least)))

    def number(self, key: str, least: float, most: float = float("inf")) -> float:
        value = self._checked(key, "a number", lambda value: type(value) in (int, float))
        needed = f"{least:g} or more" + f" and at most {most:g}" * (most < float("inf"))
        self._checked(key, needed, lambda value: least <= value <= most and value != float("inf"))
        return float(value)

    def text(self, key: str) -> str:
        return str(self._checked(key, "a text", lambda value: isinstance(value, str)))

    def one_of(self, key: str, allowed: Sequence[str]) -> str:
        needed = f"one of {', '.join(allowed)}"
        return str(
            self._checked(key, needed, lambda value: isinstance(value, str) and value in allowed)
        )

    def table(self, key: str) -> "_Table":
        value = self._checked(key, "a table in braces", lambda value: isinstance(value, dict))
        return _Table(value, f"{self._where}, {key}")

    def shares(self, key: str, least: int, *, empty: bool = False) -> Shares:
        """Pairs of a whole number and its share; shares add up to 1."""

        def fits(value: Any) -> bool:
            if not isinstance(value, list) or not all(_is_pair(pair, least) for pair in value):
                return False
            if not value:
                return empty
            different = len({whole for whole, _ in value}) == len(value)
            return different and abs(sum(share for _, share in value) - 1) <= 1e-6

        needed = f"pairs of a whole number, {least} or more, and a share; shares add up to 1"
        pairs = self._checked(key, needed, fits)
        return tuple(sorted((whole, float(share)) for whole, share in pairs))


def _is_whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def _is_pair(value: object, least: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and _is_whole(value[0], least)
        and type(value[1]) in (int, float)
        and 0 <= value[1] <= 1
    )


def _class(table: _Table, users: int) -> Class:
    values: dict[str, Any] = {name: read(table, key) for key, (name, read) in _CLASS.items()}
    one = Class(**values)
    if one.users[-1][0] > users:
        raise table.wrong("users", f"of ranks up to {users}, the number of users")
    if one.with_walltime and not one.walltimes:
        raise table.wrong("walltimes", "those of the attempts that have one")
    return one


def _fit(outer: _Table, key: str) -> Fit:
    table = outer.table(key)
    short = table.number("short_s", LEAST_S)
    return Fit(
        HyperExponential(table.number("p", 0, 1), short, table.number("long_s", short)),
        table.number("distance", 0, 1),
        table.number("p_value", 0, 1) if "p_value" in table.values else None,
        table.number("exponential_distance", 0, 1),
        table.number("gain", 0),
    )


def _zone(top: _Table, key: str) -> str:
    name = top.text(key)
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise top.wrong(key, "one of the IANA database, like Europe/Berlin or UTC") from error


def _day(top: _Table, key: str) -> date:
    try:
        return date.fromisoformat(top.text(key))
    except ValueError as error:
        raise top.wrong(key, "a day like 2026-10-31") from error


_MODEL: Final[Mapping[str, Callable[[_Table, str], object]]] = {
    "cluster": _Table.text,
    "by": lambda table, key: table.one_of(key, TECHNIQUES),
    "resource": lambda table, key: table.one_of(key, tuple(Resource)),
    "capacity": lambda table, key: table.whole(key, 1),
    "zone": _zone,
    "first_day": _day,
    "days": lambda table, key: table.whole(key, 1),
    "users": lambda table, key: table.whole(key, 1),
    "left_out": lambda table, key: table.whole(key, 0),
}
"""How each key of a model is read; they are called like its attributes."""

_CLASS: Final[Mapping[str, tuple[str, Callable[[_Table, str], object]]]] = {
    "class": ("label", _Table.text),
    "part": ("part", lambda table, key: table.one_of(key, PARTS)),
    "attempts": ("attempts", lambda table, key: table.whole(key, 1)),
    "hours": ("hours", lambda table, key: table.number(key, 1e-9)),
    "mean_size": ("mean_size", lambda table, key: table.number(key, 0)),
    "mean_occupancy_s": ("mean_occupancy_s", lambda table, key: table.number(key, 0)),
    "used": ("used", lambda table, key: table.number(key, 0, 1)),
    "gaps": ("gaps", _fit),
    "occupancies": ("occupancies", _fit),
    "sizes": ("sizes", lambda table, key: table.shares(key, 1)),
    "walltimes": ("walltimes", lambda table, key: table.shares(key, 0, empty=True)),
    "with_walltime": ("with_walltime", lambda table, key: table.number(key, 0, 1)),
    "foresight": ("foresight", lambda table, key: table.number(key, -1, 1)),
    "users": ("users", lambda table, key: table.shares(key, 0)),
}
"""The attribute that each key of a class stands for, and how it is read."""


def _text(value: object) -> str:
    """A value as TOML."""
    if isinstance(value, Fit):
        distribution = value.distribution
        parts = {
            "p": distribution.share,
            "short_s": distribution.short_s,
            "long_s": distribution.long_s,
            "distance": value.distance,
            "p_value": value.p_value,
            "exponential_distance": value.exponential_distance,
            "gain": value.gain,
        }
        written = (f"{key} = {_text(part)}" for key, part in parts.items() if part is not None)
        return f"{{ {', '.join(written)} }}"
    if isinstance(value, tuple):
        return f"[{', '.join(_text(part) for part in value)}]"
    if isinstance(value, date):
        value = value.isoformat()
    if isinstance(value, str):
        # A JSON text is a TOML one, but for the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return repr(value)
