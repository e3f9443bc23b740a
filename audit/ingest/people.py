"""Groups and pseudonyms of users, applied to records before they are stored.

A *mapping file* lists each user's account and group (a department, say) and the period of
membership; a record gets those of its submit time. A *key* makes pseudonyms of names (HMAC-SHA256,
the same in every run). With a key, refused lines are stored without text and the values that they
show, reasons of waiting without names, and constraints only if their features are declared.
"""

import csv
import dataclasses
import hashlib
import hmac
import io
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit import periods
from audit.config import DIGITS, PREFIXES, Cluster
from audit.errors import ConfigError, refusals
from audit.features import named
from audit.files import folders
from audit.formats.dialects import Header
from audit.ingest.logs import Opened
from audit.registry.reasons import without_names
from audit.store import queries
from audit.store.database import Connection
from audit.words import first_of, plural

_MAPPED: Final = ("account", "group")
_COLUMNS: Final = ("user", *_MAPPED, "from", "to")
_SHORTEST_KEY: Final = 16
_LONGEST_KEY: Final = 10_000
_MOST_FAULTS: Final = 20
_WITHHELD: Final = "withheld: it may hold names (clusters.people)"


class MappingRow(NamedTuple):
    """A line of a mapping file: a user's membership, half-open; times are epoch s."""

    line: int
    user: str
    account: str | None
    group: str | None
    from_time: int | None  # None: always before
    to_time: int | None  # None: from then on


class PeopleFilter:
    """How names in a cluster's records are stored; by default unchanged."""

    def __init__(
        self,
        mapping: pl.DataFrame | None = None,
        columns: Sequence[str] = (),
        key: bytes | None = None,
        *,
        replace: bool = False,
        features: Collection[str] = (),
    ) -> None:
        """Replace names in ``columns`` by pseudonyms (``key``); ``mapping`` has ``MappingRow``s.

        With ``replace`` the mapping takes precedence over the log. With a key, only constraints
        of these ``features`` are kept, and reasons without names.
        """
        self._mapping = mapping
        self._columns = tuple(columns) if key is not None else ()
        self._key = key
        self._replace = replace
        self._features = frozenset(features)
        self._known: dict[tuple[str, str], str] = {}

    @property
    def hides(self) -> bool:
        """Whether names are replaced by pseudonyms."""
        return bool(self._columns)

    @property
    def fingerprint(self) -> str | None:
        """A hash that identifies the key and columns; None where names are kept."""
        if self._key is None or not self.hides:
            return None
        label = "\0".join(("fairaudit people", *self._columns))
        return hmac.digest(self._key, label.encode(), "sha256").hex()[:16]

    def records(self, records: pl.DataFrame) -> pl.DataFrame:
        """Return records as they are stored; columns of ``model.RECORDS``."""
        if self._mapping is not None:
            records = _placed(records, self._mapping, replace=self._replace)
        replaced: dict[str, Callable[[str], str | None]] = {
            column: partial(self.pseudonym, column) for column in self._columns
        }
        if self.hides:  # others write these texts, but users choose parts of them
            replaced |= {"reason": without_names, "constraints": self._declared}
        return records.with_columns(
            records[column].replace_strict(
                {
                    text: None if text is None else rule(text)
                    for text in records[column].unique().to_list()
                },
                return_dtype=pl.String,
            )
            for column, rule in replaced.items()
            if records[column].null_count() < records.height
        )

    def _declared(self, constraint: str) -> str | None:
        """Return a constraint if all of its features are declared."""
        return constraint if self._features.issuperset(named(constraint)) else None

    def refusals(self, refusals: pl.DataFrame) -> pl.DataFrame:
        """Return refusals as they are stored; columns of ``model.REFUSALS``."""
        if not self.hides:
            return refusals
        return refusals.with_columns(
            reason=pl.format("damaged ({}); {}", "code", pl.lit(_WITHHELD)), text=pl.lit("")
        )

    def header(self, log: Opened) -> Header:
        """Return the header of a log as it is stored: without free text."""
        if not self.hides:
            return log.header
        needed = log.dialect.needed(log.header.entries)
        return dataclasses.replace(log.header, entries=needed, problems=())

    def pseudonym(self, column: str, name: str) -> str:
        """Return the pseudonym of a name; the same in every run, and for every cluster."""
        if column not in self._columns or self._key is None or name == "":
            return name
        known = self._known.get((column, name))
        if known is None:
            said = f"{column}\0{name}".encode(errors="surrogatepass")
            digest = hmac.digest(self._key, said, "sha256").hex()[:DIGITS]
            known = self._known[column, name] = f"{PREFIXES[column]}-{digest}"
        return known


AS_THEY_ARE: Final = PeopleFilter()


def filter_of(cluster: Cluster, folder: Path) -> PeopleFilter:
    """Return the configured filter of a cluster, whose paths are relative to ``folder``."""
    of = cluster.people
    key = None if of.key_file is None else _key(folder / of.key_file)
    mapping = None
    if of.file is not None:
        mapping = _frame(read(folder / of.file, periods.zone(cluster.zone)))
    declared = {
        feature for pool in cluster.pools for node in pool.nodes for feature in node.features or ()
    }
    return PeopleFilter(mapping, of.hidden, key, replace=of.replace, features=declared)


def check(con: Connection, cluster: str) -> None:
    """Raise ConfigError if the store has records of a cluster with different keys."""
    found = queries.run(con, "fingerprints", cluster=cluster)["fingerprint"].to_list()
    check_same(cluster, found)


