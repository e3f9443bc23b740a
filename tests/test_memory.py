"""Too little memory: one sentence, whatever fails first; and the estimate of the need."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from audit import memory
from audit.config.places import Site
from audit.errors import AuditError
from audit.nightly import history
from audit.nightly.run import run
from audit.setup import doctor
from tests import processes
from tests.logs import busy, write
from tests.nightly.test_run import NOW, month, site

MIB = 1 << 20


def command(limit_bytes: int, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with a limit of its address space."""
    return subprocess.run(
        ["prlimit", f"--as={limit_bytes}", sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
    )


def audit(tmp_path: Path, limit_bytes: int) -> "subprocess.CompletedProcess[str]":
    log = write(tmp_path / "a.swf", busy(40))
    return command(
        limit_bytes, "-m", "audit", "audit", str(log), "--no-pdf", "--out", str(tmp_path / "out")
    )


@pytest.mark.parametrize("limit_bytes", [300 * MIB, 1_200 * MIB])
def test_libraries_are_not_loaded_where_they_would_crash(tmp_path: Path, limit_bytes: int) -> None:
    done = audit(tmp_path, limit_bytes)
    assert done.returncode == 4
    assert done.stderr == (
        f"fairaudit: too little memory: this process may use {limit_bytes // MIB:,} MiB of address "
        "space (ulimit -v); at least 1,716 MiB are needed\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("ending", "signal_"),
    [("os.abort()", signal.SIGABRT), ("ctypes.string_at(0)", signal.SIGSEGV)],
)
def test_a_library_that_ends_the_process_leaves_a_sentence(ending: str, signal_: int) -> None:
    script = f"import ctypes, os\nfrom audit import memory\nmemory.explain_aborts()\n{ending}"
    done = processes.python("-c", script)
    assert done.returncode == -signal_
    assert done.stderr == (
        "fairaudit: a library ended this process, usually because memory ran out: give it more, "
        "or audit fewer logs at once; 'fairaudit doctor' estimates the need\n"
    )


def test_without_compiled_kernels_commands_still_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "audit.kernels.ending", None)
    memory.explain_aborts()


@pytest.mark.thorough
@pytest.mark.faults
def test_a_little_more_suffices_for_a_small_log(tmp_path: Path) -> None:
    done = audit(tmp_path, 1_800 * 1_000_000)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("used_up", [True, False])
def test_an_odd_error_without_memory_is_explained(used_up: bool) -> None:
    script = (
        "import mmap\nfrom audit import __main__\nfrom audit.cli import app, setup\n"
        "def broken(*_):\n    held = []\n    try:\n"
        f"        while {used_up}:\n            held.append(mmap.mmap(-1, 1 << 24))\n"
        "    except OSError:\n        pass\n"
        "    raise NameError(\"name '_POLARS' is not defined\")\n"
        "import audit.setup.doctor\naudit.setup.doctor.examine = broken\n"
        "import sys; sys.argv = ['fairaudit', 'doctor']\n__main__.main()"
    )
    done = command(3_000 * MIB, "-c", script)
    assert done.returncode == 4
    lines = done.stderr.splitlines()
    if used_up:
        (line,) = lines
        assert line.startswith("fairaudit: too little memory: give it more")
    else:
        assert lines[-1] == "NameError: name '_POLARS' is not defined"


def test_a_run_that_lacks_memory_says_so_in_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("audit.nightly.due.compute", broken)
    write(tmp_path / "logs.swf", "")
    where = Site(site(tmp_path), tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    with pytest.raises(AuditError, match="too little memory: give it more"):
        run(where, NOW)
    whole = next(one for one in history.read(where.state) if one.stage == history.WHOLE)
    assert whole.state == "failed"
    assert str(whole.error).startswith("too little memory: give it more")


def test_the_limit_of_a_control_group_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = Path("/proc/self/cgroup").read_text("utf-8").rpartition("::/")[2].strip()
    group = tmp_path / "all" / ours
    group.mkdir(parents=True)
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "all")
    before = memory.available()
    write(group / "memory.max", "max\n")
    assert memory.available() == before
    write(tmp_path / "memory.max", f"{99 * MIB}\n")  # of a group above
    assert memory.available() == 99 * MIB
    with pytest.raises(AuditError, match="may use 99 MiB of memory; at least 256 MiB are needed"):
        memory.require()


@pytest.mark.thorough
def test_doctor_compares_the_need_of_the_largest_cluster_with_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "logs.swf", "")
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    run(Site(settings, tmp_path), NOW, stages=("ingest", "compute", "publish"))
    write(tmp_path / "config.toml", '[[clusters]]\nname = "c"\n')

    def found() -> doctor.CheckResult:
        every = doctor.examine(tmp_path / "config.toml", None)
        return next(one for one in every if one.what == "memory")

    assert found().ok
    assert found().found.startswith("0.4 GB for 9 attempts at once; ")
    monkeypatch.setattr(memory, "available", lambda: memory.needed(9) - 1)
    assert not found().ok
    assert "retention.archive_months" in found().remedy


def test_the_estimate_is_no_less_than_what_was_measured() -> None:
    """The peaks of docs/scale.md, in MiB: deep queues need most, and hardly less than estimated."""
    shallow, deep = {200_000: 477, 1_000_000: 771}, {450_000: 960}
    for attempts, peak in (shallow | deep).items():
        assert peak <= memory.needed(attempts) / MIB
    assert all(memory.needed(attempts) / MIB <= 1.2 * peak for attempts, peak in deep.items())
