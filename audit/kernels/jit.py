"""How kernels are compiled: numba without the interpreter's lock, kept on disk, never parallel.

A kernel takes arrays and scalars and writes into arrays that it is given. This module is cheap to
import; numba itself is loaded when the first module of kernels is, which their callers therefore
import inside functions. Threads of numba's own are never used: on a minimal Debian its thread layer
aborts on concurrent calls.
"""

import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from audit.files import caches

Function = TypeVar("Function", bound=Callable[..., Any])

LEAN: Final[dict[str, Any]] = {"_nrt": False, "error_model": "numpy"}
"""Neither references are counted nor exceptions raised: callers see to what is divided by."""

INNER: Final[dict[str, Any]] = {**LEAN, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""No way in from Python is made, which for a kernel of many arrays is the greater part of it."""

on_first_compile: Callable[[str], None] | None = None
"""Called once per process, with a sentence to show, before a kernel is compiled that no cache
held. Set it before the first kernel is used; by default nothing is said."""


def kernel(function: Function) -> Function:
    """Makes ``function`` a compiled kernel; ``plain`` gives the Python back."""
    return _compiled(function)


def lean(function: Function) -> Function:
    """A kernel that allots no memory, and so need not count references to arrays."""
    return _compiled(function, **LEAN)


def small(function: Function) -> Function:
    """A lean kernel of few arguments that becomes part of each kernel that calls it."""
    return _compiled(function, **LEAN, forceinline=True)


def inner(function: Function) -> Function:
    """A lean kernel that only compiled kernels may call: from Python it ends the process."""
    return _compiled(function, **INNER)


def inlined(function: Function) -> Function:
    """An inner kernel that becomes part of each kernel that calls it; for what is called most."""
    return _compiled(function, **INNER, forceinline=True)


def within(function: Function) -> Function:
    """An inner kernel that is typed and compiled as part of the one that calls it."""
    return _compiled(function, **INNER, inline="always")


def _compiled(function: Function, **options: Any) -> Function:
    _prepare()
    import numba

    return cast(Function, numba.njit(nogil=True, cache=True, **options)(function))


def plain(compiled: Function) -> Function:
    """The Python function that ``compiled`` was made of, which checks every index."""
    return cast(Function, getattr(compiled, "py_func", compiled))


@functools.cache
def _prepare() -> None:
    """Once: finds a place for compiled code, before numba reads where that is, and listens."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        folder = caches.folder(Path(__file__).parent, "kernels")
        os.environ["NUMBA_CACHE_DIR"] = str(_for_these_sources(folder))
    from numba.core import event

    class Listener(event.Listener):
        """Tells of the first compilation; what the cache holds is not compiled."""

        told = False

        def on_start(self, event: object) -> None:
            if not self.told and on_first_compile is not None:
                on_first_compile("compiling kernels for this machine, once: up to a minute")
            self.told = True

        def on_end(self, event: object) -> None:
            """Nothing to do: only beginnings are told."""

    event.register("numba:compile", Listener())


def _for_these_sources(folder: Path) -> Path:
    """The place in ``folder`` for what is compiled of the kernels as they are; others go.

    numba looks only at the file of a function, and would go on using what it inlined of another
    kernel after that has changed.
    """
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    place = folder / f"compiled-{digest[:16]}"
    for other in folder.glob("compiled-*"):
        if other != place:
            shutil.rmtree(other, ignore_errors=True)
    return place
