"""The command line: arguments in, one call into a room, and how it ends.

A module beside this one has each group of commands. Exit codes are in README.md. Modules that take
long to import are imported where they are used.
"""

from __future__ import annotations

import gc
import logging
import sys
from typing import Annotated, Final, NoReturn

import typer

from audit import __version__
from audit.cli import analyst, nightly, oneoff, setup, studies
from audit.cli.output import say
from audit.errors import AuditError, of_system

app = typer.Typer(
    name="fairaudit",
    help="Is your batch scheduler fair, to whom is it not, and why?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    oneoff.audit,
    nightly.run,
    nightly.ingest,
    nightly.report,
    nightly.service,
    nightly.status,
    nightly.deliver,
    setup.init,
    oneoff.sshare,
    oneoff.simulate,
    studies.whatif,
    analyst.sql,
    oneoff.verify,
    setup.doctor,
):
    app.command(command.__name__)(command)
app.add_typer(studies.experiment, name="experiment")

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C: typer's own, which it gives without a word."""


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"fairaudit {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Runs the command; errors that a user can act on end without a traceback."""
    # A command makes much that lives to its end (a PDF's layout above all): looking for garbage
    # among it every 700 objects takes a tenth of an audit.
    gc.set_threshold(100_000, 20, 20)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        code = app(standalone_mode=False)
    except AuditError as error:
        say(f"fairaudit: {error}")
        code = error.exit_code
    except typer.Exit as done:
        code = done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except OSError as error:
        say(f"fairaudit: {of_system(error)}")
        code = AuditError.exit_code
    except Exception as error:
        if not _is_usage(error):
            raise
        say(f"fairaudit: {error.format_message()}; see 'fairaudit --help'")  # type: ignore[attr-defined]
        code = 2
    if code == INTERRUPTED:
        say("fairaudit: interrupted")
    sys.exit(code if isinstance(code, int) else 0)


def _is_usage(error: Exception) -> bool:
    """Whether typer's parser refused the arguments."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")
