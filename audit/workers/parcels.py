"""Things on their way to other processes: frames and arrays as Parquet files, the rest pickled.

A *parcel* is what pickle makes of a thing in which each frame and each array that is not small has
been replaced by the name of a file in a folder. One that occurs again, in the same parcel or a
later one of the same packer, is written once. Who may write into the folder can run code as who
opens a parcel, so the folder must be its user's alone.
"""

from __future__ import annotations

import io
import pickle
import uuid
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

SMALL: Final = 65_536
"""Bytes: arrays up to this size stay in the parcel, as a file of its own would cost more."""
_COLUMN: Final = "values"


class Filed(NamedTuple):
    """What stands in a parcel for a frame, a column or an array."""

    kind: str
    file: str
    name: str = ""
    """Of a column."""
    shape: tuple[int, ...] = ()
    """Of an array."""
    transposed: bool = False
    """Whether its columns lay together in memory, not its rows."""


class Packer:
    """Makes parcels for a folder."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is there, and whoever opens the parcels sees it by the same name."""
        self._folder = folder
        self._filed: dict[int, tuple[object, Filed]] = {}

    def packed(self, thing: object) -> bytes:
        """The parcel of a thing.

        Raises:
            OSError: its files cannot be written.
        """
        out = io.BytesIO()
        _Pickler(out, self).dump(thing)
        return out.getvalue()

    def file(self, thing: object) -> Filed | None:
        """What stands for a thing, which is written unless it has been; None: it stays."""
        if id(thing) in self._filed:
            return self._filed[id(thing)][1]
        if isinstance(thing, pl.DataFrame):
            filed = Filed("frame", self._written(thing))
        elif isinstance(thing, pl.Series):
            filed = Filed("column", self._written(thing.alias(_COLUMN).to_frame()), thing.name)
        elif isinstance(thing, np.ndarray) and thing.nbytes > SMALL and thing.dtype.kind in "iufb":
            turned = thing.ndim > 1 and thing.flags.f_contiguous
            rows = thing.T if turned else thing
            written = self._written(pl.DataFrame({_COLUMN: rows.reshape(-1)}))
            filed = Filed("array", written, "", rows.shape, turned)
        else:
            return None
        self._filed[id(thing)] = (thing, filed)  # which keeps it: ids of what is gone come again
        return filed

    def _written(self, frame: pl.DataFrame) -> str:
        """The name of a new file; unlike any other's, so that work done twice does no harm."""
        name = f"{uuid.uuid4().hex}.parquet"
        frame.write_parquet(self._folder / name, compression="lz4", statistics=False)
        return name


class Opener:
    """Opens parcels from a folder; what several of them hold is read once."""

    def __init__(self, folder: Path) -> None:
        """``folder``: that of the packer."""
        self._folder = folder
        self._read: dict[str, object] = {}
        self._lock = Lock()

    def opened(self, parcel: bytes) -> Any:
        """The thing that a parcel was made of.

        Raises:
            OSError: a file of it cannot be read.
        """
        return _Unpickler(io.BytesIO(parcel), self).load()

    def thing(self, filed: Filed) -> object:
        """A frame, a column or an array."""
        with self._lock:
            if filed.file not in self._read:
                self._read[filed.file] = _read(self._folder / filed.file, filed)
            return self._read[filed.file]

    def empty(self) -> None:
        """Removes what has been read, from memory and from the folder."""
        for name in self._read:
            (self._folder / name).unlink(missing_ok=True)
        self._read.clear()


def _read(file: Path, filed: Filed) -> object:
    frame = pl.read_parquet(file, hive_partitioning=False, glob=False)
    if filed.kind == "frame":
        return frame
    if filed.kind == "column":
        return frame[_COLUMN].alias(filed.name)
    array = np.array(frame[_COLUMN].to_numpy()).reshape(filed.shape)
    return array.T if filed.transposed else array


class _Pickler(pickle.Pickler):
    def __init__(self, out: io.BytesIO, packer: Packer) -> None:
        super().__init__(out, protocol=5)
        self._packer = packer

    def persistent_id(self, obj: object) -> Filed | None:
        """What stands for ``obj``, as pickle asks for it."""
        return self._packer.file(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: io.BytesIO, opener: Opener) -> None:
        super().__init__(data)
        self._opener = opener

    def persistent_load(self, pid: Any) -> object:
        """What ``pid`` stands for, as pickle asks for it."""
        return self._opener.thing(pid)
