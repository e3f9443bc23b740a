"""The command as a whole: exit codes, help, and what it loads."""

import errno
import re
import subprocess
import sys
from pathlib import Path

import pytest

from audit.store.database import open_store
from tests.cli.command import HEAVY, Run, loaded

NO_SPACE = OSError(errno.ENOSPC, "No space left on device", "out/report.html")
DENIED = PermissionError(errno.EACCES, "Permission denied", ".draft", None, "out.html")


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (NO_SPACE, "out/report.html: No space left on device; the disk is full: free some", 4),
        (OSError(errno.EDQUOT, "Disk quota", "x"), "x: Disk quota; the quota is used up: free", 4),
        (DENIED, ".draft → out.html: Permission denied; permission is missing: change", 2),
        (OSError(errno.EROFS, "Read-only", "/x"), "/x: Read-only; nothing can be written there", 2),
        (OSError(errno.EIO, "Input/output error", b"/dev/sda"), "/dev/sda: Input/output error", 4),
        (OSError("gone"), "gone", 4),
        (OSError(), "OSError", 4),
    ],
)
def test_system_errors_name_file_cause_and_remedy(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str, code: int
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("audit.setup.doctor.examine", fail)
    assert run("doctor", check=code).stderr.startswith(f"fairaudit: {message}")


def test_an_interruption(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
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
        *("--nonsense", "audit log --db"),
    ],
)
def test_help_and_wrong_use_load_nothing_heavy(arguments: str) -> None:
    assert loaded(arguments.split(), HEAVY) == []


def test_studies_are_loaded_on_demand_by_their_entry_point(run: Run) -> None:
    assert "experiment  Repeat a study from the literature on a log." in run("--help").stdout
    found = {"audit.studies.commands"}
    assert loaded(["experiment", "--help"], found) == [*found]
    assert loaded(["audit", "--help"], found | {"importlib.metadata"}) == []
    assert "Did you mean 'experiment'?" in run("experimant", check=2).stderr


def test_converting_an_option_loads_only_pydantic() -> None:
    assert loaded(["audit", "log", "--pool-size", "many"], HEAVY) == ["pydantic"]


def test_a_query_loads_no_frames(tmp_path: Path) -> None:
    database = tmp_path / "published.duckdb"
    open_store(database).close()
    query = ["sql", "--db", str(database), "SELECT 1"]
    assert loaded(query, HEAVY) == ["pydantic"]  # DuckDB is in another process


def test_without_arguments_help_is_printed(run: Run) -> None:
    assert run(check=2).stderr.startswith("Usage: ")
    assert run("experiment", check=2).stderr.startswith("Usage: ")


@pytest.mark.parametrize(
    ("end", "code"), [("sys.exit(7)", 7), ("sys.exit(0)", 0), ("raise ValueError('why')", 4)]
)
def test_the_process_ends_after_threads_and_exit_handlers(end: str, code: int) -> None:
    script = (
        "import atexit, sys, threading, time\n"
        "from audit import __main__\nfrom audit.cli import app\n"
        "def late():\n    time.sleep(0.2)\n    print('ended')\n"
        "def command():\n    atexit.register(print, 'tidied')\n    print('said')\n"
        f"    threading.Thread(target=late).start()\n    {end}\n"
        "app.main = command\n__main__.main()\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["said", "ended", "tidied"]
    assert done.returncode == code
    assert ("ValueError: why" in done.stderr) == (code == 4)


def test_files_do_not_take_the_place_of_closed_streams(tmp_path: Path) -> None:
    """The first file that is opened would be stdin, and a later one get what is printed."""
    script = (
        "import os, sys\nfrom audit import __main__\nfrom audit.cli import app\n"
        "def command():\n    file = open(sys.argv[1], 'w')\n    print('lost', flush=True)\n"
        "    os.write(2, b'lost')\n    sys.stdin.read()\n    sys.exit(file.fileno())\n"
        "app.main = command\n__main__.main()\n"
    )
    closed = 'exec "$0" -c "$1" "$2" <&- >&- 2>&-'
    written = tmp_path / "written"
    done = subprocess.run(["sh", "-c", closed, sys.executable, script, written], check=False)
    assert done.returncode > 2
    assert written.read_text() == ""


def test_a_name_that_is_not_utf8_is_refused(run: Run, tmp_path: Path) -> None:
    said = run("audit", str(tmp_path), "--cluster", "a\udcff", check=2).stderr
    assert said == "fairaudit: a\\xff: no such file, and not UTF-8\n"
    named = tmp_path / "\udcff.swf"
    named.touch()
    assert "empty" in run("audit", str(named), check=3).stderr
