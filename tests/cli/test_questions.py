"""Commands that answer a question: which of their options exclude others."""

from pathlib import Path

import pytest

from audit.cli import questions
from tests.cli.command import Run


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("when", "4711", "--user", "ann"), "give either JOB or --user"),
        (("when", "4711", "--cpus", "4"), "give either JOB or --user"),
        (("when", "--cpus", "4", "--compare", "x"), "write NAME=VALUE,VALUE"),
        (("sshare", "--want", "0.5"), "require --explain"),
        (("sshare", "--job", "cpus=4"), "require --explain"),
    ],
)
def test_options_that_exclude_others(run: Run, words: tuple[str, ...], why: str) -> None:
    assert why in run(*words, check=2).stderr


def test_a_log_that_is_missing_is_no_job(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("missing.psv", "n" * 300):
        said = run("when", name, check=2).stderr
        assert f"when: there is no file '{name}'; if it is a job: " in said
        assert "audit.duckdb: no such database" in said


def test_a_log_in_place_of_a_job_is_named(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.touch()
    said = run("explain", str(log), check=2).stderr
    assert f"explain: '{log}' is a file: give the id of the job before it" in said


def test_answers_have_formats() -> None:
    assert [*questions.StoryFormat] == ["text", "html", "json"]
    assert [*questions.ShareFormat] == ["psv", "csv"]
