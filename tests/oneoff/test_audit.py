"""Whole audits, and audits of logs that lack something (output of commands: tests/cli)."""

import json
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from audit import config
from audit.cli.oneoff import fitting
from audit.config import Config
from audit.errors import UsageError
from audit.model import Pool
from audit.oneoff.audit import Options, Outcome, audit
from audit.pipeline.opening import Request, open_log
from audit.pipeline.published import open_published
from audit.policies import Order
from audit.store import database
from tests.cli.command import left_in
from tests.logs import busy, write
from tests.oneoff.fit_policy import made
from tests.oneoff.fit_policy.test_plan import OFFICE, RULES
from tests.places import DATA

HEADER = "JobID|User|Partition|State|Start|End|AllocTRES"


@pytest.mark.thorough
def test_the_same_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """With all charts and the PDF, in another process and in this one."""
    log = write(tmp_path / "mine.swf", busy(60))
    command = [sys.executable, "-m", "audit", "audit", "mine.swf"]
    alone = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    made = ("report.html", "report.pdf", "audit.duckdb")
    assert alone.stdout.splitlines()[-3:] == [f"fairaudit-out/{name}" for name in made]
    assert left_in(tmp_path / "fairaudit-out") == sorted(made)
    settings = Config()
    fit = fitting(10.0, settings.uncertainty.resamples)
    audit(Request(logs=[log]), Options(out=tmp_path / "here"), settings, fit=fit)
    for name in made[:2]:
        before, again = (tmp_path / place / name for place in ("fairaudit-out", "here"))
        assert before.read_bytes() == again.read_bytes()


