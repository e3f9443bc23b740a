"""Jobs move to files and back as a whole; readers see both, and no other files."""

import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from audit.errors import StoreError
from audit.store import archive, database, migrations, publish, queries, snapshots
from audit.store.database import Connection, fetch, insert, rows, transaction
from audit.words import ARCHIVE

HOSTILE = "x'); DROP TABLE records; --"


def record(job: str, end: int | None, **more: object) -> dict[str, object]:
    given = {"cluster": "c", "kind": "job", "line": 1, "byte_offset": 0, "attempt": 1}
    times = {"submit_time": 0 if end is None else end - 9, "start_time": end and end - 5}
    return {
        **given,
        "superseded": False,
        "input_id": "i",
        "job_id": job,
        "end_time": end,
        **times,
        **more,
    }


def fill(con: Connection, *records: dict[str, object]) -> None:
    frame = pl.DataFrame(records, infer_schema_length=None)
    insert(con, "records", frame)
    results = frame.filter(~pl.col("superseded")).select("cluster", "job_id", "attempt", "end_time")
    named = {"pool": "all", "schedule": "observed", "standing": "ended", "run_id": "r"}
    insert(con, "job_result", results, named)


def jobs(con: Connection, table: str) -> list[tuple[str, int]]:
    return rows(con, f"SELECT job_id, attempt FROM {table} ORDER BY ALL")


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with migrations.migrated(tmp_path / "store.duckdb", base=tmp_path) as con:
        fill(
            con,
            record("old", 50),
            record("older", 20),
            record("again", 30),
            record("again", 130, attempt=2),
            record("open", 40),
            record("open", None, attempt=2),
            record("summed up", 60),
            record("summed up", None, attempt=0, superseded=True),
            record("young", 100),
            record("old", 50, cluster="other"),
        )
        yield con


def move(
    con: Connection, folder: Path, *edges: int, place: str = "archive/c"
) -> list[archive.Month]:
    return archive.move(con, "c", edges, folder, place)


def test_a_job_moves_as_a_whole_or_stays(con: Connection, tmp_path: Path) -> None:
    before = {
        table: fetch(con, f"FROM {table} ORDER BY ALL") for table in ("records", "job_result")
    }
    first, second = move(con, tmp_path, 10, 50, 100)
    assert (first.records, second.records) == (1, 3)
    assert first.first_arrival == 11
    left = [("again", 1), ("again", 2), ("old", 1), ("open", 1), ("open", 2), ("young", 1)]
    assert jobs(con, "records") == left
    assert jobs(con, "job_result") == left
    assert archive.archived_until(con, "c") == 100
    assert archive.archived_until(con, "other") is None
    for view, table in (("all_records", "records"), ("all_results", "job_result")):
        assert fetch(con, f"FROM {view} ORDER BY ALL").equals(before[table])
    counted = rows(con, "SELECT to_time, input_id, records FROM archived_input ORDER BY ALL")
    assert counted == [(50, "i", 1), (100, "i", 3)]
    with transaction(con):
        assert archive.bring_back(con, "c", 60) == [second]
    with transaction(con):
        assert archive.bring_back(con, "c", 0) == [first]
    for table, content in before.items():
        assert fetch(con, f"FROM {table} ORDER BY ALL").equals(content)
    assert rows(con, "FROM archived_input") == []


