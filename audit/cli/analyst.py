"""The commands for analysts: ``sql``, and ``stuck`` and ``refused``, which ask for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.cli.options import ClusterName, ConfigFile, archive_of, configuration, published, site
from audit.cli.output import say, show
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
    from audit.analyst.reader import prepare
    from audit.analyst.sql import Limits, Question, describe_saved, typed_values

    if show_saved:
        print(describe_saved(), end="")
        return
    prepare()
    settings = configuration(config)
    limits = Limits(settings.sql.timeout_s, settings.sql.memory_limit)
    path = db or published(config, settings)
    archive = archive_of(path, config, settings)
    if query is None and file is None and sys.stdin.isatty() and sys.stdout.isatty():
        from audit.analyst import repl

        shown, history = rows or settings.sql.rows, None if private else repl.history_file()
        repl.converse(
            *(path, form),
            rows=shown,
            limits=limits,
            history=history,
            say=say,
            archive=archive,
        )
        return
    most = rows or (settings.sql.rows if form is Format.table else None)
    question = Question(_statement(query, file), typed_values(param or []), form, most, raw)
    _answer(path, question, limits, archive)


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
    only = "waiting" if waiting else None
    chosen = {"user": user, "cluster": cluster, "only": only, "top": str(top)}
    _answer_saved("stuck", chosen, db, form, config)


def refused(
    cluster: ClusterName = None,
    code: Annotated[
        str | None, typer.Option(help="Only faults of this kind (see the column code).")
    ] = None,
    file: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this log.")] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Read them again and take in what is good now.")
    ] = False,
    mended: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --replay: texts that were mended, as JSON."),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Take in records whose dates were doubtful.")
    ] = False,
    db: Published = None,
    form: Written = Format.table,
    config: ConfigFile = None,
) -> None:
    """List records that were refused, and why; --replay and --accept take them in after all."""
    if mended is not None and not replay:
        raise UsageError("--mended goes with --replay")
    if not replay and not accept:
        chosen = {"cluster": cluster, "code": code, "file": file}
        _answer_saved("refused", chosen, db, form, config)
        return
    if db is not None:
        raise UsageError("--db is read only: --replay and --accept change the store of config.toml")
    from audit.nightly.keeping import quarantine

    of = site(config or Path("config.toml"))
    if replay:
        done = quarantine.replay(of, cluster, code, file, mended)
        show(f"{done.taken:,} records were taken in, {done.left:,} are refused still")
    if accept:
        number = quarantine.accept(of, cluster, file)
        show(f"{number:,} doubtful records were taken in")
    show("'fairaudit run' computes what they change")


def _answer_saved(
    name: str,
    chosen: Mapping[str, str | None],
    db: Path | None,
    form: Format,
    config: Path | None,
) -> None:
    """Writes the answer to a saved query to stdout; what is None keeps its default."""
    from audit.analyst.reader import prepare
    from audit.analyst.sql import Limits, Question

    prepare()
    settings = configuration(config)
    parameters = {parameter: value for parameter, value in chosen.items() if value is not None}
    limits = Limits(settings.sql.timeout_s, settings.sql.memory_limit)
    path = db or published(config, settings)
    archive = archive_of(path, config, settings)
    _answer(path, Question(name, parameters, form), limits, archive)


def _answer(path: Path, question: Question, limits: Limits, archive: Path | None) -> None:
    """Writes the answer to stdout."""
    from audit.analyst.sql import answer

    try:
        answer(path, question, sys.stdout.buffer, limits, say, archive)
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
