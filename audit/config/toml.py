"""Values in TOML."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from pydantic import BaseModel

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def value(content: Any) -> str:
    """Return a value in TOML, on one line of printable characters."""
    match content:
        case bool() | int() | float():
            return json.dumps(content)
        case str():
            return '"' + "".join(map(escaped, content)) + '"'
        case date():
            return content.isoformat()
        case BaseModel():
            return value(content.model_dump(exclude_defaults=True))
        case Mapping():
            names = (key if _BARE.fullmatch(key) else value(key) for key in content)
            items = map(" = ".join, zip(names, map(value, content.values()), strict=True))
            return "{ " + ", ".join(items) + " }" if content else "{}"
        case Sequence():
            return "[" + ", ".join(map(value, content)) + "]"
    raise TypeError(f"config.toml cannot hold values of type {type(content).__name__}")


def escaped(letter: str) -> str:
    """Return a character as it is written in a string of one line."""
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
