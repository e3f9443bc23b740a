"""Fixtures: the command within the process of a test, and a database that it made."""

import shutil
import sys
from pathlib import Path

import pytest

from audit.cli.app import main
from audit.config import Config
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from tests.cli.command import Done, Run
from tests.logs import busy, write
from tests.shared import once


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run fairaudit's main in the test's folder, within this process."""
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


@pytest.fixture
def audited(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> Path:
    """The database of an audit of a.swf (``busy(60)``) that was made without a PDF in tmp_path."""

    def make(folder: Path) -> None:
        log = write(folder / "a.swf", busy(60))
        audit(
            Session(LogRequest(logs=[log]), Config(), fit=False),
            AuditOptions(out=folder / "fairaudit-out", pdf=False),
        )

    shutil.copytree(once(tmp_path_factory, "audited-busy", make), tmp_path, dirs_exist_ok=True)
    return tmp_path / "fairaudit-out" / "audit.duckdb"
