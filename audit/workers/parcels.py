"""Objects that are sent to other processes: frames and arrays as Parquet files, the rest pickled.

A *parcel* is a pickle in which each frame and each larger array is replaced by the name of a file
in a folder. An object that occurs again, in the same parcel or a later one of the same packer, is
written once. Anyone who can write into the folder can run code as the user who opens a parcel, so
it must be private to this user.
"""

import io
import pickle
import uuid
from collections import deque
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import ReferenceType, ref

import numpy as np
import polars as pl

SMALL: Final = 65_536
"""Maximum bytes of an array that stays in the parcel, because a file would cost more."""
KEPT: Final = 4
"""Latest parcels of which an opener keeps the objects, because the next one may contain them."""
_COLUMN: Final = "values"


class Filed(NamedTuple):
    """The reference in a parcel to a frame, a column or an array."""

    kind: str
    file: str
    name: str = ""  # of a column
    shape: tuple[int, ...] = ()  # of an array
    transposed: bool = False  # whether an array's columns are contiguous in memory


class Packer:
    """Makes parcels for a folder, which exists and has the same name for their readers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._filed: dict[int, tuple[ReferenceType[Any], Filed]] = {}

    def packed(self, thing: object) -> bytes:
        """Return the parcel of an object; raises OSError if its files cannot be written."""
        out = io.BytesIO()
        pickler = pickle.Pickler(out, protocol=5)
        pickler.persistent_id = self.file  # type: ignore[method-assign]
        pickler.dump(thing)
        return out.getvalue()

    def file(self, thing: object) -> Filed | None:
        """Return the reference to an object, writing it if needed; None: it stays in the parcel."""
        known = self._filed.get(id(thing))
        if known is not None and known[0]() is thing:  # ids are reused
            return known[1]
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
        self._filed[id(thing)] = (ref(thing), filed)
        return filed

    def _written(self, frame: pl.DataFrame) -> str:
        """Write a frame and return the file's name, unique because a part may be done twice."""
        name = f"{uuid.uuid4().hex}.parquet"
        frame.write_parquet(self._folder / name, compression="lz4", statistics=False)
        return name


class Opener:
    """Opens parcels from a packer's folder; objects of several parcels are read once.

    Those that the first parcel and the latest ``KEPT`` ones do not contain are forgotten.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, object] = {}
        self._first: set[str] | None = None
        self._latest: deque[set[str]] = deque(maxlen=KEPT)
        self._lock = Lock()

    def opened(self, parcel: bytes) -> Any:
        """Return the object in a parcel; raises OSError if a file of it cannot be read."""
        files: set[str] = set()

        def thing(filed: Filed) -> object:
            files.add(filed.file)
            return self._thing(filed)

        unpickler = pickle.Unpickler(io.BytesIO(parcel))  # noqa: S301 - from this user alone
        unpickler.persistent_load = thing  # type: ignore[method-assign]
        opened = unpickler.load()
        with self._lock:
            if self._first is None:
                self._first = files
            self._latest.append(files)
            for name in self._read.keys() - self._first.union(*self._latest):
                del self._read[name]
        return opened

    def _thing(self, filed: Filed) -> object:
        with self._lock:
            if filed.file not in self._read:
                self._read[filed.file] = _read(self._folder / filed.file, filed)
            return self._read[filed.file]

    def empty(self) -> None:
        """Remove what has been read, from memory and from the folder."""
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
