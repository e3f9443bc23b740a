"""Commands that answer a question: which of their options exclude others."""

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


def test_answers_have_formats() -> None:
    assert [*questions.StoryFormat] == ["text", "html", "json"]
    assert [*questions.ShareFormat] == ["psv", "csv"]
