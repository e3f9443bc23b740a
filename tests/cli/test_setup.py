"""``init``, ``doctor`` and ``pseudonym``."""

import re
from pathlib import Path

import duckdb
import pytest

from tests.cli.command import Run
from tests.logs import busy, write
from tests.setup import programs

DATABASE = "fairaudit-out/audit.duckdb"


@pytest.mark.usefixtures("audited")
def test_doctor(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "--db", DATABASE)
    assert "WRONG" not in done.stdout
    assert "60 attempts, every check passes" in done.stdout
    write(tmp_path / "my.toml", "[metrics]\ntau = 1\n")
    sick = run("doctor", "--config", "my.toml", "--db", "none.duckdb", check=2)
    assert "WRONG" in sick.stdout
    assert "did you mean metrics.tau_s?" in sick.stdout
    assert "2 of 10 checks failed" in sick.stderr


@pytest.mark.usefixtures("sound_installation")
@pytest.mark.parametrize("breaks", [True, False])
def test_doctor_names_a_python_that_breaks_headers(
    run: Run, monkeypatch: pytest.MonkeyPatch, breaks: bool
) -> None:
    monkeypatch.setattr("audit.mail.transport.breaks_headers", lambda: breaks)
    line = run("doctor").stdout.splitlines()[0]
    assert line.startswith("ok     Python: 3.")
    assert ("CVE-2024-6923" in line and "use Python 3.11.10, 3.12.5 or newer" in line) is breaks


