"""The commands for analysts: ``sql``, and ``stuck``, which asks one question for them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.cli.options import ClusterName, ConfigFile, configuration, published
from audit.cli.output import say
from audit.errors import UsageError
from audit.words import Format

if TYPE_CHECKING:
    from audit.analyst.sql import Limits, Question

Query = Annotated[
    str | None,
    typer.Argument(help="One SQL statement over the published views, or a saved query's name."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="Value of its parameter $NAME."),
]


Published = Annotated[
    Path | None,
    typer.Option("--db", help="A published database; else that of --config, or fairaudit-out's."),
]
Written = Annotated[Format, typer.Option("--format", help="How to write rows.")]


def sql(
    query: Query = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="Read the statement from a file.")
    ] = None,
    param: Parameters = None,
    show_saved: Annotated[
        bool, typer.Option("--list", help="List the saved queries and their parameters.")
    ] = False,
    db: Published = None,
    form: Written = Format.table,
    rows: Annotated[int | None, typer.Option(min=1, help="Write at most so many rows.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="csv: leave cells that look like formulas as they are.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Interactive: neither read nor keep a history.")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Query a published database, read-only and locked down; without a query, interactively."""
    from audit.analyst import repl
    from audit.analyst.sql import Limits, Question, describe_saved, typed_values

    if show_saved:
        print(describe_saved(), end="")
        return
    settings = configuration(config)
    limits = Limits(settings.sql.timeout_s, settings.sql.memory_limit)
    path = db or published(config, settings)
    if query is None and file is None and sys.stdin.isatty() and sys.stdout.isatty():
        shown, history = rows or settings.sql.rows, None if private else repl.history_file()
        repl.converse(path, form, rows=shown, limits=limits, history=history, say=say)
        return
    most = rows or (settings.sql.rows if form is Format.table else None)
    question = Question(_statement(query, file), typed_values(param or []), form, most, raw)
    _answer(path, question, limits)


def stuck(
    user: Annotated[str | None, typer.Option(help="Only this user's.")] = None,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Only those that still wait, none that gave up.")
    ] = False,
    top: Annotated[int, typer.Option(min=1, help="List at most so many.")] = 50,
    cluster: ClusterName = None,
    db: Published = None,
    form: Written = Format.table,
    config: ConfigFile = None,
) -> None:
    """List who waits, or gave up, longer than 95 % of their peers, and the probable cause."""
    from audit.analyst.sql import Limits, Question

    settings = configuration(config)
    chosen = {"user": user, "cluster": cluster, "only": "waiting" if waiting else None}
    parameters = {name: value for name, value in chosen.items() if value is not None}
    question = Question("stuck", {**parameters, "top": str(top)}, form)
    limits = Limits(settings.sql.timeout_s, settings.sql.memory_limit)
    _answer(db or published(config, settings), question, limits)


def _answer(path: Path, question: Question, limits: Limits) -> None:
    """Writes the answer to stdout."""
    from audit.analyst.sql import answer

    try:
        answer(path, question, sys.stdout.buffer, limits, say)
    except BrokenPipeError:  # "fairaudit sql … | head" has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _statement(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise UsageError(
            "sql: give one statement, a saved query's name, or a file with -f; on a terminal, "
            "nothing at all"
        )
    if file is None:
        return query or ""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
