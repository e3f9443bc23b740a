"""Values as TOML writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from pydantic import BaseModel

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def value(content: Any) -> str:
    """A value as TOML writes it; every text within one line, of printable letters alone."""
    match content:
        case bool() | int() | float():
            return json.dumps(content)
        case str():
            return '"' + "".join(escaped(one) for one in content) + '"'
        case date():
            return content.isoformat()
        case BaseModel():
            return value(content.model_dump(exclude_defaults=True))
        case Mapping():
            items = (f"{_name(key)} = {value(item)}" for key, item in content.items())
            return "{ " + ", ".join(items) + " }" if content else "{}"
        case Sequence():
            return "[" + ", ".join(value(item) for item in content) + "]"
    raise TypeError(f"config.toml holds no {type(content).__name__}")


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else value(key)


def escaped(letter: str) -> str:
    """A letter as a text of one line has it."""
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