@pytest.mark.thorough
def test_doctor_says_that_mails_have_no_pictures(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.report.charts.drawing.has_png", lambda: False)
    assert "resvg-py is not installed, so mails have no pictures" in run("doctor").stdout


@pytest.mark.thorough
@pytest.mark.usefixtures("audited", "sound_installation")
def test_doctor_compares_limits_with_the_logs(run: Run, tmp_path: Path) -> None:
    # Users 1 to 3 request 1 to 4 CPUs.

    def found(rules: str, cluster: str = "a", check: int = 0) -> str:
        text = f'[[clusters]]\nname = "{cluster}"\n[[clusters.pools]]\n'
        write(tmp_path / "my.toml", f'{text}name = "all"\ncapacity = {{ cpus = 4 }}\n{rules}\n')
        done = run("doctor", "--config", "my.toml", "--db", DATABASE, check=check)
        return next((line for line in done.stdout.splitlines() if "limits and" in line), "")

    each = 'limits = [{ most = 3, per = "user" }, { most = 0, size_above = 2 }]'
    assert found(each).endswith("2 limits, 0 windows; the logs have every name")
    unknown = 'limits = [{ most = 1, user = ["1", "eve"], exempt_qos = ["high"] }]'
    assert found(unknown + '\nwindows = [{ hours = "Sun", partition = "gpu" }]').endswith(
        "1 limits, 1 windows; no log has user 'eve'; no log has qos 'high'; "
        "no log has partition 'gpu'"
    )
    assert "no job in its scope requested less than 3" in found(
        'limits = [{ most = 2, resource = "cpus", size_above = 2 }]', check=2
    )
    assert "closed at all hours" in found('windows = [{ hours = "Mon-Sun" }]', check=2)
    assert found(each, "other").endswith(f"{DATABASE} has no cluster 'other' yet")


@pytest.mark.thorough
@pytest.mark.usefixtures("audited", "sound_installation")
@pytest.mark.parametrize(
    ("usage", "said"),
    [
        ('method = "half_life"\nhalf_life_days = 7', "they fit together, also with the longest"),
        (
            f'method = "half_life"\nhalf_life_days = {30 / 86_400}',
            "the half-life (30 s) is shorter",
        ),
        (
            'method = "slurm"\nhalf_life_days = 7\nreset = "daily"\npenalty = "billing"\n'
            "billing_weights = { cpus = 1 }",
            "usage is reset daily, before",
        ),
    ],
)
def test_doctor_compares_half_life_reset_and_walltimes(
    run: Run, tmp_path: Path, usage: str, said: str
) -> None:
    write(tmp_path / "my.toml", f'[[clusters]]\nname = "a"\n[clusters.usage]\n{usage}\n')
    done = run("doctor", "--config", "my.toml", "--db", DATABASE)
    (line,) = (line for line in done.stdout.splitlines() if "half-life and reset of 'a'" in line)
    assert said in line


@pytest.mark.usefixtures("short_paper", "sound_installation")
def test_a_new_site_until_an_upgrade(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    made = run("init", "a.swf", "--name", "mine")
    assert made.stdout == "config.toml\n"
    assert "Europe/Berlin" in made.stderr
    assert (
        "'fairaudit doctor --config config.toml' checks the file; 'fairaudit run' is" in made.stderr
    )
    other = run("init", "a.swf", "--name", "mine", "--output", "b.toml").stderr
    assert "'fairaudit run --config b.toml' is the first run" in other
    assert run("init", "a.swf", "--name", "mine", check=2).stdout == ""
    looked = run("doctor", "--config", "config.toml")
    assert "cluster 'mine'" in looked.stdout
    assert "archive: nothing is archived" in looked.stdout
    assert looked.stderr == "next: 'fairaudit run' reads and reports\n"
    assert run("doctor").stderr == ""
    assert "computed mine 2001-09" in run("run").stdout
    assert run("archive", "--cluster", "mine").stdout == "nothing is archived\n"
    assert "config.toml has: mine" in run("archive", "--cluster", "x", check=2).stderr
    assert run("archive", "--back", "2001-09-01").stdout == "moved 0 records of 0 months back\n"
    run("init", "--partitions", "none.txt", "--output", "other.toml", check=2)
    # The next run publishes a database of the old version anew, so nothing is to be done.
    path = tmp_path / "fairaudit.duckdb"
    path.chmod(0o600)
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE OR REPLACE VIEW arrays AS SELECT 1 AS one")
    older = run("doctor", "--config", "config.toml").stdout
    assert "ok     memory: not compared with the published database: another version" in older
    assert "not the one that this version" in run("doctor", "--db", str(path), check=2).stdout


def test_a_proposed_table_is_checked_before_a_configuration_is_written(
    run: Run, tmp_path: Path
) -> None:
    times = [f"2021-01-01 {hour:02d}:00:00" for hour in range(1, 4)]
    rows = [f"{number},ann,{','.join(times)}" for number in range(5)]
    write(tmp_path / "jobs.csv", "\n".join(["jid,who,adt,sdt,edt", *rows]) + "\n")
    made = run("init", "jobs.csv", "--table", "table.toml")
    assert made.stdout == "table.toml\n"
    assert made.stderr.endswith("run the same command again.\n")
    assert not (tmp_path / "config.toml").exists()
    absent = run("init", "jobs.csv", "--table", "no/table.toml", check=2).stderr
    assert absent == "fairaudit: no: no such folder\n"


@pytest.mark.thorough
@pytest.mark.usefixtures("short_paper")
def test_the_first_hour_with_slurm(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.install(tmp_path / "site", monkeypatch)
    refused = run("init", "--slurm", check=2).stderr
    assert "scontrol show config > slurm/config.txt" in refused
    assert "nothing was run; --yes runs these commands" in refused
    assert "omit logs" in run("init", "a.swf", "--slurm", "--yes", check=2).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["site"]
    made = run("init", "--slurm", "--yes", "--zone", "UTC")
    found, look, schedule = made.stdout.splitlines()
    assert found == (
        "Found: Fair: No user could be tested, so none is cleared; limits caused the most waiting."
    )
    assert (tmp_path / "fairaudit-out/report.pdf").exists()
    assert look == "Look at: fairaudit-out/report.html (settings: config.toml)"
    assert schedule.endswith(f" -m audit run --config {tmp_path}/config.toml")
    assert "cluster: north" in made.stderr
    assert "To repeat this without Slurm: fairaudit init slurm/sacct.txt" in made.stderr
    assert "already exists" in run("init", "--slurm", "--yes", check=2).stderr


def test_pseudonyms_are_printed_under_the_key(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "people.key", "k" * 32)
    (tmp_path / "people.key").chmod(0o600)
    config = '[[clusters]]\nname = "c"\n[clusters.people]\nkey_file = "people.key"\n'
    write(tmp_path / "config.toml", config + 'pseudonyms = ["user"]\n')
    printed = run("pseudonym", "--user", "anna", "--user", "ben").stdout
    assert re.fullmatch(r"user anna: u-[0-9a-f]{12}\nuser ben: u-[0-9a-f]{12}\n", printed)
    assert "names of each account are kept" in run("pseudonym", "--account", "x", check=2).stderr
    assert "give names with --user NAME" in run("pseudonym", check=2).stderr
    assert "names become pseudonyms" in run("doctor", "--config", "config.toml").stdout
    write(tmp_path / "config.toml", '[[clusters]]\nname = "c"\n')
    assert "no cluster has people.key_file" in run("pseudonym", "--user", "anna", check=2).stderr
    assert "cluster 'c' does not have" in run("pseudonym", "--cluster", "c", check=2).stderr
    write(tmp_path / "config.toml", config)
    write(tmp_path / "a.swf", busy(20))
    refused = run("audit", "a.swf", "--config", "config.toml", "--no-pdf", check=2).stderr
    assert "'fairaudit run' to read its logs" in refused
    assert not (tmp_path / "fairaudit-out").exists()
