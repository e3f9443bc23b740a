"""Checks analysts' statements by DuckDB's own syntax tree: lists of node kinds and functions.

``json_serialize_sql`` returns the tree of a statement that selects, and refuses others; but DuckDB
counts a COPY or an INSERT within a CTE as a part of a SELECT. So every node of the tree must be of
a listed kind, every table must exist, and every function must only compute.
``json_deserialize_sql`` makes the text that runs from the checked tree, and it is checked again;
the analyst's own text never runs. Trees are made on a separate connection, which is empty and
locked, so that nothing in a database affects them.
"""

import difflib
import json
import re
from collections.abc import Container, Iterator, Sequence
from typing import Any, Final, NamedTuple

import duckdb

from audit.errors import StoreError
from audit.store.database import CLOSED, SNAPSHOT, Connection, quote_text


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_NODES: Final = _words(
    "SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT",
    "SHOW_REF SUBQUERY TABLE_FUNCTION DISTINCT_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER",
    "ORDER_MODIFIER ASCENDING DESCENDING ORDER_DEFAULT",
)
"""Kinds of queries, of what follows FROM, and of what modifies a result."""

_EXPRESSIONS: Final = _words(
    "BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA OPERATOR",
    "PARAMETER POSITIONAL_REFERENCE STAR SUBQUERY TYPE WINDOW",
)
"""Classes of expressions."""

_PARTS: Final = frozenset(
    frozenset(keys.split())
    for keys in (
        *("node named_param_map", "map", "key value", "path", "kind text", "id type_info"),
        "aliases key_targets materialized payload_aggregates query_node",
        *("is_null type value", "is_null type", "expression name", "then_expr when_expr"),
        "catalog column schema table",
        "is_percentage method repeatable sample_rate sample_size seed",
        "entries pivot_enum pivot_expressions unpivot_names",
        "alias star_expr values",
    )
)
"""The keys of objects that are not nodes."""

_TABLE_FUNCTIONS: Final = _words(
    "duckdb_columns duckdb_constraints duckdb_functions duckdb_indexes duckdb_keywords",
    "duckdb_schemas duckdb_tables duckdb_types duckdb_views generate_series icu_calendar_names",
    "json_each json_tree pg_timezone_names pragma_version range repeat repeat_row test_all_types",
    "unnest",
)
"""Functions after FROM that read no file, run no text and reveal no path."""

_SCHEMAS: Final = {
    "main": frozenset[str](),
    "information_schema": _words("columns schemata tables views"),
}
"""Schemas that may be named, and what may be read there besides the database's own tables."""

_SYSTEM_VIEWS: Final = _words(
    "duckdb_columns duckdb_constraints duckdb_schemas duckdb_tables duckdb_types duckdb_views"
)

_SYSTEM: Final = ("duckdb_", "pg_", "pragma_", "sqlite_")
"""How DuckDB's own views begin, of those that can be named without a schema."""

_VOLATILE: Final = _words(
    "current_database current_date current_schema current_schemas error gen_random_uuid",
    "get_current_time get_current_timestamp now random setseed today transaction_timestamp unnest",
    "uuid uuidv4 uuidv7",
)
"""Functions whose result does not depend on their arguments alone, but that change nothing."""

_REFUSED: Final = _words("current_query json_serialize_plan parse_duckdb_log_message pg_sleep")
"""Functions that do more than compute: they bind arguments, wait, or reveal what runs."""

_CTE: Final = re.compile(r"[\w $-]+")  # names that lead to no file, even if no table has them

_GAP: Final = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_FORMATS: Final = ("TEXT", "JSON", "HTML", "GRAPHVIZ", "YAML", "MERMAID")
_EXPLAIN: Final = re.compile(
    rf"{_GAP}EXPLAIN\b(?:{_GAP}(?P<analyze>ANALYZE)\b)?"
    rf"(?:{_GAP}\((?P<options>(?:\s|,|\b(?:ANALYZE|FORMAT|{'|'.join(_FORMATS)})\b)*)\))?",
    re.IGNORECASE | re.DOTALL,
)

