"""The command as a whole: how it ends, and what it answers without work."""

import errno
import re
import subprocess
import sys
from pathlib import Path

import pytest

from audit.store.database import open_store
from tests.cli.command import HEAVY, Run, loaded


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "out/report.html"),
            "out/report.html: No space left on device; the disk is full: free some space there",
            4,
        ),
        (
            OSError(errno.EDQUOT, "Disk quota exceeded", "x"),
            "x: Disk quota exceeded; the quota is used up: free some space there, or ask for more",
            4,
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", ".draft", None, "out.html"),
            ".draft → out.html: Permission denied; this user may not use it: change its "
            "permissions, or choose another place",
            2,
        ),
        (
            OSError(errno.EROFS, "Read-only file system", "/x"),
            "/x: Read-only file system; nothing can be written there: choose another place",
            2,
        ),
        (OSError(errno.EIO, "Input/output error", b"/dev/sda"), "/dev/sda: Input/output error", 4),
        (OSError("gone"), "gone", 4),
        (OSError(), "OSError", 4),
    ],
)
def test_an_error_of_the_system_is_said_as_it_is(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str, code: int
) -> None:
    """Which file, what, and what may help; nobody knows here what was replaced before."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("audit.setup.doctor.examine", fail)
    assert run("doctor", check=code).stderr == f"fairaudit: {message}\n"


def test_an_interruption_claims_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audit.setup.doctor.examine", interrupt)
    assert run("doctor", check=130).stderr == "fairaudit: interrupted\n"


def test_help_and_version(run: Run) -> None:
    assert "audit" in run("--help").stdout
    assert re.fullmatch(r"fairaudit \d+\.\d+\.\d+\n", run("--version").stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        *("--help", "--version", "audit --help", "experiment grid --help", "experiment"),
        *("nonsense", "--nonsense", "audit --nonsense", "audit log --db"),
    ],
)
def test_help_and_wrong_use_load_nothing_heavy(arguments: str) -> None:
    assert loaded(arguments.split(), HEAVY) == []


def test_the_studies_are_found_by_their_entry_point_when_asked_for(run: Run) -> None:
    assert "experiment  Repeat a study of the papers." in run("--help").stdout
    found = {"audit.studies.commands"}
    assert loaded(["experiment", "--help"], found) == [*found]
    assert loaded(["audit", "--help"], found | {"importlib.metadata"}) == []
    assert "Did you mean 'experiment'?" in run("experimant", check=2).stderr


def test_what_typer_has_to_convert_loads_its_converter_alone() -> None:
    assert loaded(["audit", "log", "--pool-size", "many"], HEAVY) == ["pydantic"]


def test_a_query_loads_no_frames(tmp_path: Path) -> None:
    database = tmp_path / "published.duckdb"
    open_store(database).close()
    query = ["sql", "--db", str(database), "SELECT 1"]
    assert loaded(query, HEAVY) == ["pydantic"]  # DuckDB is in a process of its own


def test_without_arguments_there_is_the_help(run: Run) -> None:
    assert run(check=2).stderr.startswith("Usage: ")
    assert run("experiment", check=2).stderr.startswith("Usage: ")


@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(7)", 7), ("sys.exit(0)", 0), ("raise ValueError('why')", 1)]
)
def test_the_process_ends_when_all_is_said_and_tidied(end: str, code: int) -> None:
    """Threads first, then what was registered; what is printed on the way is not lost."""
    script = (
        "import atexit, sys, threading, time\n"
        "from audit import __main__\nfrom audit.cli import app\n"
        "def late():\n    time.sleep(0.2)\n    print('ended')\n"
        "def command():\n    atexit.register(print, 'tidied')\n    print('said')\n"
        f"    threading.Thread(target=late).start()\n    {end}\n"
        "app.main = command\n__main__.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["said", "ended", "tidied"]
    assert done.returncode == code
    assert ("ValueError: why" in done.stderr) == (code == 1)
