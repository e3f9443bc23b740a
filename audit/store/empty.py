"""The empty store that new stores begin as, kept for the next process.

Its tables and views take longer to make than all that a small audit writes into them.
"""

import os
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import duckdb

from audit.errors import StoreError
from audit.files import caches, folders
from audit.store import catalogue
from audit.store.database import STORAGE_VERSION, open_store


def place(path: Path) -> bool:
    """Write an empty store to ``path``, and return whether that was possible.

    The file appears in one step, with all its content. It is left to DuckDB, whose errors name the
    cause, where it cannot be written, where a file exists, and where a removed store has left its
    journal, which would be applied to any other copy.
    """
    if path.exists() or path.with_name(path.name + ".wal").exists():
        return False
    with suppress(OSError, StoreError, AttributeError):  # systems without files that have no name
        content = _content()
        new = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        with os.fdopen(new, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            # Python follows the link below /proc only if it is given a descriptor of a folder.
            os.link(f"/proc/self/fd/{file.fileno()}", path, src_dir_fd=file.fileno())
        return True
    return False


def _content() -> bytes:
    """Return the bytes of the empty store, from an earlier process if one kept them."""
    folder = caches.folder(Path(__file__).parent, "store")
    made_of = f"{duckdb.__version__} {STORAGE_VERSION} {catalogue.digest()}"
    kept = caches.kept(folder / "empty.duckdb", made_of.encode())
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="fairaudit-") as name:
            folders.require(made := Path(name))
            with closing(open_store(made / "store.duckdb")) as con:
                catalogue.make_views(con, catalogue.make_tables(con, catalogue.newest()))
            kept = (made / "store.duckdb").read_bytes()
        caches.keep(folder / "empty.duckdb", made_of.encode(), kept)
    return kept
