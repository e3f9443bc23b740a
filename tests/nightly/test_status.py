"""Overdue and failed runs at any instant, and the output for a monitor."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from audit import config, json_answers
from audit.config.places import Site
from audit.nightly import history, service, status
from audit.nightly.run import run
from audit.nightly.stages import StoppedError
from tests.logs import write
from tests.nightly.nights import after_a_night
from tests.nightly.test_run import DAY, month, site
from tests.nightly.test_timetable import epoch
from tests.places import ROOT
from tests.studies import commands

NIGHT = epoch("2026-03-10T04:30+01:00")


def problem(settings: config.Config, folder: Path, now: int) -> str | None:
    (standing,) = status.look(Site(settings, folder), now).clusters
    return standing.problem


@pytest.mark.thorough
def test_overdue_failed_and_in_order(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert problem(site(tmp_path), tmp_path, NIGHT) == "has never run"
    settings = after_a_night(tmp_path_factory, tmp_path, 9, NIGHT)
    assert problem(settings, tmp_path, NIGHT + DAY + 7200) is None
    late = problem(settings, tmp_path, NIGHT + DAY + 7201)
    assert late == "overdue: a run was due on 2026-03-11 04:30 CET"
    run(Site(settings, tmp_path), NIGHT + 2 * DAY, "2026-01")  # not all that is due
    run(Site(settings, tmp_path), NIGHT + 2 * DAY, stages=("ingest",))
    assert problem(settings, tmp_path, NIGHT + 2 * DAY) == late

    (tmp_path / "logs" / "1.swf").write_text("no log at all\n")
    run(Site(settings, tmp_path), NIGHT + 2 * DAY)
    assert re.match(r"the last run failed: .*1\.swf", str(problem(settings, tmp_path, NIGHT)))
    text = "\n".join(status.lines(status.look(Site(settings, tmp_path), NIGHT + 2 * DAY), 3))
    assert re.search(r"2026-03-12 04:30 CET +\d s +c +  ingest +failed +.*1\.swf", text) is None
    text = "\n".join(status.lines(status.look(Site(settings, tmp_path), NIGHT + 2 * DAY), 9))
    assert re.search(r"2026-03-12 04:30 CET +\d+ s +c +  ingest +failed +.*1\.swf", text)
    assert "next time 2026-03-13 04:30 CET" in text


def test_a_planned_first_run_is_not_overdue_before_its_time(tmp_path: Path) -> None:
    settings = site(tmp_path)
    (cluster,) = settings.clusters
    assert status.due(settings, cluster, [], {"c": NIGHT}, NIGHT) == NIGHT
    assert status.due(settings, cluster, [], {}, NIGHT) is None


def test_a_run_of_a_clock_that_was_ahead_is_a_problem_and_delays_no_other(tmp_path: Path) -> None:
    """One run in 2100 would have been the last for 74 years, and all in order until then."""
    settings = site(tmp_path)
    state = tmp_path / "fairaudit-state"
    state.mkdir()
    runs = history.RunHistory(state, lambda: epoch("2100-01-01T06:00+01:00"))
    runs.end(runs.begin("run"), "done")
    runs.close()
    (standing,) = status.look(Site(settings, tmp_path), NIGHT + 60).clusters
    assert standing.problem is not None
    assert "began on 2100-01-01 06:00 CET, which is still to come: check" in standing.problem
    assert service.planned(settings, state, NIGHT + 60) == {"c": NIGHT + DAY}


@pytest.mark.thorough
def test_a_run_that_was_stopped_is_due_at_once(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = after_a_night(tmp_path_factory, tmp_path, 9, NIGHT)
    with pytest.raises(StoppedError):
        run(Site(settings, tmp_path), NIGHT + DAY, stopping=lambda: True)
    (standing,) = status.look(Site(settings, tmp_path), NIGHT + DAY + 60).clusters
    assert standing.due == NIGHT + DAY
    assert standing.problem == "the last run abandoned: stopped on request"


def test_other_times_for_one_cluster_in_its_zone(tmp_path: Path) -> None:
    base = site(tmp_path, zone="Asia/Tokyo").model_dump()
    times = {"service": {"by_cluster": {"c": "0 6 * * mon-fri"}}}
    settings = config.Config.model_validate({**base, **times})
    (standing,) = status.look(Site(settings, tmp_path), epoch("2026-03-13T06:00+09:00")).clusters
    assert standing.next == epoch("2026-03-16T06:00+09:00")


@pytest.mark.thorough
def test_a_failure_of_another_cluster_is_none_of_this_one(tmp_path: Path) -> None:
    base = site(tmp_path).model_dump()
    (first,) = base["clusters"]
    second = {**first, "name": "d", "sources": ({"files": "others/*.swf"},)}
    settings = config.Config.model_validate({**base, "clusters": (first, second)})
    write(tmp_path / "logs" / "1.swf", "no log at all\n")
    (tmp_path / "others").mkdir()
    write(tmp_path / "others" / "1.swf", month(0, jobs=9))
    assert run(Site(settings, tmp_path), NIGHT).failures
    answer = status.look(Site(settings, tmp_path), NIGHT)
    c, d = answer.clusters
    assert str(c.problem).startswith("the last run failed: ")
    assert "1.swf" in str(c.problem)
    assert d.problem is None
    assert not answer.in_order


def test_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stage by stage, and what a monitor sees before and after."""
    site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    write(
        tmp_path / "config.toml",
        "[report]\npdf = false\n[uncertainty]\nresamples = 100\n"
        '[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "logs/*.swf"\n',
    )
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str]:
        return commands.run(*words), capsys.readouterr().out

    assert call("ingest") == (0, "1.swf: 40 records, 0 refused\n".replace("40", "9"))
    assert not (tmp_path / "fairaudit.duckdb").exists()
    code, said = call("status", "--check")
    assert (code, "has never run" in said) == (1, True)
    code, said = call("report")
    assert (code, "computed c 2026-01" in said) == (0, True)
    assert call("run") == (0, "nothing to publish\n")
    code, said = call("status", "--check")
    assert (code, "c: in order" in said) == (0, True)


