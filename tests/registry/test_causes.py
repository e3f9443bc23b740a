"""An entry is all that a new cause needs."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.places import ROOT

NEW_CAUSE = """
import sys
from audit.registry import causes

# Registered before anything reads the registry.
dummy = causes.Cause(
    key="dummy",
    booked=("claimed",),
    label="Waited for a dummy",
    heading="Dummy",
    legend="dummies",
    clause="a dummy kept it from starting",
    meanwhile="while a dummy kept the job from starting",
    colour=("#123456", "#654321"),
)
causes.CAUSES = (*causes.CAUSES, dummy)
causes.COLUMNS = (*causes.COLUMNS, dummy.column)

from audit.cli.app import app
from bench.pages import metrics_page

app(["audit", sys.argv[1], "--out", sys.argv[2], "--no-pdf"], standalone_mode=False)
print(metrics_page.PARTS["attempts"]())
print(metrics_page.PARTS["summary"]())
"""
MEANING = "part of the wait that passed while a dummy kept the job from starting"
LOG = "; MaxProcs: 8\n; UnixStartTime: 0\n" + "".join(
    f"{job} {60 * job} {120 * (job % 4)} 90 {size} -1 -1 {size} 100 -1 1 {job % 7} 1 1 1 1 -1 -1\n"
    for job, size in enumerate([4, 3, 8, 1] * 20, start=1)
)


@pytest.mark.thorough
def test_an_entry_is_all_that_a_new_cause_needs(tmp_path: Path) -> None:
    log, out = tmp_path / "log.swf", tmp_path / "out"
    log.write_text(LOG, encoding="utf-8")
    command = [sys.executable, "-c", NEW_CAUSE, str(log), str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"- `cause_dummy_s`: {MEANING}" in done.stdout
    assert "| `cause_dummy_share` |" in done.stdout
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "dummies" in page
    with duckdb.connect(out / "audit.duckdb", read_only=True) as con:
        found = con.execute(
            "SELECT comment, (SELECT sum(cause_dummy_s - cause_claimed_s) FROM job_fairness) "
            "FROM duckdb_columns() "
            "WHERE (table_name, column_name) = ('job_fairness', 'cause_dummy_s')"
        )
        ((comment, apart),) = found.fetchall()
    assert comment.startswith(MEANING)
    assert apart == 0
