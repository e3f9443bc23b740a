"""One log in several forms: whole, with other columns, in several files, and as JSON."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import polars.selectors as cs
import pytest

from audit.cluster.identity import seed_of
from audit.config import Config
from audit.formats.dialects import Reading
from audit.model import Period
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from audit.store import database
from tests import stores
from tests.places import DATA

NORTH = DATA / "modern" / "north"
OF_INPUTS = ("run_id", "input_id", "line", "byte_offset")
"""Columns that tell where a record is, and what made a figure."""
ABOUT_INPUTS = ("inputs", "run", "run_input")
"""Tables that may differ."""


def text() -> list[list[str]]:
    """The rows of the recording, the header first."""
    data = gzip.decompress((NORTH / "sacct.txt.gz").read_bytes()).decode()
    return [line.split("\x1f") for line in data.splitlines()]


def whole(folder: Path) -> list[Path]:
    return [_write(folder / "sacct.psv", text())]


def other_columns(folder: Path) -> list[Path]:
    return [_write(folder / "sacct.psv", [row[::-1] for row in text()])]


def other_rows(folder: Path) -> list[Path]:
    header, *rows = text()
    return [_write(folder / "sacct.psv", [header, *rows[::-1]])]


def three_files(folder: Path) -> list[Path]:
    header, *rows = text()
    return [_write(folder / f"{n}.psv", [header, *rows[n::3]]) for n in range(3)]


def as_json(folder: Path) -> list[Path]:
    """Without steps, which the text lacks too, and with calls of sbatch, as since Slurm 23.02."""
    header, *rows = text()
    calls = {row[header.index("JobIDRaw")]: row[header.index("SubmitLine")] for row in rows}
    document = json.loads(gzip.decompress((NORTH / "sacct.json.gz").read_bytes()))
    for job in document["jobs"]:
        job["steps"] = []
        job["submit_line"] = calls[str(job["job_id"])]
    (path := folder / "sacct.json").write_text(json.dumps(document))
    return [path]


def _write(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    path.write_text("".join("\x1f".join(row) + "\n" for row in rows))
    return path


def audited(folder: Path, logs: Sequence[Path]) -> Path:
    request = LogRequest(logs=logs, reading=Reading(zone="UTC"), zone="UTC")
    audit(Session(request, Config(), fit=False), AuditOptions(out=folder / "out", pdf=False))
    return folder / "out"


def tables(folder: Path) -> dict[str, list[str]]:
    """The rows of every table, as text, without what names inputs, lines and runs."""
    with stores.published(folder / "audit.duckdb") as con:
        names = database.fetch(con, "SELECT table_name FROM duckdb_tables()").to_series()
        rows = {name: database.fetch(con, f"FROM {name}") for name in names}
    return {
        name: sorted(map(repr, found.select(cs.exclude(OF_INPUTS)).rows()))
        for name, found in rows.items()
        if name not in ABOUT_INPUTS
    }


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("whole")
    return tables(audited(folder, whole(folder)))


@pytest.mark.thorough
@pytest.mark.parametrize("form", [other_columns, other_rows, three_files, as_json])
def test_every_form_of_a_log_gives_the_same_figures(
    expected: dict[str, list[str]], tmp_path: Path, form: Callable[[Path], list[Path]]
) -> None:
    found = tables(audited(tmp_path, form(tmp_path)))
    assert [name for name in expected if found[name] != expected[name]] == []


def test_the_seed_depends_on_the_attempts_of_the_period_alone() -> None:
    rows = [("1", 1, 0, 5, 10), ("2", 1, 1, 6, 20), ("3", 1, 2, None, None)]
    names = ("job_id", "attempt", "submit_time", "start_time", "end_time")
    attempts = pl.DataFrame(rows, names, orient="row").with_columns(eligible_time="submit_time")
    first, second = Period("a", 0, 15), Period("b", 15, 30)
    seeds = [seed_of(attempts, first), seed_of(attempts, second), seed_of(attempts)]
    assert len(set(seeds)) == 3
    assert seed_of(attempts.reverse(), first) == seeds[0]
    assert seed_of(attempts.filter(pl.col("job_id") != "2"), first) == seeds[0]
    assert seed_of(attempts.filter(pl.col("job_id") != "1"), first) != seeds[0]
