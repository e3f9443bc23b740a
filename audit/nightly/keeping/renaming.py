"""Copies of tables and archived files in which a user has another name.

Columns of names are compared as a whole. Texts of logs, schedulers and mail servers are searched
for the name as a word; texts of fairaudit only where they mark it as a name (``user 'anna'``,
``--walltimes-of anna``), so that a user called *idle* does not change them. What identifies
something else stays: clusters, pools, periods, jobs, files, partitions, QOS and features of nodes
(``LEFT``).
"""

import html
import itertools
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import polars as pl

from audit.cluster import fitted
from audit.report.contents import Who
from audit.store import database
from audit.store.database import Connection, execute, quote_name, quote_text, rows

LEFT: Final = frozenset(
    (
        *("cluster", "pool", "period", "partition", "qos", "node", "job_id", "run_id", "input_id"),
        *("path", "file", "source", "records_file", "results_file", "store", "log", "log_cluster"),
        *("records_sha256", "results_sha256", "content_sha256", "config_hash", "input_hash"),
        *("input", "node_list", "required_nodes", "node_amounts", "constraints"),
        "message_id",
        "report",
    )
)
"""Columns that never change; also ``set_aside``, which each run writes anew from the logs."""

_OUTSIDE: Final = frozenset(("reason", "reservation", "text", "doubt", "error", "sentence"))
"""Columns with texts of others or quotations of them, or prose; also the headers of logs."""

_LINES: Final = "text"
"""The column of refused lines: one that may contain a numeric name loses its text."""

_KINDS: Final = ("user", "account", "group")

_NAMES_AT: Final = frozenset((*_KINDS, "users", "accounts", "entity", "parent"))
"""Keys of JSON under which there are names, or mappings with names as keys."""

_MARKS: Final = (
    *(
        f"{kind}{mark}"
        for kind in ("user", "User", "account", "Account")
        for mark in (" ", "=", ":")
    ),
    *("group ", "Group ", "group=", "Group=", "uid ", "uid="),
    *("--walltimes-of ", "--without-user "),
)
"""What stands before a name in texts of fairaudit, and in options of ``whatif``."""

_HOLDING: Final = fitted.InferredRules._fields.index("holding")


class Changed(NamedTuple):
    """A query that returns the rows of a table with the other name."""

    sql: str
    rows: int  # with a change
    clusters: frozenset[str]  # of these rows


