"""Whole audits, and audits of logs that lack something (output of commands: tests/cli)."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from audit import config
from audit.cluster.declared import NodeFiles
from audit.cluster.slurm_files import SlurmFiles
from audit.config import Config
from audit.errors import UsageError
from audit.model import Limit, Pool
from audit.oneoff.audit import AuditOptions, AuditResult, audit
from audit.pipeline.opening import LogRequest, Session, open_log
from audit.pipeline.published import open_published
from audit.policies import Backfill
from audit.store import database
from tests import stores
from tests.cli.command import left_in
from tests.logs import busy, line, log, write
from tests.oneoff.fit_policy import made
from tests.oneoff.fit_policy.test_plan import OFFICE, RULES
from tests.places import DATA, SLURM

HEADER = "JobID|User|Partition|State|Start|End|AllocTRES"


@pytest.mark.thorough
def test_the_same_again_gives_the_same_bytes(tmp_path: Path) -> None:
    """With all charts and the PDF, in another process and in this one."""
    log = write(tmp_path / "mine.swf", busy(60))
    command = [sys.executable, "-m", "audit", "audit", "mine.swf"]
    alone = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    made = ("report.html", "report.pdf", "audit.duckdb")
    assert alone.stdout.splitlines()[-1] == f"Report   fairaudit-out/{', '.join(made)}"
    assert left_in(tmp_path / "fairaudit-out") == sorted(made)
    audit(Session(LogRequest(logs=[log]), Config(), fit=True), AuditOptions(out=tmp_path / "here"))
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
    options = AuditOptions(out=tmp_path / "out", pdf=False)
    outcome = audit(Session(LogRequest(logs=[undated(tmp_path)]), Config(), fit=False), options)
    assert any("no column Submit" in warning for warning in outcome.warnings)
    assert any("with unknown arrival" in text and "13" in text for text in outcome.warnings)
    assert any("% busy" in text for text in outcome.summary)
    assert not any("waited" in text or "waiting" in text for text in outcome.summary)
    counts = (
        "SELECT count(*) AS jobs, count(wait_s), count(arrival_time), count(re_unfairness), "
        "count(fst_strict), count(bounded_slowdown), count(occupancy_s) FROM job_fairness"
    )
    summary = "SELECT metric, value FROM summary WHERE dimension = 'all'"
    used = "SELECT count(*) FROM fairshare_history WHERE entity = 'ana' AND usage > 0"
    with stores.published(outcome.database) as con:
        assert database.fetch(con, counts).row(0) == (13, 0, 0, 0, 0, 0, 12)
        figures = dict(database.fetch(con, summary).iter_rows())
        assert database.fetch(con, used).item() > 0
    assert figures["arrival_unknown"] == 13
    assert figures["utilization"] == pytest.approx(660 / 840)  # from the first end, at 60
    for name in ("wait_mean", "loss_of_capacity", "queued_mean", "gave_up_wait_s"):
        assert figures.get(name) is None


def test_without_arrivals_nothing_is_simulated(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not say when jobs arrived"):
        open_log(LogRequest(logs=[undated(tmp_path)]), Config())


# --- how pools decide ----------------------------------------------------------------------------


@pytest.mark.thorough
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


def audited(log: Path, out: Path, settings: Config | None = None, **options: Any) -> AuditResult:
    given = AuditOptions(out=out, pdf=False, **options)
    return audit(Session(LogRequest(logs=[log]), settings or Config(), fit=True), given)


def notes(outcome: AuditResult) -> list[str]:
    [text] = stores.fetch(outcome.database, "SELECT notes::VARCHAR AS notes FROM clusters")["notes"]
    return list(json.loads(text)["notes"])


def only_pool(outcome: AuditResult) -> Pool:
    [pool] = open_published(outcome.database, Config()).setting.pools
    return pool


@pytest.mark.thorough
def test_rules_that_the_log_supports_are_assumed_and_named(site: Path, tmp_path: Path) -> None:
    outcome = audited(site, tmp_path / "out")
    found = notes(outcome)
    [policy] = [note for note in found if note.startswith("policy: ")]
    assert policy.startswith("policy: fcfs-easy (the log: it agrees with 100")
    [window] = [note for note in found if note.startswith("window 1 of 1: ")]
    [limit] = [note for note in found if note.startswith("limit 1 of 1: ")]
    assert limit.startswith("limit 1 of 1: limit of 3 running jobs per user (the log: jobs stop at")
    assert "0 of " in limit
    assert "closed hours Mon–Fri 08–17 (UTC) for jobs over 4 h" in window
    assert "Limit of 3 running jobs per user" in outcome.html.read_text()
    pool = only_pool(outcome)  # every figure uses them
    assert (pool.limits, pool.windows[0].hours) == (RULES["limits"], OFFICE)
    agreement = "SELECT max(value) FROM fidelity WHERE metric = 'agreement'"
    rows = "SELECT name, kind, source, level, breaks, stops > 20, free_s > 0 FROM rules"
    with stores.published(outcome.database) as con:
        assert database.fetch(con, agreement).item() > 0.9
        assert sorted(database.rows(con, rows)) == [
            ("daytime closure for jobs over 4 h", "window", "inferred", None, 0, True, True),
            ("limit of 3 running jobs per user", "limit", "inferred", 3, 0, True, True),
        ]


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
    assert any(note.startswith("limit 1 of 1: limit of 3 running jobs per user") for note in found)
    opened = open_published(outcome.database, Config())
    [pool] = opened.setting.pools
    assert (opened.setting.cluster, pool.name) == ("mine", "main")
    assert [limit.most for limit in pool.limits] == [5, 3]  # the log contradicts it


@pytest.mark.thorough
def test_a_log_without_waiting_shows_no_policy(tmp_path: Path) -> None:
    log = write(tmp_path / "one.swf", busy(1))
    [policy] = [note for note in notes(audited(log, tmp_path / "out")) if "policy" in note]
    assert policy.startswith("policy: fcfs-easy (the default: no start of the log can be compared")


def figures(outcome: AuditResult, *metrics: str) -> list[float]:
    sql = "SELECT metric, value FROM summary WHERE dimension = 'all' UNION ALL "
    sql += "SELECT metric, value FROM fidelity"
    found = dict(stores.rows(outcome.database, sql))
    return [found[metric] for metric in metrics]


def plainly(log: Path, out: Path, **options: Any) -> AuditResult:
    request = LogRequest(logs=[log], cluster="c", zone="UTC")
    return audit(Session(request, Config(), fit=False), AuditOptions(out=out, pdf=False, **options))


@pytest.mark.thorough
def test_a_begin_time_in_the_future_is_no_instant_of_the_log(tmp_path: Path) -> None:
    """By hand: 2 CPUs are busy from the first end, at 01:00, to the last start, at 03:00."""
    outcome = plainly(SLURM / "begin_in_future" / "sacct.txt", tmp_path / "out")
    found = figures(outcome, "covered_time", "utilization", "pending", "log_begin")
    assert found == [7_200, 1, 1, 1_772_413_200]
    assert "begin of the log: 2026-03-02 01:00:00 (the first end of a job)" in notes(outcome)
    assert not any("No job ended on" in warning for warning in outcome.warnings)
    held = "SELECT cause_held_s, held_by FROM job_fairness WHERE job_id = '6'"
    with stores.published(outcome.database) as con:
        assert database.rows(con, "SELECT day::VARCHAR FROM coverage") == [("2026-03-02",)]
        assert database.rows(con, held) == [(0, None)]  # it has not arrived yet
    assert "Fairness of c, 2 March 2026<" in outcome.html.read_text()


def early(folder: Path) -> Path:
    """2 CPUs; the second job was submitted ten days before the first one ended, at 3,600 s."""
    head = "JobID|User|Partition|State|Submit|Eligible|Start|End|AllocCPUS"
    spans = ((0, 0, 3_600), (-860_400, 3_600, 7_200), (1_800, 7_200, 10_800))
    rows = [
        f"{job}|user{job}|p|COMPLETED|{clock(submit)}|{clock(submit)}|{clock(start)}|{clock(end)}|2"
        for job, (submit, start, end) in enumerate(spans, 1)
    ]
    return write(folder / "early.psv", "\n".join([head, *rows, ""]))


@pytest.fixture(scope="module")
def assumed(tmp_path_factory: pytest.TempPathFactory) -> AuditResult:
    folder = tmp_path_factory.mktemp("early")
    return plainly(early(folder), folder / "out")


def outside(outcome: AuditResult) -> list[tuple[str, float, float]]:
    sql = "SELECT job_id, cause_outside_s, cause_earlier_s FROM job_fairness ORDER BY job_id"
    return stores.rows(outcome.database, sql)


@pytest.mark.thorough
@pytest.mark.usefixtures("figures_only")
def test_a_log_selected_by_end_begins_at_its_first_end(assumed: AuditResult) -> None:
    """By hand: busy from 3,600 to 10,800 s; the third job waits 1,800 s before, 3,600 s in it."""
    found = figures(assumed, "covered_time", "utilization", "queued_mean")
    assert found == [7_200, 1, 1]
    assert outside(assumed) == [("1", 0, 0), ("2", 864_000, 0), ("3", 1_800, 3_600)]
    shares = figures(assumed, "cause_outside_share", "cause_earlier_share")
    assert shares == pytest.approx([865_800 / 869_400, 3_600 / 869_400])
    again = open_published(assumed.database, Config()).setting
    assert again.log_begin == 1_767_225_600 + 3_600


@pytest.mark.thorough
@pytest.mark.usefixtures("figures_only")
def test_a_given_backfilling_decides_the_plan_of_the_account(
    assumed: AuditResult, tmp_path: Path
) -> None:
    """And a database keeps it, so that ``explain`` books the same."""
    plan = "SELECT metric, value FROM fidelity WHERE metric LIKE 'plan%' ORDER BY metric"
    log = early(tmp_path)
    given = plainly(log, tmp_path / "given", backfill=Backfill.none)
    same = plainly(log, tmp_path / "same", backfill=Backfill.easy)
    found, run_ids = [], set()
    for outcome in (assumed, given, same):
        with stores.published(outcome.database) as con:
            found.append(dict(database.rows(con, plan)))
            run_ids |= {run_id for (run_id,) in database.rows(con, "SELECT run_id FROM summary")}
    assert found[0].keys() > {"plan_behind", "plan_broken", "plan_stretches"}
    assert found[1:] == [
        {"plan_depth": 0, "plan_strict": 1},
        {"plan_depth": 1, "plan_strict": 0},
    ]
    assert len(run_ids) == 3
    states = [only_pool(outcome).states_backfill for outcome in (assumed, given, same)]
    assert states == [False, True, True]


@pytest.mark.usefixtures("figures_only")
def test_the_begin_of_a_log_may_be_given(tmp_path: Path) -> None:
    """By hand: from 5,400 s on; of the third job's wait 3,600 s are before that."""
    outcome = plainly(early(tmp_path), tmp_path / "out", log_from="2026-01-01T01:30")
    assert figures(outcome, "covered_time", "utilization") == [5_400, 1]
    assert outside(outcome)[2] == ("3", 3_600, 1_800)
    assert "begin of the log: 2026-01-01 01:30:00 (--log-from)" in notes(outcome)
    assert open_published(outcome.database, Config()).setting.log_begin == 1_767_231_000


