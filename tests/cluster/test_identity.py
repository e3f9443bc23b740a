"""Restatements: which figures changed, and why."""

import json
from pathlib import Path

import pytest

from audit import config
from audit.cluster.identity import Identity
from audit.config.places import Site
from audit.model import Period
from audit.nightly.keeping import quarantine
from audit.nightly.run import run
from tests import stores
from tests.logs import line, write
from tests.nightly.nights import after_a_night
from tests.nightly.test_run import DAY, FIGURES, NOW, month, published, site


def changes(folder: Path) -> list[tuple[object, ...]]:
    """The number of attempts before and after, and why, in the order of the database."""
    asked = "SELECT old_value, new_value, because FROM restatements WHERE metric = 'attempts'"
    return published(folder, f"{asked} AND dimension = 'all'")


def reasons(folder: Path) -> set[str]:
    return {
        because for (because,) in published(folder, "SELECT DISTINCT because FROM restatements")
    }


def page(folder: Path) -> str:
    return (folder / "fairaudit-reports" / "c" / "2026-01" / "report.html").read_text("utf-8")


@pytest.mark.thorough
def test_late_records_and_their_effect_are_in_the_next_report(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = after_a_night(tmp_path_factory, tmp_path)
    assert "Changes since these figures" not in page(tmp_path)
    write(tmp_path / "logs" / "late.swf", month(0, jobs=3, first=40))
    run(Site(settings, tmp_path), NOW)
    assert changes(tmp_path) == [
        (40.0, 43.0, "records were added from late.swf (3 of this period)"),
    ]
    assert "Changes since these figures were last computed" in page(tmp_path)
    assert "because records were added from late.swf (3 of this period)" in page(tmp_path)


@pytest.mark.thorough
def test_changed_settings_and_mended_records_are_different_reasons(tmp_path: Path) -> None:
    settings = site(tmp_path)
    wrong = line(99, submit=5 * DAY + 9, run=33 * 365 * DAY)
    write(tmp_path / "logs" / "1.swf", month(0) + wrong + "\n")
    run(Site(settings, tmp_path), NOW, stages=FIGURES)
    content = settings.model_dump()
    content["metrics"]["tau_s"] = 5000
    run(Site(config.Config.model_validate(content), tmp_path), NOW, stages=FIGURES)
    assert reasons(tmp_path) == {"settings changed"}

    run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert quarantine.accept(Site(settings, tmp_path), "c", None) == 1
    run(Site(settings, tmp_path), NOW, stages=FIGURES)
    mended = "records were set aside or restored in 1.swf (40 of this period)"
    assert mended in reasons(tmp_path)


def test_a_missing_log_changes_the_run_but_not_the_hash_of_settings(tmp_path: Path) -> None:
    con = stores.new(tmp_path / "db")
    settings = {"cluster": {"name": "c"}, "config": {}}
    runs = [
        Identity.of(con, "c", Period("all", 0, 9), json.dumps(in_force, sort_keys=True))
        for in_force in (settings, {**settings, "missing": [["a.log", "binary"]]})
    ]
    assert runs[0].run_id != runs[1].run_id
    assert runs[0].config_hash == runs[1].config_hash
    con.close()
