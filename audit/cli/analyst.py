"""The commands for analysts: ``sql``, ``stuck`` and ``refused``."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from typer import Argument, Option

from audit.cli.options import (
    SITE,
    ClusterName,
    ConfigFile,
    Count,
    OptionGroup,
    configuration,
    grouped,
    published,
    say,
    show,
    site,
)
from audit.errors import UsageError
from audit.words import Format

if TYPE_CHECKING:
    from audit.analyst.sql import SqlLimits, SqlStatement
    from audit.config import Config

Published = Annotated[
    Path | None,
    Option("--db", help="Published database; default: that of --config, or of fairaudit-out."),
]


@dataclass(frozen=True)
class QueryTarget:
    """Which database a query reads, and the output format."""

    db: Published = None
    form: Annotated[Format, Option("--format", help="Output format.")] = Format.table
    config: ConfigFile = None

    def opened(self) -> tuple[Config, Path, SqlLimits, Path | None]:
        """Start the process that reads; return settings, database, limits and archive."""
        from audit.analyst.reader import prepare
        from audit.analyst.sql import SqlLimits
        from audit.config import places

        prepare()
        settings = configuration(self.config)
        path = self.db or published(self.config, settings)
        archive = self.config and places.Site(settings, self.config.parent).archive_of(path)
        return settings, path, SqlLimits(settings.sql.timeout_s, settings.sql.memory_limit), archive

    def saved(self, name: str, rows: int | None = None, **parameters: object) -> None:
        """Print the answer to a saved query; None leaves a parameter at its default."""
        from audit.analyst.sql import SqlStatement

        _, path, limits, archive = self.opened()
        given = {key: str(value) for key, value in parameters.items() if value is not None}
        _answer(path, SqlStatement(name, given, self.form, rows), limits, archive)


OfDatabase: TypeAlias = Annotated[QueryTarget, OptionGroup.of(QueryTarget)]


@grouped
def sql(
    *,
    query: Annotated[str | None, Argument(help="SQL, or the name of a saved query.")] = None,
    file: Annotated[Path | None, Option("-f", "--file", help="File with the statement.")] = None,
    param: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="Value of the parameter $NAME; repeatable."),
    ] = None,
    csv: Annotated[
        list[str] | None,
        Option("--csv", metavar="NAME=FILE", help="Add a table NAME with the texts of a CSV file."),
    ] = None,
    show_saved: Annotated[bool, Option("--list", help="List the saved queries.")] = False,
    rows: Annotated[int | None, Count(help="Maximum number of rows.")] = None,
    raw: Annotated[bool, Option("--raw", help="Do not escape formulas in csv.")] = False,
    private: Annotated[
        bool, Option("--private", help="In an interactive session: keep no history.")
    ] = False,
    target: OfDatabase,
) -> None:
    """Query a published database, read-only; without a query, interactively."""
    from audit.analyst.sql import Reader, SqlStatement, describe_saved, typed_values

    if show_saved:
        print(describe_saved(), end="")
        return
    settings, path, limits, archive = target.opened()
    listed = typed_values(csv or [], "--csv", "NAME=FILE")
    tables = {name: Path(file) for name, file in listed.items()}
    if query is None and file is None and sys.stdin.isatty() and sys.stdout.isatty():
        from audit.analyst import repl

        repl.converse(
            path,
            target.form,
            rows=rows or settings.sql.rows,
            history=None if private else repl.history_file(),
            say=say,
            opening=lambda: Reader(path, limits, archive, tables=tables),
        )
        return
    most = rows or (settings.sql.rows if target.form is Format.table else None)
    text, values = _statement(query, file), typed_values(param or [])
    _answer(path, SqlStatement(text, values, target.form, most, raw), limits, archive, tables)


@grouped
def stuck(
    *,
    user: Annotated[str | None, Option(help="Only this user's jobs.")] = None,
    waiting: Annotated[bool, Option("--waiting", help="Only jobs that still wait.")] = False,
    rows: Annotated[int | None, Count(help="Maximum number of jobs; default: all.")] = None,
    cluster: ClusterName = None,
    target: OfDatabase,
) -> None:
    """List jobs that waited longer than 95 % of similar jobs, and the probable causes.

    Jobs that still wait and jobs that were cancelled are listed. Without any fault of the
    scheduler, one job in twenty waits that long.
    """
    only = "waiting" if waiting else None
    target.saved("stuck", rows, user=user, cluster=cluster, only=only)


@grouped
def refused(
    *,
    cluster: ClusterName = None,
    code: Annotated[str | None, Option(help="Only refusals with this code.")] = None,
    file: Annotated[str | None, Option(metavar="NAME", help="Only records of this log.")] = None,
    replay: Annotated[bool, Option("--replay", help="Read the refused records again.")] = False,
    mended: Annotated[Path | None, Option(metavar="FILE", help="Corrected records (JSON).")] = None,
    accept: Annotated[bool, Option("--accept", help="Accept records with doubtful dates.")] = False,
    head: Annotated[
        Path | None,
        Option("--head", metavar="LOG", help="Print the first lines of a log without its names."),
    ] = None,
    lines: Annotated[int, Count(help="Number of lines of --head.")] = 200,
    target: OfDatabase,
) -> None:
    """List refused records and the reasons; accept them with --replay or --accept.

    --head prints the first lines of a log with all names replaced, for example for a report of a
    log that fairaudit does not read. Numbers, dates and the words of schedulers stay.
    """
    if head is not None:
        from audit.ingest.logs import head_without_names

        sys.stdout.buffer.write(head_without_names(head, lines))
        return
    if mended is not None and not replay:
        raise UsageError("--mended requires --replay")
    if not replay and not accept:
        target.saved("refused", cluster=cluster, code=code, file=file)
        return
    if target.db is not None:
        raise UsageError("--db is read-only: --replay and --accept change the store of config.toml")
    from audit.nightly.keeping import quarantine

    of, changed = site(target.config or SITE), 0
    if replay:
        done = quarantine.replay(of, cluster, code, file, mended)
        changed += done.taken
        show(f"accepted {done.taken:,} records; {done.left:,} are still refused")
    if accept:
        number = quarantine.accept(of, cluster, file)
        changed += number
        show(f"accepted {number:,} doubtful records")
    if changed:
        show("run 'fairaudit run' to compute the changes")


def _answer(
    path: Path,
    question: SqlStatement,
    limits: SqlLimits,
    archive: Path | None,
    tables: Mapping[str, Path] | None = None,
) -> None:
    from audit.analyst.sql import answer

    try:
        answer(path, question, sys.stdout.buffer, limits, say, archive, tables)
    except BrokenPipeError:  # as in "fairaudit sql … | head"
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _statement(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise UsageError(
            "sql: give one statement, the name of a saved query, or a file with -f; on a terminal, "
            "give none of them for an interactive session"
        )
    if file is None:
        return query or ""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
