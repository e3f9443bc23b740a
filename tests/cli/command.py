"""The command as users call it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from tests import processes

HEAVY: Final = frozenset(
    {"apscheduler", "duckdb", "jinja2", "numpy", "polars", "pydantic", "rich"}
    | {"scipy", "sklearn", "resvg_py", "weasyprint"}
)
"""Libraries that take long to load."""

QUICK: Final = ("--no-pdf", "--no-fit", "--no-advice")
"""Options of audits whose advice does not matter."""


class Done(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    stdout: str
    stderr: str


class Run(Protocol):
    """Calls fairaudit and checks its exit code."""

    def __call__(self, *arguments: object, check: int = 0) -> Done: ...


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def loaded(arguments: Iterable[str], of: Iterable[str]) -> list[str]:
    """Return the modules of ``of`` that a process has loaded when the command ends."""
    script = (
        "import sys\nfrom audit.cli.app import main\n"
        "try:\n    main()\nfinally:\n    sys.stdout = sys.__stderr__\n"
        f"    print('loaded', *sorted({set(of)!r} & set(sys.modules)))"
    )
    done = processes.python("-c", script, *arguments)
    said, *names = done.stderr.splitlines()[-1].split()
    assert said == "loaded", done.stderr
    return names