_PRAGMA: Final = re.compile(
    rf"{_GAP}PRAGMA\b{_GAP}table_info{_GAP}\({_GAP}(?:(?P<text>'\w+')|(?P<name>\w+)){_GAP}\)"
    rf"{_GAP};?{_GAP}",
    re.IGNORECASE | re.DOTALL,
)

_CREATE: Final = re.compile(
    rf"{_GAP}CREATE\b{_GAP}(?:OR{_GAP}REPLACE\b{_GAP})?TEMP(?:ORARY)?\b{_GAP}TABLE\b{_GAP}"
    rf"(?P<name>[A-Za-z_]\w*){_GAP}\bAS\b",
    re.IGNORECASE | re.DOTALL,
)
_RESERVED: Final = ("answer",)  # the table through which Parquet is written

_MARK: Final = "fairaudit: the values that are there"

SEALED: Final = (
    r"(?<!\w)[eE]'(?:\\.|''|[^'\\])*'"
    r"|(?:(?<![eE])|(?<=\w[eE]))'(?:[^']|'')*'"
    r'|"(?:[^"]|"")*"'
    r"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
    r"|--[^\n]*"
    r"|/\*.*?\*/"
)
"""Literals, quoted names and comments, within which no word or sign counts."""

_TOKEN: Final = re.compile(rf"{SEALED}|(?P<word>\w+)|(?P<mark>[(\[{{}}\]),;])", re.DOTALL)
_AFTER_PIVOT: Final = ("USING", "GROUP", "ORDER", "LIMIT", "OFFSET")
_ALLOWED: Final = "SELECT, FROM, VALUES, WITH, DESCRIBE, SUMMARIZE, PIVOT and EXPLAIN are"

Tree = dict[str, Any]


class Statement(NamedTuple):
    """A statement that was checked, as text that DuckDB made of its tree."""

    query: str
    explain: str = ""  # ``EXPLAIN …``, for a plan of ``query``
    table: str = ""  # the temporary table that keeps its rows


class Values(NamedTuple):
    """A PIVOT that does not list its values, and the queries for them."""

    queries: tuple[str, ...]  # one for each column after ON; each of one column
    tree: Tree
    explain: str


