"""The command line: arguments in, one call into a room, and how it ends.

A module beside this one has each group of commands. Exit codes are in README.md. Modules that take
long to import are imported where they are used.
"""

from __future__ import annotations

import gc
import inspect
import sys
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from audit import __version__
from audit.cli import analyst, nightly, oneoff, setup, studies
from audit.cli.output import say
from audit.errors import UNWRITABLE, AuditError, UsageError, of_system

_UNASKED: Final = {"help": False}
"""Told beforehand: without it, typer loads pydantic to read that nobody asked for help."""

EXTENSIONS: Final = "fairaudit.commands"
"""Entry points of this group name a ``typer.Typer``; its commands follow the entry point's name."""


class _Commands(TyperGroup):
    """The commands below, and those that ``EXTENSIONS`` add; these are loaded when asked for."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._load_extensions()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self._load_extensions()
        return super().list_commands(ctx)

    def _load_extensions(self) -> None:
        from importlib.metadata import entry_points

        for entry in entry_points(group=EXTENSIONS):
            if entry.name not in self.commands:
                commands = entry.load()
                commands.info.context_settings = {"default_map": _told(commands)}
                self.add_command(typer.main.get_command(commands), entry.name)


app = typer.Typer(
    name="fairaudit",
    cls=_Commands,
    help="Is your batch scheduler fair, to whom is it not, and why?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes around the help would take twice as long as all else
)
for command in (
    oneoff.audit,
    nightly.run,
    nightly.ingest,
    nightly.report,
    nightly.service,
    nightly.status,
    nightly.deliver,
    nightly.archive,
    nightly.backup,
    nightly.restore,
    setup.init,
    oneoff.explain,
    oneoff.sshare,
    oneoff.simulate,
    studies.whatif,
    studies.fit_policy,
    analyst.sql,
    analyst.stuck,
    analyst.refused,
    oneoff.verify,
    setup.doctor,
    setup.pseudonym,
):
    app.command(command.__name__.replace("_", "-"))(command)


def _told(commands: typer.Typer) -> dict[str, Any]:
    """What is known of the options of commands, by name; their summaries are never cut off."""
    known: dict[str, Any] = dict(_UNASKED)
    for command in commands.registered_commands:
        assert command.callback is not None
        command.short_help = inspect.getdoc(command.callback)
        known[command.name or command.callback.__name__] = _UNASKED
    return known


app.info.context_settings = {"default_map": _told(app)}

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
        unwritable = error.errno in UNWRITABLE
        code = UsageError.exit_code if unwritable else AuditError.exit_code
    except Exception as error:
        if not _is_usage(error):
            raise
        text: str = error.format_message()  # type: ignore[attr-defined]
        asked = not text.startswith("Usage:")  # else for nothing: what it says is the help
        say(f"fairaudit: {text}; see 'fairaudit --help'" if asked else text)
        code = 2
    if code == INTERRUPTED:
        say("fairaudit: interrupted")
    sys.exit(code if isinstance(code, int) else 0)


def _is_usage(error: Exception) -> bool:
    """Whether typer's parser refused the arguments."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")
