"""The command as a user meets it."""

from pathlib import Path
from typing import NamedTuple, Protocol


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


class Run(Protocol):
    """Calls fairaudit and checks its exit code."""

    def __call__(self, *arguments: object, check: int = 0) -> Done: ...


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