def check_same(cluster: str, found: Sequence[str | None]) -> None:
    """Raise ConfigError if there are several fingerprints."""
    if len(set(found)) < 2:
        return
    mixed = None in found
    how = "as they were, and with pseudonyms" if mixed else "with another key or other columns"
    raise ConfigError(
        f"cluster {cluster!r}: its names would go into the store {how}, and each person would have "
        "two names. Restore the original key and columns of clusters.people, or begin a new store "
        "(output.state, output.database)"
    )


def read(path: Path, zone: ZoneInfo) -> list[MappingRow]:
    """Read a mapping file: CSV in UTF-8 with a header row, or raise ConfigError.

    Columns are ``user``, ``account``, ``group`` or both, and optionally ``from`` (the first day,
    2026-04-01) and ``to`` (the day after the last), in the cluster's zone. The error lists all
    wrong lines, and quotes nothing of them, as they contain names.
    """
    try:
        folders.require(path)
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror} (people.file)") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: contains a character that is not UTF-8 (people.file)"
        ) from error
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        header = [name.strip().lower() for name in next(lines, [])]
    except csv.Error as error:
        raise ConfigError(f"{path}:1: {error} (people.file)") from error
    unknown = [name for name in header if name not in _COLUMNS]
    if unknown or len(set(header)) < len(header) or "user" not in header:
        raise ConfigError(
            f"{path}:1: must name the columns user, account or group, and optionally from and to"
        )
    if not set(header) & set(_MAPPED):
        raise ConfigError(f"{path}:1: has neither a column account nor a column group")
    rows: list[MappingRow] = []
    wrong: list[str] = []
    while True:
        try:
            fields = next(lines)
            if any(field.strip() for field in fields):
                rows.append(_row(lines.line_num, header, fields, zone))
        except StopIteration:
            break
        except (ValueError, csv.Error) as error:
            wrong.append(f"{path}:{lines.line_num}: {error}")
    wrong += [f"{path}:{fault}" for fault in _overlaps(rows)]
    if wrong:
        listed = first_of(wrong, _MOST_FAULTS, line="\n  ")
        raise ConfigError(f"{path}: {plural(len(wrong), 'fault')} (people.file):\n  {listed}")
    return rows


def _row(line: int, header: Sequence[str], fields: Sequence[str], zone: ZoneInfo) -> MappingRow:
    if len(fields) != len(header):
        raise ValueError(f"has {len(fields)} fields, the header {len(header)}")
    given = {name: field.strip() or None for name, field in zip(header, fields, strict=True)}
    user = given["user"]
    if user is None:
        raise ValueError("has no user")
    if given.get("account") is None and given.get("group") is None:
        raise ValueError("names neither account nor group")
    edges = []
    for name in ("from", "to"):
        text = given.get(name)
        try:
            day = None if text is None else date.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{name} must be a day such as 2026-04-01") from None
        edges.append(None if day is None else periods.day_start(day, zone))
    begin, end = edges
    if begin is not None and end is not None and begin >= end:
        raise ValueError("ends (to) before it begins (from)")
    return MappingRow(line, user, given.get("account"), given.get("group"), begin, end)


def _overlaps(rows: Sequence[MappingRow]) -> Iterator[str]:
    """Yield the lines whose period overlaps an earlier one of the same user."""
    by_user: dict[str, list[MappingRow]] = {}
    for row in rows:
        by_user.setdefault(row.user, []).append(row)
    for of in by_user.values():
        of.sort(key=lambda row: (row.from_time is not None, row.from_time or 0, row.line))
        open_row = of[0]
        for row in of[1:]:
            until, begin = open_row.to_time, row.from_time
            if until is None or begin is None or begin < until:
                first, second = sorted((open_row.line, row.line))
                yield f"{second}: its user belongs elsewhere in this time by line {first}"
                continue
            open_row = row


def _frame(rows: Sequence[MappingRow]) -> pl.DataFrame:
    kinds = {"line": pl.Int64, "from_time": pl.Int64, "to_time": pl.Int64}
    schema = {name: kinds.get(name, pl.String) for name in MappingRow._fields}
    return pl.DataFrame(rows, schema=schema, orient="row").drop("line")


def _placed(records: pl.DataFrame, mapping: pl.DataFrame, *, replace: bool) -> pl.DataFrame:
    instant = pl.coalesce("submit_time", "eligible_time", "start_time", "end_time")
    begun = pl.col("from_time").is_null() | (instant >= pl.col("from_time"))
    ended = pl.col("to_time").is_not_null() & (instant >= pl.col("to_time")).fill_null(value=True)
    mapped = (
        records.with_row_index("row")
        .join(mapping, on="user", how="inner", suffix="_mapped")
        .filter(begun & ~ended)
        .select("row", *(f"{name}_mapped" for name in _MAPPED))
    )
    both = records.with_row_index("row").join(mapped, on="row", how="left", maintain_order="left")
    return both.with_columns(
        pl.coalesce(*((f"{name}_mapped", name) if replace else (name, f"{name}_mapped"))).alias(
            name
        )
        for name in _MAPPED
    ).select(records.columns)


def _key(path: Path) -> bytes:
    with refusals(ConfigError, path, "cannot be read", "people.key_file"):
        folders.require(path)
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o007:
                raise ConfigError(f"{path}: others can read the key: chmod o= (people.key_file)")
            key = file.read(_LONGEST_KEY + 1).strip(b"\r\n")
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        raise ConfigError(
            f"{path}: must hold {_SHORTEST_KEY} to {_LONGEST_KEY:,} bytes (people.key_file): "
            "'openssl rand -hex 32' makes a key"
        )
    return hashlib.sha256(key).digest()
