"""``run``, ``report`` and ``backup``: output and exit codes."""

import re
from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.logs import busy, write

CONFIG = (
    "[uncertainty]\nresamples = 100\n[report]\npdf = false\n"
    '[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "a.swf"\n'
)


@pytest.fixture(autouse=True)
def _site(tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    write(tmp_path / "config.toml", CONFIG)


@pytest.mark.thorough
def test_a_configured_run(run: Run, tmp_path: Path) -> None:
    first = run("run")
    assert "a.swf: 60 records, 0 refused" in first.stdout
    assert "published fairaudit.duckdb" in first.stdout
    assert run("run").stdout == "nothing to publish\n"
    limit = '[[thresholds]]\nmetric = "attempts"\nabove = 1.0\n'
    write(tmp_path / "config.toml", CONFIG + limit)
    run("run")  # a threshold alone computes nothing again
    write(tmp_path / "config.toml", f"[metrics]\ntau_s = 1000\n{CONFIG}{limit}")
    assert "attempts is 60 attempts, above 1" in run("run", check=1).stderr
    count = run("sql", "FROM restatements", "--config", "config.toml", "--format", "csv")
    assert "bounded_slowdown_mean" in count.stdout
    run("run", "--config", "none.toml", check=2)


@pytest.mark.thorough
def test_a_run_prints_nothing_that_cron_would_mail(run: Run) -> None:
    assert "reading a.swf …" in run("ingest", "--verbose").stderr
    first = run("run", "--quiet")
    assert (first.stdout, first.stderr) == ("", "")


@pytest.mark.thorough
def test_pages_of_users_from_the_published_database(run: Run, tmp_path: Path) -> None:
    assert "fairaudit run" in run("report", "--user", "1", check=2).stderr
    run("run")
    made = run("report", "--user", "1", "--user", "1", "--account", "1").stdout.split()
    assert [Path(page).name for page in made] == ["user-1.html", "account-1.html"]
    assert Path(made[0]).parent == Path("fairaudit-reports/c/2001-09")
    first = (tmp_path / made[0]).read_bytes()
    assert b"User 1" in first
    again = run("report", "--user", "1", "--cluster", "c", "--period", "2001-09").stdout
    assert again == f"{made[0]}\n"
    assert (tmp_path / made[0]).read_bytes() == first
    for arguments, message in (
        ("--user 9", "--user 9: the log names 3 users, but not this one"),
        ("--user 1 --cluster d", "cluster 'd': no period was computed"),
        ("--user 1 --period 2002-01", "no period '2002-01' was computed"),
        ("--cluster c", "--cluster requires --user or --account"),
    ):
        assert message in run("report", *arguments.split(), check=2).stderr


@pytest.mark.thorough
def test_backups_and_refusals(run: Run, tmp_path: Path) -> None:
    assert "nothing is published" in run("backup", ".", check=2).stderr
    run("run")
    assert re.fullmatch(r"saved [\d,]+ rows in mine.tar\n", run("backup", "mine.tar").stdout)
    assert "already exists" in run("restore", "mine.tar", check=2).stderr
    assert run("restore", "mine.tar", "--force").stdout.startswith("restored ")
    assert "no such file" in run("restore", "none.tar", check=2).stderr
    assert "no such folder" in run("backup", "none/x.tar", check=2).stderr
    assert "a backup's name ends in .tar" in run("backup", "backup", check=2).stderr
    assert re.search(r" in new/fairaudit-\d{8}T\d{6}Z\.tar\n", run("backup", "new/").stdout)
    write(tmp_path / "mine.tar", "no backup")
    assert "is damaged" in run("restore", "mine.tar", "--force", check=4).stderr