@pytest.mark.parametrize("written", range(4))
def test_a_disk_that_fills_up_on_the_way_takes_no_row(
    con: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Two months of two files each: however many are written, views have each row once."""
    views = ("all_records", "all_results")
    before = {view: fetch(con, f"FROM {view} ORDER BY ALL") for view in views}
    made: list[int] = []

    def full(file: int) -> None:
        if len(made) == written:
            raise OSError(28, "No space left on device")
        made.append(file)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device"):
        move(con, tmp_path, 10, 50, 100)
    assert len(archive.months(con)) == written // 2
    for view, rows_before in before.items():
        assert fetch(con, f"FROM {view} ORDER BY ALL").equals(rows_before)
    monkeypatch.undo()
    move(con, tmp_path, *((10, 50, 100) if written < 2 else (50, 100)))
    assert len(archive.months(con)) == 2
    for view, rows_before in before.items():
        assert fetch(con, f"FROM {view} ORDER BY ALL").equals(rows_before)


def test_replaced_records_move_with_their_job(con: Connection, tmp_path: Path) -> None:
    """A summary with a later end than the job's own records."""
    fill(con, record("old", 140, attempt=0, superseded=True))
    move(con, tmp_path, 10, 50, 100)
    kept = "SELECT count(*) FROM records WHERE cluster = 'c' AND job_id = 'old'"
    assert rows(con, kept) == [(0,)]


def test_nothing_to_move_makes_no_file(con: Connection, tmp_path: Path) -> None:
    assert move(con, tmp_path, 0, 10) == []
    assert not (tmp_path / "archive").exists()


def test_the_same_jobs_make_the_same_file(con: Connection, tmp_path: Path) -> None:
    (month,) = move(con, tmp_path, 10, 100)
    with transaction(con):
        archive.bring_back(con, "c", 0)
    (again,) = move(con, tmp_path, 10, 100)
    assert again == month


def test_files_of_no_month_are_removed(con: Connection, tmp_path: Path) -> None:
    months = move(con, tmp_path, 10, 50, 100)
    folder = tmp_path / "archive" / "c"
    store = archive.identity(con)
    own = [
        folder / f"{name.format(store)}"
        for name in (
            *(".1999-01-records-{}-0123456789ab.parquet.draft", ".1999-01-results-{}.draft"),
            "1999-01-records-{}-0123456789ab.parquet",
        )
    ]
    others = {
        "1999-01-records-0123456789abcdef-0123456789ab.parquet",
        "1999-01-records-0123456789ab.parquet",
        f"notes on {store}.parquet",
    }
    for path in (*own, *(folder / name for name in others)):
        path.write_bytes(b"half")
    assert archive.tidy(con, tmp_path, "archive/c") == own
    assert {file.name for file in folder.iterdir()} == others | {
        Path(file).name for month in months for file in month.files
    }


def test_a_store_keeps_the_identity_that_it_chose(con: Connection, tmp_path: Path) -> None:
    assert archive.identity(con) is None
    chosen = archive.identified(con)
    assert archive.identified(con) == archive.identity(con) == chosen
    publish.publish(con, tmp_path / "audit.duckdb")
    with closing(snapshots.open_snapshot(tmp_path / "audit.duckdb")) as reader:
        assert archive.identity(reader) == chosen
    database.execute(con, "UPDATE identity SET store = '../../etc/passwd'")
    with pytest.raises(StoreError, match="identity is damaged"):
        move(con, tmp_path, 10, 100)


def test_files_of_an_archive_are_read_only_and_replaced(con: Connection, tmp_path: Path) -> None:
    (month,) = move(con, tmp_path, 10, 100)
    for file in month.files:
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o400
    with transaction(con):
        archive.bring_back(con, "c", 0)
    (again,) = archive.move(con, "c", (10, 100), tmp_path, "archive/c", with_group=True)
    assert again == month
    for file in month.files:
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o440


def test_a_missing_file_is_named(con: Connection, tmp_path: Path) -> None:
    (month,) = move(con, tmp_path, 10, 100)
    (tmp_path / month.files[1]).unlink()
    with pytest.raises(StoreError, match=r"output\.archive.*results"):
        archive.renew_views(con)


@pytest.mark.parametrize("folder", ['it\'s "here"', "ünï codé"])
def test_readers_see_the_files_and_no_others(con: Connection, tmp_path: Path, folder: str) -> None:
    kept = tmp_path / folder
    move(con, tmp_path, 10, 100, place=f"{folder}/c")
    secret = database.quote_text(f"{kept}/secret.parquet")
    database.execute(con, f"COPY (SELECT 1) TO {secret} (FORMAT parquet)")
    publish.publish(con, tmp_path / "audit.duckdb")
    with closing(snapshots.open_snapshot(tmp_path / "audit.duckdb", archive=kept)) as reader:
        assert rows(reader, "SELECT count(*) FROM job_fairness") == [(9,)]
        for file in ("secret.parquet", "../store.duckdb"):
            for path in (f"{kept}/{file}", f"{folder}/{file}"):
                with pytest.raises(StoreError, match="disabled by configuration"):
                    rows(reader, f"SELECT * FROM read_blob({database.quote_text(path)})")


def test_a_published_database_moves_with_its_archive(con: Connection, tmp_path: Path) -> None:
    move(con, tmp_path, 10, 100, place=f"{ARCHIVE}/c")
    (tmp_path / "there").mkdir()
    publish.publish(con, tmp_path / "there" / "audit.duckdb")
    (tmp_path / ARCHIVE).rename(tmp_path / "there" / ARCHIVE)
    with closing(snapshots.open_snapshot(tmp_path / "there" / "audit.duckdb")) as reader:
        assert rows(reader, "SELECT count(*) FROM job_fairness") == [(9,)]


def test_names_are_no_statements(con: Connection, tmp_path: Path) -> None:
    fill(con, record(HOSTILE, 20, cluster=HOSTILE, user=HOSTILE))
    (month,) = archive.move(con, HOSTILE, (0, 50), tmp_path, "archive/h")
    assert month.cluster == HOSTILE
    found = fetch(con, "SELECT job_id FROM all_records WHERE cluster = $name", {"name": HOSTILE})
    assert found["job_id"].to_list() == [HOSTILE]
    assert jobs(con, "records")


def test_a_query_opens_only_files_that_its_arguments_select(
    con: Connection, tmp_path: Path
) -> None:
    fill(con, record("waited", 95, submit_time=15, start_time=90, input_id="late"))
    months = move(con, tmp_path, 10, 50, 80, 100)
    for month in months[:2]:
        for file in month.files:
            (tmp_path / file).unlink()

    def ended(cluster: str, since: int | None, until: int | None) -> set[str]:
        found = queries.run(con, "attempts", cluster=cluster, since=since, until=until)
        return {*found["job_id"]}

    assert ended("c", 80, 100) == {"open", "waited", "young"}
    assert ended("c", 200, 300) == {"open"}
    assert ended("other", None, None) == {"old"}
    of = {"cluster": "c", "period": "p", "schedule": "observed", "whole": False, "to_time": 100}
    assert queries.rows(con, "records/span", from_time=80, **of) == [(None, 95)]
    of_records = {"cluster": "c", "whole": False, "to_time": 100}
    assert queries.rows(con, "records/superseded", from_time=80, **of_records) == [(0,)]
    for since, until in ((14, 16), (79, 100), (None, None)):
        with pytest.raises(StoreError, match="records"):
            ended("c", since, until)
    with pytest.raises(StoreError, match="results"):
        queries.rows(con, "records/span", from_time=79, **of)
    with pytest.raises(StoreError, match="records"):
        queries.rows(con, "records/superseded", from_time=79, **of_records)


def test_every_query_over_the_archive_names_the_cluster() -> None:
    """Without it, the months to open are not known."""
    loaded = [queries.load(name) for name in queries.names()]
    over = [query for query in loaded if re.search(r"\ball_re(cords|sults)\b", query.sql)]
    assert len(over) > 15
    assert [query.name for query in over if "cluster" not in query.parameters] == []
    assert {query.name for query in loaded if query.archive} <= {query.name for query in over}


def test_files_from_before_a_column_existed_are_read(con: Connection, tmp_path: Path) -> None:
    files = [str(tmp_path / f"{name}.parquet") for name in ("before", "after")]
    columns = ("* EXCLUDE (tasks)", "* REPLACE (7 AS tasks)")
    for file, selected in zip(files, columns, strict=True):
        source = f"SELECT {selected} FROM records WHERE job_id = 'old' AND cluster = 'c'"
        database.execute(con, f"COPY ({source}) TO '{file}'")
    query = f"SELECT tasks FROM ({archive.over_archive('records', files)}) WHERE job_id = 'old'"
    assert sorted(rows(con, query), key=str) == [(1,), (1,), (7,), (None,)]
