"""``sql``: formats, limits, mistakes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.logs import busy, write

pytestmark = pytest.mark.usefixtures("one_chart")


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
