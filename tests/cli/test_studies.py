"""Commands that study logs: they share options, and refuse alike what they cannot do."""

import sys
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.main import get_command

from audit.cli.app import app, main
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


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = (line(k, submit=60 * k, user=k % 3, group=k % 2) for k in range(1, 40))
    return write(tmp_path / "mine.swf", log(lines, MaxProcs=8))


def test_every_study_of_logs_has_the_options_of_all() -> None:
    shared = set.intersection(*(options(*study[:2]) for study in STUDIES[1:]))
    assert shared - {"--help"} == {
        *("logs", "--out", "--db", "--pool", "--pool-size", "--resource", "--zone", "--columns"),
        *("--separator", "--dialect", "--cluster", "--threads", "--config"),
    }
    assert shared < options("whatif")
    assert {"--max-walltime", "--limit"} < options("whatif")
    assert options("experiment", "users") - shared == {"--search-seconds"}


@pytest.mark.parametrize("study", STUDIES)
def test_a_pool_that_is_not_there_is_refused(
    study: tuple[str, ...],
    mine: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["fairaudit", *study, str(mine), "--pool", "gpu\x1b[2J"])
    said = refused(capsys)
    assert "--pool gpu\\x1b[2J" in said
    assert "all" in said
    assert not Path("fairaudit-out").exists()


def test_warnings_about_the_log_are_shown(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lies = write(mine, log((line(k, submit=60 * k, allocated=9) for k in range(40)), MaxProcs=8))
    monkeypatch.setattr(sys, "argv", ["fairaudit", "whatif", str(lies), "--capacity", "+1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "warning: " in capsys.readouterr().err


@pytest.mark.thorough
def test_a_study_is_a_page_with_its_tables_and_always_the_same(run: Run, tmp_path: Path) -> None:
    done = run("experiment", "operators", "--bits", 4, "--out", "studies")
    made = [tmp_path / name for name in done.stdout.splitlines()]
    assert made[0].name == "operators.html"
    assert sorted(made) == sorted((tmp_path / "studies").iterdir())
    assert {path.suffix for path in made[1:]} == {".csv"}
    first = [path.read_bytes() for path in made]
    run("experiment", "operators", "--bits", 4, "--out", "studies")
    assert [path.read_bytes() for path in made] == first


def test_a_study_that_has_no_place_is_refused_at_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    done = run("experiment", "operators", "--out", "taken", check=2)
    assert "taken: is no folder; choose another place with --out" in done.stderr
    assert "Traceback" not in done.stderr
    assert left_in(tmp_path) == ["taken"]
    run("experiment", "operators", "--bits", 2, check=2)
