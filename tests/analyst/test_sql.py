"""Queries: limits, formats, and output of hostile names."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest

from audit.analyst.sql import Reader, SqlLimits, SqlStatement, typed_values
from audit.errors import StoreError, UsageError
from audit.spreadsheets import cell
from audit.store import grammar
from audit.words import Format
from tests import processes
from tests.places import ROOT
from tests.published import HOSTILE, full, hostile
from tests.shared import once

LIMITS = SqlLimits(60, "1GB")
MIXED = """
    SELECT 'a,"b' AS text, 1.5 AS number, -2 AS whole, NULL AS nothing, '' AS blank,
           to_timestamp(0) AS instant, DATE '2026-01-02' AS day, [1, 2] AS list,
           'nan'::DOUBLE AS nan, 170141183460469231731687303715884105727 AS huge,
           INTERVAL 1 MONTH AS month, '\\xAA'::BLOB AS bytes, true AS yes
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def con(published: Path) -> Iterator[Reader]:
    con = Reader(published, LIMITS, frames=True)
    yield con
    con.close()


def ask(
    con: Reader,
    text: str,
    form: Format = Format.csv,
    rows: int | None = None,
    *,
    raw: bool = False,
    **given: str,
) -> tuple[bytes, list[str]]:
    """The output, and the remarks."""
    out, said = io.BytesIO(), list[str]()
    con.query(SqlStatement(text, given, form, rows, raw), out, said.append)
    return out.getvalue(), said


@pytest.mark.parametrize(
    "statement", ["FROM read_csv('/etc/passwd')", "SELECT 1; SELECT 2", "", "-- nothing"]
)
@pytest.mark.parametrize("form", Format)
def test_other_statements_are_refused_in_each_format(
    con: Reader, statement: str, form: Format
) -> None:
    """Many more are in ``tests/security/statements.py``."""
    with pytest.raises(UsageError, match=r"^sql: "):
        ask(con, statement, form)


@pytest.mark.parametrize(
    "statement",
    [
        "FROM job_fairness; -- the end;",
        "/* ; */ SELECT ';' AS \";\", E'\\';' AS e, $$;$$ AS d ;;",
        "DESCRIBE job_fairness",
        "SUMMARIZE job_fairness",
        "SHOW TABLES",
        "VALUES (1)",
        "PIVOT job_fairness ON job_id USING count(*)",
        "SELECT 1 AS a, 2 AS a",
        "EXPLAIN SELECT 1",
        "WITH a AS (SELECT 1 AS b) FROM a",
    ],
)
def test_every_select_is_answered(con: Reader, statement: str) -> None:
    found = csv.reader(io.StringIO(ask(con, statement)[0].decode(), newline=""))
    assert len(list(found)) > 1
    assert ask(con, statement, Format.table)[0].endswith((b" rows)\n", b"(1 row)\n", b"\xaf\n\n"))


def test_text_between_semicolons_is_kept(con: Reader) -> None:
    written = ask(con, "SELECT E'\\';' AS a, $$;$$ AS b, ';' /* ; */; -- ;", raw=True)[0]
    assert written.splitlines()[1] == b"';,;,;"


# limits --------------------------------------------------------------------------------------


