"""Progress on terminals and in logs."""

import pytest

from audit.progress import Progress, printable, printable_lines


def test_control_characters_do_not_reach_a_terminal() -> None:
    text = "a\x1b]0;pwned\x07b\u202ec\nd ü 漢"
    assert printable_lines(text) == "a\\x1b]0;pwned\\x07b\\u202ec\nd ü 漢"
    assert printable(text) == printable_lines(text).replace("\n", "\\n")


def test_a_name_begins_no_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        progress.say("reading a\nfairaudit: all is well.swf")
    assert capsys.readouterr().err == "reading a\\nfairaudit: all is well.swf\n"


def test_a_log_gets_each_step_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        for done in range(3):
            progress.update("reading", done, 3)
        progress.update("computing", 1, 1)
        progress.say("a \x07 bell")
    assert capsys.readouterr().err == "reading …\ncomputing …\na \\x07 bell\n"


def test_a_log_hears_of_long_work_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    instants = iter([0, 59, 60, 119, 120, 180])
    monkeypatch.setattr("audit.progress.time.monotonic", lambda: next(instants))
    with Progress() as progress:
        for done in range(1_000, 1_006):
            progress.update("computing", done, 1_005)
    assert capsys.readouterr().err == (
        "computing …\ncomputing: 1,002 of 1,005\ncomputing: 1,004 of 1,005\ncomputing: 180 s\n"
    )