def test_a_begin_after_the_log_is_refused(tmp_path: Path) -> None:
    late = clock(86_400)
    with pytest.raises(UsageError, match=rf"--log-from: {late[:10]} .* after the last record"):
        plainly(early(tmp_path), tmp_path / "out", log_from=str(1_767_225_600 + 86_400))


ARRAYS = DATA / "arrays"


@pytest.mark.thorough
@pytest.mark.usefixtures("figures_only")
def test_a_row_of_waiting_tasks_counts_each_of_them(tmp_path: Path) -> None:
    """Slurm's `3_[0-9]`, and the same state as `sacct --array` prints it."""
    one, each = (
        plainly(ARRAYS / f"{name}.psv", tmp_path / name) for name in ("slurm", "slurm_by_task")
    )
    for view in ("summary", "user_fairness", "account_fairness", "fidelity", "advice"):
        query = f"SELECT * EXCLUDE (run_id) FROM {view} ORDER BY ALL"
        assert stores.rows(one.database, query) == stores.rows(each.database, query), view
    figures = "SELECT metric, value FROM summary WHERE dimension = 'all'"
    known = dict(stores.rows(one.database, figures))
    assert (known["pending"], known["queued_mean"]) == (10, 10)
    assert known["preference_strict_mean"] == 24_000
    jobs = "SELECT job_id, tasks, re_deserved, re_unfairness FROM job_fairness ORDER BY job_id"
    assert stores.rows(one.database, jobs) == [
        ("1", 1, 1_200.0, -6_000.0),
        ("2", 1, 1_200.0, -6_000.0),
        ("3_[0-9]", 10, None, None),
        ("4", 1, 1_200.0, -6_000.0),
    ]
    assert stores.rows(each.database, "SELECT sum(tasks) FROM job_fairness") == [(13,)]


