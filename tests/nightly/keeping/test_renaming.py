"""Another name in rows and texts: all of it changes, and nothing else."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.nightly.keeping.renaming import LEFT, Renaming, copy
from audit.report.contents import Who
from audit.store import database, migrations
from audit.store.database import Connection, quote_name, quote_text
from tests.naive import renaming as naive

TOKEN = "erased-0123456789ab"
KINDS = ("user", "account", "group")


def renaming(name: str, *others: str, kinds: tuple[str, ...] = KINDS) -> Renaming:
    return Renaming({kind: [name] for kind in kinds}, TOKEN, others, ["hedwig@configured.org"])


@contextmanager
def store(folder: Path) -> Iterator[Connection]:
    with migrations.migrated(folder / "store.duckdb") as con:
        database.attach(con, folder / "copy.duckdb", "copy")
        yield con


def column_texts(con: Connection) -> dict[str, list[tuple[str, str]]]:
    """The columns with texts, by table, and their types."""
    found: dict[str, list[tuple[str, str]]] = {}
    sql = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "WHERE database_name = 'store' AND data_type IN ('VARCHAR', 'JSON') AND table_name IN "
        "(SELECT table_name FROM duckdb_tables()) AND table_name NOT IN ('set_aside', 'migrations')"
    )
    for table, column, kind in database.rows(con, sql):
        found.setdefault(table, []).append((column, kind))
    return found


def test_no_column_of_any_table_keeps_the_name(tmp_path: Path) -> None:
    """Each table has a row with the name in every column that may have it."""
    fixed = {"entity_kind": "user", "dimension": "user", "state": "sent"}
    names = {*KINDS, "entity", "parent", "dimension_value"}
    with store(tmp_path) as con:
        for table, columns in column_texts(con).items():
            row = {}
            for column, kind in columns:
                said = "hedwig" if column in names | LEFT else "user 'hedwig'"
                row[column] = json.dumps({"user": said}) if kind == "JSON" else said
            row |= {name: value for name, value in fixed.items() if name in row}
            if table == "delivery":
                row["recipient"] = "hedwig@example.org"
            required = database.rows(
                con,
                "SELECT column_name FROM duckdb_columns() WHERE NOT is_nullable "
                "AND database_name = 'store' AND table_name = $table",
                {"table": table},
            )
            row |= {name: "1" for (name,) in required if name not in row}
            listed = ", ".join(map(quote_name, row))
            values = ", ".join(map(quote_text, row.values()))
            database.execute(con, f"INSERT INTO {quote_name(table)} ({listed}) VALUES ({values})")
        copy(con, renaming("hedwig"), "copy")
        for table, columns in column_texts(con).items():
            for column, _ in columns:
                of = quote_name(column)
                (was,) = database.rows(con, f"SELECT {of} FROM store.{quote_name(table)}")
                (now,) = database.rows(con, f"SELECT {of} FROM copy.{quote_name(table)}")
                where = f"{table}.{column}"
                if column in LEFT or "hedwig" not in str(was[0]):
                    assert now == was, where
                else:
                    assert "hedwig" not in now[0], where
                    assert TOKEN in now[0], where


def test_an_account_of_others_stays(tmp_path: Path) -> None:
    with store(tmp_path) as con:
        for kind in ("user", "account"):
            database.execute(
                con,
                "INSERT INTO entity_result (cluster, pool, schedule, period, entity_kind, entity, "
                "run_id) VALUES ('c', 'p', 'observed', 'all', ?, 'hedwig', 'r')",
                [kind],
            )
        (change,) = copy(con, renaming("hedwig", kinds=("user",)), "copy").values()
        assert (change.rows, change.clusters) == (1, frozenset("c"))
        found = database.rows(con, "SELECT entity_kind, entity FROM copy.entity_result ORDER BY 1")
    assert found == [("account", "hedwig"), ("user", TOKEN)]


def test_nothing_changes_without_the_name(tmp_path: Path) -> None:
    with store(tmp_path) as con:
        assert copy(con, renaming("hedwig"), "copy") == {}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("held by ann", f"held by {TOKEN}"),
        ("ann|ann ann", f"{TOKEN}|{TOKEN} {TOKEN}"),
        ("ann_job.sh of ann@example.org", f"{TOKEN}_job.sh of {TOKEN}@example.org"),
        ("anna and joann", "anna and joann"),
        ("ann-marie, ann", f"ann-marie, {TOKEN}"),  # another user
    ],
)
def test_texts_of_others(text: str, becomes: str) -> None:
    of = renaming("ann", "ann-marie")
    assert of.outside(text) == becomes
    assert of.mentions(text) == (text != becomes)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("chain of user 'idle'", f"chain of user '{TOKEN}'"),
        ("4 CPUs in total for jobs of user idle", f"4 CPUs in total for jobs of user {TOKEN}"),
        ("the machine was idle", "the machine was idle"),
        ("--walltimes 2 --walltimes-of idle", f"--walltimes 2 --walltimes-of {TOKEN}"),
        ("--limit user:idle=4cpus", f"--limit user:{TOKEN}=4cpus"),
        ("Ask ann, idle, bea for time limits", f"Ask ann, {TOKEN}, bea for time limits"),
        ("Lift a limit; ask idle for time limits", f"Lift a limit; ask {TOKEN} for time limits"),
    ],
)
def test_words_of_fairaudit_stay(text: str, becomes: str) -> None:
    assert renaming("idle").own(text) == becomes


def test_names_that_a_shell_quotes() -> None:
    for name in ("an na", "o'neil"):
        change = shlex.join(["--walltimes-of", name, "--walltimes-of", "ann"])
        becomes = renaming(name).own(change)
        assert shlex.split(becomes) == ["--walltimes-of", TOKEN, "--walltimes-of", "ann"]


def test_numbers_are_names_only_where_it_is_stated() -> None:
    of = renaming("12")
    assert of.outside("uses 12 CPUs, user 12") == f"uses 12 CPUs, user {TOKEN}"
    assert of.in_page("<td>12</td>")
    assert not of.in_page("<td>12 CPUs</td>")


def test_pages_of_the_person() -> None:
    of = renaming("hedwig", kinds=("user",))
    assert of.who(Who("user", "hedwig")) == Who("user", TOKEN)
    assert of.who(Who("account", "hedwig")) == Who("account", "hedwig")


def test_what_was_inferred_keeps_its_form(tmp_path: Path) -> None:
    """Names are keys and values of the configuration, and places in what was inferred."""
    limit = {"user": "all", "most": 3, "resource": "all"}
    assumed = {"rules": [[limit], [], "all", "all", None, [[limit], ["all", "b"]], None]}
    config = {"cluster": {"usage": {"users": {"all": 2.0, "b": 1.0}}, "period": "all"}}
    with store(tmp_path) as con:
        row = (
            "INSERT INTO run (run_id, cluster, period, stage, state, version, config, config_hash, "
            "input_hash) VALUES ('r', 'c', 'all', 'compute', 'done', '1', ?, 'h', 'h')"
        )
        database.execute(con, row, [json.dumps(config | {"assumed": {"p": assumed}})])
        copy(con, renaming("all"), "copy")
        ((text,),) = database.rows(con, "SELECT config FROM copy.run")
    own = limit | {"user": TOKEN}
    rules = [[own], [], "all", "all", None, [[own], [TOKEN, "b"]], None]
    users = {TOKEN: 2.0, "b": 1.0}
    assert json.loads(text) == {
        "cluster": {"usage": {"users": users}, "period": "all"},
        "assumed": {"p": {"rules": rules}},
    }


@given(
    st.text("ab-_ 1", max_size=30),
    st.sampled_from(["a", "ab", "b1", "a-b"]),
    st.sets(st.sampled_from(["a-b", "ab-a", "b_b1", "a b"])),
)
def test_as_character_by_character(text: str, name: str, others: set[str]) -> None:
    others -= {name}
    assert renaming(name, *others).outside(text) == naive.outside(text, {name}, TOKEN, others)
