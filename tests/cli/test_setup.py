"""``init`` and ``doctor``."""

from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.logs import busy, write

pytestmark = pytest.mark.usefixtures("one_chart")


def test_doctor(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    run("audit", "a.swf", "--no-pdf")
    done = run("doctor", "--db", "fairaudit-out/audit.duckdb")
    assert "WRONG" not in done.stdout
    assert "60 attempts, every check passes" in done.stdout
    write(tmp_path / "my.toml", "[metrics]\ntau = 1\n")
    sick = run("doctor", "--config", "my.toml", "--db", "none.duckdb", check=2)
    assert "WRONG" in sick.stdout
    assert "did you mean metrics.tau_s?" in sick.stdout
    assert "2 of 8 checks failed" in sick.stderr


@pytest.mark.usefixtures("short_paper")
def test_init_run_and_doctor_of_a_new_site(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    made = run("init", "a.swf", "--name", "mine")
    assert made.stdout == "config.toml\n"
    assert "Europe/Berlin" in made.stderr
    assert run("init", "a.swf", "--name", "mine", check=2).stdout == ""
    assert "cluster 'mine'" in run("doctor", "--config", "config.toml").stdout
    assert "computed mine 2001-09" in run("run").stdout
    run("init", "--partitions", "none.txt", "--output", "other.toml", check=2)
