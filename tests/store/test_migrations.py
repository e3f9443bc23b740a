"""Schema scripts, and the views that analysts rely on."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from audit import resources
from audit.errors import StoreError, UsageError
from audit.registry.causes import CAUSES
from audit.registry.reasons import HELD_BY
from audit.store import catalogue, database, migrations, publish, snapshots
from audit.store.database import Connection, execute, fetch

SHOWN = "duckdb_views() WHERE NOT internal AND view_name NOT IN ('all_records', 'all_results')"
"""The views for analysts; the others join tables and archive for these."""


def test_every_view_and_column_has_a_comment(store: Connection) -> None:
    views = fetch(store, f"SELECT view_name, comment FROM {SHOWN}")
    assert {"job_fairness", "user_fairness", "summary", "runs"} <= {*views["view_name"]}
    assert views["comment"].null_count() == 0
    columns = fetch(
        store,
        f"SELECT comment FROM duckdb_columns() WHERE table_name IN (SELECT view_name FROM {SHOWN})",
    )
    assert columns.height > 300
    assert columns["comment"].null_count() == 0
    assert not columns["comment"].str.contains("''", literal=True).any()


def test_comments_can_be_understood_alone(store: Connection) -> None:
    comments = fetch(
        store,
        "SELECT table_name, column_name, comment FROM duckdb_columns() "
        f"WHERE table_name IN (SELECT view_name FROM {SHOWN})",
    )
    needs_others = r"^(…|its|their|the same|of these|those)\b|\b(told|booked|guessed|owner)\b"
    assert comments.filter(pl.col("comment").str.contains(needs_others)).rows() == []
    terse = comments.filter(pl.col("comment").str.count_matches(r"\w+") < 3)
    assert terse.rows() == []


def test_comments_name_every_kind_of_hold_and_cause(store: Connection) -> None:
    said = "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'stuck'"
    comments = dict(fetch(store, said).rows())
    for column, words in (("held_by", HELD_BY), ("cause", [cause.key for cause in CAUSES])):
        assert [word for word in words if word not in comments[column]] == []


INSTANTS = ("as_of", "fst_strict", "fst_relaxed", "fst_delivered", "unstartable_from")
DIVIDED = ("preemptible_s", "released_own_s")
"""Columns of seconds with fractions, beside those of causes."""


def test_times_are_instants_and_durations_whole_seconds(store: Connection) -> None:
    types = fetch(
        store,
        "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name IN "
        f"(SELECT view_name FROM {SHOWN})",
    )
    for name, kind in types.rows():
        if name.endswith(("_time", "_at")) or name in INSTANTS:
            assert kind == "TIMESTAMP WITH TIME ZONE", name
        if name.endswith("_s"):
            divided = name in DIVIDED or name.startswith("cause_")
            assert kind == ("DOUBLE" if divided else "BIGINT"), name


def test_migrating_again_changes_nothing_but_a_newer_store_is_refused(store: Connection) -> None:
    before = fetch(store, "SELECT * FROM migrations ORDER BY number").rows()
    migrations.migrate(store)
    assert fetch(store, "SELECT * FROM migrations ORDER BY number").rows() == before
    scripts = [int(file.name[:3]) for file in resources.files("sql/schema", ".sql")]
    assert [number for number, _ in before] == [0, *scripts]  # 0 is of the views
    database.execute(store, "INSERT INTO migrations VALUES (9999, 'from the future')")
    with pytest.raises(UsageError, match="made by a newer version; upgrade"):
        migrations.migrate(store)


@pytest.mark.parametrize("folder", ["sql/schema", "sql/views"])
def test_views_are_recreated_only_if_a_script_has_changed(
    store: Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    comment = "SELECT comment FROM duckdb_views() WHERE view_name = 'stuck'"
    execute(store, "COMMENT ON VIEW stuck IS 'mine'")
    migrations.migrate(store)
    assert fetch(store, comment).item() == "mine"

    more = tmp_path / "900_more.sql"
    more.write_text("CREATE TABLE more (a BIGINT);\n")

    def files(name: str, suffix: str) -> list[Path]:
        return resources.files(name, suffix) + [more] * (name == folder)

    monkeypatch.setattr(catalogue, "resources", SimpleNamespace(files=files))
    migrations.migrate(store)
    assert fetch(store, comment).item() != "mine"
    assert fetch(store, "SELECT * FROM more").columns == ["a"]
    migrations.migrate(store)


def test_foreign_views_are_removed(store: Connection) -> None:
    """A store may come from another user's backup."""
    execute(store, "CREATE SCHEMA other")
    for view in ("stuck", "own", "other.records", "all_records"):
        execute(store, f"CREATE OR REPLACE VIEW {view} AS SELECT 1 AS mine")
    migrations.migrate(store)
    assert "waited_s" in fetch(store, "SELECT * FROM stuck").columns
    assert "job_id" in fetch(store, "SELECT * FROM all_records").columns
    for view in ("own", "other.records"):
        with pytest.raises(StoreError, match="does not exist"):
            fetch(store, f"FROM {view}")


