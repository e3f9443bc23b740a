"""Commands without a configuration: output, exit codes, files, and options of studies."""

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from typer import Context
from typer.main import get_command

from audit.cli.app import app
from tests import processes
from tests.cli.command import QUICK, Run, left_in
from tests.logs import busy, line, log, starving, write

pytestmark = pytest.mark.usefixtures("short_paper")


def test_an_audit_makes_report_and_database(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "mine.swf", busy(60))
    done = run("audit", "mine.swf")
    made = ("report.html", "report.pdf", "audit.duckdb")
    verdict, *_, last = done.stdout.splitlines()
    assert last == f"Report   fairaudit-out/{', '.join(made)}"
    assert len(done.stdout.splitlines()) <= 8
    assert max(map(len, done.stdout.splitlines())) <= 115
    assert verdict.partition(":")[0] in ("Fair", "Cannot tell", "Quiet")
    assert "policy" not in done.stderr
    found = [f"fairaudit-out/{name}" for name in sorted(made)]
    assert left_in(tmp_path) == ["fairaudit-out", *found, "mine.swf"]
    assert "capacity of pool 'all': 4 CPUs (from the log's header)" in done.stderr
    assert "time zone: Europe/Berlin (from the log's header)" in done.stderr
    count = run("sql", "SELECT count(*) AS n FROM job_fairness", "--format", "csv")
    assert count.stdout == "n\n60\n"


@pytest.mark.thorough
def test_a_database_that_is_named_is_added_to(run: Run, tmp_path: Path) -> None:
    first = write(tmp_path / "1.swf", busy(30))
    second = write(tmp_path / "2.swf", busy(50))
    same = ("--cluster", "c", *QUICK)
    for database, order in (("ab.duckdb", (first, second, first)), ("ba.duckdb", (second, first))):
        for path in order:
            run("audit", path, "--db", database, *same)
    dumps = [
        run("sql", f"SELECT * FROM {view}", "--db", database, "--format", "csv").stdout
        for database in ("ab.duckdb", "ba.duckdb")
        for view in ("job_fairness ORDER BY ALL", "summary ORDER BY ALL", "coverage ORDER BY ALL")
    ]
    assert dumps[:3] == dumps[3:]
    assert len(dumps[0].splitlines()) == 51


@pytest.mark.thorough
def test_several_clusters_live_in_one_database(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / f"{name}.swf", busy(20))
        run("audit", f"{name}.swf", "--db", "both.duckdb", *QUICK)
    query = "SELECT cluster, count(*) AS n FROM job_fairness GROUP BY ALL ORDER BY ALL"
    found = run("sql", query, "--db", "both.duckdb", "--format", "csv")
    assert found.stdout == "cluster,n\none,20\ntwo,20\n"


NO_LOG = "Dear colleagues,\nplease find the accounting logs attached.\nYours, ann\n"


