"""Slurm's hostlists: ``n[1-3,7],gpu01`` names the nodes n1, n2, n3, n7 and gpu01."""

import re
from itertools import product
from typing import Final

MOST: Final = 65_536
"""Most nodes of one list; Slurm's own limit is the same (MAX_RANGE of hostlist.c is 64 k)."""

_ENTRY: Final = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PIECE: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE: Final = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def expand(hostlist: str) -> list[str] | None:
    """Return the names of the nodes, in the order of the list, each once.

    Widths of numbers are kept: ``n[08-10]`` names n08, n09 and n10. None: it is no hostlist, or
    it names more than ``MOST`` nodes.
    """
    if _ENTRY.sub("", hostlist).strip(","):
        return None
    names: dict[str, None] = {}
    for entry in _ENTRY.findall(hostlist):
        pieces = [_choices(*piece.groups()) for piece in _PIECE.finditer(entry)]
        count = 1
        for piece in pieces:
            count *= 0 if piece is None else len(piece)
        if not 0 < count <= MOST - len(names):
            return None
        names.update(dict.fromkeys("".join(parts) for parts in product(*filter(None, pieces))))
    return list(names)


def _choices(ranges: str | None, text: str | None) -> list[str] | None:
    """Return what one piece of an entry stands for; None: unreadable or too many."""
    if ranges is None:
        return [text or ""]
    found: list[str] = []
    for part in ranges.split(","):
        numbers = _numbers(part)
        if numbers is None or len(numbers) > MOST - len(found):
            return None
        found += numbers
    return found


def _numbers(part: str) -> list[str] | None:
    match = _RANGE.fullmatch(part)
    if match is None:
        return None
    first, last = match[1], match[2] or match[1]
    if not 0 <= int(last) - int(first) < MOST:
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