@pytest.mark.usefixtures("figures_only")
def test_a_cancelled_array_gave_up_with_all_its_tasks(tmp_path: Path) -> None:
    rows = [
        "JobID|User|Account|Partition|State|Submit|Start|End|AllocTRES|NodeList",
        f"1|ann|x|p|COMPLETED|{clock(0)}|{clock(0)}|{clock(600)}|cpu=2,node=1|n1",
        f"2_[0-4,7]|eve|y|p|CANCELLED by 7|{clock(0)}|None|{clock(100)}|cpu=1|None assigned",
    ]
    outcome = plainly(write(tmp_path / "a.psv", "\n".join([*rows, ""])), tmp_path / "out")
    query = "SELECT never_started, gave_up_wait_s FROM user_fairness WHERE \"user\" = 'eve'"
    assert stores.rows(outcome.database, query) == [(6, 600)]


@pytest.mark.thorough
def test_an_id_that_slurm_cut_is_a_lower_bound(tmp_path: Path) -> None:
    rows = (ARRAYS / "slurm.psv").read_text().replace("3_[0-9]", "3_[0,2,4,...]")
    outcome = plainly(write(tmp_path / "a.psv", rows), tmp_path / "out")
    assert any("the number of waiting tasks is a lower bound" in one for one in outcome.warnings)
    query = "SELECT value FROM summary WHERE dimension = 'all' AND metric = 'pending'"
    assert stores.rows(outcome.database, query) == [(3,)]


