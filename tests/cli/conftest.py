"""Runs the command within the process of a test."""

import sys
from pathlib import Path

import pytest

from audit.cli.app import main
from tests.cli.command import Done, Run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs fairaudit's main in a folder of the test's own, within this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def command(*arguments: object, check: int = 0) -> Done:
        monkeypatch.setattr(sys, "argv", ["fairaudit", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capfd.readouterr()
        assert ended.value.code == check, printed.err
        return Done(check, printed.out, printed.err)

    return command
