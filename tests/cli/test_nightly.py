"""``run``: what it says, and its exit codes."""

from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.logs import busy, write


def test_a_configured_run(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    config = (
        '[report]\npdf = false\n[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "a.swf"\n'
    )
    write(tmp_path / "config.toml", config)
    first = run("run")
    assert "a.swf: 60 records, 0 refused" in first.stdout
    assert "published fairaudit.duckdb" in first.stdout
    assert run("run").stdout == "nothing to publish\n"
    limit = '[[thresholds]]\nmetric = "attempts"\nabove = 1.0\n'
    write(tmp_path / "config.toml", config + limit)
    run("run")  # a threshold alone computes nothing anew
    write(
        tmp_path / "config.toml",
        config.replace("[report]", "[metrics]\ntau_s = 1000\n[report]") + limit,
    )
    assert "attempts is 60 attempts, above 1" in run("run", check=1).stderr
    count = run("sql", "FROM restatements", "--config", "config.toml", "--format", "csv")
    assert "bounded_slowdown_mean" in count.stdout
    run("run", "--config", "none.toml", check=2)


@pytest.mark.thorough
def test_pages_of_users_from_what_was_published(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    config = (
        '[report]\npdf = false\n[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "a.swf"\n'
    )
    write(tmp_path / "config.toml", config)
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
    wrong = {
        ("--user", "9"): "--user 9: the log names 3 users, none of them so",
        ("--user", "1", "--cluster", "d"): "cluster 'd': no period was computed",
        ("--user", "1", "--period", "2002-01"): "no period '2002-01' was computed",
        ("--cluster", "c"): "--cluster goes with --user or --account",
    }
    for asked, said in wrong.items():
        assert said in run("report", *asked, check=2).stderr


@pytest.mark.thorough
def test_a_backup_and_what_is_refused(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(20))
    config = (
        '[report]\npdf = false\n[[clusters]]\nname = "c"\n[[clusters.sources]]\nfiles = "a.swf"\n'
    )
    write(tmp_path / "config.toml", config)
    assert "nothing is published" in run("backup", ".", check=2).stderr
    run("run")
    said = run("backup", "mine.tar").stdout
    assert said.startswith("saved ")
    assert said.endswith(" rows in mine.tar\n")
    assert "is there already" in run("restore", "mine.tar", check=2).stderr
    assert run("restore", "mine.tar", "--force").stdout.startswith("restored ")
    assert "no such file" in run("restore", "none.tar", check=2).stderr
    assert "no such folder" in run("backup", "none/x.tar", check=2).stderr
    write(tmp_path / "mine.tar", "no backup")
    assert "is damaged" in run("restore", "mine.tar", "--force", check=4).stderr