def stopped(published: Path, statement: str, form: str, **keys: object) -> str:
    """The output on stderr of a process that runs the statement."""
    settings = published.with_name(f"{form}.toml")
    settings.write_text("[sql]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))
    done = processes.python(
        *("-m", "audit", "sql", statement, "--format", form),
        *("--db", published, "--config", settings),
        cwd=ROOT,
        text=False,
    )
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr
    return done.stderr.decode()


ALL = "SELECT a.range AS x, b.range AS y FROM range(100000) AS a, range(10000) AS b"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("statement", "form", "key"),
    [
        ("SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b", "table", "timeout_s"),
        (ALL, "csv", "timeout_s"),
        (ALL, "parquet", "memory_limit"),
        (f"{ALL} ORDER BY x + y DESC", "json", "memory_limit"),
        ("SELECT repeat('x', 2000000000) AS x", "table", "memory_limit"),
        (
            "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n FROM t) FROM t",
            "csv",
            "timeout_s",
        ),
    ],
)
def test_a_billion_rows_exceed_a_limit_that_is_named(
    published: Path, statement: str, form: str, key: str
) -> None:
    timeout_s = 1 if key == "timeout_s" else 60  # memory may take a busy machine long to fill
    said = stopped(published, statement, form, timeout_s=timeout_s, memory_limit='"150MB"')
    assert f"{key} in section [sql] of config.toml" in said


def test_left_out_rows_are_reported(con: Reader) -> None:
    for form in Format:
        written, said = ask(con, "FROM range(10) AS t(n)", form, rows=3)
        assert said == ["only the first 3 rows are shown; --rows N shows more"]
        if form is Format.table:
            assert written.decode().endswith("(3 rows)\n-- " + said[0] + "\n")
        elif form is Format.json:
            assert json.loads(written) == [{"n": 0}, {"n": 1}, {"n": 2}]
        elif form is Format.csv:
            assert written == b"n\n0\n1\n2\n"
        else:
            assert pl.read_parquet(io.BytesIO(written))["n"].to_list() == [0, 1, 2]
        assert ask(con, "FROM range(3) AS t(n)", form, rows=3)[1] == []
    written, said = ask(con, "SELECT repeat('x', 300) AS x", Format.table)
    assert "1 cell is cut at 200 characters" in said[0]
    assert said[0] in written.decode()
    assert "x" * 201 not in written.decode()


def test_no_function_without_arguments_shows_paths_of_this_machine(
    con: Reader, published: Path
) -> None:
    """Every table function, pragma and internal view of this version of DuckDB."""
    with duckdb.connect() as every:
        functions = every.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() "
            "WHERE function_type IN ('table', 'table_macro', 'pragma')",
        ).fetchall()
        views = every.execute(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE internal"
        ).fetchall()
    statements = [f'FROM "{name}"()' for (name,) in functions]
    statements += [f'FROM "{schema}"."{view}"' for schema, view in views]
    hints = (str(published), str(Path.home()) + "/")
    answered = 0
    for statement in statements:
        try:
            shown = ask(con, statement, Format.json)[0].decode()
            answered += 1
        except UsageError as error:
            shown = str(error)
        assert not any(hint in shown for hint in hints), statement
    assert answered > 20


@pytest.mark.thorough
def test_tables_show_times_in_the_clusters_zone(tmp_path: Path) -> None:
    path = tmp_path / "zones.duckdb"
    asked = "SELECT to_timestamp(0) AS instant"
    for zones, title, shown in (
        (("Europe/Berlin",), "instant (Europe/Berlin)", "1970-01-01 01:00:00"),
        (("Europe/Berlin", "UTC"), "instant (UTC)", "1970-01-01 00:00:00"),
        (("no'where",), "instant (UTC)", "1970-01-01 00:00:00"),
        ((), "instant (UTC)", "1970-01-01 00:00:00"),
    ):
        path.unlink(missing_ok=True)
        with closing(duckdb.connect(str(path))) as made:
            made.execute("CREATE TABLE clusters (cluster VARCHAR, zone VARCHAR)")
            for zone in zones:
                made.execute("INSERT INTO clusters VALUES ('c', $1)", [zone])
        with closing(Reader(path, LIMITS)) as opened:
            lines = ask(opened, asked, Format.table)[0].decode().splitlines()
            assert (lines[0].strip(), lines[2].strip()) == (title, shown)
            assert ask(opened, asked, Format.csv)[0] == b"instant\n1970-01-01T00:00:00Z\n"


# tables of one's own ---------------------------------------------------------------------------


