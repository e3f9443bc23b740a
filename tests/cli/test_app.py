"""The command as a whole: how it ends, and what it answers without work."""

import errno
import re
import subprocess
import sys

import pytest

from tests.cli.command import Run


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "out/report.html"),
            "out/report.html: No space left on device; the disk is full: free some space there",
        ),
        (
            OSError(errno.EDQUOT, "Disk quota exceeded", "x"),
            "x: Disk quota exceeded; the quota is used up: free some space there, or ask for more",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", ".draft", None, "out.html"),
            ".draft → out.html: Permission denied; this user may not use it: change its "
            "permissions, or choose another place",
        ),
        (
            OSError(errno.EROFS, "Read-only file system", "/x"),
            "/x: Read-only file system; nothing can be written there: choose another place",
        ),
        (OSError(errno.EIO, "Input/output error", b"/dev/sda"), "/dev/sda: Input/output error"),
        (OSError("gone"), "gone"),
        (OSError(), "OSError"),
    ],
)
def test_an_error_of_the_system_is_said_as_it_is(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: OSError, message: str
) -> None:
    """Which file, what, and what may help; nobody knows here what was replaced before."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("audit.setup.doctor.examine", fail)
    assert run("doctor", check=4).stderr == f"fairaudit: {message}\n"


def test_an_interruption_claims_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audit.setup.doctor.examine", interrupt)
    assert run("doctor", check=130).stderr == "fairaudit: interrupted\n"


def test_help_and_version(run: Run) -> None:
    assert "audit" in run("--help").stdout
    assert re.fullmatch(r"fairaudit \d+\.\d+\.\d+\n", run("--version").stdout)


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom audit.cli.app import main\nsys.argv = ['fairaudit', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'duckdb', 'polars', 'numba', 'altair', 'weasyprint', 'pydantic', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