class Grammar:
    """Checks statements; made once for a database."""

    def __init__(self) -> None:
        self._con: Connection = duckdb.connect(config={**CLOSED, "threads": 1})
        self._con.execute("SET enable_external_access = false")
        self._con.execute("SET lock_configuration = true")
        computing = self._names(
            "function_name FROM duckdb_functions() "
            "WHERE function_type IN ('scalar', 'aggregate', 'window') AND stability = 'CONSISTENT' "
            "OR function_type = 'macro'"
        )
        self._functions = computing - _REFUSED | _VOLATILE
        self._every_function = self._names("function_name FROM duckdb_functions()")
        self._settings = self._names("name FROM duckdb_settings()")
        self._temporary = frozenset[str]()

    def _names(self, of: str) -> frozenset[str]:
        found = self._con.execute(f"SELECT DISTINCT lower(name) FROM (SELECT {of}) AS of (name)")  # noqa: S608
        return frozenset(name for (name,) in found.fetchall())

    def close(self) -> None:
        """Close the connection that makes trees."""
        self._con.close()

    def check(self, text: str, names: frozenset[str]) -> Statement | Values:
        """Return the one statement of ``text``, which a semicolon may end, if all of it is allowed.

        Raises StoreError if it is wrong, more than one, or not allowed; the message says why.
        """
        kinds = self._kinds(text)
        if len(kinds) != 1:
            raise StoreError(f"give one statement at a time, not {len(kinds)}")
        taken, names = names, names | self._temporary
        if kinds == ["PRAGMA"] and (asked := _PRAGMA.fullmatch(text)):
            name = asked["text"] or quote_text(asked["name"])
            kinds, text = ["SELECT"], f"FROM pragma_table_info({name})"
        explain = table = ""
        if kinds == ["CREATE"]:
            table, text = self._created(text, taken)
            if self._kinds(text) != ["SELECT"]:
                raise StoreError("a temporary table is made of a statement that selects")
        elif kinds == ["EXPLAIN"]:
            explain, text = _explained(text)
            if self._kinds(text) not in (["SELECT"], ["MULTI"]):
                raise StoreError("only statements that select can be explained")
        elif kinds not in (["SELECT"], ["MULTI"]):
            raise _refused(kinds[0])
        tree = self._tree(text) or self._tree(_marked(text) or text)
        if tree is None:
            raise StoreError(
                "only statements that select are allowed, and a PIVOT within another query "
                "must list its values: PIVOT … ON column IN (…)"
            )
        self._walk(tree, names)
        if (node := tree["statements"][0]["node"]) and (of := _without_values(node)):
            return Values(tuple(self.text(_wrapped(part), names) for part in of), tree, explain)
        return Statement(self.text(tree, names), explain, table)

    def parts(self, text: str) -> list[str]:
        """Return the statements of a text; those before the last must make temporary tables.

        Raises StoreError if they do not.
        """
        try:
            parts = self._con.extract_statements(text)
        except (ValueError, duckdb.Error):
            return [text]
        if any(part.type.name != "CREATE" for part in parts[:-1]):
            raise StoreError(
                f"give one statement at a time, not {len(parts)}; only CREATE TEMP TABLE … AS can "
                "be before another"
            )
        return [part.query for part in parts] if len(parts) > 1 else [text]

    def keep(self, name: str) -> None:
        """Allow a temporary table that was made."""
        self._temporary |= {name}

    def refuse_taken(self, name: str, names: frozenset[str]) -> None:
        """Raise StoreError if a temporary table may not have this name."""
        if name in names or name.startswith(_SYSTEM) or name in _RESERVED:
            raise StoreError(f"{name!r} exists already: give the temporary table another name")

    def _created(self, text: str, names: frozenset[str]) -> tuple[str, str]:
        """Return the name of the temporary table that a statement makes, and its query."""
        found = _CREATE.match(text)
        if found is None:
            raise _refused("CREATE, except CREATE TEMP TABLE NAME AS SELECT …")
        name = found["name"].lower()
        self.refuse_taken(name, names)
        return name, text[found.end() :]

    def text(self, tree: Tree, names: frozenset[str]) -> str:
        """Return the text of a tree that was checked, itself checked once more."""
        made = self._con.execute("SELECT json_deserialize_sql($1)", [json.dumps(tree)])
        ((text,),) = made.fetchall()
        again = self._tree(text)
        if again is None or len(again["statements"]) != 1:
            raise StoreError("this statement cannot be checked: write it in another way")
        self._walk(again, names)
        return str(text)

    def pivoted(self, asked: Values, values: Sequence[Sequence[str]], names: frozenset[str]) -> str:
        """Return the text of a PIVOT with the results of its queries as values."""
        (pivot,) = [asked.tree["statements"][0]["node"]["from_table"]]
        marked = [part for part in pivot["pivots"] if _is_marked(part)]
        for part, found in zip(marked, values, strict=True):
            (entry,) = part["entries"]
            constant = entry["star_expr"]
            literals = [{"kind": "STRING", "text": value} for value in found]
            part["entries"] = [
                {**entry, "star_expr": {**constant, "literal": literal}} for literal in literals
            ]
        return self.text(asked.tree, names)

    def _kinds(self, text: str) -> list[str]:
        try:
            return [part.type.name for part in self._con.extract_statements(text)]
        except ValueError as error:  # a kind that the parser knows and its bindings do not
            raise _refused("this kind of statement") from error
        except duckdb.Error as error:
            raise StoreError(str(error)) from error

    def _tree(self, text: str) -> Tree | None:
        """Return the syntax tree of a text; None if DuckDB makes none of such a statement."""
        try:
            made = self._con.execute("SELECT json_serialize_sql($1::VARCHAR)", [text])
            tree: Tree = json.loads(made.fetchall()[0][0])
        except (duckdb.Error, RecursionError) as error:
            raise StoreError(f"this statement cannot be checked: {error}") from error
        if not tree["error"]:
            return tree
        if tree["error_type"] == "not implemented":
            return None
        raise StoreError(tree["error_message"])

    def _walk(self, tree: Tree, names: frozenset[str]) -> None:
        """Raise StoreError at the first part of a tree that is not listed."""
        parts = list(_parts(tree["statements"]))
        called = [entry["key"] for part in parts for entry in part.get("map", ())]
        called += [part.get("cte_name") or "" for part in parts]
        own = {name.lower() for name in called if _CTE.fullmatch(name)}
        for name in sorted(own - names - _SYSTEM_VIEWS):
            if name.startswith(_SYSTEM):  # scopes are not resolved: elsewhere it may be DuckDB's
                raise StoreError(f"{name!r} begins like DuckDB's own views: give it another name")
        functions = [part["function"] for part in parts if part.get("type") == "TABLE_FUNCTION"]
        after_from = {id(function) for function in functions}
        for part in parts:
            kind = part.get("type")
            if not isinstance(kind, str):
                if frozenset(part) not in _PARTS:
                    raise _refused(f"a part with {', '.join(sorted(part))}")
            elif (
                part.get("class", "") not in _EXPRESSIONS if "class" in part else kind not in _NODES
            ):
                raise _refused(kind.removesuffix("_QUERY_NODE").removesuffix("_NODE"))
            elif kind == "BASE_TABLE":
                _check_table(part, names, own)
            elif kind == "SHOW_REF":
                self._check_show(part, names)
            elif part.get("class") in ("FUNCTION", "WINDOW"):
                self._check_function(part, names, after_from=id(part) in after_from)

    def _check_function(self, part: Tree, names: frozenset[str], *, after_from: bool) -> None:
        path = part["qualified_name"]["path"]
        known = _TABLE_FUNCTIONS if after_from else self._functions
        called = {path[-1].lower(), part["function_name"].lower()}
        if called <= known or _is_harmless(called, part["arguments"], names):
            return
        name = f"the function {'.'.join(path)!r}"
        if not called & self._every_function:
            near = difflib.get_close_matches(path[-1].lower(), sorted(known), n=1, cutoff=0.5)
            hint = f"; the nearest one is {near[0]!r}" if near else ""
            raise StoreError(f"{name} does not exist{hint}")
        where = " after FROM" if after_from else ""
        raise StoreError(f"{name} is not allowed{where}: it does more than compute a value")

    def _check_show(self, part: Tree, names: frozenset[str]) -> None:
        """Allow DESCRIBE, SUMMARIZE, SHOW TABLES and SHOW of a view; others reveal a setting."""
        path = part["qualified_name"]["path"]
        if part["query"] is not None or path == ['"tables"']:
            return
        name = path[-1].lower().strip('"')
        if len(path) != 1 or name not in names or name in self._settings:
            allowed = "SHOW is allowed as SHOW TABLES and SHOW NAME, with the name of a view"
            raise StoreError(allowed)


