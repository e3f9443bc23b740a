"""Published databases, opened for reading: files that anyone may have made."""

import os
from pathlib import Path

from audit.errors import LockedError, StoreError, no_database
from audit.store import catalogue
from audit.store.database import LONGEST_S, SNAPSHOT, Connection, open_locked
from audit.words import ARCHIVE


def open_snapshot(
    path: Path,
    *,
    memory_limit: str = "2GB",
    timeout_s: int = LONGEST_S,
    archive: Path | None = None,
    tables_only: bool = False,
) -> Connection:
    """Open a published database for reading.

    The connection is locked, and its limits hold, from the first statement on: no other file, no
    network, no extension and no variable of this program can be reached, and no setting changed
    back. Of the files that the database names, only those in the archive can be read. Only the
    views of this version run, which ``audit.store.catalogue`` checks.

    Args:
        memory_limit: nothing is spilled to disk.
        archive: the folder of the archive; None: the default, beside the database.
        tables_only: views will not be used. Those of other versions are accepted, and no file of
            the archive can be read.

    Raises:
        LockedError: a process is writing the file.
        UsageError: it does not exist.
        StoreError: it is not a database, or holds something that is not allowed.
    """
    if not path.is_file():
        raise no_database(path)
    base = Path(os.path.abspath(path.parent))  # noqa: PTH100 - does not follow links
    folder = base / ARCHIVE if archive is None else Path(os.path.abspath(archive))  # noqa: PTH100
    con = open_locked(path, memory_limit, timeout_s)
    try:
        catalogue.refuse_programs(con, SNAPSHOT)
        files = catalogue.archived(con, SNAPSHOT)
        if tables_only:
            return con
        if files:
            names = [name for pair in files for name in pair]
            catalogue.close(catalogue.open_files(folder, base, names))
            con.close()
            con = open_locked(path, memory_limit, timeout_s, names, base)
            catalogue.refuse_programs(con, SNAPSHOT)  # it may be another file
            if catalogue.archived(con, SNAPSHOT) != files:
                raise LockedError("it was replaced while it was opened; try again")
        catalogue.check(con, SNAPSHOT, files)
    except StoreError as error:
        con.close()
        raise type(error)(f"{path}: {error}") from error
    return con
