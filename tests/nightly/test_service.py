"""The service itself: one of them, stopped by signals, and the units that begin it."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import IO

import pytest

from audit.config.places import Site
from audit.files import lock
from audit.nightly import history, service, status
from audit.nightly.run import run
from audit.nightly.stages import StoppedError
from tests.logs import write
from tests.nightly.test_run import NOW, content, month, site
from tests.places import ROOT

UNITS = ROOT / "docs" / "systemd"


def begun(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "audit", "service", "--config", str(folder / "config.toml")],
        stderr=subprocess.PIPE,
        text=True,
    )


def errors(process: "subprocess.Popen[str]") -> IO[str]:
    assert process.stderr is not None
    return process.stderr


@pytest.mark.thorough
def test_two_at_once_and_a_signal(tmp_path: Path) -> None:
    write(
        tmp_path / "config.toml",
        '[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "logs/*.swf"\n',
    )
    with begun(tmp_path) as first:
        assert errors(first).readline() == "c: next run is planned\n"
        with begun(tmp_path) as second:
            said = errors(second).read()
        assert second.returncode == 75
        assert f"fairaudit service, process {first.pid}" in said
        first.send_signal(signal.SIGTERM)
        assert errors(first).read() == "stopped\n"
    assert first.returncode == 0


def test_the_first_run_of_a_new_cluster_is_not_lost_when_the_service_is_killed(
    tmp_path: Path,
) -> None:
    write(
        tmp_path / "config.toml",
        '[[clusters]]\nname = "c"\nzone = "Europe/Berlin"\n'
        '[[clusters.sources]]\nfiles = "logs/*.swf"\n',
    )
    with begun(tmp_path) as process:
        assert errors(process).readline() == "c: next run is planned\n"
        process.kill()
    settings, state = site(tmp_path), tmp_path / "fairaudit-state"
    now = int(time.time())
    due = history.planned(state)["c"]
    assert now < due <= now + 86_400 + 3600
    assert service.planned(settings, state, due - 1) == {"c": due}
    later = due + 3 * 86_400  # it stayed down for days
    assert service.planned(settings, state, later) == {"c": due}
    (standing,) = status.look(Site(settings, tmp_path), later).clusters
    assert standing.problem is not None
    assert standing.problem.startswith("overdue: a run was due on")
    history.RunHistory(state, lambda: later).begin("run")  # killed as well: due as before
    assert service.planned(settings, state, later + 60) == {"c": due}


def test_a_planned_first_run_follows_the_times_of_the_configuration(tmp_path: Path) -> None:
    settings = site(tmp_path)
    history.plan(tmp_path, {"c": NOW + 5 * 86_400})  # by times that have been changed
    (coming,) = service.planned(settings, tmp_path, NOW).values()
    assert NOW < coming <= NOW + 86_400 + 3600
    assert history.planned(tmp_path) == {"c": coming}


def test_after_an_update_the_first_start_catches_up_and_removes_the_old_job_store(
    tmp_path: Path,
) -> None:
    settings = site(tmp_path)
    for name in ("timetable.sqlite", "timetable.sqlite-journal"):
        write(tmp_path / name, "pickled jobs")
    assert service.planned(settings, tmp_path, NOW) == {"c": NOW}
    assert [path.name for path in tmp_path.glob("timetable*")] == []
    assert service.planned(settings, tmp_path, NOW + 60) == {"c": NOW}  # killed before it began


def test_a_history_of_an_earlier_version_has_no_plans(tmp_path: Path) -> None:
    with closing(sqlite3.connect(history.path_in(tmp_path))) as con:
        con.execute("CREATE TABLE history (id)")
    assert history.planned(tmp_path) == {}


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [1, 4, 7, 10])
def test_stopped_after_any_step_the_next_run_goes_on(
    tmp_path: Path, undisturbed: dict[str, object], steps: int
) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0))
    asked = 0

    def stopping() -> bool:
        nonlocal asked
        asked += 1
        return asked >= steps

    with pytest.raises(StoppedError):
        run(Site(settings, tmp_path), NOW, stopping=stopping)
    run(Site(settings, tmp_path), NOW)
    assert content(tmp_path) == undisturbed


@pytest.mark.thorough
def test_it_catches_up_at_its_start_and_waits_while_another_run_is_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = int(time.time())  # APScheduler's own clock is the real one
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    run(Site(settings, tmp_path), now - 4 * 86_400)
    write(tmp_path / "logs" / "2.swf", month(1, jobs=9))
    said: list[str] = []
    stop = Event()
    store = tmp_path / "fairaudit-state" / "store.duckdb"
    other = lock.held(store, "somebody else")
    other.__enter__()

    def say(text: str) -> None:
        said.append(text)
        if "somebody else" in text:
            other.__exit__(None, None, None)
        if "run ended" in text:
            stop.set()

    monkeypatch.setattr(service, "WAIT_S", 0.01)
    service.serve(Site(settings, tmp_path), lambda: float(now), stop, say)
    assert said[0] == "c: next run now: one was missed"
    # the report of the first month said that its last days had no records
    assert said[-2:] == ["c: run ended: 1 logs, 2 periods, 2 reports, 0 mails", "stopped"]
    (standing,) = status.look(Site(settings, tmp_path), now + 60).clusters
    assert standing.problem is None


def test_runs_are_planned_anew_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """APScheduler would wait for the instant that it planned by the wrong clock."""
    now = int(time.time())
    stop = Event()
    instants = iter([now + 9 * 86_400, *[now] * 20])

    def clock() -> float:
        if (at := next(instants, None)) is None:
            stop.set()
        return float(at or now)

    runs: list[str] = []

    def attend(_: object, cluster: str, *__: object) -> None:
        runs.append(cluster)
        stop.set()

    def planned(_: object, __: object, at: int) -> dict[str, int]:
        return {"c": at}

    monkeypatch.setattr(service, "attend", attend)
    monkeypatch.setattr(service, "planned", planned)
    said: list[str] = []
    of = Site(site(tmp_path), tmp_path)
    service.serve(of, clock, stop, said.append)
    assert runs == ["c"]
    assert said[1:] == ["the clock was set back: the next runs are planned anew", "stopped"]


def test_a_defect_is_reported_and_the_service_lives_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = site(tmp_path)
    mail = {"via": "outbox", "sender": "a@example.org", "operators": ("op@example.org",)}
    settings = type(base).model_validate({**base.model_dump(), "mail": mail})
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    said: list[str] = []

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("audit.nightly.due.compute", broken)
    done = service.attend(Site(settings, tmp_path), "c", lambda: float(NOW), Event(), said.append)
    assert done is None
    assert "ZeroDivisionError" in said[-1]
    (letter,) = (tmp_path / "fairaudit-outbox").glob("*.eml")
    assert b"a defect" in letter.read_bytes()
    assert status.look(Site(settings, tmp_path), NOW).clusters[0].problem is not None


@pytest.mark.skipif(not UNITS.exists(), reason="outside a checkout there are no units")
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    program = str(shutil.which("true"))
    names = []
    for unit in sorted(UNITS.glob("fairaudit*.[st][ei][rm]*")):
        text = unit.read_text().replace("/opt/fairaudit/bin/fairaudit", program)
        names.append(str(write(tmp_path / unit.name, text)))
    assert len(names) == 3
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


@pytest.mark.skipif(not UNITS.exists(), reason="outside a checkout there is no crontab")
def test_cron_takes_the_line() -> None:
    crontab = shutil.which("crontab")
    usage = subprocess.run(  # Debian's cron checks without installing; others have no such option
        [crontab or "true", "--help"], capture_output=True, text=True, check=False
    )
    if "dry run" not in usage.stderr:
        pytest.skip("no crontab here that checks a file")
    assert crontab is not None
    found = subprocess.run(
        [crontab, "-n", str(UNITS / "fairaudit.cron")], capture_output=True, check=False
    )
    assert found.returncode == 0, found.stderr
