"""``sql``, ``stuck`` and ``refused``."""

import gzip
import json
from pathlib import Path

import pytest

from tests import processes
from tests.cli.command import QUICK, Run
from tests.logs import busy, line, log, write


@pytest.mark.thorough
@pytest.mark.usefixtures("audited")
def test_sql_formats_limits_and_mistakes(run: Run, tmp_path: Path) -> None:
    query = "SELECT job_id, wait_s FROM job_fairness ORDER BY job_id::INT"
    shown = run("sql", query, "--rows", 3)
    assert "(3 rows)" in shown.stdout
    assert "only the first 3 rows are shown" in shown.stderr
    assert len(run("sql", query, "--format", "csv").stdout.splitlines()) == 61
    write(tmp_path / "q.sql", query)
    assert run("sql", "-f", "q.sql", "--format", "csv").stdout.startswith("job_id,wait_s\n1,0\n")
    binary = processes.python(
        "-m", "audit", "sql", query, "--format", "parquet", cwd=tmp_path, check=True, text=False
    )
    assert binary.stdout.startswith(b"PAR1")
    for arguments, message in (
        ([], "give one statement"),
        (["SELECT 1; SELECT 2"], "one statement at a time, not 2"),
        (["SELEC"], "SELEC"),
        (["SELECT * FROM read_csv('/etc/passwd')"], "'read_csv' is not allowed after FROM"),
        (["-f", "none.sql"], "none.sql: cannot be read"),
        (["SELECT 1", "--db", "none.duckdb"], "none.duckdb: no such database"),
    ):
        assert message in run("sql", *arguments, check=2).stderr


@pytest.mark.thorough
def test_stuck_lists_jobs_that_gave_up_later_than_similar_jobs(run: Run, tmp_path: Path) -> None:
    similar = [line(k, submit=k, wait=0, run=60, allocated=1, user=1 + k % 3) for k in range(1, 31)]

    def audit(cancelled: int) -> None:
        gone = [
            line(99 + k, submit=5, wait=7_200, run=-1, allocated=1, user=9, status=5)
            for k in range(cancelled)
        ]
        write(tmp_path / "a.swf", log([*similar, *gone], MaxProcs=100))
        run("audit", "a.swf", *QUICK)

    assert "no such database" in run("stuck", check=2).stderr
    audit(1)
    shown = run("stuck")
    assert "(1 row)" in shown.stdout
    assert " unavailable " in shown.stdout  # nothing runs any more while it waits
    listed = json.loads(run("stuck", "--format", "json", "--user", "9").stdout)
    found = [(one["job_id"], one["waited_s"], one["similar_p95_s"]) for one in listed]
    assert found == [("99", 7_200, 0)]
    assert len(run("stuck", "--waiting", "--format", "csv").stdout.splitlines()) == 1
    assert run("stuck", "--user", "1", "--format", "json").stdout == "[]\n"
    audit(60)
    assert "(60 rows)" in run("stuck").stdout  # all, unless --rows is given
    capped = run("stuck", "--rows", 50)
    assert "(50 rows)" in capped.stdout
    assert "only the first 50 rows are shown; --rows N shows more" in capped.stderr


@pytest.mark.thorough
def test_refused_records_are_listed_corrected_and_accepted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    config = '[report]\npdf = false\n[[clusters]]\nname = "c"\nsources = [{files = "logs/*"}]\n'
    config = f"uncertainty.resamples = 100\n{config}"
    write(tmp_path / "config.toml", config)
    wrong = line(98, submit=33 * 365 * 86_400)
    text = busy(40, MaxProcs=4) + "1 2 3\n" + wrong + "\n"
    write(tmp_path / "logs" / "a.swf", text)
    assert "no store yet" in run("refused", "--replay", check=2).stderr
    assert "no such database" in run("refused", check=2).stderr
    run("run", "--config", "config.toml")
    listed = json.loads(run("refused", "--config", "config.toml", "--format", "json").stdout)
    assert [(one["code"], one["line"]) for one in listed] == [("shape", 44), ("doubtful", 45)]
    assert [one["text"] for one in listed] == ["1 2 3", wrong]
    one = run("refused", "--config", "config.toml", "--code", "doubtful", "--format", "csv")
    assert len(one.stdout.splitlines()) == 2
    same = run("refused", "--replay").stdout
    assert same == "accepted 0 records; 1 are still refused\n"  # no change, so no next step

    listed[0]["text"] = line(97, submit=500)
    write(tmp_path / "mended.json", json.dumps(listed))
    done = run("refused", "--replay", "--mended", "mended.json", "--accept").stdout
    taken = "accepted 1 records; 0 are still refused\naccepted 1 doubtful records\n"
    assert done == f"{taken}run 'fairaudit run' to compute the changes\n"
    assert "computed c" in run("run", "--config", "config.toml").stdout
    assert run("refused", "--config", "config.toml", "--format", "json").stdout == "[]\n"

    write(tmp_path / "bad.json", '[{"input": 1}]')
    for arguments, message in (
        (["--mended", "bad.json"], "--mended requires --replay"),
        (["--replay", "--mended", "bad.json"], "bad.json: contains no refused records"),
        (["--replay", "--mended", "none.json"], "none.json: cannot be read"),
        (["--replay", "--cluster", "d"], "the configuration has c"),
        (["--accept", "--db", "fairaudit.duckdb"], "--db is read-only"),
    ):
        assert message in run("refused", *arguments, check=2).stderr


def test_the_head_of_a_log_is_printed_without_names(run: Run, tmp_path: Path) -> None:
    rows = [f"{job}|anna|physics|COMPLETED|{job}\n" for job in range(1, 400)]
    with gzip.open(tmp_path / "log.gz", "wt") as file:
        file.writelines(["JobID|User|Account|State|Submit\n", *rows])
    found = run("refused", "--head", "log.gz").stdout.splitlines()
    assert len(found) == 200
    assert found[:2] == ["JobID|User|Account|State|Submit", "1|name1|name2|COMPLETED|1"]
    assert len(run("refused", "--head", "log.gz", "--lines", 3).stdout.splitlines()) == 3
    assert "none.psv: no such file" in run("refused", "--head", "none.psv", check=2).stderr
    write(tmp_path / "one", "anna " * 100_000)
    assert "anna" not in run("refused", "--head", "one").stdout
