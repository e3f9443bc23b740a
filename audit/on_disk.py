"""Long tables in files that are mapped into memory: columns that nothing reads take none.

A thread drops their pages as soon as more than ``MOST`` bytes of them were read; the system reads
them again where they are needed, from its cache of files or from the disk.
"""

import resource
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from audit.files import caches
from audit.kernels.mapped import count, forget, mapped
from audit.metrics.attempts.population import compact, is_in_order, is_single
from audit.store import database, queries
from audit.store.database import Connection

LEAST: Final = 1 << 16
"""Minimum rows of a table that is moved."""
MOST: Final = 32 << 20
"""Maximum bytes of tables that stay in memory while others are read."""
_VALUES: Final = 1 << 22
"""Values of a long result that are read at a time, unless one column has more."""
_EACH_S: Final = 0.02
_STATM: Final = Path("/proc/self/statm")


def on_disk(frame: pl.DataFrame, folder: Path | None) -> pl.DataFrame:
    """Return the same table, with its columns in a file without a name in ``folder``.

    Columns of single values, categories and lists stay in memory, and those that are on disk
    already stay where they are. So do all if the file cannot be written. None: no folder is known.
    """
    if folder is None or frame.height < LEAST:
        return frame
    moved = []
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            for name, dtype in frame.schema.items():
                if not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean)):
                    continue
                if is_single(frame, name):
                    continue
                rows = frame[name].rechunk().__arrow_c_stream__()
                if (column := mapped(rows, file.fileno())) is not None:
                    moved.append(pl.Series(name, column))
    except OSError:  # such as a full disk; memory may suffice
        return frame
    forget()
    _WATCH.begin()
    return frame.with_columns(moved)


def result(
    con: Connection,
    query: str,
    columns: Sequence[str] | None,
    order: Sequence[str],
    /,
    **arguments: object,
) -> pl.DataFrame:
    """Return columns of a query's result (None: all) on disk, sorted stably by ``order``.

    Nulls come first. A few columns are read at a time, so the query must keep the order of the
    store: it sorts and joins nothing. Columns of equal values are stored as a single value.
    """
    if columns is None:
        columns = queries.columns(con, query, **arguments)
    count = queries.count(con, query, **arguments)
    each = max(_VALUES // max(count, 1), 1)
    place = None
    if count > LEAST and order:
        keys = queries.run_for(con, query, order, **arguments)
        if not is_in_order(keys, *order):
            place = keys.select(pl.arg_sort_by(order, maintain_order=True)).to_series()
        del keys  # before more is made
        order = ()
    folder = database.folder(con)
    parts = []
    for first in range(0, len(columns), each):
        asked = [*dict.fromkeys((*columns[first : first + each], *order))]
        part = queries.run_for(con, query, asked, **arguments)
        if order and not is_in_order(part, *order):
            part = part.sort(order, maintain_order=True)
        if place is not None:
            part = part[place]
        part = part.select(columns[first : first + each]).rechunk()  # arrays then need no copy
        parts.append(on_disk(compact(part), folder))
    return pl.concat(parts, how="horizontal")


class _Watch:
    """A thread that lives as long as tables are on disk."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lives = False

    def begin(self) -> None:
        """Begin to watch, unless it does, or the system does not count the pages."""
        with self._lock:
            if not self._lives and _STATM.exists():
                self._lives, others = True, _of_files()
                threading.Thread(target=self._run, args=(others,), daemon=True).start()

    def _run(self, others: int) -> None:
        while True:
            time.sleep(_EACH_S)
            if _of_files() > others + MOST:
                forget()
            with self._lock:
                if not count():
                    self._lives = False
                    return


_WATCH: Final = _Watch()


def _of_files() -> int:
    """Return how many bytes of files are in the memory of this process."""
    return int(_STATM.read_text("ascii").split()[2]) * resource.getpagesize()


def release() -> None:
    """Return memory that is not in use to the system: tables on disk, and freed allocations."""
    forget()
    caches.trim()
