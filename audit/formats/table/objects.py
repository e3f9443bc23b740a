"""JSON objects as rows: an array of them, or one after the other.

All objects begin alike, with ``{`` and the same first key, which no object within them does. So
damage costs one object, and blocks may end before any of them. A column is a path of keys
(``attempts.start_time``); the items of a list are separated by commas. With ``records``, each item
of the list there is a row; an object without any is one row.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from audit.config.table import NULLS, TableMapping
from audit.errors import DialectError
from audit.formats.elements import BlockElements, Row, Words, decode, holdable, starts_of
from audit.formats.lines import Block

MOST_ITEMS: Final = 1 << 20  # of the lists in one row
_FIRST: Final = re.compile(rb'[\s\[]*(\{\s*"[^"\\]*"\s*:)')
_BETWEEN: Final = re.compile(rb"[\s,\[\]]*")
_TRIES: Final = 4
_WORDS: Final = Words(
    "the log ends before an object", "the log ends within this object", "is not an object"
)


def begins(head: bytes) -> str:
    """Return how the objects of a log begin; DialectError if objects within them begin alike."""
    first = _FIRST.match(head)
    if first is None:
        raise DialectError("JSON, but no array of objects, and no object per line")
    text = head[first.start(1) :].decode("utf-8", "surrogateescape")
    mark = first[1].decode("utf-8", "backslashreplace")
    try:
        _, end = decode(text)
    except (ValueError, RecursionError):
        end = len(mark)  # its damage is reported when it is read
    if mark in text[len(mark) : end]:
        raise DialectError(f"objects within its objects begin alike ({mark!r})")
    return mark


def whole(data: bytes, mark: str) -> int:
    """Return the length of ``data`` before its last object."""
    at = data.rfind(mark.encode())
    return len(data[:at].rstrip().removesuffix(b",")) if at > 0 else 0


def sample(head: bytes) -> tuple[str, list[dict[str, str | None]]]:
    """Return the first rows of the objects that begin with ``head``, by the paths of their keys.

    If there is one object, its longest list of objects are the rows, and ``records`` its path, else
    empty. Paths through other lists of objects are left out.
    """
    text, at = head.decode("utf-8", "surrogateescape"), 0
    values: list[Any] = []
    while (begin := text.find("{", at)) >= 0:
        try:
            value, at = decode(text, begin)
        except (ValueError, RecursionError):
            break
        values.append(value)
    if len(values) != 1:
        return "", [dict(_scalars(value, "")) for value in values]
    lists = [(key, of) for key, of in values[0].items() if isinstance(of, list) and "." not in key]
    key, items = max(lists, key=lambda pair: len(pair[1]), default=("", []))
    return key, [dict(_scalars(item, f"{key}.")) for item in items]


def _scalars(value: Any, path: str) -> Iterator[tuple[str, str | None]]:
    """Yield the path and text of each value in an object that is no object."""
    for key, of in value.items() if isinstance(value, Mapping) else ():
        if isinstance(of, Mapping):
            yield from _scalars(of, f"{path}{key}.")
        elif "." not in key and not (isinstance(of, list) and any(map(_is_object, of))):
            text = ",".join(_texts(of))
            yield f"{path}{key}", None if text in NULLS else text


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


class Objects(BlockElements):
    """The rows of the objects of a block."""

    def __init__(self, block: Block, mark: str, mapping: TableMapping) -> None:
        super().__init__(block)
        self._columns = mapping.columns
        self._records = tuple(mapping.records.split(".")) if mapping.records else ()
        self.walk(0, starts_of(block.data, mark.encode()), _BETWEEN, self._rows, _WORDS, _TRIES)

    def _rows(self, value: Mapping[str, Any]) -> Iterator[Row]:
        within = [*_at(value, self._records)] if self._records else [value]
        items = [item for one in within for item in (one if isinstance(one, list) else [one])]
        last = len(items) - 1
        for number, item in enumerate(items or [None]):
            yield (
                *(self._text(value, item, name) for name in self._columns),
                _LAST[number >= last],
            )

    def _text(self, value: Mapping[str, Any], item: Any, name: str) -> str | None:
        path, depth = _path(name), len(self._records)
        if not depth or path[:depth] != self._records:
            found = [*_at(value, path)]
        else:
            found = [*_at(item, path[depth:])] if item is not None else []
        texts = [text for one in found for text in _texts(one)]
        if len(texts) > MOST_ITEMS:
            raise ValueError(f"{name}: a list of more than {MOST_ITEMS:,} items")
        return ",".join(texts) if texts else None


_LAST: Final = (None, "last")


@lru_cache(maxsize=1 << 10)
def _path(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


def _at(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    if isinstance(value, list) and path:
        for item in value:
            yield from _at(item, path)
    elif not path:
        yield value
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _at(value[path[0]], path[1:])


def _texts(value: Any) -> Iterator[str]:
    match value:
        case None | {}:
            return
        case bool():
            yield "true" if value else "false"
        case str():
            yield holdable(value)
        case int() | float():
            yield str(value)
        case list():
            for item in value:
                yield from _texts(item)
