"""Confinement of analysts' SQL: each layer alone, all of them, and statements that must work."""

import csv
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from audit.analyst import reader
from audit.analyst.sql import Reader, SqlLimits, SqlStatement, answer
from audit.errors import StoreError, UsageError
from audit.store import selection, snapshots
from audit.store.database import Connection
from audit.store.grammar import Grammar
from audit.words import Format
from tests import processes
from tests.places import ROOT
from tests.security.conftest import Place, published
from tests.security.statements import BOMBS, LEGITIMATE, READING, WRITING

ATTACKS = (*WRITING, *READING)
LIMITS = SqlLimits(20, "200MB")
DESTROYING = [
    statement
    for statement in WRITING
    if statement.startswith("WITH x AS (COPY") and ("{db}'" in statement or "{kept}" in statement)
]

WITHOUT_PARSE_LAYER = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from audit.analyst import confined
from audit.files import confine
from audit.store import database, snapshots

def nothing_is_locked(con, *_):
    con.execute("USE fairaudit")
    con.execute("SET max_execution_time = 2000")

def query(self, **request):
    confine.limit(data_bytes=1 << 30, cpu_s=20)
    try:
        return [repr(self._con.execute(request["text"]).fetchall()[:3])]
    except Exception as error:
        return [f"failed: {error}"]

database._lock = nothing_is_locked
confined._ConfinedProcess._query = query
"""
"""The process without the layer of the syntax tree, and without DuckDB's own locks."""
SERVE = "confined.serve(int(sys.argv[2]))\n"


@pytest.fixture(scope="module")
def opened(place: Place) -> Iterator[Reader]:
    with closing(Reader(place.database, LIMITS)) as opened:
        yield opened


@pytest.fixture(scope="module")
def con(place: Place) -> Iterator[Connection]:
    with closing(snapshots.open_snapshot(place.database)) as con:
        yield con


@pytest.fixture(scope="module")
def names(con: Connection) -> frozenset[str]:
    return selection.readable(con)


@pytest.fixture(scope="module")
def grammar() -> Iterator[Grammar]:
    with closing(Grammar()) as grammar:
        yield grammar


def ask(opened: Reader, text: str, **given: str) -> list[str]:
    """Return the lines of the result, then the remarks."""
    out, said = io.BytesIO(), list[str]()
    opened.query(SqlStatement(text, given, Format.csv, raw=True), out, said.append)
    return [*out.getvalue().decode().splitlines(), *said]


# each layer alone ----------------------------------------------------------------------------


def test_there_are_enough_statements() -> None:
    assert len({*ATTACKS}) == len(ATTACKS) > 250
    assert len({*LEGITIMATE}) == len(LEGITIMATE) > 60
    assert len(DESTROYING) > 5


def test_the_syntax_tree_alone_refuses(
    place: Place, grammar: Grammar, names: frozenset[str]
) -> None:
    for statement in ATTACKS:
        with pytest.raises(StoreError):
            raise AssertionError(grammar.check(place.fill(statement), names), statement)


@pytest.fixture(scope="module")
def confined(place: Place) -> Iterator[Reader]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "PROGRAM", WITHOUT_PARSE_LAYER + SERVE)
        reader.end()
        opened = Reader(place.database, LIMITS)
    with closing(opened):
        yield opened


@pytest.mark.thorough
def test_the_operating_system_alone_keeps_every_file(place: Place, confined: Reader) -> None:
    """Nothing is checked or locked, so that DuckDB would run all of it."""
    if not confined.landlock:
        pytest.skip("this kernel has no Landlock")
    for statement in ATTACKS:
        shown = "".join(ask(confined, place.fill(statement) or ";"))
        assert place.state() == place.before, statement
        assert "root:" not in shown, statement  # of /etc/passwd


@pytest.mark.parametrize("statement", DESTROYING)
def test_without_a_layer_files_are_lost(tmp_path: Path, statement: str) -> None:
    """The attacks work without the layers."""
    place = published(tmp_path)
    before = place.state()
    with duckdb.connect(str(place.database), read_only=True) as con:
        con.execute(place.fill(statement))
    assert place.state() != before


