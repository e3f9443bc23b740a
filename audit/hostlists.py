"""Slurm's hostlists, and the amounts on the nodes of one.

``n[1-3,7],gpu01`` names the nodes n1, n2, n3, n7 and gpu01. ``cpus=4(x3),8,2 gpus=1(x5)`` gives, in
Slurm's notation of repeated numbers, 4 CPUs on each of the first three, 8 on n7 and 2 on gpu01.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby, product
from typing import Final

MOST: Final = 65_536
"""Most nodes of one list; Slurm's own limit is the same (MAX_RANGE of hostlist.c is 64 k)."""

LONGEST: Final = 255
"""Most characters of a name that is written, as in the domain name system."""

_MOST_OF_ALL: Final = 1 << 62  # largest sum of amounts

NAME: Final = r"[^\s,\[\]\x00-\x1f\x7f]+"
"""Pattern of a name that can be written, unless it is longer than ``LONGEST``."""

_NO_NAME: Final = re.compile(r"[\s\[\]\x00-\x1f\x7f]")
_REPEATED: Final = re.compile(r"(\d{1,18})(?:\(x(\d{1,9})\))?")
_ENTRY: Final = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PIECE: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE: Final = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def expand(hostlist: str, most: int = MOST) -> list[str] | None:
    """Return the names of the nodes, in the order of the list, each once.

    Widths of numbers are kept: ``n[08-10]`` names n08, n09 and n10. None: it is not a hostlist, or
    it names more than ``most`` nodes, or several with a name longer than ``LONGEST``.
    """
    if _ENTRY.sub("", hostlist).strip(","):
        return None
    names: dict[str, None] = {}
    for entry in _ENTRY.findall(hostlist):
        pieces = [_choices(piece[1], piece[2], most) for piece in _PIECE.finditer(entry)]
        count, length = 1, 0
        for piece in pieces:
            count *= 0 if piece is None else len(piece)
            length += len(piece[-1]) if piece else 0
        if not 0 < count <= most - len(names) or (count > 1 and length > LONGEST):
            return None
        names.update(dict.fromkeys("".join(parts) for parts in product(*filter(None, pieces))))
    return list(names)


def _choices(ranges: str | None, text: str | None, most: int) -> list[str] | None:
    """Return what one piece of an entry stands for; None: unreadable or too many."""
    if ranges is None:
        return [text or ""]
    found: list[str] = []
    for part in ranges.split(","):
        numbers = _numbers(part, most)
        if numbers is None or len(numbers) > most - len(found):
            return None
        found += numbers
    return found


def _numbers(part: str, most: int) -> list[str] | None:
    match = _RANGE.fullmatch(part)
    if match is None:
        return None
    first, last = match[1], match[2] or match[1]
    if not 0 <= int(last) - int(first) < most:
        return None
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]


def count(hostlist: str) -> int:
    """Return how many names ``expand`` would make of a hostlist at most, without making them."""
    total = 0
    for entry in _ENTRY.findall(hostlist):
        number = 1
        for ranges, text in _PIECE.findall(entry):
            number *= 1 if text else sum(_extent(part) for part in ranges.split(","))
        total += number
    return total


def _extent(part: str) -> int:
    match = _RANGE.fullmatch(part)
    return max(int(match[2] or match[1]) - int(match[1]) + 1, 0) if match else 0


def listed(names: Collection[str]) -> str | None:
    """Return the hostlist of names; None if there are none, too many, or one cannot be written.

    Brackets, commas and blanks separate names, so they cannot be part of one.
    """
    text = ",".join(names)
    good = 0 < len(names) <= MOST and "" not in names and text.count(",") < len(names)
    if not good or _NO_NAME.search(text) or max(map(len, names)) > LONGEST:
        return None
    return text


def amounts_text(amounts: Mapping[str, Sequence[int]]) -> str | None:
    """Return amounts on the nodes of a hostlist as a text; None for none."""
    return " ".join(f"{name}={_repeated(each)}" for name, each in amounts.items()) or None


def _repeated(numbers: Sequence[int]) -> str:
    if numbers.count(numbers[0]) == len(numbers) > 1:
        return f"{numbers[0]}(x{len(numbers)})"
    runs = [(number, len(list(run))) for number, run in groupby(numbers)]
    return ",".join(f"{number}(x{times})" if times > 1 else f"{number}" for number, times in runs)


def amounts_of(text: str | None, nodes: int) -> dict[str, list[int]]:
    """Return the amounts on each of ``nodes`` nodes by resource, without unreadable ones."""
    found = {}
    for item in (text or "").split(" "):
        name, _, numbers = item.partition("=")
        each = _numbers_of(numbers, nodes)
        if each is not None:
            found[name] = each
    return found


def _numbers_of(text: str, count: int) -> list[int] | None:
    each: list[int] = []
    for part in text.split(","):
        match = _REPEATED.fullmatch(part)
        times = int(match[2] or 1) if match else 0
        if match is None or times > count - len(each):
            return None
        each += [int(match[1])] * times
    return each if len(each) == count and sum(each) <= _MOST_OF_ALL else None
