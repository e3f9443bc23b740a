"""``fairaudit explain``, from logs and from databases."""

import html
import json
from pathlib import Path

import polars as pl
import pytest

from audit.oneoff.explain.explain import unknown_job
from audit.oneoff.explain.story import Cost, Delay
from tests.cli.command import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 (a fixture)
from tests.logs import line, log, write
from tests.oneoff.explain.scenes import HAND, ORIGIN, story
from tests.report.sample import present

pytestmark = pytest.mark.usefixtures("short_paper", "figures_only")


@pytest.fixture
def hand(tmp_path: Path) -> Path:
    return write(tmp_path / "hand.swf", HAND)


def test_a_wait_is_explained_equally_from_a_log_and_from_its_audit(
    run: Run, tmp_path: Path
) -> None:
    """The log states that it is a part of the workload."""
    hand = write(tmp_path / "part.swf", f"; MaxRecords: 17\n{HAND}")  # it has 8
    told = run("explain", "4", hand, "--pool-size", 4).stdout
    assert "The log is a part of the workload: it has 8, or 47 %, of the 17 records" in told
    assert told.startswith("Why job 4 waited\n")
    assert "requested 3 CPUs of 4 for up to 30 s" in told
    assert "2 jobs (4 CPUs) ran and 1 job (3 CPUs) waited ahead of it" in told
    assert "2 later arrivals started before it" in told
    run("audit", hand, "--pool-size", 4, "--no-pdf")
    assert run("explain", "4").stdout == told


@pytest.mark.thorough
def test_a_job_of_a_chain_started_after_an_own_end(run: Run, tmp_path: Path) -> None:
    """Jobs of half a day, each of which waits for the one before and starts 40 s after its end."""
    step, half = 43_240, 43_200
    jobs = [line(1, submit=0, wait=0, run=half, allocated=1, user=7)] + [
        line(k, submit=(k - 1) * step - 540, wait=540, run=half, allocated=1, user=7)
        for k in range(2, 14)
    ]
    chain = write(tmp_path / "chain.swf", log(jobs, MaxProcs=4, TimeZoneString="UTC"))
    answer = json.loads(run("explain", "4", chain, "--pool-size", 4, "--format", "json").stdout)
    assert answer["own_end"] == ["3", 40]
    run("audit", chain, "--pool-size", 4, "--no-pdf")
    sentence = "Job 4 started 40 s after job 3 of the same user ended: a dependency or a limit."
    assert sentence in run("explain", "4").stdout
    assert "after job" not in run("explain", "1").stdout


@pytest.mark.thorough
def test_the_configured_cluster_is_explained_as_it_is_audited(
    run: Run, hand: Path, tmp_path: Path
) -> None:
    write(
        tmp_path / "config.toml",
        '[[clusters]]\nname = "site"\n[[clusters.pools]]\nname = "small"\n'
        'capacity = { cpus = 4 }\nbackfill = "none"\n'
        f'[[clusters.sources]]\nfiles = "{hand.name}"\n[report]\npdf = false\n',
    )
    run("run", "--config", "config.toml")
    told = run("explain", "4", "--config", "config.toml", "--format", "json").stdout
    assert json.loads(told)["subject"]["pool"]["policy"] == "fcfs-none"
    assert json.loads(told)["wait_s"] == 160
    database = "fairaudit.duckdb"
    assert run("explain", "4", "--db", database, "--format", "json").stdout == told


@pytest.mark.thorough
def test_an_order_by_usage_needs_the_configuration(run: Run, hand: Path, tmp_path: Path) -> None:
    site = '[[clusters]]\nname = "site"\n[[clusters.pools]]\nname = "small"\n'
    write(tmp_path / "c.toml", f'{site}capacity = {{ cpus = 4 }}\nfair_order = "fairshare"\n')
    run("audit", hand, "--config", "c.toml", "--no-pdf")
    refused = run("explain", "4", check=2).stderr
    assert "pool 'small' of cluster 'site' has fair_order fairshare: pass --config" in refused
    assert "Why job 4 waited" in run("explain", "4", "--config", "c.toml", hand).stdout


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("99",), "there is no job '99' among 8 attempts"),
        (("4", "--attempt", "2"), "job '4' has no attempt 2: 1"),
    ],
)
def test_what_is_not_there_is_named(
    run: Run, hand: Path, asked: tuple[str, ...], said: str
) -> None:
    done = run("explain", asked[0], hand, *asked[1:], check=2)
    assert said in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("ids", "job", "said"),
    [
        (["1_0", "1_1", "1_2", "1_3", "10"], "1", "; there is '1_0', '1_1', '1_2', …"),
        (["7+0", "7+1", "70"], "7", "; there is '7+0', '7+1'"),
        (["4.pbs", "4.pbs"], "4", "; there is '4.pbs'"),
        (["a#7.0", "b#7.0", "a#7.1"], "7.0", "; there is 'a#7.0', 'b#7.0'"),
        (["a#7.0", "a#71.0"], "7", "; there is 'a#7.0'"),
        (["12", "13"], "1", ""),
        (["_1"], "", ""),
    ],
)
def test_of_an_unknown_job_the_tasks_and_components_are_named(
    ids: list[str], job: str, said: str
) -> None:
    error = unknown_job(pl.DataFrame({"job_id": ids}), job, "explain")
    assert str(error) == f"explain: there is no job {job!r} among {len(ids)} attempts{said}"


