"""The ``fairaudit`` command: its subcommands, errors and exit codes (README, "Exit codes").

Modules that take long to import are imported where they are used.
"""

import gc
import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

from audit import __version__, memory
from audit.cli import analyst, help, nightly, oneoff, questions, setup
from audit.cli.options import say
from audit.errors import UNWRITABLE, AuditError, UsageError, of_system
from audit.files import folders
from audit.progress import ended_by_sigterm

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, which typer returns without a message."""
EXTENSIONS: Final = "fairaudit.commands"
"""Entry points of this group name a ``typer.Typer`` that becomes a subcommand of their name."""
_NO_HELP: Final = {"help": False}
"""Default of --help; without it, typer loads pydantic to convert the missing value."""

_NO_COMPLETION: Final = {"install_completion": False, "show_completion": False}
"""Defaults of typer's options for shell completion, for the same reason."""

_LOOKS: Final[dict[str, Any]] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,  # rich help takes three times as long
}

_COMMANDS: Final = {
    command.__name__.replace("_", "-"): command
    for command in (
        *(oneoff.audit, nightly.run, nightly.ingest, nightly.report, nightly.service),
        *(nightly.status, nightly.deliver, nightly.archive, nightly.backup, nightly.restore),
        *(nightly.erase, setup.init, questions.explain, questions.when, questions.sshare),
        *(oneoff.simulate, oneoff.whatif, oneoff.fit_policy, analyst.sql, analyst.stuck),
        *(analyst.refused, oneoff.verify, setup.doctor, setup.pseudonym),
    )
}


class _Commands(TyperGroup):
    """The subcommands, each made on demand; so are those of ``EXTENSIONS``."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _COMMANDS and cmd_name not in self.commands:
            self.add_command(_made(cmd_name), cmd_name)
        elif cmd_name not in self.commands:
            self.list_commands(ctx)  # one of an extension, or mistyped
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        for name in _COMMANDS:
            self.get_command(ctx, name)
        self._load_extensions()
        return [*dict.fromkeys((*_COMMANDS, *super().list_commands(ctx)))]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in groups."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        limit = formatter.width - 6 - max(map(len, commands))
        for group, names in help.grouped_commands([*commands]):
            rows = [(name, commands[name].get_short_help_str(limit)) for name in names]
            if rows:
                with formatter.section(group):
                    formatter.write_dl(rows)

    def _load_extensions(self) -> None:
        from importlib.metadata import entry_points

        for entry in entry_points(group=EXTENSIONS):
            if entry.name not in self.commands:
                commands = entry.load()
                _prepare(commands)
                self.add_command(typer.main.get_command(commands), entry.name)


def _made(name: str) -> Any:
    """Return one of ``_COMMANDS``."""
    alone = typer.Typer(**_LOOKS, add_completion=False)
    alone.command(name, epilog=help.epilog(name))(_COMMANDS[name])
    _prepare(alone)
    return typer.main.get_command(alone)


def _prepare(commands: typer.Typer) -> None:
    """Set defaults for --help, and keep summaries of commands whole."""
    defaults: dict[str, Any] = {**_NO_HELP, **_NO_COMPLETION}
    for command in commands.registered_commands:
        assert command.callback is not None
        command.short_help = (inspect.getdoc(command.callback) or "").partition("\n\n")[0]
        defaults[command.name or command.callback.__name__] = _NO_HELP
    commands.info.context_settings = {"default_map": defaults}


app = typer.Typer(
    name="fairaudit",
    cls=_Commands,
    help="Audit the fairness of a batch scheduler from its accounting logs.",
    epilog=help.EPILOG,
    no_args_is_help=True,
    context_settings={
        "default_map": {**_NO_HELP, **_NO_COMPLETION, **dict.fromkeys(_COMMANDS, _NO_HELP)}
    },
    **_LOOKS,
)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if ctx.invoked_subcommand is not None:
        memory.require()
        memory.explain_aborts()
    if version:
        print(f"fairaudit {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run the command and exit; errors that a user can act on are printed without a traceback."""
    # Most objects live until the end; collecting garbage every 700 of them takes 10 % of an audit.
    gc.set_threshold(400_000, 20, 20)
    with ended_by_sigterm():
        code = _exit_code()
    sys.exit(code)


def _exit_code() -> int:
    """Run the command; return its exit code, and print its error."""
    code: object
    try:
        _refuse_bytes(sys.argv[1:])
        code = app(standalone_mode=False)
    except AuditError as error:
        say(f"fairaudit: {error}")
        code = error.exit_code
    except typer.Exit as done:
        code = done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except OSError as error:
        say(f"fairaudit: {memory.shortage(error) or of_system(error)}")
        code = (UsageError if error.errno in UNWRITABLE else AuditError).exit_code
    except Exception as error:
        code = _explained(error)
    else:
        if not code and (step := help.next_step(sys.argv[1:])):
            say(f"next: {step}")
    if code == INTERRUPTED:
        say("fairaudit: interrupted")
    return code if isinstance(code, int) else 0


def _refuse_bytes(words: Sequence[str]) -> None:
    """Raise UsageError if a word is not UTF-8; only names of existing files may be anything."""
    for word in words:
        named = map(os.path.exists, (word, word.partition("=")[2]))  # --option=FILE
        if word != word.encode(errors="replace").decode() and not any(named):
            raise UsageError(f"{folders.readable(Path(word))}: no such file, and not UTF-8")


def _explained(error: Exception) -> int:
    """Print an error of typer's parser, or that memory ran out; raise a defect again."""
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        text: str = error.format_message()
        is_help = text.startswith("Usage:")  # no arguments were given
        text = text.replace("Value error, ", "", 1).rstrip(".")
        words, context = ["--help"], getattr(error, "ctx", None)
        while context is not None and context.parent is not None:
            words, context = [context.info_name, *words], context.parent
        say(text if is_help else f"fairaudit: {text}; see 'fairaudit {' '.join(words)}'")
        return UsageError.exit_code
    if (shortage := memory.shortage(error)) is None:
        raise error
    say(f"fairaudit: {shortage}")
    return shortage.exit_code
