"""The history of runs: failures, killed runs, and the copy in the database for analysts."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.errors import StoreError
from audit.files import lock
from audit.nightly import history
from audit.nightly.run import run
from tests.logs import write
from tests.nightly.test_run import FIGURES, NOW, month, published, site

STATE = "fairaudit-state"


def stages(folder: Path) -> list[tuple[str, str | None, str]]:
    return [(e.stage, e.cluster, e.state) for e in reversed(history.read(folder / STATE))]


@pytest.mark.thorough
def test_each_stage_is_noted_with_its_failure(tmp_path: Path) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    write(tmp_path / "logs" / "2.swf", "no log at all\n")
    run(Site(settings, tmp_path), NOW, cluster="c")
    expected = [
        ("run", "c", "failed"),
        ("ingest", "c", "failed"),
        ("compute", "c", "done"),
        ("report", "c", "done"),
        ("publish", None, "done"),
    ]
    assert stages(tmp_path) == expected
    whole = history.read(tmp_path / STATE)[-1]
    assert whole.exit_code == 2
    assert whole.error is not None
    assert "2.swf" in whole.error
    assert whole.started_at == NOW
    assert whole.ended_at is not None
    sql = "SELECT stage, state, error FROM runs WHERE config_hash IS NULL ORDER BY started_at"
    found = published(tmp_path, sql)
    assert [row[:2] for row in found] == [(s, state) for s, _, state in expected[1:4]]
    assert "2.swf" in found[0][2]


@pytest.mark.thorough
def test_killed_is_abandoned_and_the_next_run_goes_on(tmp_path: Path) -> None:
    """kill -9 within the transaction that stores results."""
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from audit.config.places import Site\n"
        "from audit.cluster import identity\nfrom audit.nightly.run import run\n"
        "from tests.nightly.test_run import NOW, site\n"
        "identity.Identity.note = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "folder = Path(sys.argv[1])\nrun(Site(site(folder), folder), NOW)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "fairaudit.duckdb").exists()
    left = [("run", None, "abandoned"), ("ingest", "c", "done"), ("compute", "c", "abandoned")]
    assert stages(tmp_path) == left  # as a reader sees it now
    with lock.held(tmp_path / STATE / "store.duckdb"):
        assert stages(tmp_path)[0][2] == "running"  # as if it were still at work
    again = run(Site(settings, tmp_path), NOW + 60, stages=FIGURES)
    assert again.computed == ["c 2026-01"]
    assert stages(tmp_path)[:3] == left
    assert stages(tmp_path)[3] == ("part", None, "done")
    (whole,) = [e for e in history.read(tmp_path / STATE) if e.id == 1]
    assert "killed" in str(whole.error)


def test_a_run_that_cannot_open_its_store_leaves_a_trace(tmp_path: Path) -> None:
    settings = site(tmp_path)
    (tmp_path / STATE).mkdir()
    (tmp_path / STATE / "store.duckdb").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError):
        run(Site(settings, tmp_path), NOW)
    (only,) = history.read(tmp_path / STATE)
    assert only.state == "failed"
    assert "store.duckdb" in str(only.error)


def test_a_damaged_history_is_named(tmp_path: Path) -> None:
    (tmp_path / STATE).mkdir()
    history.path_in(tmp_path / STATE).write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match=r"history\.sqlite"):
        run(Site(site(tmp_path), tmp_path), NOW)
    with pytest.raises(StoreError, match=r"history\.sqlite"):
        history.read(tmp_path / STATE)


@pytest.mark.parametrize(
    ("states", "kept"),
    [
        (("done", "done", "done"), [(5, "done")]),
        (("failed", "done", "done"), [(5, "done"), (1, "failed")]),
    ],
)
def test_what_is_old_is_forgotten_but_for_the_last_of_each_state(
    tmp_path: Path, states: tuple[history.State, ...], kept: list[tuple[int, str]]
) -> None:
    clock = iter(range(0, 10_000, 100))
    with closing(history.RunHistory(tmp_path, lambda: next(clock))) as past:
        for state in states:
            number = past.begin("run", "c")
            past.end(past.begin("ingest", "c", run=number), state)
            past.end(number, state)
        past.forget(before=10_000)
    found = [(entry.run, entry.stage, entry.state) for entry in history.read(tmp_path)]
    assert found == [(run, stage, state) for run, state in kept for stage in ("ingest", "run")]


def test_of_several_that_seem_to_run_only_the_last_can(tmp_path: Path) -> None:
    with closing(history.RunHistory(tmp_path, lambda: 1)) as past:
        past.begin("run", "c")  # killed, which is not recorded yet
        past.begin("run", "c")
        with lock.held(tmp_path / "store.duckdb"):
            states = [entry.state for entry in history.read(tmp_path)]
    assert states == ["running", "abandoned"]


def test_it_is_written_anew_without_the_old_text(tmp_path: Path) -> None:
    with closing(history.RunHistory(tmp_path, lambda: NOW)) as past:
        failed = past.begin("run")
        past.end(failed, "failed", 4, "no account for hedwig")
        running = past.begin("erase")
    new = tmp_path / "new"
    new.mkdir()

    def change(text: str) -> str:
        return text.replace("hedwig", "erased")

    history.copy_to(history.path_in(tmp_path), history.path_in(new), change)
    history.examine(history.path_in(new))
    assert b"hedwig" not in history.path_in(new).read_bytes()
    with closing(history.RunHistory(new, lambda: NOW)) as past:
        past.resume(running)
        past.end(running, "done")
    found = [(one.id, one.state, one.error) for one in history.read(new)]
    assert found == [(running, "done", None), (failed, "failed", "no account for erased")]


def test_a_history_that_is_missing_is_written_empty(tmp_path: Path) -> None:
    history.copy_to(tmp_path / "none", tmp_path / "new", str)
    history.examine(tmp_path / "new")


def test_a_damaged_schema_is_described_whatever_its_bytes(tmp_path: Path) -> None:
    """SQLite quotes the schema in its message, which need not be UTF-8."""
    path = tmp_path / "history.sqlite"
    with closing(sqlite3.connect(path)) as con:
        con.executescript("CREATE TABLE t (a); CREATE INDEX i ON t (a)")
    path.write_bytes(path.read_bytes().replace(b"ON t (a)", b"ON \xd5 (a)"))
    with pytest.raises(StoreError, match="is damaged"):
        history.examine(path)


def test_a_history_in_use_with_a_damaged_name_is_described(tmp_path: Path) -> None:
    path = history.path_in(tmp_path)
    history.RunHistory(tmp_path, int).close()
    whole = path.read_bytes()
    damaged = whole.replace(b"settledsettled", b"\xffettled\xffettled")
    path.write_bytes(damaged.replace(b"CREATE TABLE settled", b"CREATE TXXLE \xffettled"))
    for use in (
        lambda: history.RunHistory(tmp_path, int),
        lambda: history.read(tmp_path),
        lambda: history.planned(tmp_path),
        lambda: history.plan(tmp_path, {"c": 1}),
        lambda: history.copy_to(path, tmp_path / "new", str),
    ):
        with pytest.raises(StoreError, match=r"malformed: .*if the file is damaged, remove it"):
            use()
    path.write_bytes(whole)
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        con.execute("INSERT INTO settled VALUES ('a', CAST(x'ff' AS TEXT))")
    runs = history.RunHistory(tmp_path, int)
    with closing(runs), pytest.raises(StoreError, match="the history of runs cannot be read"):
        runs.settled("a")


def test_a_full_disk_is_stated_as_for_the_store(tmp_path: Path) -> None:
    """The place, the space that is needed, and what is safe."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    said = str(history.failed(tmp_path / "history.sqlite", error))
    assert said.startswith(f"{tmp_path}: the disk is full: history.sqlite could not be written.")
    assert "Free at least 64 MB there" in said


def test_doctor_examines_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / STATE
    assert history.inspected(state) == "no run has begun yet"
    run(Site(site(tmp_path), tmp_path), NOW, stages=("publish",))
    path = history.path_in(state)
    assert history.inspected(state) == "2 entries"
    with monkeypatch.context() as other:
        other.setattr("os.access", lambda *_: False)
        with pytest.raises(StoreError, match="cannot be written to"):
            history.inspected(state)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("UPDATE history SET version = '99.1.0' WHERE id = 1")
    with pytest.raises(StoreError, match=r"history.sqlite: fairaudit 99.1.0 wrote it"):
        history.inspected(state)
    path.write_bytes(b"no history" * 999)
    with pytest.raises(StoreError, match="if the file is damaged, remove it"):
        history.inspected(state)
    path.unlink()
    with pytest.raises(StoreError, match="is missing; the next run begins a new history"):
        history.inspected(state)
