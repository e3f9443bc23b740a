"""Kernels in both their forms: compiled, and as Python, which notices every index out of range."""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from audit import kernels
from audit.kernels.compiled import plain

Form = Callable[[Any], Any]


@functools.cache
def entries() -> list[tuple[ModuleType, str]]:
    """By what names modules of kernels know compiled ones."""
    found = pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}.")
    modules = [importlib.import_module(each.name) for each in found]
    return [
        (module, name)
        for module in modules
        for name, value in vars(module).items()
        if plain(value) is not value
    ]


@contextmanager
def in_python() -> Iterator[None]:
    """Lets kernels be Python meanwhile, whoever calls them."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in entries():
            patch.setattr(module, name, plain(getattr(module, name)))
        yield


def compiled(function: Any) -> Any:
    return function


def python(function: Any) -> Any:
    def call(*arguments: Any) -> Any:
        with in_python():
            return plain(function)(*arguments)

    return call


FORMS: list[Form] = [compiled, python]
BOTH = pytest.mark.parametrize("form", FORMS, ids=["compiled", "python"])
