"""Processes of this Python, which import the package and the checked kernels as the suite does."""

import subprocess
import sys
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
