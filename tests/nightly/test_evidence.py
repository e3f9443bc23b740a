"""Samples and logs of schedulers that a night reads: files, commands, and what they change."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.config import Config, Retention
from audit.config.places import Site
from audit.nightly.run import run
from audit.nightly.stages import Night
from tests import logs
from tests.nightly.test_run import FIGURES, NOW, month, published, site

TABLE = "JOBID|STATE|REASON|PRIORITY|START_TIME\n{job}|PENDING|{reason}|12|N/A\n"
WAITS_FROM = 1_767_225_600 + 5 * 86_400 + 3000
"""Job 1 waits for 100 s from then on, of which the sample is."""


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    logs.write(path, text)


def night(settings: Config, folder: Path, now: int = NOW) -> Night:
    return run(Site(settings, folder), now, stages=FIGURES)


def sample(reason: str, at: int = WAITS_FROM) -> str:
    return f"{at}\n{TABLE.format(job=1, reason=reason)}{at + 60}\n{TABLE.format(job=1, reason='')}"


def held_s(folder: Path) -> object:
    ((seconds,),) = published(folder, "SELECT cause_held_s FROM job_fairness WHERE job_id = '1'")
    return seconds


@pytest.mark.thorough
def test_new_samples_change_the_figures_once(tmp_path: Path) -> None:
    settings = site(tmp_path, evidence=({"kind": "squeue", "files": "said/*"},))
    write(tmp_path / "logs" / "1.swf", month(0))
    first = night(settings, tmp_path)
    assert first.computed == ["c 2026-01"]
    assert "no file matches 'said/*'" in "".join(first.warnings)
    assert held_s(tmp_path) == 0

    write(tmp_path / "said" / "a.txt", sample("Dependency"))
    second = night(settings, tmp_path, NOW + 1)
    assert second.computed == ["c 2026-01"]
    assert held_s(tmp_path) == 60
    sql = "SELECT DISTINCT because FROM restatements"
    assert published(tmp_path, sql) == [("evidence of the scheduler was added",)]

    short = settings.model_copy(update={"retention": Retention(evidence_days=10)})
    for later in (3, 4):  # evidence is removed, and figures stay
        assert night(short, tmp_path, NOW + later).computed == []
        assert published(tmp_path, "SELECT instant FROM evidence") == []
        assert held_s(tmp_path) == 60

    write(tmp_path / "said" / "later.txt", sample("Dependency", NOW - 5))
    assert night(settings, tmp_path, NOW + 5).computed == []
    assert held_s(tmp_path) == 60


@pytest.mark.thorough
def test_a_command_is_called_each_night(tmp_path: Path) -> None:
    command = ("printf", TABLE.format(job=1, reason="Dependency"))
    settings = site(tmp_path, evidence=({"kind": "squeue", "command": command},))
    write(tmp_path / "logs" / "1.swf", month(0))
    night(settings, tmp_path)
    write(tmp_path / "logs" / "2.swf", month(1))
    night(settings, tmp_path, NOW + 60)
    instants = [datetime.fromtimestamp(NOW + late, UTC) for late in (0, 60)]
    assert [row[0] for row in published(tmp_path, "SELECT instant FROM evidence")] == instants


def test_what_fails_is_a_failure_and_the_rest_is_read(tmp_path: Path) -> None:
    settings = site(
        tmp_path,
        evidence=(
            {"kind": "squeue", "command": ("false",)},
            {"kind": "ctld-log", "files": "said/log"},
        ),
    )
    write(tmp_path / "logs" / "1.swf", month(0))
    line = "[2026-01-06T00:00:00.123] sched: _hold_job_rec: hold on JobId=1 by uid 0\n"
    write(tmp_path / "said" / "log", line)
    found = night(settings, tmp_path)
    assert ["command 'false' failed" in str(error) for error in found.failures] == [True]
    assert published(tmp_path, "SELECT job_id, state FROM evidence") == [("1", "HELD")]


def test_what_a_command_complains_of_is_withheld_where_names_are_hidden(tmp_path: Path) -> None:
    (tmp_path / "people.key").write_bytes(b"k" * 32)
    (tmp_path / "people.key").chmod(0o600)
    settings = site(
        tmp_path,
        people={"key_file": "people.key"},
        evidence=({"kind": "squeue", "command": ("sh", "-c", "echo user anna >&2; exit 3")},),
    )
    write(tmp_path / "logs" / "1.swf", month(0))
    (failure,) = night(settings, tmp_path).failures
    assert "command 'sh' failed with exit code 3" in str(failure)
    assert "anna" not in str(failure)
