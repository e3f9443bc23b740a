"""Slurm's constraints: which node features a job requires.

Read are names joined by ``&`` or by ``|``, in parentheses or brackets. ``[a|b]`` requires the same
feature of all nodes of a job, which is not checked: each node needs one of them. Counts (``a*2``),
``&`` and ``|`` in one list, and all that is not read restrict nothing.

Source: Slurm's manual page of sbatch ("--constraint"), 22.05 to 25.05.
"""

import re
from collections.abc import Collection
from typing import Final

_LONGEST: Final = 1_000
"""Number of characters from which a constraint is not read."""
_INNERMOST: Final = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_MARKS: Final = {True: "\0", False: "\1"}
"""Characters that stand for lists in parentheses that are met, or not."""
_COUNTED: Final = re.compile(r"[^&|*]+\*[0-9]+")
_NAME: Final = re.compile(r"[\w.:+-]+")


def met(constraint: str, features: Collection[str]) -> bool:
    """Return whether a node with these features meets a constraint; True where it is unclear."""
    text = constraint
    if len(text) > _LONGEST or any(mark in text for mark in _MARKS.values()):
        return True
    while innermost := _INNERMOST.search(text):
        value = _value(innermost[1] or innermost[2] or "", features)
        if value is None:
            return True
        text = text[: innermost.start()] + _MARKS[value] + text[innermost.end() :]
    return _value(text, features) is not False


def named(constraint: str) -> set[str]:
    """Return the words of a constraint: names of features, and what stands for none."""
    counts = re.sub(r"\*[0-9]+(?=$|[&|\])])", "", constraint)
    return set(filter(None, re.split(r"[&|()\[\]]", counts)))


def _value(text: str, features: Collection[str]) -> bool | None:
    """Return whether a list without parentheses is met; None where it is unclear."""
    if "&" in text and "|" in text:
        return None
    values = [_of_item(item, features) for item in re.split("[&|]", text)]
    if None in values:
        return None
    return any(values) if "|" in text else all(values)


def _of_item(item: str, features: Collection[str]) -> bool | None:
    if item in _MARKS.values():
        return item == _MARKS[True]
    if _COUNTED.fullmatch(item):
        return True
    return item in features if _NAME.fullmatch(item) else None
