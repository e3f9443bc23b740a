"""The archive: old attempts in Parquet files beside the database, by cluster and month.

The store holds current attempts, and views read both: ``all_records`` and ``all_results`` are the
tables and the files. Files are written once and never changed. The table ``archived`` names them,
relative to the folder of the published database; a file that it does not name was left by a run
that was killed. Each file name contains the identity of its store, and a store removes only its own
files.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from audit.errors import StoreError, refusals
from audit.files import privacy
from audit.store.database import Connection, execute, quote_text, rows, transaction

OVER_ARCHIVE: Final = {"all_records": "records", "all_results": "job_result"}
"""The views over tables and files: view → the table of attempts that are not archived."""

_HALF_A_DAY_S: Final = 43_200

_IDENTITY: Final = re.compile(r"[0-9a-f]{16}")
_STEM: Final = r"\d{4}-\d{2}-(records|results)"
FILE: Final = re.compile(
    rf"\w[\w.-]{{0,106}}/{_STEM}-[0-9a-f]{{16}}-[0-9a-f]{{12}}\.parquet", re.ASCII
)
"""The names of a store's files, relative to the archive's folder."""

_ORDERS: Final = {
    "records": ("records", "end_time, job_id, attempt, input_id, line"),
    "job_result": ("results", "pool, end_time, job_id, attempt"),
}
"""Table → the kind of its files, and the order of their rows."""

_GOING: Final = """
CREATE OR REPLACE TEMP TABLE going AS
WITH ended AS (
    SELECT job_id, max(end_time) AS gone
    FROM records
    WHERE cluster = $1 AND NOT superseded AND end_time < $2
    GROUP BY job_id
),
stays AS (
    SELECT DISTINCT job_id
    FROM records
    WHERE cluster = $1 AND NOT superseded AND (end_time IS NULL OR end_time >= $2)
        AND job_id IN (SELECT job_id FROM ended)
)
SELECT job_id, gone FROM ended WHERE job_id NOT IN (FROM stays)
"""
"""The jobs of cluster ``$1`` that finally ended before ``$2``, and when."""


class Month(NamedTuple):
    """The jobs that finally ended within a month, archived together; times in epoch s."""

    cluster: str
    from_time: int
    to_time: int
    first_arrival: int | None
    records: int
    results: int
    files: tuple[str, str]  # records and results; relative to the folder of the published database
    sha256: tuple[str, str]

    def touches(self, since: int | None, until: int | None) -> bool:
        """Return whether an attempt may have ended since ``since`` and arrived before ``until``.

        None: no bound.
        """
        begins = None if self.first_arrival is None else min(self.from_time, self.first_arrival)
        in_time = begins is None or until is None or begins < until
        return in_time and (since is None or self.to_time > since)


def months(con: Connection, cluster: str | None = None) -> list[Month]:
    """Return the archived months of a cluster, or of all; by cluster and time."""
    found = rows(
        con,
        "SELECT cluster, from_time, to_time, first_arrival, records, results, records_file, "
        "results_file, records_sha256, results_sha256 FROM archived "
        "WHERE $cluster IS NULL OR cluster = $cluster",
        {"cluster": cluster},
    )
    made = [Month._make((*row[:6], row[6:8], row[8:])) for row in found]
    # In DuckDB, the order triples the time of this query, which runs before each over the archive.
    return sorted(made, key=lambda month: (month.cluster, month.to_time))


def identity(con: Connection) -> str | None:
    """Return the identity of this store; None for one that never archived.

    Raises StoreError if the table ``identity`` contains anything else.
    """
    found = [store for (store,) in rows(con, "SELECT store FROM identity")]
    if not found:
        return None
    if len(found) > 1 or not _IDENTITY.fullmatch(found[0]):
        raise StoreError("the store's identity is damaged")
    return str(found[0])


def identified(con: Connection) -> str:
    """Return the identity of this store, which is chosen now if needed; errors as ``identity``."""
    if (store := identity(con)) is None:
        store = secrets.token_hex(8)
        execute(con, "INSERT INTO identity VALUES (?)", [store])
    return store


def archived_until(con: Connection, cluster: str) -> int | None:
    """Return the end of a cluster's archive, epoch s; None if nothing is archived."""
    ((until,),) = rows(
        con, "SELECT max(to_time) FROM archived WHERE cluster = $of", {"of": cluster}
    )
    return None if until is None else int(until)


