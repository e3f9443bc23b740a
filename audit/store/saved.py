"""The queries of ``sql/saved``: questions that analysts ask often, with named, typed parameters.

A file opens with comment lines: what it answers in one sentence, then a line for each parameter,
``-- $top BIGINT = 20: how many users``. Without ``= …`` a parameter must be given; NULL is no
value. What is declared and what is used must agree, which ``tests/store/test_saved.py`` checks.
"""

from __future__ import annotations

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
    kind: str
    """Its SQL type."""
    default: str | None
    """As text; None where it must be given, ``NULL`` for no value."""
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
    """All saved queries, by name in alphabetical order.

    Raises:
        StoreError: a declaration cannot be read.
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
                raise StoreError(
                    f"{path.name}:{number}: a parameter is declared as '-- $name TYPE = default: "
                    f"what it is', not {line!r}"
                )
        found[path.stem] = Saved(path.stem, " ".join(doc), tuple(parameters), text)
    return found


def named(name: str) -> Saved:
    """The saved query ``name``.

    Raises:
        UsageError: there is none; the nearest is named.
    """
    try:
        return every()[name]
    except KeyError:
        near = difflib.get_close_matches(name, every(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"sql: no saved query {name!r}{hint} 'fairaudit sql --list' shows all"
        ) from None


def arguments(con: Connection, saved: Saved, given: Mapping[str, str]) -> dict[str, object]:
    """The values of all its parameters, of their types, for what a person typed.

    Raises:
        UsageError: one is missing, unknown, or not of its type.
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
            raise UsageError(
                f"sql: {saved.name} needs --param {parameter.name}=… ({parameter.doc})"
            )
        if parameter.default == "NULL":
            return None
        text = parameter.default
    try:
        cast = f"SELECT CAST($value AS {parameter.kind})"  # one of those in _PARAMETER
        ((found,),) = database.rows(con, cast, {"value": text})
    except StoreError as error:
        raise UsageError(
            f"sql: parameter {parameter.name} of {saved.name}: {text!r} is no {parameter.kind}"
        ) from error
    return found