def test_a_log_that_was_mostly_refused_is_a_problem_that_a_monitor_sees(tmp_path: Path) -> None:
    settings = site(tmp_path)
    bad = write(tmp_path / "logs" / "1.swf", month(0, jobs=9) + "1 2 3\n" * 5)
    for _ in range(2):  # as long as it is there
        done = run(Site(settings, tmp_path), NIGHT)
        assert done.exit_code == 3
        assert "1.swf: 5 of 14 records were refused" in str(problem(settings, tmp_path, NIGHT))
    bad.unlink()
    assert run(Site(settings, tmp_path), NIGHT + 1).exit_code == 0
    assert problem(settings, tmp_path, NIGHT + 1) is None


def test_for_programs_it_is_json_of_a_shape_that_stays(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    after_a_night(tmp_path_factory, tmp_path, 9, NIGHT)
    command = ("sacct", "--password=hunter2")
    files = {"files": "logs/*.swf"}
    settings = site(tmp_path, sources=(files, {"command": command}))
    os.utime(tmp_path / "logs" / "1.swf", (NIGHT, NIGHT))
    runs = status.look(Site(settings, tmp_path), NIGHT)
    told: dict[str, Any] = json.loads(json_answers.written(replace(runs, runs=runs.runs[:1])))
    assert told.keys() == {"shape", "version", "in_order", "at_work", "clusters", "runs"}
    assert (told["shape"], told["in_order"], told["at_work"]) == (2, True, None)
    (entry,) = told["runs"]
    (cluster,) = told["clusters"]
    assert cluster.pop("last_run")["state"] == "done"
    assert cluster == {
        "name": "c",
        "zone": "Europe/Berlin",
        "in_order": True,
        "problem": None,
        "overdue": False,
        "due": "2026-03-11T03:30:00Z",
        "next": "2026-03-11T03:30:00Z",
        "sources": [
            {
                "kind": "files",
                "what": "logs/*.swf",
                "files": 1,
                "newest": "2026-03-10T03:30:00Z",
            },
            {"kind": "command", "what": "sacct", "files": None, "newest": None},
        ],
    }
    assert entry["stage"] == "publish"
    assert "hunter2" not in json.dumps(told)
    page = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    keys = {*told, *cluster, "last_run", *cluster["sources"][0], *entry}
    assert not {key for key in keys if f"`{key}`" not in page}

    write(tmp_path / "config.toml", '[[clusters]]\nname = "c"\n')
    words = ("status", "--format", "json", "--check", "--config", tmp_path / "config.toml")
    assert commands.run(*words) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["clusters"][0]["overdue"] is True