def reach(con: Connection, folder: Path) -> None:
    """Set the folder in which a store finds its files: that of the published database."""
    execute(con, f"SET file_search_path = {quote_text(str(folder.resolve()))}")


def renew_views(con: Connection) -> None:
    """Recreate the views over the tables and the files that ``archived`` names.

    Raises StoreError if a file is missing.
    """
    every = months(con)
    for position, (view, table) in enumerate(OVER_ARCHIVE.items()):
        query = over_archive(table, [month.files[position] for month in every])
        try:
            execute(con, f"CREATE OR REPLACE VIEW {view} AS {query}")
        except StoreError as error:
            why = f"a file of the archive cannot be read (output.archive): {error}"
            raise StoreError(why) from error


def over_archive(table: str, files: Sequence[str]) -> str:
    """Return the query that reads a table, and archived files with the same columns or fewer."""
    query = f"SELECT * FROM {table}"  # noqa: S608
    if files:
        named = ", ".join(map(quote_text, files))
        read = f"read_parquet([{named}], union_by_name = true)"  # older files lack columns
        query += f" UNION ALL BY NAME SELECT * FROM {read}"  # noqa: S608
    return query


def move(
    con: Connection,
    cluster: str,
    edges: Sequence[int],
    base: Path,
    place: str,
    *,
    with_group: bool = False,
) -> list[Month]:
    """Move the jobs that finally ended before the last of ``edges`` from the tables to files.

    A job moves as a whole: one with an attempt that ended later or is open stays. Each month moves
    in one transaction with the views, so that views always show each row exactly once.

    Args:
        edges: epoch s, ascending; the edges of files. The first file also gets jobs that ended
        before. base: the folder of the published database. place: the folder of the cluster's
        files, relative to ``base``.

    Raises StoreError if a file cannot be written.
    """
    moved = []
    execute(con, _GOING, [cluster, edges[-1]])
    try:
        for first, last in pairwise(edges):
            after = f"gone >= {int(first)} AND " if first > edges[0] else ""
            going = f"SELECT job_id FROM going WHERE {after}gone < {int(last)}"  # noqa: S608
            chosen = f"cluster = {quote_text(cluster)} AND job_id IN ({going})"
            of = (cluster, first, last)
            if month := _move_month(con, of, chosen, base, place, with_group=with_group):
                moved.append(month)
    finally:
        execute(con, "DROP TABLE IF EXISTS going")
    return moved


