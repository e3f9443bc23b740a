"""The table of log dialects. A dialect is one module of this package with a ``DIALECT``."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module

import polars as pl

import audit.formats
from audit.errors import DialectError
from audit.formats.lines import Block


@dataclass(frozen=True)
class Header:
    """What a log says about itself and the cluster, before its first record."""

    zone: str | None = None
    """IANA name of the cluster's time zone."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """Amount of each counted resource that the log claims for the cluster."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """Every labelled entry, for provenance and for the dialect's own use."""
    problems: tuple[str, ...] = ()
    """What could not be used of it, in words for the user."""


@dataclass(frozen=True)
class Parsed:
    """What became of the lines of a block."""

    records: pl.DataFrame  # model.RECORDS
    refusals: pl.DataFrame  # model.REFUSALS


@dataclass(frozen=True)
class Dialect:
    """One kind of accounting log: bytes in, records and refusals out."""

    name: str
    title: str
    recognises: Callable[[bytes], bool]
    """Whether the first bytes of a log (up to ``HEAD_BYTES``, maybe cut within a line) are its."""
    header: Callable[[bytes], Header]
    """Reads those first bytes."""
    parse: Callable[[Block, Header], Parsed]
    """Takes in whole lines; never raises for what they hold."""


HEAD_BYTES = 1 << 18
"""How much of a log is looked at to tell its dialect and to read its header."""


@lru_cache(maxsize=1)
def table() -> Mapping[str, Dialect]:
    """Every dialect by name, in alphabetical order."""
    modules = (
        import_module(f"audit.formats.{module.name}")
        for module in pkgutil.iter_modules(audit.formats.__path__)
    )
    found = [module.DIALECT for module in modules if hasattr(module, "DIALECT")]
    return {dialect.name: dialect for dialect in sorted(found, key=lambda d: d.name)}


def detect(head: bytes, where: str) -> Dialect:
    """The dialect of the log that begins with ``head``.

    Args:
        head: its first ``HEAD_BYTES`` bytes, decompressed.
        where: what to call the log in an error.

    Raises:
        DialectError: no dialect recognises it; the message shows its first line that is not blank.
    """
    for dialect in table().values():
        if dialect.recognises(head):
            return dialect
    known = ", ".join(dialect.title for dialect in table().values())
    first = next((line for line in head.splitlines() if line.strip()), b"")
    shown = first[:120].decode("utf-8", errors="backslashreplace")
    raise DialectError(
        f"{where}: not a log that fairaudit reads (known: {known}). It begins with: {shown!r}"
    )