def _parts(of: object) -> Iterator[Tree]:
    """Yield every object of a tree."""
    left = [of]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            left += part


def _check_table(part: Tree, names: frozenset[str], own: Container[str]) -> None:
    """Check that a table is the statement's own or exists: DuckDB takes other names for files."""
    path = [word.lower() for word in part["qualified_name"]["path"]]
    if path[:1] == [SNAPSHOT] and len(path) > 1:
        del path[0]
    schema, name = path if len(path) == 2 else ("main", path[-1])
    own_here = name in own and (len(path) == 1 or schema == "recurring")
    stands = schema == "main" and (name in names or name in _SYSTEM_VIEWS)
    if len(path) > 2 or not (own_here or stands or name in _SCHEMAS.get(schema, ())):
        why = "was not found: this database has no such table or view, and files are never read"
        raise StoreError(f"{'.'.join(part['qualified_name']['path'])!r} {why}")


def _is_harmless(called: set[str], arguments: Sequence[Tree], names: frozenset[str]) -> bool:
    """Whether a call shows the zone of times, or the columns of a view that exists."""
    literals = [of["expression"].get("literal") or {} for of in arguments]
    texts = [str(of.get("text")).lower() for of in literals if of.get("kind") == "STRING"]
    if len(texts) != 1 or len(arguments) != 1:
        return False
    return (called == {"current_setting"} and texts == ["timezone"]) or (
        called == {"pragma_table_info"} and texts[0] in names
    )