@pytest.mark.thorough
@pytest.mark.parametrize("statement", DESTROYING[:3])
def test_without_landlock_no_byte_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """A file may lose its content, but nothing is written, and no disk fills."""
    place = published(tmp_path)
    old_kernel = "confine.landlock = lambda: 0\n"
    monkeypatch.setattr(reader, "PROGRAM", WITHOUT_PARSE_LAYER + old_kernel + SERVE)
    reader.end()
    before = place.state()
    with closing(Reader(place.database, LIMITS)) as opened:
        assert not opened.landlock
        ask(opened, place.fill(statement))
    after = place.state()
    changed = {name for name in {*before, *after} if after.get(name) != before.get(name)}
    assert all(after[name][1] == 0 for name in changed & {*after})


def test_without_landlock_it_warns_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    old_kernel = "; from audit.files import confine; confine.landlock = lambda: 0; confined.serve("
    monkeypatch.setattr(reader, "PROGRAM", reader.PROGRAM.replace("; confined.serve(", old_kernel))
    reader.end()
    said: list[str] = []
    out = io.BytesIO()
    answer(place.database, SqlStatement("SELECT 1 AS a", form=Format.csv), out, LIMITS, said.append)
    assert out.getvalue() == b"a\n1\n"
    [warning] = said
    assert warning.startswith("sql: this kernel has no Landlock")
    assert "no Landlock in this kernel" in reader.layers()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_the_modes_alone_keep_every_file(tmp_path: Path) -> None:
    """Modes of published files protect them from their owner without other layers."""
    place = published(tmp_path)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 65_534, 65_534)
        path.chmod(0o700 if path.is_dir() else 0o440)
    before = place.state()
    program = (
        "import os, sys, duckdb\n"
        "os.chroot(sys.argv[1])\n"  # its parents are root's alone
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "con = duckdb.connect('/fairaudit.duckdb', read_only=True)\n"
        "for statement in sys.argv[2:]:\n"
        "    try:\n"
        "        con.execute(statement)\n"
        "        print('done:', statement)\n"
        "    except duckdb.IOException as error:\n"
        "        assert 'Permission denied' in str(error), error\n"
    )
    overwriting = [
        place.fill(statement).replace(str(tmp_path), "")
        for statement in DESTROYING
        if "USE_TMP_FILE false" in statement and ".wal" not in statement
    ]
    assert len(overwriting) > 3
    done = processes.python("-c", program, tmp_path, *overwriting)
    assert (done.stdout, done.stderr) == ("", "")
    assert place.state() == before


# all of them ---------------------------------------------------------------------------------


def test_nothing_is_changed_or_reported(place: Place, opened: Reader) -> None:
    for statement in ATTACKS:
        with pytest.raises(UsageError, match=r"^sql: ") as refused:
            raise AssertionError(ask(opened, place.fill(statement)), statement)
        assert place.state() == place.before, statement
        assert "root:" not in str(refused.value), statement
    assert ask(opened, "SELECT count(*) AS n FROM all_records") == ["n", "4"]


@pytest.mark.parametrize(
    "statement",
    [pytest.param(one, marks=pytest.mark.thorough if n % 3 else ()) for n, one in enumerate(BOMBS)],
)
def test_statements_beyond_the_limits_are_ended(place: Place, statement: str) -> None:
    before = place.state()
    limits = SqlLimits(1, "100MB")
    with closing(Reader(place.database, limits)) as opened:
        with pytest.raises(UsageError, match=r"^sql: "):
            ask(opened, statement)
        assert ask(opened, "SELECT 1 AS a") == ["a", "1"]
    assert place.state() == before


