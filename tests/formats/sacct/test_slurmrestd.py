"""Answers of slurmrestd (made, of six versions) are read as the output of sacct --json."""

import json
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest

from audit.errors import DialectError
from audit.ingest.ingest import take_in
from audit.ingest.logs import open_log, open_logs, parsed_blocks
from audit.store import migrations
from tests.formats.without_store import described
from tests.places import DATA

SAMPLES: Final = DATA / "tables" / "slurmrestd"
EXPECTED: Final = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
VERSIONS: Final = ("40", "41", "42", "43", "44", "46")


def attempts(path: Path) -> pl.DataFrame:
    log = open_log(path)
    assert log.dialect.name == EXPECTED["dialect"]
    parsed = [found for _, found in parsed_blocks(log)]
    assert all(found.refusals.is_empty() for found in parsed)
    return described(pl.concat(found.records for found in parsed))


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_gives_the_same_attempts(version: str) -> None:
    found = attempts(SAMPLES / f"jobs_v0.0.{version}.json")
    rows = found.rename({"start_time": "start"}).rows(named=True)
    for one in EXPECTED["attempts"]:
        mine = [row for row in rows if _agrees(row, one)]
        assert len(mine) == 1, one
    tasks = found.filter(pl.col("job_id").str.starts_with("103_"))
    assert tasks.height == 10
    assert found.height == len(EXPECTED["attempts"]) + 7  # waiting tasks have a row each


def _agrees(row: dict[str, Any], one: dict[str, Any]) -> bool:
    return all(row[key] == value for key, value in one.items())


def test_an_error_in_an_answer_is_refused_with_its_reason() -> None:
    logs = open_logs([SAMPLES / "error_v0.0.44.json"])
    with migrations.temporary() as con:
        (taken,) = take_in(con, "hpc", logs)
    assert (taken.records, taken.refused) == (1, 1)
    ((_, parsed),) = parsed_blocks(logs[0])
    assert parsed.refusals["reason"].to_list() == [
        "sacct reports an error, jobs may be missing: slurmdb_jobs_get() failed"
    ]


def test_a_failed_authentication_is_no_log() -> None:
    with pytest.raises(DialectError, match="not a log that fairaudit reads"):
        open_log(SAMPLES / "auth_failure.txt")