def _explained(text: str) -> tuple[str, str]:
    """``EXPLAIN …`` with its options, and what comes after it."""
    found = _EXPLAIN.match(text)
    if found is None:
        raise StoreError("write EXPLAIN, EXPLAIN ANALYZE or EXPLAIN (FORMAT json)")
    words = re.split(r"[\s,]+", (found["options"] or "").upper())
    options = [f"FORMAT {word}" for word in words if word in _FORMATS]
    if found["analyze"] or "ANALYZE" in words:
        options.append("ANALYZE")
    return f"EXPLAIN ({', '.join(options)})" if options else "EXPLAIN", text[found.end() :]


def _marked(text: str) -> str | None:
    """Return the text with values for the columns of its outermost PIVOT; None without a PIVOT.

    DuckDB makes no tree of a PIVOT that does not list its values.
    """
    made, depth, state, listed, end = "", 0, "", False, 0
    mark = f" IN ('{_MARK}') "
    for token in _TOKEN.finditer(text):
        word, sign = (token["word"] or "").upper(), token["mark"]
        if sign in ("(", "[", "{"):
            depth += 1
        elif sign in (")", "]", "}"):
            depth -= 1
        if depth or sign in (")", "]", "}"):
            continue
        if not state and word in ("PIVOT", "PIVOT_WIDER"):
            state = "pivot"
        elif state == "pivot" and word == "ON":
            state = "on"
        elif state == "on" and word == "IN":
            listed = True
        elif state == "on" and (word in _AFTER_PIVOT or sign in (",", ";")):
            made += text[end : token.start()] + ("" if listed else mark)
            end, listed, state = token.start(), False, "on" if sign == "," else "done"
    if state not in ("on", "done"):
        return None
    return made + text[end:] + (mark if state == "on" and not listed else "")


def _is_marked(part: Tree) -> bool:
    return [(entry["star_expr"] or {}).get("literal") for entry in part["entries"]] == [
        {"kind": "STRING", "text": _MARK}
    ]


def _without_values(node: Tree) -> list[Tree]:
    """For each column of a PIVOT without values, the query that selects that column."""
    pivot = node.get("from_table") or {}
    marked = [part for part in pivot.get("pivots", ()) if _is_marked(part)]
    if any(len(part["pivot_expressions"]) != 1 for part in marked):
        raise StoreError("list the values of this PIVOT: PIVOT … ON (a, b) IN (…)")
    plain = {**node, "modifiers": [], "from_table": pivot.get("source")}
    return [{**plain, "select_list": part["pivot_expressions"]} for part in marked]


def _wrapped(node: Tree) -> Tree:
    return {"error": False, "statements": [{"node": node, "named_param_map": []}]}


def _refused(what: str) -> StoreError:
    return StoreError(f"only statements that select are allowed ({_ALLOWED}), not {what}")
