"""Commands that study logs: shared options and refusals."""

from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.main import get_command

from audit.cli.app import app
from tests.cli.command import Run, left_in
from tests.logs import line, log, write

STUDIES = (
    ("whatif", "--order", "sjf"),
    ("fit-policy",),
    ("experiment", "grid"),
    ("experiment", "users"),
    ("experiment", "sensitivity"),
    ("experiment", "workload"),
)


def options(*command: str) -> set[str]:
    found: Any = get_command(app)
    for name in command:
        found = found.get_command(Context(found), name)
    return {option for one in found.params for option in one.opts}


def test_every_study_of_logs_has_the_shared_options() -> None:
    shared = set.intersection(*(options(*study[:2]) for study in STUDIES[1:]))
    assert shared - {"--help"} == {
        *("logs", "--out", "--db", "--pool", "--pool-size", "--resource", "--zone", "--columns"),
        *("--separator", "--dialect", "--cluster", "--threads", "--config"),
    }
    assert shared < options("whatif")
    assert {"--max-walltime", "--limit"} < options("whatif")
    assert options("experiment", "users") - shared == {"--search-seconds"}


@pytest.mark.parametrize("study", STUDIES)
def test_an_unknown_pool_is_refused(study: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    lines = (line(k, submit=60 * k, user=k % 3, group=k % 2) for k in range(1, 40))
    write(tmp_path / "mine.swf", log(lines, MaxProcs=8))
    message = run(*study, "mine.swf", "--pool", "gpu\x1b[2J", check=2).stderr
    assert "--pool gpu\\x1b[2J" in message
    assert "all" in message
    assert left_in(tmp_path) == ["mine.swf"]


def test_warnings_about_the_log_are_shown(run: Run, tmp_path: Path) -> None:
    lines = (line(k, submit=60 * k, allocated=9) for k in range(40))
    write(tmp_path / "mine.swf", log(lines, MaxProcs=8))
    assert "warning: " in run("whatif", "mine.swf", "--capacity", "+1").stderr


@pytest.mark.thorough
def test_a_study_makes_the_same_page_and_tables_every_time(run: Run, tmp_path: Path) -> None:
    done = run("experiment", "operators", "--bits", 4, "--out", "studies")
    made = [tmp_path / name for name in done.stdout.splitlines()]
    assert made[0].name == "operators.html"
    assert sorted(made) == sorted((tmp_path / "studies").iterdir())
    assert {path.suffix for path in made[1:]} == {".csv"}
    first = [path.read_bytes() for path in made]
    run("experiment", "operators", "--bits", 4, "--out", "studies")
    assert [path.read_bytes() for path in made] == first


def test_an_unusable_folder_is_refused_at_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    done = run("experiment", "operators", "--out", "taken", check=2)
    assert "taken: is not a folder; choose another place with --out" in done.stderr
    assert "Traceback" not in done.stderr
    assert left_in(tmp_path) == ["taken"]
    run("experiment", "operators", "--bits", 2, check=2)
