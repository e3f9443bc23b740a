"""What marks a function as a kernel: one that is compiled when fairaudit is installed.

A kernel is Python of a small kind (docs/development.md, *Kernels*): it takes numbers, arrays of
``audit.kernels.arrays`` and named tuples of these, and writes into arrays that it is given.
``audit.kernels.translation`` makes Cython of it, and the installation machine code of that, in the
module ``audit.kernels.machine``. Nothing is compiled while fairaudit runs.
"""

import contextlib
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

MARK: Final = "__kernel__"
"""The attribute by which kernels are known; ``ENTRY``: Python may call it, or ``INNER``."""
ENTRY: Final = "entry"
INNER: Final = "inner"

machine: ModuleType | None = None
with contextlib.suppress(ImportError):  # while it is being made
    machine = importlib.import_module("audit.kernels.machine")


def kernel(function: Function) -> Function:
    """Makes of ``function`` a kernel that Python calls; ``plain`` gives the Python back.

    While it runs other threads do too.

    Raises:
        RuntimeError: on a call, where the machine code is missing.
        TypeError, ValueError: on a call with other arrays than it says. One that is only read, and
            is not contiguous, is copied.
    """
    setattr(function, MARK, ENTRY)
    compiled: Any = getattr(machine, name_of(function), None) or _missing(function)
    compiled.__wrapped__ = function
    return cast(Function, compiled)


def inner(function: Function) -> Function:
    """Marks a kernel that kernels call; where Python calls it, it is Python."""
    setattr(function, MARK, INNER)
    return function


def name_of(function: Callable[..., Any]) -> str:
    """What a kernel, or a record, is called where all of them stand together."""
    return f"{function.__module__.rpartition('.')[2]}_{function.__name__}"


def plain(compiled: Function) -> Function:
    """The Python function that ``compiled`` was made of, which checks every index."""
    python = getattr(compiled, "__wrapped__", None)
    return cast(Function, python) if hasattr(python, MARK) else compiled


def _missing(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*_args: object) -> None:
        raise RuntimeError(
            f"{function.__module__}.{function.__name__} is not compiled: in a checkout, run "
            "`make kernels`; else install fairaudit again"
        )

    return call