def test_without_logs_or_a_database_it_says_what_to_do(run: Run) -> None:
    assert "make one with 'fairaudit audit LOG'" in run("explain", "4", check=2).stderr


def test_one_that_never_started_is_reported_without_a_delay(run: Run, hand: Path) -> None:
    told = run("explain", "7", hand).stdout
    assert "left the queue without having started 8 min 20 s later" in told
    assert "is not known: the job left the queue without having started" in told


def test_a_pending_job_would_cross_planned_maintenance(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path / "config.toml",
        '[[clusters]]\nname = "c"\nzone = "UTC"\n[[clusters.pools]]\nname = "all"\n'
        "capacity = { cpus = 4 }\n"
        "steps = [{ since = 2026-01-02, cpus = 1, planned = true }, "
        "{ since = 2026-01-03, cpus = 4, planned = true }]\n"
        '[[clusters.sources]]\nfiles = "a.psv"\n',
    )
    path = write(
        tmp_path / "a.psv",
        "JobID|User|Account|Partition|QOS|State|Submit|Start|End|AllocCPUS|ReqCPUS|Timelimit|NNodes\n"
        "1|ann|a|long|high|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T10:00:00"
        "|2|2|12:00:00|1\n"
        "2|cem|a|long|high|PENDING|2026-01-01T02:00:00|Unknown|Unknown|0|3|2-00:00:00|1\n"
        "3|ann|a|long|high|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00"
        "|1|1|12:00:00|1\n",
    )
    said = run("explain", "2", path, "--config", "config.toml").stdout
    assert "in partition long, QOS high, arrived on 2026-01-01 02:00 and was still waiting" in said
    assert "Thu 01-01 02:00–10:00 (8 h): behind 1 running job of others" in said
    assert "from 2026-01-02 00:00 until 2026-01-03 00:00 the pool has 1 CPU." in said
    assert "No later arrival started while it waited." in said


def test_names_of_a_log_reach_page_and_terminal_harmless(run: Run, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>\x1b[31m"
    sacct = "JobID|User|Account|Partition|State|Submit|Start|End|AllocCPUS|Timelimit|NNodes\n"
    sacct += "".join(
        f"{job}|{hostile}{job}|a|p|COMPLETED|2026-01-01T00:00:0{job}|2026-01-01T0{job}:00:00|"
        f"2026-01-01T0{job + 1}:00:00|2|02:00:00|1\n"
        for job in range(1, 5)
    )
    path = write(tmp_path / "log.psv", sacct)
    page = run("explain", "3", path, "--pool-size", 2, "--format", "html").stdout
    assert page.count("<script") == page.count("</script>") == 1
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "\x1b" not in run("explain", "3", path, "--pool-size", 2).stdout


def test_a_page_asks_for_nothing(run: Run, hand: Path) -> None:
    page = run("explain", "4", hand, "--format", "html").stdout
    assert "default-src 'none'" in html.unescape(page)
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert 'aria-label="CPUs in use from' in page


def test_who_waited_longest_of_a_job_s_attempts_is_meant(run: Run, tmp_path: Path) -> None:
    bursts = [
        line(1, submit=0, wait=0, run=50, allocated=1, status=2),
        line(1, submit=-1, wait=70, run=50, allocated=1, status=3),
    ]
    path = write(tmp_path / "bursts.swf", log(bursts, MaxProcs=1))
    assert run("explain", "1", path).stdout.startswith("Why job 1, attempt 2 waited\n")
    assert run("explain", "1", path, "--attempt", 1).stdout.startswith("Why job 1 waited\n")


# --- the delay by later arrivals, by hand --------------------------------------------------------


def delay(job: str) -> Delay:
    return present(story(job).delay)


def test_a_delay_with_the_users_whose_arrivals_caused_it() -> None:
    # Both starts after waits of over a minute are those of EASY: the rule is known. Without 5 and
    # 6, 3 starts at the end of 1, and 4 at that of 3. Without 5 alone, 6 starts at 60 beside 1, but
    # 3 is first at 100; without 6 alone, 3 is first at 100 as well.
    third, fourth = delay("3"), delay("4")
    assert (third.fair, third.miss_s, third.cautious_s) == (ORIGIN + 100, 60, 60)
    assert (fourth.fair, fourth.miss_s, fourth.cautious_s) == (ORIGIN + 120, 60, 60)
    assert third.costs == fourth.costs == (Cost("2", 60), Cost("4", 60))
    assert (fourth.rule, fourth.agreement) == ("fcfs-easy", 1.0)
    for job in ("1", "2", "5", "6"):
        assert (delay(job).miss_s, delay(job).costs) == (0, ())


def test_it_is_not_known_where_the_job_has_no_part_in_it() -> None:
    assert "without having started" in story("7").undelayed
    assert story("7").delay is None