def _move_month(
    con: Connection,
    of: tuple[str, int, int],
    chosen: str,
    base: Path,
    place: str,
    *,
    with_group: bool,
) -> Month | None:
    """Move the jobs for which ``chosen`` holds; None if there are none."""
    ((count, first_arrival),) = rows(
        con,
        "SELECT count(*), min(least(coalesce(eligible_time, submit_time), start_time, end_time)) "  # noqa: S608
        f"FROM records WHERE {chosen}",
    )
    if not count:
        return None
    privacy.shared_folder(base / place, with_group=with_group)
    store = identified(con)
    name = f"{datetime.fromtimestamp(of[2] - _HALF_A_DAY_S, UTC):%Y-%m}"  # in any zone
    written = [
        _write(
            con,
            f"SELECT * FROM {table} WHERE {chosen} ORDER BY {order}",  # noqa: S608
            *(base / place, f"{name}-{kind}-{store}", with_group),
        )
        for table, (kind, order) in _ORDERS.items()
    ]
    (records, _, sha256), (results, number, sha256_of_results) = written
    files = (f"{place}/{records}", f"{place}/{results}")
    month = Month(*of, first_arrival, count, number, files, (sha256, sha256_of_results))
    inputs = f"SELECT cluster, ?, input_id, count(*) FROM records WHERE {chosen} GROUP BY ALL"  # noqa: S608
    with transaction(con):
        execute(con, f"INSERT INTO archived_input {inputs}", [of[2]])
        for table in _ORDERS:
            execute(con, f"DELETE FROM {table} WHERE {chosen}")  # noqa: S608
        values = [*month[:6], *month.files, *month.sha256]
        execute(con, "INSERT INTO archived VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        renew_views(con)
    return month


def _write(
    con: Connection, sql: str, folder: Path, stem: str, with_group: bool
) -> tuple[str, int, str]:
    """Write rows to a file of the archive; return its name, their number, and its SHA-256."""
    draft = folder / f".{stem}.draft"  # only the holder of the store's lock writes it
    parquet = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880"
    try:
        with refusals(StoreError, folder, "cannot be written", "output.archive"):
            draft.unlink(missing_ok=True)  # a killed run may have left it read-only
            ((count,),) = rows(con, f"COPY ({sql}) TO {quote_text(str(draft))} ({parquet})")
            with draft.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                os.fsync(file.fileno())
            name = f"{stem}-{digest[:12]}.parquet"
            privacy.seal(draft, with_group=with_group)
            draft.replace(folder / name)
    finally:
        draft.unlink(missing_ok=True)
    return name, int(count), digest


def rewrite(
    con: Connection,
    month: Month,
    base: Path,
    instead: Sequence[str | None],
    *,
    with_group: bool = False,
) -> Month:
    """Write new files for an archived month, and return it with these; ``archived`` stays.

    Args:
        base: the folder of the published database. instead: the query of the new records and that
        of the new results, each in the order of its file; None: this file stays.

    Raises StoreError if a file cannot be written.
    """
    files, digests = list(month.files), list(month.sha256)
    for position, sql in enumerate(instead):
        if sql is not None:
            folder, _, name = month.files[position].rpartition("/")
            stem = name.rpartition("-")[0]
            made, _, digests[position] = _write(con, sql, base / folder, stem, with_group)
            files[position] = f"{folder}/{made}"
    return month._replace(files=(files[0], files[1]), sha256=(digests[0], digests[1]))


def bring_back(con: Connection, cluster: str, since: int) -> list[Month]:
    """Move the months that end after an instant (epoch s) back into the tables; return them.

    Call ``reach`` first, and this in a transaction. The files remain, because published databases
    name them (``tidy``).
    """
    back = [month for month in months(con, cluster) if month.to_time > since]
    if not back:
        return []
    for position, table in enumerate(OVER_ARCHIVE.values()):
        files = ", ".join(quote_text(month.files[position]) for month in back)
        rows_of = f"SELECT * FROM read_parquet([{files}], union_by_name = true)"  # noqa: S608
        execute(con, f"INSERT INTO {table} BY NAME {rows_of}")
    for table in ("archived", "archived_input"):
        delete = f"DELETE FROM {table} WHERE cluster = ? AND to_time > ?"  # noqa: S608
        execute(con, delete, [cluster, since])
    renew_views(con)
    return back


def tidy(con: Connection, base: Path, place: str) -> list[Path]:
    """Remove this store's files from a cluster's folder if ``archived`` does not name them.

    Call it after a publication, when no database that new readers open names them. Files of other
    stores, and all other files, remain.

    Returns:
        The files that were removed, drafts of killed runs and restores among them.
    """
    if (store := identity(con)) is None:
        return []
    named = {base / file for month in months(con) for file in month.files}
    own = re.compile(rf"\.?{_STEM}-{store}(-[0-9a-f]{{12}}\.parquet)?(\.draft)?", re.ASCII)
    gone = sorted(
        file for file in (base / place).glob("*") if own.fullmatch(file.name) and file not in named
    )
    for file in gone:
        file.unlink(missing_ok=True)
    return gone
