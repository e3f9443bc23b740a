"""Workload models as TOML: short, to be read and changed by hand, and read again.

What is read again makes the same synthetic logs: numbers are written as they are, not rounded.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from audit.errors import UsageError
from audit.workloads.classes import TECHNIQUES
from audit.workloads.hyper_exponential import LEAST_S, Fit, HyperExponential
from audit.workloads.model import Class, Model, Shares
from audit.workloads.weekly_clock import PARTS

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
    head = {
        "version": VERSION,
        "cluster": model.cluster,
        "by": model.by,
        "resource": model.resource,
        "capacity": model.capacity,
        "zone": model.zone,
        "first_day": model.first_day.isoformat(),
        "days": model.days,
        "users": model.users,
        "left_out": model.left_out,
    }
    lines = [_HEAD, *(f"{key} = {_text(value)}" for key, value in head.items())]
    for of in model.classes:
        values = {
            "class": of.label,
            "part": of.part,
            "attempts": of.attempts,
            "hours": of.hours,
            "mean_size": of.mean_size,
            "mean_occupancy_s": of.mean_occupancy_s,
            "used": of.used,
            "gaps": of.gaps,
            "occupancies": of.occupancies,
            "sizes": of.sizes,
            "walltimes": of.walltimes,
            "with_walltime": of.with_walltime,
            "foresight": of.foresight,
            "users": of.users,
        }
        lines += ["", "[[classes]]", *(f"{key} = {_text(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def from_toml(text: str, where: str) -> Model:
    """A model from the text of its file.

    Args:
        text: of the file.
        where: its name, for errors.

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
    users = top.whole("users", 1)
    classes = tuple(
        _class(_Table(of, f"{where}: class {number}"), users)
        for number, of in enumerate(listed, start=1)
    )
    capacity = top.whole("capacity", 1)
    for number, of in enumerate(classes, start=1):
        if of.sizes[-1][0] > capacity:
            raise UsageError(
                f"{where}: class {number}, sizes: {of.sizes[-1][0]} is more than the capacity, "
                f"{capacity}"
            )
    return Model(
        cluster=top.text("cluster"),
        by=top.one_of("by", TECHNIQUES),
        resource=top.one_of("resource", ("cpus", "nodes", "gpus")),
        capacity=capacity,
        zone=_zone(top),
        first_day=_day(top),
        days=top.whole("days", 1),
        users=users,
        left_out=top.whole("left_out", 0),
        classes=classes,
    )


class _Table:
    """A table of the file, whose values are asked for by type."""

    def __init__(self, values: Mapping[str, object], where: str) -> None:
        self._values = values
        self._where = where

    def wrong(self, key: str, needed: str) -> UsageError:
        found = f"is {self._values[key]!r}" if key in self._values else "is missing"
        return UsageError(f"{self._where}, {key}: {found}; it must be {needed}")

    def whole(self, key: str, least: int) -> int:
        value = self._values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.wrong(key, f"a whole number, {least} or more")
        return value

    def number(self, key: str, least: float, most: float = float("inf")) -> float:
        value = self._values.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(key, "a number")
        if not least <= value <= most or value == float("inf"):
            raise self.wrong(key, f"{least:g} or more" + f" and at most {most:g}" * (most < 1e300))
        return float(value)

    def text(self, key: str) -> str:
        value = self._values.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return value

    def one_of(self, key: str, allowed: Sequence[str]) -> str:
        value = self._values.get(key)
        if not isinstance(value, str) or value not in allowed:
            raise self.wrong(key, f"one of {', '.join(allowed)}")
        return value

    def table(self, key: str) -> "_Table":
        value = self._values.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "a table in braces")
        return _Table(value, f"{self._where}, {key}")

    def shares(self, key: str, least: int, *, empty: bool = False) -> Shares:
        """Pairs of a whole number and its share; shares add up to 1."""
        value = self._values.get(key)
        needed = f"pairs of a whole number, {least} or more, and a share; shares add up to 1"
        if not isinstance(value, list) or not (value or empty):
            raise self.wrong(key, needed)
        pairs: list[tuple[int, float]] = []
        for pair in value:
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.wrong(key, needed)
            whole, share = pair
            fits = isinstance(whole, int) and isinstance(share, int | float) and whole >= least
            if not fits or not 0 <= share <= 1:
                raise self.wrong(key, needed)
            pairs.append((whole, float(share)))
        numbers = [whole for whole, _ in pairs]
        together = sum(share for _, share in pairs)
        if len(set(numbers)) < len(numbers) or (pairs and abs(together - 1) > 1e-6):
            raise self.wrong(key, needed)
        return tuple(sorted(pairs))

    def has(self, key: str) -> bool:
        return key in self._values


def _class(of: _Table, users: int) -> Class:
    ranks = of.shares("users", 0)
    if ranks[-1][0] > users:
        raise of.wrong("users", f"of ranks up to {users}, the number of users")
    with_walltime = of.number("with_walltime", 0, 1)
    return Class(
        label=of.text("class"),
        part=of.one_of("part", PARTS),
        attempts=of.whole("attempts", 1),
        hours=of.number("hours", 1e-9),
        mean_size=of.number("mean_size", 0),
        mean_occupancy_s=of.number("mean_occupancy_s", 0),
        used=of.number("used", 0, 1),
        gaps=_fit(of.table("gaps")),
        occupancies=_fit(of.table("occupancies")),
        sizes=of.shares("sizes", 1),
        walltimes=of.shares("walltimes", 0, empty=with_walltime == 0),
        with_walltime=with_walltime,
        foresight=of.number("foresight", -1, 1),
        users=ranks,
    )


def _fit(of: _Table) -> Fit:
    short = of.number("short_s", LEAST_S)
    return Fit(
        HyperExponential(of.number("p", 0, 1), short, of.number("long_s", short)),
        of.number("distance", 0, 1),
        of.number("p_value", 0, 1) if of.has("p_value") else None,
        of.number("exponential_distance", 0, 1),
        of.number("gain", 0),
    )


def _zone(top: _Table) -> str:
    name = top.text("zone")
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise top.wrong("zone", "one of the IANA database, like Europe/Berlin or UTC") from error


def _day(top: _Table) -> date:
    try:
        return date.fromisoformat(top.text("first_day"))
    except ValueError as error:
        raise top.wrong("first_day", "a day like 2026-10-31") from error


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
    if isinstance(value, str):
        # A JSON text is a TOML one, but for the delete character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return repr(value)
