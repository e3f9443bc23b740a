"""Writes docs/fairaudit.1, the man page, from the help of the commands: `make metrics-page`."""

import re
import textwrap
from pathlib import Path
from typing import Any, Final

import typer

from audit import __version__
from audit.cli.app import app

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "fairaudit.1"
README: Final = PAGE.parents[1] / "README.md"


def roff(text: str) -> str:
    """Text as roff reads it: with escapes, and no line that could be a request."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def paragraphs(text: str) -> str:
    return "\n.PP\n".join(roff(part) for part in textwrap.dedent(text).strip().split("\n\n"))


def options(command: Any) -> list[str]:
    """The options and arguments of a command, each with its help."""
    lines = []
    for one in command.params:
        if getattr(one, "hidden", False) or one.name == "help":
            continue
        if one.param_type_name == "option":
            heading, text = one.get_help_record(CONTEXT)
        else:
            heading, text = one.get_usage_pieces(CONTEXT)[0].strip("[]{}.…"), one.help or ""
        lines += [".TP", f"\\fB{roff(heading)}\\fR", roff(text)]
    return lines


CONTEXT: Final = typer.Context(typer.main.get_command(app))


def page() -> str:
    """The whole man page."""
    group: Any = CONTEXT.command
    lines = [
        "'\\\" -*- coding: utf-8 -*-",
        f'.TH FAIRAUDIT 1 "" "fairaudit {__version__}"',
        ".SH NAME",
        f"fairaudit \\- {roff(group.help[0].lower() + group.help[1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        ".B fairaudit",
        "\\fICOMMAND\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
        ".SH OPTIONS",
        *options(group),
        ".SH COMMANDS",
    ]
    for name in group.list_commands(CONTEXT):
        command = group.get_command(CONTEXT, name)
        lines += [
            f'.SS "fairaudit {roff(name)}"',
            paragraphs(command.help or ""),
            *options(command),
        ]
    lines.append(".SH EXIT STATUS")
    codes = README.read_text(encoding="utf-8").split("## Exit codes")[1].split("\n## ")[0]
    for code, meaning in re.findall(r"^\| (\d+) \| (.+) \|$", codes, re.MULTILINE):
        lines += [".TP", code, roff(meaning.replace("`", ""))]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
