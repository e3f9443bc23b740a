"""Writes docs/schema/NAME.json, a JSON Schema for each answer for programs: `make schemas`.

Those of dataclasses are derived from them, and that of `stuck` from the columns of its query.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from audit import json_answers
from audit.nightly.status import StatusAnswer
from audit.oneoff.audit import AuditResult
from audit.oneoff.before import BeforeAnswer
from audit.oneoff.explain.shown import Explanation
from audit.oneoff.when import WhenAnswer
from audit.report.owner.card import Card
from audit.store import database, migrations, saved

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "schema"

ANSWERS: Final[Mapping[str, type[json_answers.JsonAnswer]]] = {
    "audit": AuditResult,
    "status": StatusAnswer,
    "explain": Explanation,
    "when": WhenAnswer,
    "before": BeforeAnswer,
    "card": Card,
}
_TYPES: Final = (
    (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", {"type": "integer"}),
    (r"DOUBLE|FLOAT", {"type": "number"}),
    (r"BOOLEAN", {"type": "boolean"}),
    (r"TIMESTAMP WITH TIME ZONE", {"type": "string", "format": "date-time"}),
    (r"VARCHAR", {"type": "string"}),
)
"""Patterns of SQL types, and what they are in JSON."""


def schemas() -> dict[str, dict[str, Any]]:
    """Return all schemas by name."""
    made = {name: json_answers.schema(kind) for name, kind in ANSWERS.items()}
    return {**made, "stuck": of_saved("stuck")}


def of_saved(name: str) -> dict[str, Any]:
    """Return the schema of the rows of a saved query."""
    query = saved.named(name)
    with migrations.temporary() as con:
        values = {parameter.name: None for parameter in query.parameters}
        described = database.rows(con, f"DESCRIBE {query.sql}", values)
    columns = {column: _of(kind) for column, kind, *_ in described}
    row = {"type": "object", "properties": columns, "required": [*columns]}
    return {
        "$schema": json_answers.DRAFT,
        "title": name,
        "description": query.doc,
        "type": "array",
        "items": {**row, "additionalProperties": False},
    }


def _of(kind: str) -> dict[str, Any]:
    (found,) = (of for pattern, of in _TYPES if re.fullmatch(pattern, kind))
    return {**found, "type": [found["type"], "null"]}


def written(schema: Mapping[str, Any]) -> str:
    """Return the text of a file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all files."""
    for name, schema in schemas().items():
        (FOLDER / f"{name}.json").write_text(written(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