def test_a_store_with_a_macro_is_refused(store: Connection) -> None:
    execute(store, "CREATE MACRO upper(x) AS 'mine'")
    with pytest.raises(StoreError, match="the macro 'upper' does not belong to fairaudit"):
        migrations.migrate(store)


def test_a_script_that_fails_is_named_and_leaves_nothing(
    store: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "900_broken.sql"
    script.write_text("CREATE TABLE half (a BIGINT);\nCREATE TABLE half (a BIGINT);\n")
    monkeypatch.setattr(
        "audit.resources.files", lambda folder, _suffix: [script] if folder == "sql/schema" else []
    )
    with pytest.raises(StoreError, match=r"900_broken\.sql: .*half"):
        migrations.migrate(store)
    with pytest.raises(StoreError):
        fetch(store, "SELECT * FROM half")


def test_a_temporary_store_begins_with_what_was_published_and_leaves_nothing(
    tmp_path: Path, store: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    published = tmp_path / "published.duckdb"
    execute(store, "INSERT INTO clusters (cluster, zone, notes) VALUES ('c', 'UTC', '{}')")
    execute(store, "CREATE TABLE foreign_to_fairaudit (a BIGINT)")
    publish.publish(store, published)
    with migrations.temporary(seed=published) as con:
        assert fetch(con, "SELECT cluster FROM clusters").item() == "c"
        with pytest.raises(StoreError, match="does not exist"):
            fetch(con, "FROM foreign_to_fairaudit")
        execute(con, "DELETE FROM clusters")
    with closing(snapshots.open_snapshot(published)) as reader:
        assert fetch(reader, "SELECT cluster FROM clusters").item() == "c"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["private", "published.duckdb"]


def test_a_store_made_before_tasks_were_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows of waiting tasks get the tasks that their ids list."""

    def older(folder: str, suffix: str) -> list[Path]:
        return [file for file in resources.files(folder, suffix) if "tasks" not in file.name]

    made = "INSERT INTO records (cluster, job_id, kind, line, byte_offset, attempt, superseded, "
    ids = ("3", "4_[0-9%2]", "5_[1,3,...]", "7[].srv")
    with closing(database.open_store(tmp_path / "store.duckdb")) as con:
        with monkeypatch.context() as patch:
            patch.setattr(catalogue, "resources", SimpleNamespace(files=older))
            catalogue.make_tables(con, catalogue.newest())
        for number, job in enumerate(ids):
            row = f"input_id) VALUES ('c', '{job}', 'job', {number}, 0, 1, false, 'x')"
            execute(con, made + row)
        migrations.migrate(con)
        found = fetch(con, "SELECT job_id, tasks, array_tasks FROM records ORDER BY line").rows()
    assert found == [
        ("3", 1, None),
        ("4_[0-9%2]", 1, "0-9"),
        ("5_[1,3,...]", 1, None),
        ("7[].srv", 1, None),
    ]