def test_temporary_tables_keep_rows_for_later_statements(published: Path) -> None:
    with closing(Reader(published, LIMITS)) as opened:
        made = ask(opened, "CREATE TEMP TABLE mine AS FROM job_fairness LIMIT $n", n="2")
        assert made == (b"rows\n2\n", [])
        ask(opened, "create or replace temporary table mine as select 7 as n -- again")
        assert ask(opened, "FROM mine")[0] == b"n\n7\n"
        both = "CREATE TEMP TABLE a AS SELECT 1 AS n; CREATE TEMP TABLE b AS FROM a; FROM b, mine;"
        assert ask(opened, both)[0] == b"n,n\n1,7\n"
        for taken in ("job_fairness", "answer", "pg_settings"):
            with pytest.raises(UsageError):
                ask(opened, f"CREATE TEMP TABLE {taken} AS SELECT 1")


def test_a_list_of_ones_own_can_be_joined(published: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.csv"
    listed.write_text("user,group\n=1+2,007\nnobody,\n")
    with closing(Reader(published, LIMITS, tables={"mine": listed})) as opened:
        joined = (
            'SELECT count(*) AS n, "group" FROM job_fairness JOIN mine USING ("user") GROUP BY 2'
        )
        joined = joined.replace('"group" FROM', 'mine."group" FROM')
        assert ask(opened, joined)[0] == b"n,group\n1,007\n"
        assert ask(opened, "SELECT count(*) AS n FROM mine")[0] == b"n\n2\n"
        with pytest.raises(UsageError):
            ask(opened, f"FROM '{listed}'")
    for name, content in (("job_fairness", "a\n1\n"), ("mine", ""), ("Mine", "a\n1\n")):
        listed.write_text(content)
        with pytest.raises((UsageError, StoreError)):
            Reader(published, LIMITS, tables={name: listed})
    with pytest.raises(UsageError, match=r"nowhere\.csv: cannot be read as CSV"):
        Reader(published, LIMITS, tables={"mine": tmp_path / "nowhere.csv"})


def test_a_function_that_does_not_exist_is_reported(con: Reader) -> None:
    with pytest.raises(UsageError, match="'medain' does not exist; the nearest one is 'median'"):
        ask(con, "SELECT medain(wait_s) FROM job_fairness")
    with pytest.raises(UsageError, match="'read_cvs' does not exist"):
        ask(con, "FROM read_cvs('x')")
    with pytest.raises(UsageError, match="'pg_sleep' is not allowed: it does more than compute"):
        ask(con, "SELECT pg_sleep(1)")


def test_every_system_view_that_needs_no_schema_begins_as_expected() -> None:
    found = duckdb.execute(
        "SELECT view_name FROM duckdb_views() "
        "WHERE internal AND schema_name <> 'information_schema'"
    ).fetchall()
    assert found
    assert all(name.startswith(grammar._SYSTEM) for (name,) in found)


# formats -------------------------------------------------------------------------------------


def test_hostile_names_through_every_format(con: Reader) -> None:
    question = 'SELECT "user", wait_s FROM job_fairness ORDER BY job_id::INT'

    rows = list(csv.reader(io.StringIO(ask(con, question)[0].decode(), newline="")))
    assert [row[0] for row in rows[1:]] == list(map(cell, HOSTILE))
    assert not any(row[0][:1] in set("=+-@\t\r\n") for row in rows[1:] if row[0])
    rows = list(csv.reader(io.StringIO(ask(con, question, raw=True)[0].decode(), newline="")))
    assert [row[0] for row in rows[1:]] == list(HOSTILE)

    found = json.loads(ask(con, question, Format.json)[0])
    assert [row["user"] for row in found] == list(HOSTILE)
    frame = pl.read_parquet(io.BytesIO(ask(con, question, Format.parquet)[0]))
    assert frame["user"].to_list() == list(HOSTILE)

    table = ask(con, question, Format.table)[0].decode()
    assert len(table.splitlines()) == len(HOSTILE) + 3
    assert all(char.isprintable() or char == "\n" for char in table)

    headers = ask(con, 'PIVOT job_fairness ON "user" USING count(*) GROUP BY cluster')[0].decode()
    names = next(csv.reader(io.StringIO(headers, newline="")))
    assert "'=1+2" in names
    assert {*map(cell, HOSTILE)} - {""} <= set(names)

    for name in HOSTILE:
        (row,) = json.loads(ask(con, "jobs_of_user", Format.json, user=name)[0])
        assert row["job_id"] == str(HOSTILE.index(name))
        (echo,) = json.loads(ask(con, "SELECT $name AS name", Format.json, name=name)[0])
        assert echo == {"name": name}


def test_values_of_every_kind(con: Reader) -> None:
    header, row = csv.reader(io.StringIO(ask(con, MIXED)[0].decode()))
    found = dict(zip(header, row, strict=True))
    assert found["instant"] == "1970-01-01T00:00:00Z"
    assert found["whole"] == "-2"  # a number is no formula
    assert (found["text"], found["nothing"], found["list"]) == ('a,"b', "", "[1, 2]")
    (record,) = json.loads(ask(con, MIXED, Format.json)[0])
    assert record["instant"] == "1970-01-01T00:00:00Z"
    assert record["list"] == [1, 2]
    assert record["nan"] is None
    assert record["nothing"] is None
    assert record["blank"] == ""
    typed = pl.read_parquet(io.BytesIO(ask(con, MIXED.replace("170141", "1"), Format.parquet)[0]))
    assert typed["instant"].dtype == pl.Datetime("us", "UTC")
    assert typed["list"].to_list() == [[1, 2]]
    assert ask(con, "SELECT NULL AS x")[0] == b'x\n""\n'
    assert ask(con, "SELECT 1 AS x WHERE false", Format.json)[0] == b"[]\n"
    # all types of DuckDB, even if other libraries lack them
    for form in Format:
        assert ask(con, "SELECT * EXCLUDE (hugeint, uhugeint) FROM test_all_types()", form)[0]
    for form in (Format.json, Format.parquet):
        with pytest.raises(UsageError, match="2 columns are called 'a'"):
            ask(con, "SELECT 1 AS a, 2 AS a", form)


def test_typed_values() -> None:
    assert typed_values(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    for typed in (["a"], ["a b=1"], ["a=1", "a=2"]):
        with pytest.raises(UsageError, match="--param"):
            typed_values(typed)


# snapshots and clients -----------------------------------------------------------------------


def test_a_closed_pipe_ends_quietly(published: Path) -> None:
    rows = ("SELECT range AS x, range AS y FROM range(20000)", "--format", "csv")  # 220 kB
    command = [sys.executable, "-m", "audit", "sql", *rows, "--db", str(published)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == b"x,y\n"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


@pytest.mark.thorough
@pytest.mark.skipif(not (ROOT / "docs" / "sql.md").exists(), reason="outside a checkout: no docs")
def test_the_documented_examples_run(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(once(tmp_path_factory, "full", full) / "fairaudit.duckdb", tmp_path)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    con = Reader(tmp_path / "fairaudit.duckdb", LIMITS)
    statements = re.findall(r"```sql\n(.*?)```", page, re.S)
    assert len(statements) == 3
    for statement in statements:
        assert len(ask(con, statement)[0].splitlines()) > 1
    con.close()
    for code in re.findall(r"```python\n(.*?)```", page, re.S):
        values: dict[str, object] = {}
        exec(compile(code, "docs/sql.md", "exec"), values)
        if isinstance(values.get("con"), duckdb.DuckDBPyConnection):
            values["con"].close()  # type: ignore[attr-defined]
        assert isinstance(values["found"], pl.DataFrame)
        assert not values["found"].is_empty()
