"""The queries of ``sql/saved``: frequent questions of analysts, with named, typed parameters.

A file opens with comment lines: what it answers in one sentence, then a line for each parameter,
``-- $top BIGINT = 20: how many users``. Without ``= …`` a parameter is required; NULL is no value.
``tests/store/test_saved.py`` checks that declaration and use agree.
"""

import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from audit import resources
from audit.errors import StoreError, UsageError
from audit.store import database
from audit.store.database import Connection

_FOLDER: Final = "sql/saved"
_PARAMETER: Final = re.compile(r"-- \$(\w+) (VARCHAR|BIGINT|DOUBLE|DATE)(?: = ([^:]+))?: (.+)")


class Parameter(NamedTuple):
    """A parameter of a saved query."""

    name: str
    kind: str  # its SQL type
    default: str | None  # as text; None: it is required; ``NULL``: no value
    doc: str

    def __str__(self) -> str:
        return self.name if self.default is None else f"[{self.name}={self.default}]"


class Saved(NamedTuple):
    """One file of ``sql/saved``."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    sql: str


@cache
def every() -> dict[str, Saved]:
    """Return all saved queries, by name in alphabetical order.

    Raises StoreError if a declaration cannot be read.
    """
    found = {}
    for path in resources.files(_FOLDER, ".sql"):
        text = path.read_text(encoding="utf-8")
        doc: list[str] = []
        parameters: list[Parameter] = []
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.startswith("--"):
                break
            if not line.startswith("-- $"):
                doc.append(line.removeprefix("--").strip())
            elif match := _PARAMETER.fullmatch(line):
                parameters.append(Parameter(*match.groups()))
            else:
                form = "'-- $name TYPE = default: what it is'"
                wrong = f"a parameter is declared as {form}, not {line!r}"
                raise StoreError(f"{path.name}:{number}: {wrong}")
        found[path.stem] = Saved(path.stem, " ".join(doc), tuple(parameters), text)
    return found


def named(name: str) -> Saved:
    """Return the saved query ``name``; raises UsageError with the nearest name if it is unknown."""
    if name in every():
        return every()[name]
    near = difflib.get_close_matches(name, every(), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"sql: no saved query {name!r}{hint} 'fairaudit sql --list' shows all")


def arguments(con: Connection, saved: Saved, given: Mapping[str, str]) -> dict[str, object]:
    """Return the values of a query's parameters, converted to their types from what a person typed.

    Raises UsageError if one is missing, unknown, or not of its type.
    """
    known = {parameter.name: parameter for parameter in saved.parameters}
    for name in given:
        if name not in known:
            raise UsageError(
                f"sql: {saved.name} has no parameter {name!r}; it has {', '.join(known) or 'none'}"
            )
    return {name: _value(con, saved, known[name], given.get(name)) for name in known}


def _value(con: Connection, saved: Saved, parameter: Parameter, text: str | None) -> object:
    if text is None:
        if parameter.default is None:
            needed = f"--param {parameter.name}=… ({parameter.doc})"
            raise UsageError(f"sql: {saved.name} needs {needed}")
        if parameter.default == "NULL":
            return None
        text = parameter.default
    try:
        cast = f"SELECT CAST($value AS {parameter.kind})"  # one of those in _PARAMETER
        ((found,),) = database.rows(con, cast, {"value": text})
    except StoreError as error:
        wrong = f"{text!r} is not a {parameter.kind}"
        raise UsageError(f"sql: parameter {parameter.name} of {saved.name}: {wrong}") from error
    return found
