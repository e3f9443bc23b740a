"""Processes of this Python, which import the package and the checked kernels as the suite does."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, overload


@overload
def python(
    *words: object, text: Literal[False], **options: Any
) -> subprocess.CompletedProcess[bytes]: ...
@overload
def python(*words: object, **options: Any) -> subprocess.CompletedProcess[str]: ...
def python(*words: object, check: bool = False, text: bool = True, **options: Any) -> Any:
    """Run Python; return the completed process, with its output."""
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, check=check, text=text, capture_output=True, **options)


@contextmanager
def talking(program: str, *words: object, says: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program until it says a line, and leave it waiting for its input."""
    command = [sys.executable, "-c", program, *map(str, words)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == f"{says}\n"
        yield running