@pytest.mark.usefixtures("figures_only")
def test_limits_of_qmgr_are_in_force(tmp_path: Path) -> None:
    """User 1 waits from 0 to 100 s after the first end though it would have fitted."""
    lines = [
        line(1, submit=0, wait=0, run=10, user=3),
        line(2, submit=0, wait=0, run=200, user=1),
        line(3, submit=100, wait=100, run=10, user=1),
    ]
    source = write(tmp_path / "a.swf", log(lines, MaxProcs=8))
    file = write(tmp_path / "qmgr.txt", "set server max_run = [u:PBS_GENERIC=1]\n")
    request = LogRequest(logs=[source], files=NodeFiles(qmgr=file))
    outcome = audit(
        Session(request, Config(), fit=False), AuditOptions(out=tmp_path / "out", pdf=False)
    )
    assert only_pool(outcome).limits == (Limit(most=1, per="user"),)
    with stores.published(outcome.database) as con:
        found = database.rows(con, "SELECT name, source, waiting_s, free_s FROM rules")
        assert found == [("limit of 1 running job per user", "pbs", 100, 100)]


DUMP = """\
Cluster - 'c':Fairshare=1
Parent - 'root'
Account - 'a':Fairshare=1
Parent - 'a'
User - 'u1':DefaultAccount='a':Fairshare=1:MaxJobs=1
"""


@pytest.mark.usefixtures("figures_only")
def test_limits_of_slurms_files_are_in_force_if_they_are_enforced(tmp_path: Path) -> None:
    rows = [
        "JobID|User|Account|Submit|Start|End|NCPUS|State",
        "1|u3|a|2026-01-05T00:00:00|2026-01-05T00:00:00|2026-01-05T00:00:10|1|COMPLETED",
        "2|u1|a|2026-01-05T00:00:00|2026-01-05T00:00:00|2026-01-05T00:03:20|1|COMPLETED",
        "3|u1|a|2026-01-05T00:01:40|2026-01-05T00:03:20|2026-01-05T00:03:30|1|COMPLETED",
    ]
    log = write(tmp_path / "a.psv", "\n".join(rows) + "\n")
    files = SlurmFiles(
        associations=write(tmp_path / "assoc.cfg", DUMP),
        slurm_conf=write(tmp_path / "slurm.conf", "AccountingStorageEnforce=limits\n"),
    )

    def found(slurm: SlurmFiles, name: str) -> list[tuple[Any, ...]]:
        request = LogRequest(logs=[log], slurm=slurm, zone="UTC", pool_size=8)
        options = AuditOptions(out=tmp_path / name, pdf=False)
        outcome = audit(Session(request, Config(), fit=False), options)
        return stores.rows(outcome.database, "SELECT name, source, waiting_s, free_s FROM rules")

    name = "limit of 1 running job of user u1 of account a"
    assert found(files, "out") == [(name, "slurm", 100, 100)]
    plain = write(tmp_path / "plain.psv", "Account|User|Share|MaxJobs\na||1|\na|u1|1|1\n")
    assert found(replace(files, associations=plain), "plain") == [(name, "slurm", 100, 100)]
    free = write(tmp_path / "free.conf", "AccountingStorageEnforce=associations\n")
    assert found(replace(files, slurm_conf=free), "free") == []
    both = LogRequest(
        logs=[log],
        slurm=files,
        files=NodeFiles(qmgr=write(tmp_path / "qmgr.txt", "set server max_run = [u:PBS_ALL=1]\n")),
    )
    with pytest.raises(UsageError, match="--qmgr and --assoc: give the limits of one scheduler"):
        audit(Session(both, Config(), fit=False), AuditOptions(out=tmp_path / "both", pdf=False))