@pytest.mark.thorough
def test_its_output_is_a_file_that_it_cannot_open(place: Place, tmp_path: Path) -> None:
    """The user's stdout is open for writing in the command, and not in the process that reads."""
    target = tmp_path / "out.csv"
    statement = "FROM glob('/proc/self/fd/*')"
    for text in (
        "WITH x AS (COPY (SELECT 1) TO '/proc/self/fd/1' (FORMAT csv, USE_TMP_FILE false)) FROM x",
        statement,
    ):
        with target.open("wb") as out:
            done = subprocess.run(
                [sys.executable, "-m", "audit", "sql", text, "--db", str(place.database)],
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert (done.returncode, target.read_bytes()) == (2, b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "PROGRAM", WITHOUT_PARSE_LAYER + SERVE)
        reader.end()
        with closing(Reader(place.database, LIMITS)) as opened:
            for number in range(10):
                for process in ("self", str(os.getpid())):
                    to = f"/proc/{process}/fd/{number}"
                    ask(opened, f"COPY (SELECT 'x') TO '{to}' (FORMAT csv, USE_TMP_FILE false)")
            assert ask(opened, "SELECT 1") == ["[(1,)]"]  # its socket is whole


def test_a_prompt_keeps_the_database_that_it_opened(tmp_path: Path) -> None:
    """Also when a statement was ended with its process."""
    place = published(tmp_path)
    with closing(Reader(place.database, SqlLimits(1, "100MB"))) as opened:
        shutil.rmtree(tmp_path / "gone", ignore_errors=True)
        with duckdb.connect(str(tmp_path / "later.duckdb")) as con:
            con.execute("CREATE TABLE all_records AS SELECT 1")
        (tmp_path / "later.duckdb").replace(place.database)
        assert ask(opened, "SELECT count(*) AS n FROM all_records") == ["n", "4"]
        with pytest.raises(UsageError, match="stopped"):
            ask(opened, "SELECT list_reduce(range(1000000000), lambda x, y: x + y)")
        assert ask(opened, "SELECT count(*) AS n FROM all_records") == ["n", "4"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_another_user_is_confined_as_well(place: Place) -> None:
    """Unlike root, another user needs a user namespace."""
    program = (
        "import os, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from audit.files import confine\n"
        "source = os.open(sys.argv[2], os.O_RDONLY)\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "print(confine.leave_network(), bool(confine.restrict([source])))\n"
        "confine.write_nothing()\n"
        "for path, mode in ((sys.argv[2], os.O_WRONLY), ('/etc/passwd', os.O_RDONLY)):\n"
        "    try:\n"
        "        os.open(path, mode)\n"
        "        print('opened', path)\n"
        "    except PermissionError:\n"
        "        pass\n"
    )
    done = processes.python("-c", program, ROOT, str(place.database))
    assert done.stderr == ""
    assert done.stdout in ("True True\n", "False True\n")


# what must work ------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", LEGITIMATE)
def test_legitimate_statements_return_the_same_as_in_duckdb(
    con: Connection, opened: Reader, grammar: Grammar, names: frozenset[str], statement: str
) -> None:
    given = {"name": "it's $name"} if "$name" in statement else {}
    asked = selection.select(con, grammar, names, statement, given)
    found = con.execute(asked.query, given or None).fetchall()
    columns = [column.name for column in asked.columns]
    assert con.execute(statement, given or None).fetchall() == found
    assert [column[0] for column in con.description or ()] == columns
    out = io.BytesIO()
    opened.query(SqlStatement(statement, given, Format.csv), out, print)
    assert len(list(csv.reader(io.StringIO(out.getvalue().decode())))) == 1 + len(found)


@pytest.mark.parametrize(
    "statement",
    [
        "EXPLAIN FROM job_fairness",
        "EXPLAIN ANALYZE SELECT 1",
        "/* a */ explain -- b\n (ANALYZE, FORMAT json) SELECT count(*) FROM all_records",
        "EXPLAIN (FORMAT json) SELECT $name",
    ],
)
def test_plans_are_shown_without_paths(place: Place, opened: Reader, statement: str) -> None:
    shown = "\n".join(ask(opened, statement, **({"name": "a"} if "$name" in statement else {})))
    assert "plan" in shown
    assert str(place.folder) not in shown
