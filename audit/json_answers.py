"""Answers for programs: JSON whose keys and types a JSON Schema describes (docs/schema).

An answer is a frozen dataclass. pydantic writes it, and derives its schema from it. Keys may be
added; none is renamed, removed or given another type while ``SHAPE`` is the same.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import PlainSerializer, TypeAdapter

from audit import __version__

SHAPE: Final = 2
DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def _utc(time: int) -> datetime:
    return datetime.fromtimestamp(time, UTC)


Instant = Annotated[int, PlainSerializer(_utc, when_used="json")]
"""Epoch s, written as ISO 8601 in UTC."""


@dataclass(frozen=True, kw_only=True)
class JsonAnswer:
    """The keys of every answer."""

    shape: int = SHAPE
    version: str = field(default_factory=lambda: __version__)


def written(answer: JsonAnswer) -> str:
    """Return an answer as JSON in ASCII, so that no name can control a terminal."""
    plain = TypeAdapter(type(answer)).dump_python(answer, mode="json")
    return f"{json.dumps(plain, indent=1, allow_nan=False)}\n"


def schema(kind: type[JsonAnswer]) -> dict[str, Any]:
    """Return the JSON Schema of a kind of answers."""
    made = TypeAdapter(kind).json_schema(mode="serialization")
    return {"$schema": DRAFT, **made}
