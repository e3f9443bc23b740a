"""``sql``: formats, limits, mistakes; ``stuck``."""

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.command import Run
from tests.logs import busy, line, log, write


def test_sql_formats_limits_and_mistakes(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    run("audit", "a.swf", "--no-pdf")
    query = "SELECT job_id, wait_s FROM job_fairness ORDER BY job_id::INT"
    shown = run("sql", query, "--rows", 3)
    assert "(3 rows)" in shown.stdout
    assert "only the first 3 rows are shown" in shown.stderr
    assert len(run("sql", query, "--format", "csv").stdout.splitlines()) == 61
    write(tmp_path / "q.sql", query)
    assert run("sql", "-f", "q.sql", "--format", "csv").stdout.startswith("job_id,wait_s\n1,0\n")
    binary = subprocess.run(
        [sys.executable, "-m", "audit", "sql", query, "--format", "parquet"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert binary.stdout.startswith(b"PAR1")
    for arguments, said in (
        ([], "give one statement"),
        (["SELECT 1; SELECT 2"], "one statement at a time, not 2"),
        (["SELEC"], "SELEC"),
        (["SELECT * FROM read_csv('/etc/passwd')"], "disabled by configuration"),
        (["-f", "none.sql"], "none.sql: cannot be read"),
        (["SELECT 1", "--db", "none.duckdb"], "none.duckdb: no such database"),
    ):
        assert said in run("sql", *arguments, check=2).stderr


def test_stuck_lists_who_gave_up_beyond_peers(run: Run, tmp_path: Path) -> None:
    peers = [line(k, submit=k, wait=0, run=60, allocated=1, user=1 + k % 3) for k in range(1, 31)]
    gone = line(99, submit=5, wait=7_200, run=-1, allocated=1, user=9, status=5)
    write(tmp_path / "a.swf", log([*peers, gone], MaxProcs=100))
    run("audit", "a.swf", "--no-pdf")
    shown = run("stuck")
    assert "(1 row)" in shown.stdout
    assert " room " in shown.stdout
    listed = json.loads(run("stuck", "--format", "json", "--user", "9").stdout)
    assert [(one["job_id"], one["waited_s"], one["peer_p95_s"]) for one in listed] == [
        ("99", 7_200, 0)
    ]
    assert len(run("stuck", "--waiting", "--format", "csv").stdout.splitlines()) == 1
    assert run("stuck", "--user", "1", "--format", "json").stdout == "[]\n"
    assert "no such database" in run("stuck", "--db", "none.duckdb", check=2).stderr
