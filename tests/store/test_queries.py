"""Statements in files: their declarations are true, and errors name the file."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from audit import resources
from audit.errors import StoreError
from audit.store import database, queries
from audit.store.database import Connection

NAMES = queries.names()
CHECKS = [path.stem for path in resources.files("sql/checks", ".sql")]
ADDING = {"sum", "avg", "mean", "fsum", "favg", "stddev_pop", "stddev_samp", "product"}
EXAMPLES = {
    "VARCHAR": "x",
    "BIGINT": 1,
    "DOUBLE": 1.0,
    "BOOLEAN": False,
    "VARCHAR[]": ["x"],
    "BIGINT[]": [1, 2],
}


def test_every_query_says_what_it_gives_and_runs(store: Connection) -> None:
    for name in NAMES:
        query = queries.load(name)
        assert query.doc.endswith("."), name
        assert query.used == database.named_parameters(store, query.sql), name
        arguments = {key: EXAMPLES[kind] for key, kind in query.parameters.items()}
        queries.run(store, name, **arguments)


def test_no_sum_depends_on_the_order_of_rows(store: Connection) -> None:
    """Threads add rows in any order, and a sum of DOUBLE then differs in its last digits."""
    statements = {name: given(queries.load(name)) for name in NAMES}
    statements |= {
        name: f"SELECT * FROM {name}"
        for (name,) in database.rows(
            store, "SELECT view_name FROM duckdb_views() WHERE NOT internal", {}
        )
    }
    store.execute("PRAGMA disable_optimizer")  # it leaves out what no row reaches
    store.execute("CREATE TEMP TABLE one (x DOUBLE)")
    assert added_in_any_order(store, "SELECT sum(x) FROM one") == ["sum"]
    found = {name: added_in_any_order(store, sql) for name, sql in statements.items()}
    assert {name: added for name, added in found.items() if added} == {}


def added_in_any_order(con: Connection, sql: str) -> list[str]:
    """Return the aggregates of a statement that add or average floating-point numbers."""
    ((plan,),) = database.rows(con, "SELECT json_serialize_plan($sql)", {"sql": sql})
    return list(aggregates(json.loads(plan)))


def given(query: queries.Query) -> str:
    """Return a query with NULL for its parameters, and without comments."""
    text = re.sub("--.*", "", query.sql)
    return re.sub(r"\$(\w+)", lambda used: f"(NULL::{query.parameters[used[1]]})", text)


def aggregates(plan: object) -> Iterator[str]:
    if isinstance(plan, dict):
        assert not plan.get("error"), plan
        name = plan.get("qname", {}).get("path", [""])[-1]
        of = [child.get("return_type", {}).get("id") for child in plan.get("children", [])]
        if name in ADDING and of[:1] in (["DOUBLE"], ["FLOAT"]) and not plan.get("order_bys"):
            yield name
        for part in plan.values():
            yield from aggregates(part)
    elif isinstance(plan, list):
        for part in plan:
            yield from aggregates(part)


def test_every_query_is_asked_for() -> None:
    code = "".join(
        path.read_text(encoding="utf-8") for path in Path(resources.__file__).parent.rglob("*.py")
    )
    assert [name for name in NAMES if f'"{name}"' not in code] == []


def test_arguments_must_be_those_declared(store: Connection) -> None:
    with pytest.raises(StoreError, match=r"input\.sql: takes \['input_id'\], was given \[\]"):
        queries.run(store, "input")


def test_a_wrong_declaration_is_found(
    store: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.sql"
    monkeypatch.setattr("audit.resources.path", lambda _name: bad)
    bad.write_text("-- It.\n-- parameters: a\nSELECT $a\n")
    with pytest.raises(StoreError, match=r"bad\.sql:2: a parameter is declared as 'name TYPE'"):
        queries.run(store, "bad-one")
    bad.write_text("-- It.\n-- parameters: a BIGINT\nSELECT $b\n")
    with pytest.raises(StoreError, match=r"declares \['a'\] but uses \['b'\]"):
        queries.run(store, "bad-two", a=1)
    bad.write_text("-- It.\nSELECT nothing\n")
    with pytest.raises(StoreError, match=r"sql/queries/bad-three\.sql: (.|\n)*nothing"):
        queries.run(store, "bad-three")


def broken_rows() -> dict[str, dict[str, list[dict[str, object]]]]:
    """For each check, a row that breaks what it checks, by table."""
    attempt = {"cluster": "c", "pool": "p", "schedule": "observed", "job_id": "1", "attempt": 1}
    result = {**attempt, "standing": "ended", "run_id": "r"}
    record = {"cluster": "c", "job_id": "1", "kind": "job", "line": 1, "byte_offset": 0}
    return {
        "attempts_are_unique": {"job_result": [result, result]},
        "times_are_in_order": {
            "job_result": [{**result, "arrival_time": 5, "start_time": 4, "end_time": 9}]
        },
        "records_are_counted": {
            "inputs": [
                {
                    "input_id": "i",
                    "cluster": "c",
                    "file": "f",
                    "dialect": "swf",
                    "bytes": 1,
                    "records": 3,
                    "refused": 1,
                    "duplicates": 1,
                    "content_sha256": "s",
                    "header": "{}",
                }
            ]
        },
        "results_cover_attempts": {
            "run": [
                {
                    "run_id": "r",
                    "cluster": "c",
                    "period": "all",
                    "stage": "compute",
                    "state": "done",
                    "version": "1",
                    "config": "{}",
                    "config_hash": "h",
                    "input_hash": "h",
                }
            ],
            "records": [{**record, "attempt": 1, "superseded": False, "input_id": "i"}],
        },
    }


def test_no_check_is_without_its_example() -> None:
    assert set(broken_rows()) == set(CHECKS)


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_can_fail_and_an_empty_store_passes(store: Connection, check: str) -> None:
    assert queries.failed_checks(store) == {}
    for table, rows in broken_rows()[check].items():
        database.insert(store, table, pl.DataFrame(rows))
    assert check in queries.failed_checks(store)
