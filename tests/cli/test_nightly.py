"""``run``: what it says, and its exit codes."""

from pathlib import Path

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
