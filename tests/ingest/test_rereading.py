"""Logs whose mapping changed are read again, and replaced in one transaction."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from audit.config.table import TableMapping, presets
from audit.errors import LogError
from audit.formats.dialects import PLAIN, Reading
from audit.ingest import rereading
from audit.ingest.ingest import Intake, Named, take_in_by_name
from audit.ingest.logs import LogHead, open_each
from audit.store import database, migrations, queries
from audit.store.database import Connection
from tests.places import DATA

HELIOS: Final = DATA / "tables" / "helios" / "cluster_log.csv"
BY_GPUS: Final = TableMapping.model_validate(
    presets()["helios"].model_dump(exclude_defaults=True, by_alias=True) | {"cpus": "gpu_num"}
)
WHOLE: Final = Reading(table=presets()["helios"])
CHANGED: Final = Reading(table=BY_GPUS)


def take(con: Connection, path: Path, reading: Reading, limit: float = 1.0) -> Intake:
    parts = [LogHead(*text) for text in queries.rows(con, "texts_of_inputs", cluster="helios")]
    logs, unread = open_each([path], None, reading, "source", parts)
    assert not unread
    return take_in_by_name(con, logs, lambda names: Named("helios", "test", None), limit=limit)


def stored(con: Connection) -> Sequence[tuple[Any, ...]]:
    query = "SELECT job_id, cpus, attempt, superseded FROM records ORDER BY ALL"
    return database.fetch(con, query).rows()


def test_the_same_mapping_is_known() -> None:
    with migrations.temporary() as con:
        take(con, HELIOS, WHOLE)
        before = stored(con)
        assert take(con, HELIOS, WHOLE).taken[0].known
        assert stored(con) == before


def test_a_changed_mapping_replaces_the_records() -> None:
    with migrations.temporary() as con, migrations.temporary() as fresh:
        take(con, HELIOS, WHOLE)
        (taken,) = take(con, HELIOS, CHANGED).taken
        assert not taken.known
        assert any("before by other columns, or in" in problem for problem in taken.problems)
        take(fresh, HELIOS, CHANGED)
        assert stored(con) == stored(fresh)
        count = "SELECT count(*) AS n FROM inputs"
        assert database.fetch(con, count).item() == 1


def test_a_log_that_grew_is_read_from_its_beginning(tmp_path: Path) -> None:
    lines = HELIOS.read_bytes().splitlines(keepends=True)
    path = tmp_path / "log.csv"
    with migrations.temporary() as con, migrations.temporary() as fresh:
        for number, reading in ((10, WHOLE), (15, WHOLE), (len(lines), CHANGED)):
            path.write_bytes(b"".join(lines[:number]))
            (taken,) = take(con, path, reading).taken
            assert not taken.known
        take(fresh, HELIOS, CHANGED)
        assert stored(con) == stored(fresh)
        assert len(stored(con)) == len(lines) - 1


def test_jobs_of_other_logs_are_resolved_again(tmp_path: Path) -> None:
    """A record that another log superseded counts again when that log no longer has the job."""
    whole = HELIOS.read_text(encoding="utf-8").splitlines()
    other = tmp_path / "other.csv"
    cells = whole[1].split(",")
    cells[-3] = cells[-2] = cells[-1] = ""  # it still ran: less is known of it
    other.write_text("\n".join([whole[0], ",".join(cells)]) + "\n", encoding="utf-8")
    renamed = BY_GPUS.model_copy(
        update={"job_id": BY_GPUS.fields["job_id"].model_copy(update={"column": "user"})}
    )
    with migrations.temporary() as con:
        take(con, other, WHOLE)
        take(con, HELIOS, WHOLE)
        query = "SELECT superseded FROM records WHERE job_id = $job AND end_time IS NULL"
        assert database.fetch(con, query, {"job": cells[0]}).item()
        take(con, HELIOS, Reading(table=renamed))
        assert not database.fetch(con, query, {"job": cells[0]}).item()


def test_archived_records_are_not_replaced(tmp_path: Path) -> None:
    with migrations.temporary() as con:
        take(con, HELIOS, WHOLE)
        before = stored(con)
        database.execute(
            con,
            "INSERT INTO archived_input BY NAME SELECT *, 5 AS records FROM "
            "(SELECT cluster, input_id, 1 AS to_time FROM inputs)",
        )
        with pytest.raises(LogError, match=r"5 of its records are in the archive.*earlier mapping"):
            take(con, HELIOS, CHANGED)
        assert stored(con) == before


def test_what_an_earlier_version_read_without_a_mapping_is_known(tmp_path: Path) -> None:
    path = tmp_path / "frontier.swf"
    shutil.copy(DATA / "tables" / "frontier-swf" / "frontier-2024.swf", path)
    with migrations.temporary() as con:
        take(con, path, PLAIN)
        unknown = """json_merge_patch(header, '{"reading": null}')"""
        database.execute(con, f"UPDATE inputs SET header = {unknown}")
        assert take(con, path, PLAIN).taken[0].known
        (taken,) = take(con, path, Reading(table=presets()["frontier-swf"])).taken
        assert not taken.known


def test_the_id_of_an_input_without_columns_is_that_of_its_text() -> None:
    plain = rereading.identify_text("c", "ab")
    assert plain == rereading.identify_text("c", "ab", "")
    assert plain != rereading.identify_text("c", "ab", "table:1")