class Renaming:
    """A user's names, which become another one."""

    def __init__(
        self,
        names: Mapping[str, Collection[str]],
        becomes: str,
        others: Collection[str] = (),
        addresses: Collection[str] = (),
    ) -> None:
        """Replace ``names``, by kind (user, account, group), by ``becomes``.

        Args:
            others: names of others that contain one of them, which stay in texts.
            addresses: addresses of mail that stay.
        """
        self._names = {kind: sorted(names.get(kind, ())) for kind in _KINDS}
        self._becomes = becomes
        self._others = sorted(others, key=len, reverse=True)
        self._addresses = frozenset(addresses)
        self._numbers = itertools.count()

    @cached_property
    def _all(self) -> list[str]:
        return sorted({name for of in self._names.values() for name in of})

    @cached_property
    def _word(self) -> re.Pattern[str]:
        others = "|".join(map(re.escape, self._others)) or r"(?!)"
        names = "|".join(map(re.escape, self._all))
        return re.compile(rf"(?<![^\W_])(?:(?P<other>{others})|{names})(?![^\W_])")

    @cached_property
    def _marked(self) -> re.Pattern[str]:
        names = "|".join(map(re.escape, sorted(self._forms, key=len, reverse=True)))
        after = "|".join(rf"(?<={re.escape(mark)})" for mark in _MARKS)
        quoted = rf"(?<=(['\"]))(?:{names})(?=\1)"
        listed = rf"(?:(?<=[Aa]sk )|(?<=, ))(?:{names})(?=(?:, [^;]+)? for time limits)"
        return re.compile(rf"{quoted}|(?:{after})(?:{names})(?![^\W_])|{listed}")

    @cached_property
    def _forms(self) -> set[str]:
        """The names as they are, and as Python, JSON and a shell write them."""
        written = (lambda of: repr(of)[1:-1], lambda of: json.dumps(of)[1:-1], shlex.quote)
        return {form for name in self._all for form in (name, *(to(name) for to in written))}

    @cached_property
    def _numeric(self) -> bool:
        return any(name.isdigit() for name in self._all)

    def outside(self, text: str) -> str:
        """Return a text of others with the other name."""
        if self._numeric:  # any number may be the name
            return self.own(text)
        return self._word.sub(lambda found: found["other"] or self._becomes, text)

    def own(self, text: str) -> str:
        """Return a text of fairaudit with the other name."""
        return self._marked.sub(self._becomes, text)

    def who(self, who: Who) -> Who:
        """Return a user or an account with the other name."""
        return who._replace(name=self._becomes) if who.name in self._names[who.kind] else who

    def mentions(self, text: str) -> bool:
        """Return whether a text contains the name as a word."""
        return any(found["other"] is None for found in self._word.finditer(text))

    def in_page(self, text: str) -> bool:
        """Return whether HTML, JSON or CSV contains the name; a numeric one alone in its cell."""
        plain = html.unescape(text)
        if not self._numeric:
            return self.mentions(plain)
        alone = any(f">{name}<" in text or f'"{name}"' in text for name in self._all)
        return alone or self.own(plain) != plain

    def _line(self, text: str) -> str:
        if self._numeric:
            return "" if self.mentions(text) else text
        return self.outside(text)

    def _address(self, address: str) -> str:
        local, at, domain = address.rpartition("@")
        gone = local in self._all and address.lower() not in self._addresses
        return f"{self._becomes}{at}{domain}" if gone else address

    def _json(self, text: str, *, header: bool) -> str:
        value = json.loads(text)
        said = self.outside if header else self.own
        changed = self._value(value, said, named=False)
        return text if changed == value else json.dumps(changed)

    def _value(self, value: Any, said: Callable[[str], str], *, named: bool) -> Any:
        """Return a JSON value with the other name; ``named`` if its texts and keys are names."""
        if isinstance(value, str):
            return self._becomes if named and value in self._all else said(value)
        if isinstance(value, list):
            return [self._value(each, said, named=named) for each in value]
        if not isinstance(value, dict):
            return value
        changed = {}
        for key, of in value.items():
            inner: Any
            if key == "rules" and isinstance(of, list):  # fitted.InferredRules
                inner = [
                    self._value(one, said, named=place == _HOLDING) for place, one in enumerate(of)
                ]
            else:
                inner = self._value(of, said, named=key in _NAMES_AT)
            changed[self._becomes if named and key in self._all else key] = inner
        return changed

    def changed(self, con: Connection, table: str, source: str) -> Changed | None:
        """Return how to read the rows of a table with the other name; None if none has the name.

        Args:
            source: what FROM names: the table, or a function that reads a file.

        Makes temporary tables of the texts that change.
        """
        if table == "set_aside":
            return None
        columns = {
            name: kind
            for name, kind, *_ in rows(con, f"DESCRIBE SELECT * FROM {source}")  # noqa: S608
        }
        conditions, values = [], []
        for name, kind in columns.items():
            if kind not in ("VARCHAR", "JSON") or name in LEFT:
                continue
            for condition, value in self._column(con, source, columns, name):
                conditions.append(condition)
                values.append(f"{value} AS {quote_name(name)}")
        if not conditions:
            return None
        where = " OR ".join(f"({condition})" for condition in conditions)
        of = "array_agg(DISTINCT cluster)" if "cluster" in columns else "NULL"
        found = f"SELECT count(*), {of} FROM {source} AS of WHERE {where}"  # noqa: S608
        ((count, clusters),) = rows(con, found)
        if not count:
            return None
        sql = f"SELECT of.* REPLACE ({', '.join(values)}) FROM {source} AS of"  # noqa: S608
        return Changed(sql, count, frozenset(clusters or ()))

    def _column(
        self, con: Connection, source: str, columns: Mapping[str, str], name: str
    ) -> Iterator[tuple[str, str]]:
        """Yield the condition under which a column changes, and its new value."""
        at, becomes = f"of.{quote_name(name)}", quote_text(self._becomes)
        if condition := self._named(name, columns):
            yield condition, f"CASE WHEN {condition} THEN {becomes} ELSE {at} END"
            return
        rule: Callable[[str], str] = self.own
        if columns[name] == "JSON":
            rule = partial(self._json, header=name == "header")
        elif name == "recipient":
            rule = self._address
        elif name == _LINES:
            rule = self._line
        elif name in _OUTSIDE:
            rule = self.outside
        text = f"{at}::VARCHAR"
        holds = " OR ".join(f"contains({text}, {quote_text(form)})" for form in sorted(self._forms))
        texts = rows(con, f"SELECT DISTINCT {text} FROM {source} AS of WHERE {holds}")  # noqa: S608
        pairs = [(was, new) for (was,) in texts if (new := rule(was)) != was]
        if pairs:
            kept = f"renamed_{next(self._numbers)}"
            database.keep(con, kept, pl.DataFrame(pairs, ["was", "becomes"], orient="row"))
            condition = f"{text} IN (SELECT was FROM {kept})"  # noqa: S608
            new = f"(SELECT becomes FROM {kept} WHERE was = {text})"  # noqa: S608
            yield condition, f"coalesce({new}, {text})::{columns[name]}"

    def _named(self, name: str, columns: Mapping[str, str]) -> str | None:
        """Return when a column of names changes; None if it is none."""
        of_kind = {"entity": "entity_kind", "dimension_value": "dimension"}.get(name)
        if of_kind is None:
            kind = "account" if name == "parent" else name
            return self._one_of(f"of.{quote_name(name)}", kind) if kind in _KINDS else None
        if of_kind not in columns:
            return None
        return " OR ".join(
            f"of.{of_kind} = {quote_text(kind)} AND {self._one_of(f'of.{name}', kind)}"
            for kind in _KINDS
        )

    def _one_of(self, value: str, kind: str) -> str:
        listed = ", ".join(map(quote_text, self._names[kind]))
        return f"{value} IN ({listed})" if listed else "false"


def copy(con: Connection, renaming: Renaming, target: str) -> dict[str, Changed]:
    """Copy a store into the attached, empty database ``target``, row by row.

    So no page of the copy contains an older text. Returns the tables that changed.
    """
    store = database.STORE
    execute(con, f"COPY FROM DATABASE {store} TO {target} (SCHEMA)")
    tables = (
        "SELECT table_name FROM duckdb_tables() WHERE database_name = $store AND NOT internal "
        "ORDER BY table_name"
    )
    changes = {}
    for (table,) in rows(con, tables, {"store": store}):
        source = f"{store}.main.{quote_name(table)}"
        change = renaming.changed(con, table, source)
        sql = f"FROM {source}" if change is None else change.sql
        execute(con, f"INSERT INTO {target}.main.{quote_name(table)} {sql}")
        if change is not None:
            changes[table] = change
    return changes