@pytest.mark.parametrize(
    ("content", "arguments", "code", "message"),
    [
        ("", "a.swf", 3, "a.swf: empty"),
        (b"\x7fELF\x00\x01" * 100, "a.swf", 3, "a.swf: binary"),
        (gzip.compress(busy(500).encode())[:-50], "a.swf", 3, "a.swf: truncated"),
        (NO_LOG, "a.swf", 2, "not a log that fairaudit reads"),
        (busy(20) + "1 2 3\n" * 5, "a.swf", 3, "5 of 25 records were refused"),
        (log([]), "a.swf", 3, "it contains no records of jobs"),
        ("", "nowhere.swf", 2, "nowhere.swf: no such file"),
        ("", ".", 3, "a.swf: empty"),
        (busy(), "a.swf --zone Mars", 2, "time zone 'Mars'"),
        (busy(), "a.swf --from x", 2, "write it like"),
        (busy(), "a.swf --resource gpus", 2, "gives no gpus"),
        (busy(), "a.swf --config no", 2, "no: no such file"),
        (busy(), "a.swf --pool-size 0", 2, "--pool-size"),
        (busy(), "a.swf --nonsense", 2, "--nonsense"),
        (busy(), "", 2, "LOG"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(
    run: Run, tmp_path: Path, content: str | bytes, arguments: str, code: int, message: str
) -> None:
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "a.swf").write_bytes(data)
    done = run("audit", *arguments.split(), check=code)
    assert message in done.stderr
    assert done.stdout == ""
    assert left_in(tmp_path) == ["a.swf"]


def test_a_place_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy())
    for flag, where in (("--out", "a.swf/below/a/file"), ("--db", "no/such/folder/x.duckdb")):
        done = run("audit", "a.swf", flag, where, check=2)
        assert where.split("/")[0] in done.stderr
        assert left_in(tmp_path) == ["a.swf"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_folder_of_another_user(tmp_path: Path) -> None:
    """Root may write anywhere, so the command runs as nobody, whose Python is the system's."""
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o555)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    as_nobody += ["env", sys.executable]  # setpriv itself still has root's way to a closed folder
    seen = subprocess.run([*as_nobody, "-V"], capture_output=True, check=False)
    if seen.returncode:
        pytest.skip("this Python may not be run by another user: unwritable folder not tried")
    for made_for_root in (tmp_path, *tmp_path.parents):  # how many depends on pytest-xdist
        if made_for_root.stat().st_mode & 0o077 == 0:
            made_for_root.chmod(0o755)
    log_path = write(tmp_path / "a.swf", busy())
    log_path.chmod(0o644)
    done = subprocess.run(
        [*as_nobody, "-m", "audit", "audit", str(log_path), "--out", str(folder), "--no-pdf"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f"{folder}: cannot be written (Permission denied)" in done.stderr


OPENED: Final = (
    "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == 'True')\n"
    "print('open', flush=True); sys.stdin.readline()\n"
    "print(con.execute('SELECT count(*) FROM job_fairness').fetchall()[0][0], flush=True)\n"
)
"""Has a database open, as a DuckDB client would, and counts what it sees."""


@pytest.mark.thorough
def test_a_locked_database(run: Run, tmp_path: Path, audited: Path) -> None:
    before = audited.read_bytes()
    with processes.talking(OPENED, audited, False, says="open") as other:
        done = run("audit", "a.swf", *QUICK, check=75)
        assert "another run or reader has this database open" in done.stderr
        assert run("sql", "SELECT 1", check=75).stdout == ""
        other.communicate("\n")
    assert audited.read_bytes() == before
    assert left_in(tmp_path / "fairaudit-out") == ["audit.duckdb", "report.html"]
    run("audit", "a.swf", *QUICK)


def test_what_is_no_database_of_ours_is_not_replaced(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy())
    notes = write(tmp_path / "notes.txt", "precious " * 1000)
    with duckdb.connect(str(tmp_path / "other.duckdb")) as other:
        other.execute("CREATE TABLE precious (a INT)")
    for name in ("notes.txt", "other.duckdb"):
        done = run("audit", "a.swf", "--db", name, check=2)
        assert name in done.stderr
    assert notes.read_text() == "precious " * 1000
    assert left_in(tmp_path) == ["a.swf", "notes.txt", "other.duckdb"]


@pytest.mark.thorough
def test_a_job_larger_than_the_pool_is_counted(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    done = run("audit", "a.swf", *QUICK, "--pool-size", 3)
    query = "SELECT value FROM summary WHERE metric = 'exceeds_capacity'"
    assert run("sql", query, "--format", "csv").stdout == "value\n15.0\n"
    warning = "Attempts larger than the whole pool, whose size may be wrong: 15."
    assert warning in done.stderr


@pytest.mark.thorough
def test_the_next_step_names_the_database_and_the_configuration(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(20))
    usual = run("audit", "a.swf", *QUICK).stderr
    assert usual.endswith("'fairaudit explain JOB' shows why a job waited\n")
    other = run("audit", "a.swf", *QUICK, "--out", "my report").stderr
    assert "'fairaudit explain JOB --db 'my report/audit.duckdb'' shows" in other
    fitted = run("fit-policy", "a.swf")
    assert "next:" not in fitted.stderr
    result, page, *_ = fitted.stdout.splitlines()  # a user need not open the page to know it
    assert result.startswith("The policy is fcfs-easy, which agrees with 100 % of the starts")
    assert page.endswith("fit-policy.html")
    found = run("fit-policy", "a.swf", "--write", "found.toml").stderr
    assert found.endswith("'fairaudit audit LOG --config found.toml' audits with what was found\n")


@pytest.mark.thorough
def test_a_verdict_that_counts_as_a_failure_ends_with_1(run: Run, tmp_path: Path) -> None:
    """Only where the configuration lists the word."""
    write(tmp_path / "mine.swf", busy(20))
    site = write(tmp_path / "config.toml", '[verdict]\nfail = ["cannot tell"]\n')
    asked = ("audit", "mine.swf", *QUICK)
    done = run(*asked, "--config", str(site), check=1)
    assert "Cannot tell: Too few jobs ended to judge." in done.stdout
    assert "cannot tell is in verdict.fail" in done.stderr
    site.write_text('[verdict]\nfail = ["unfair"]\n')
    assert run(*asked, "--config", str(site)).stdout.startswith("Cannot tell:")


def test_a_period_without_data_says_so(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    done = run("audit", "a.swf", *QUICK, "--from", "2030-01-01", "--to", "2030-02-01")
    assert "warning: no attempt ended in the period 2030-01-01..2030-02-01" in done.stderr
    verdict = "Cannot tell: No job ended in this period."
    assert done.stdout.startswith(f"{verdict}\nReport   ")
    page = (tmp_path / "fairaudit-out" / "report.html").read_text()
    assert f'<h1 class="verdict">{verdict}</h1>' in page


@pytest.mark.thorough
def test_a_report_of_an_earlier_audit_does_not_stay_beside_a_new_one(
    run: Run, tmp_path: Path
) -> None:
    write(tmp_path / "a.swf", busy(60))
    run("audit", "a.swf")
    run("audit", "a.swf", *QUICK)
    assert left_in(tmp_path / "fairaudit-out") == ["audit.duckdb", "report.html"]


@pytest.mark.thorough
@pytest.mark.usefixtures("audited")
def test_a_killed_audit_leaves_the_old_results(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "fairaudit-out" / "report.html"
    before = page.read_bytes()
    script = (
        "import os, signal, sys\nfrom audit.cli.app import main\n"
        "from audit.report.render import page\n"
        "page.render_html = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main()\n"
    )
    killed = processes.python("-c", script, "audit", "a.swf", *QUICK, cwd=tmp_path)
    assert killed.returncode == -9, killed.stderr
    assert page.read_bytes() == before
    run("audit", "a.swf")
    assert left_in(tmp_path / "fairaudit-out") == ["audit.duckdb", "report.html", "report.pdf"]


SACCT = """\
JobID|User|Account|Partition|State|Submit|Start|End|NCPUS|Timelimit|JobName
1|ann|physics|batch|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:10|2026-01-01T01:00:00|2|02:00:00|a|b
1.batch||physics||COMPLETED|2026-01-01T00:00:10|2026-01-01T00:00:10|2026-01-01T01:00:00|2||batch
2|bob|history|batch|CANCELLED by 7|2026-01-01T00:00:00|None|2026-01-01T00:30:00|4|02:00:00|=cmd()
3|bob|history|batch|COMPLETED|2026-01-01T00:00:00|2026-01-01T01:00:00|2026-01-01T02:00:00|4|02:00:00|x
"""


@pytest.mark.thorough
def test_a_log_of_sacct_with_and_without_its_header(run: Run, tmp_path: Path) -> None:
    header, _, rows = SACCT.partition("\n")
    write(tmp_path / "with.txt", SACCT)
    write(tmp_path / "without.txt", rows)
    query = 'SELECT job_id, "user", state, wait_s FROM job_fairness ORDER BY job_id'
    seen = []
    for name, more in (("with", []), ("without", ["--columns", header.replace("|", ",")])):
        run("audit", f"{name}.txt", "--zone", "Europe/Berlin", *QUICK, *more)
        seen.append(run("sql", query, "--format", "csv").stdout)
    assert seen[0] == seen[1]
    assert len(seen[0].splitlines()) == 4
    assert "1,ann,COMPLETED,10" in seen[0]
    said = run("audit", "without.txt", *QUICK, check=2)
    assert "--columns " in said.stderr


@pytest.mark.thorough
def test_an_audit_advises_within_a_budget(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "mine.swf", starving())
    asked = ("audit", "mine.swf", "--backfill", "no_guarantee", "--no-pdf")
    query = ("sql", "SELECT place, outcome, change FROM advice", "--format", "csv")
    run(*asked)
    advised, *others = run(*query).stdout.splitlines()[1:]
    assert advised == "1,supported,'--backfill easy"
    assert others
    assert all(other.startswith(",") for other in others)
    assert "not_tried" not in str(others)
    parts = "SELECT dimension_value AS width FROM advice_parts WHERE change = '--backfill easy'"
    of_widths = f"{parts} AND dimension = 'width_class' ORDER BY ALL"
    # today's replay misses the waits of jobs of 1 CPU, which get no figure
    assert run("sql", of_widths, "--format", "csv").stdout == "width\n3-4\n"
    run(*asked, "--no-advice")
    assert run(*query).stdout == "place,outcome,change\n"
    refused = run(*asked, "--no-advice", "--advice-budget", 5, check=2)
    assert "give either --no-advice or --advice-budget" in refused.stderr


STUDIES = (
    ("whatif", "--order", "sjf"),
    ("fit-policy",),
    ("experiment", "grid"),
    ("experiment", "users"),
    ("experiment", "sensitivity"),
    ("experiment", "workload"),
)


def options(*command: str) -> set[str]:
    found: Any = get_command(app)
    for name in command:
        found = found.get_command(Context(found), name)
    return {option for one in found.params for option in one.opts}


def test_every_study_of_logs_has_the_shared_options() -> None:
    shared = set.intersection(*(options(*study[:2]) for study in STUDIES[1:]))
    assert shared - {"--help"} == {
        *("logs", "--out", "--db", "--pool", "--pool-size", "--resource", "--zone", "--columns"),
        *("--separator", "--table", "--map", "--dialect", "--cluster", "--threads", "--config"),
    }
    assert shared < options("whatif")
    assert {"--max-walltime", "--limit"} < options("whatif")
    assert options("experiment", "users") - shared == {"--search-seconds"}


@pytest.mark.parametrize("study", STUDIES[:4])
def test_an_unknown_pool_is_refused(study: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    lines = (line(k, submit=60 * k, user=k % 3, group=k % 2) for k in range(1, 40))
    write(tmp_path / "mine.swf", log(lines, MaxProcs=8))
    message = run(*study, "mine.swf", "--pool", "gpu\x1b[2J", check=2).stderr
    assert "--pool gpu\\x1b[2J" in message
    assert "all" in message
    assert left_in(tmp_path) == ["mine.swf"]


def test_warnings_about_the_log_are_shown(run: Run, tmp_path: Path) -> None:
    lines = (line(k, submit=60 * k, allocated=9) for k in range(40))
    write(tmp_path / "mine.swf", log(lines, MaxProcs=8))
    assert "warning: " in run("whatif", "mine.swf", "--capacity", "+1").stderr


def test_an_unusable_folder_is_refused_at_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    done = run("experiment", "operators", "--out", "taken", check=2)
    assert "taken: is not a folder; choose another place with --out" in done.stderr
    assert "Traceback" not in done.stderr
    assert left_in(tmp_path) == ["taken"]
    run("experiment", "operators", "--bits", 2, check=2)


@pytest.mark.parametrize(
    ("command", "flag", "remedy"),
    [
        ("audit", "--fit-budget", "omit this option, or pass --no-fit"),
        ("fit-policy", "--budget", "omit this option"),
    ],
)
def test_options_that_are_gone_name_the_remedy(
    run: Run, tmp_path: Path, command: str, flag: str, remedy: str
) -> None:
    write(tmp_path / "a.swf", busy(5))
    refused = run(command, "a.swf", flag, 5, check=2)
    assert refused.stderr.startswith(f"fairaudit: {flag}: ")
    assert remedy in refused.stderr
    assert left_in(tmp_path) == ["a.swf"]
    assert flag not in run(command, "--help").stdout