def clock(second: int) -> str:
    return datetime.fromtimestamp(1_767_225_600 + second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def undated(folder: Path) -> Path:
    """A log without Submit: twelve jobs of two CPUs in sequence, and a cancelled one."""
    rows = [
        f"{job}|ana|p|COMPLETED|{clock(60 * job)}|{clock(60 * job + 60)}|cpu=2,node=1"
        for job in range(12)
    ]
    gone = f"12|ana|p|CANCELLED by 7|None|{clock(900)}|"
    return write(folder / "log.psv", "\n".join([HEADER, *rows, gone, ""]))


def test_waits_are_unknown_if_arrivals_are(tmp_path: Path) -> None:
    options = Options(out=tmp_path / "out", pdf=False)
    outcome = audit(Request(logs=[undated(tmp_path)]), options, Config())
    assert any("no column Submit" in warning for warning in outcome.warnings)
    assert any("with unknown arrival" in text and "13" in text for text in outcome.warnings)
    assert any("% busy" in text for text in outcome.main_findings)
    assert not any("waited" in text or "waiting" in text for text in outcome.main_findings)
    counts = (
        "SELECT count(*) AS jobs, count(wait_s), count(arrival_time), count(re_unfairness), "
        "count(fst_strict), count(bounded_slowdown), count(occupancy_s) FROM job_fairness"
    )
    summary = "SELECT metric, value FROM summary WHERE dimension = 'all'"
    used = "SELECT count(*) FROM fairshare_history WHERE entity = 'ana' AND usage > 0"
    with closing(database.open_snapshot(outcome.database)) as con:
        assert database.fetch(con, counts).row(0) == (13, 0, 0, 0, 0, 0, 12)
        figures = dict(database.fetch(con, summary).iter_rows())
        assert database.fetch(con, used).item() > 0
    assert figures["arrival_unknown"] == 13
    assert figures["utilization"] == pytest.approx(720 / 900)
    for name in ("wait_mean", "loss_of_capacity", "queued_mean", "gave_up_wait_s"):
        assert figures.get(name) is None


def test_without_arrivals_nothing_is_simulated(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not say when jobs arrived"):
        open_log(Request(logs=[undated(tmp_path)]), Config())


# --- how pools decide ----------------------------------------------------------------------------


@pytest.mark.parametrize("others", ["", "2|ben|p|COMPLETED|{}|{}|{}|cpu=4,node=1\n"])
def test_resources_that_were_used_for_no_time_stop_no_audit(tmp_path: Path, others: str) -> None:
    header = HEADER.replace("Start", "Submit|Start")
    none = f"1|ana|p|COMPLETED|{clock(0)}|{clock(60)}|{clock(60)}|cpu=4,mem=8G,node=1,gres/gpu=2\n"
    more = others.format(clock(0), clock(120), clock(3720))
    outcome = audited(write(tmp_path / "log.psv", f"{header}\n{none}{more}"), tmp_path / "out")
    assert outcome.html.exists()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a site with a limit and a window."""
    folder = tmp_path_factory.mktemp("fitted")
    return write(folder / "site.swf", made.swf(made.pool(**RULES)))


def audited(log: Path, out: Path, settings: Config | None = None, **options: Any) -> Outcome:
    settings = settings or Config()
    fit = fitting(10.0, settings.uncertainty.resamples)
    return audit(Request(logs=[log]), Options(out=out, pdf=False, **options), settings, fit=fit)


def notes(outcome: Outcome) -> list[str]:
    with closing(database.open_snapshot(outcome.database)) as con:
        [text] = database.fetch(con, "SELECT notes::VARCHAR AS notes FROM clusters")["notes"]
    return list(json.loads(text)["notes"])


def only_pool(outcome: Outcome) -> Pool:
    [pool] = open_published(outcome.database, Config()).setting.pools
    return pool


@pytest.mark.thorough
def test_rules_that_the_log_supports_are_assumed_and_named(site: Path, tmp_path: Path) -> None:
    outcome = audited(site, tmp_path / "out")
    found = notes(outcome)
    [policy] = [note for note in found if note.startswith("policy: ")]
    assert "fcfs-easy, and 2 rules fitted from the log; this leaves" in policy
    assert "on the log, within 10 CPU s" in policy
    rules = "\n".join(note for note in found if note.startswith("rule "))
    assert "Limit of 3 running jobs per user" in rules
    assert "Closed hours Mon–Fri 08–17 (UTC) for jobs over 4 h" in rules
    assert "Limit of 3 running jobs per user" in outcome.html.read_text()
    pool = only_pool(outcome)  # every figure uses them
    assert (pool.limits, pool.windows[0].hours) == (RULES["limits"], OFFICE)
    agreement = "SELECT value FROM fidelity WHERE metric = 'agreement'"
    with closing(database.open_snapshot(outcome.database)) as con:
        assert database.fetch(con, agreement).item() > 0.9


@pytest.mark.thorough
def test_nothing_is_fitted_if_a_policy_is_given(site: Path, tmp_path: Path) -> None:
    outcome = audited(site, tmp_path / "out", order=Order.sjf)
    assert "policy: sjf-easy (--order and --backfill)" in notes(outcome)
    assert not only_pool(outcome).limits


@pytest.mark.thorough
def test_a_configured_pool_decides_as_it_is_configured(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[[clusters]]\nname = "mine"\nzone = "Europe/Berlin"\n[[clusters.pools]]\nname = "main"\n'
        'limits = [{ most = 5, per = "user" }]\n'
    )
    outcome = audited(site, tmp_path / "out", config.load(file))
    found = notes(outcome)
    assert "time zone: Europe/Berlin (config.toml)" in found
    assert not any("fitted" in note for note in found)
    opened = open_published(outcome.database, Config())
    [pool] = opened.setting.pools
    assert (opened.setting.cluster, pool.name) == ("mine", "main")
    assert [limit.most for limit in pool.limits] == [5]


@pytest.mark.thorough
def test_a_configured_pool_without_policy_is_fitted(site: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[[clusters]]\nname = "mine"\n[[clusters.pools]]\nname = "main"\n')
    outcome = audited(site, tmp_path / "out", config.load(file))
    assert only_pool(outcome).limits == RULES["limits"]


@pytest.mark.thorough
def test_a_short_log_is_not_fitted(tmp_path: Path) -> None:
    outcome = audited(write(tmp_path / "few.swf", busy(60)), tmp_path / "out")
    [policy] = [note for note in notes(outcome) if note.startswith("policy: ")]
    assert "the log is too short, or too few of its jobs waited, to fit it" in policy


@pytest.mark.thorough
def test_an_audit_does_not_load_the_studies(tmp_path: Path) -> None:
    write(tmp_path / "a.swf", busy(60))
    script = (
        "import sys\nfrom audit.cli.app import app\n"
        "app(['audit', 'a.swf', '--no-pdf', '--no-fit'], standalone_mode=False)\n"
        "assert not [name for name in sys.modules if name.startswith('audit.studies')]\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True)


ARRAYS = DATA / "arrays"


def of_arrays(log: Path, out: Path) -> Outcome:
    request = Request(logs=[log], cluster="c", zone="UTC")
    return audit(request, Options(out=out, pdf=False), Config())


def stored(outcome: Outcome, query: str) -> list[tuple[Any, ...]]:
    with closing(database.open_snapshot(outcome.database)) as con:
        return database.rows(con, query)


def test_a_row_of_waiting_tasks_counts_each_of_them(tmp_path: Path) -> None:
    """Slurm's `3_[0-9]`, and the same state as `sacct --array` prints it."""
    one, each = (
        of_arrays(ARRAYS / f"{name}.psv", tmp_path / name) for name in ("slurm", "slurm_by_task")
    )
    for view in ("summary", "user_fairness", "account_fairness", "fidelity", "advice"):
        query = f"SELECT * EXCLUDE (run_id) FROM {view} ORDER BY ALL"
        assert stored(one, query) == stored(each, query), view
    figures = "SELECT metric, value FROM summary WHERE dimension = 'all'"
    known = dict(stored(one, figures))
    assert (known["pending"], known["queued_mean"]) == (10, 10)
    assert known["preference_strict_mean"] == 24_000
    jobs = "SELECT job_id, tasks, re_deserved, re_unfairness FROM job_fairness ORDER BY job_id"
    assert stored(one, jobs) == [
        ("1", 1, 1_200.0, -6_000.0),
        ("2", 1, 1_200.0, -6_000.0),
        ("3_[0-9]", 10, None, None),
        ("4", 1, 1_200.0, -6_000.0),
    ]
    assert stored(each, "SELECT sum(tasks) FROM job_fairness") == [(13,)]


def test_tasks_of_a_pbs_array_without_a_record_wait(tmp_path: Path) -> None:
    outcome = of_arrays(ARRAYS / "pbs", tmp_path / "out")
    query = "SELECT metric, value FROM summary WHERE dimension = 'all'"
    known = dict(stored(outcome, query))
    assert (known["running"], known["pending"]) == (1, 100)
    jobs = "SELECT job_id, tasks, state FROM job_fairness ORDER BY job_id"
    assert stored(outcome, jobs) == [
        ("7[1].srv", 1, "RUNNING"),
        ("7[].srv", 99, "PENDING"),
        ("9.srv", 1, "PENDING"),
    ]


def test_a_cancelled_array_gave_up_with_all_its_tasks(tmp_path: Path) -> None:
    rows = [
        "JobID|User|Account|Partition|State|Submit|Start|End|AllocTRES|NodeList",
        f"1|ann|x|p|COMPLETED|{clock(0)}|{clock(0)}|{clock(600)}|cpu=2,node=1|n1",
        f"2_[0-4,7]|eve|y|p|CANCELLED by 7|{clock(0)}|None|{clock(100)}|cpu=1|None assigned",
    ]
    outcome = of_arrays(write(tmp_path / "a.psv", "\n".join([*rows, ""])), tmp_path / "out")
    query = "SELECT never_started, gave_up_wait_s FROM user_fairness WHERE \"user\" = 'eve'"
    assert stored(outcome, query) == [(6, 600)]


def test_an_id_that_slurm_cut_is_a_lower_bound(tmp_path: Path) -> None:
    rows = (ARRAYS / "slurm.psv").read_text().replace("3_[0-9]", "3_[0,2,4,...]")
    outcome = of_arrays(write(tmp_path / "a.psv", rows), tmp_path / "out")
    assert any("the number of waiting tasks is a lower bound" in one for one in outcome.warnings)
    query = "SELECT value FROM summary WHERE dimension = 'all' AND metric = 'pending'"
    assert stored(outcome, query) == [(3,)]
