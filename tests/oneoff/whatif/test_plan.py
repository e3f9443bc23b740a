"""``fairaudit whatif``, from the command line on."""

import html
from pathlib import Path

import duckdb
import pytest

from audit.oneoff.whatif import plan
from audit.scenario.whatif import comparison
from tests.logs import busy, line, write
from tests.logs import log as text
from tests.studies.commands import run, table

CONFIG = """
[[clusters]]
name = "site"
zone = "UTC"

[clusters.usage]
method = "half_life"
half_life_days = 7
users = { "1" = 0.5, "2" = 0.3, "3" = 0.2 }

[[clusters.pools]]
name = "all"
capacity = { cpus = 4 }
order = "fairshare"
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "busy.swf", busy(60))


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """Attempts that each take the whole pool, so that a replay gives the observed waits."""
    lines = [
        line(
            job,
            submit=50 * job,
            wait=10 * (job - 1),
            run=60,
            allocated=4,
            walltime=60,
            user=1 + job % 3,
            group=1 + job % 2,
        )
        for job in range(1, 61)
    ]
    return write(tmp_path / "full.swf", text(lines, MaxProcs=4))


def test_whatif_writes_a_page_tables_and_a_database(
    full: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run("whatif", full, "--capacity", "+4", "--out", out) == 0
    said = capsys.readouterr().out
    result, page_file, *_ = said.splitlines()
    assert "The mean wait goes from 4.9 min to 0 min" in result
    assert page_file == str(out / "whatif.html")
    page = (out / "whatif.html").read_text(encoding="utf-8")
    assert "What if: add 4 CPUs" in page
    assert "fcfs-easy" in page
    everybody = table(out / "whatif-measures.csv")
    wait = next(
        row for row in everybody if (row["dimension"], row["measure"]) == ("all", "wait_mean")
    )
    assert float(wait["changed"]) < float(wait["today"]) == float(wait["observed"])
    assert wait["outcome"] == "gains"
    assert float(table(out / "whatif-fidelity.csv")[0]["agreement"]) == 1
    rows = table(out / "whatif-account.csv")
    assert {row["account"] for row in rows} == {"1", "2"}
    assert all(float(row["wait_mean_changed"]) < float(row["wait_mean_today"]) for row in rows)
    # all of one day: there is nothing to resample
    assert {row["wait_mean_outcome"] for row in rows} == {"unclear"}
    with duckdb.connect(str(out / "whatif.duckdb"), read_only=True) as con:
        found = con.execute(
            "SELECT setting, value, attempts FROM studies WHERE study = 'whatif' "
            "AND metric = 'wait_mean' AND dimension = 'all' ORDER BY value"
        ).fetchall()
    settings = dict(row[:2] for row in found)
    assert [row[0] for row in found][:2] == ["Add 4 CPUs − today", "Add 4 CPUs"]
    assert settings["today"] == settings["observed"] == pytest.approx(float(wait["today"]))
    first = (out / "whatif.html").read_bytes()
    again = ("--capacity", "+4", "--out", tmp_path / "again", "--threads", 1)
    assert run("whatif", full, *again) == 0
    assert (tmp_path / "again" / "whatif.html").read_bytes() == first


def test_a_policy_that_started_hardly_any_job_shows_no_effect(tmp_path: Path) -> None:
    """Each job takes the whole pool, and the last one to arrive starts first."""
    lines = [
        line(job, submit=job, wait=99 + 60 * (40 - job) - job, run=60, allocated=4, walltime=60)
        for job in range(1, 41)
    ]
    log, out = write(tmp_path / "last.swf", text(lines, MaxProcs=4)), tmp_path / "out"
    assert run("whatif", log, "--capacity", "+4", "--no-fit", "--out", out) == 0
    page = (out / "whatif.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert (
        "No effect is shown: the replayed policy agrees with 0 % of the observed starts, and 65 % "
        "are required."
    ) in page
    measures = table(out / "whatif-measures.csv")
    assert {row["outcome"] for row in measures} == {"not_agreeing"}
    assert {row["changed"] + row["difference"] for row in measures} == {""}
    assert [row["schedule"] for row in table(out / "whatif-pool.csv")] == ["Today"]
    with duckdb.connect(str(out / "whatif.duckdb"), read_only=True) as con:
        found = con.execute("SELECT setting, value FROM studies WHERE metric = 'agreement'")
        assert found.fetchall() == [("today", 0.0)]
        of = "SELECT count(*) FROM studies WHERE setting <> 'today' AND value IS NOT NULL AND "
        told = con.execute(f"{of} metric NOT IN ('wait_mean', 'never_start')").fetchone()
        assert told == (0,)


@pytest.mark.parametrize(("slow", "told"), [(19, True), (20, False)])
def test_a_pool_that_the_replay_misses_in_half_of_its_waiting_has_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: int, told: bool
) -> None:
    """Jobs of 4 CPUs wait for each other; of 20 pairs some have a job of 1 that waits as long."""
    monkeypatch.setattr(plan, "replayed_agreement", lambda today, holding: 0.9)
    lines = []
    for pair in range(20):
        at, late = 1_000 * pair, 60 if pair < slow else 0
        lines += [
            line(3 * pair + 1, submit=at, wait=0, run=60, allocated=4, walltime=60),
            line(3 * pair + 2, submit=at, wait=60, run=60, allocated=4, walltime=60),
            line(3 * pair + 3, submit=at + 500, wait=late, run=60, allocated=1, walltime=60),
        ]
    log, out = write(tmp_path / "half.swf", text(lines, MaxProcs=4)), tmp_path / "out"
    monkeypatch.setattr(comparison, "reproduced", lambda seen, made: abs(made - seen) <= 0.5 * seen)
    assert run("whatif", log, "--capacity", "+4", "--no-fit", "--out", out) == 0
    page = html.unescape((out / "whatif.html").read_text(encoding="utf-8")).replace("\u00a0", " ")
    without = (
        "No effect is shown: the replay of today's rules misses the observed mean wait by more "
        "than a quarter in width classes with 50 % of the waiting, and less than 50 % is required."
    )
    assert (without in page) is not told
    figures = {row["changed"] for row in table(out / "whatif-measures.csv")}
    assert (figures != {""}) is told
    rows = table(out / "whatif-pool.csv")
    assert [row["schedule"] for row in rows] == (["Today", "After"] if told else ["Today"])
    with duckdb.connect(str(out / "whatif.duckdb"), read_only=True) as con:
        found = con.execute("SELECT value FROM studies WHERE metric = 'missed_share'").fetchone()
    assert found == (pytest.approx(slow / (20 + slow)),)


def test_a_limit_under_which_wide_jobs_never_start(tmp_path: Path) -> None:
    lines = [
        line(
            job,
            submit=600 * job,
            wait=0,
            run=500,
            allocated=(1, 64, 96, 128)[job % 4],
            walltime=500,
            user=1 + job % 5,
        )
        for job in range(1, 81)
    ]
    log = write(tmp_path / "wide.swf", text(lines, MaxProcs=128))
    out = tmp_path / "out"
    assert run("whatif", log, "--limit", "user:*=64", "--out", out) == 0
    page = (out / "whatif.html").read_text(encoding="utf-8")
    first = "40 of 80 jobs would never start under this change, among them all of width 65–128."
    assert "What if: let no user have more than 64 CPUs at a time" in page
    lead = page.index(first)
    assert lead < page.index("No effect is shown: how far the replayed policy agrees")
    rows = {row["width_class"]: row for row in table(out / "whatif-width-class.csv")}
    wide = rows["65–128"]
    assert (wide["attempts"], wide["never_start"]) == ("0", "40")
    assert wide["wait_mean_outcome"] == "never starts"
    assert {rows[width]["never_start"] for width in ("1", "33–64")} == {"0"}
    (today,) = table(out / "whatif-pool.csv")
    assert (today["schedule"], today["never_started"]) == ("Today", "0")


@pytest.fixture
def all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the log agreed with the policy, and its waits with those of the replay."""
    monkeypatch.setattr(plan, "replayed_agreement", lambda today, holding: 1.0)
    monkeypatch.setattr(comparison, "MISSED", 1e9)


@pytest.mark.usefixtures("all_is_told")
def test_whatif_starts_from_the_configured_targets(tmp_path: Path) -> None:
    # all arrive at once, and each takes the whole pool
    lines = [
        line(job, wait=600 * (job - 1), run=600, allocated=4, walltime=600, user=1 + job % 3)
        for job in range(1, 31)
    ]
    log = write(tmp_path / "full.swf", text(lines, MaxProcs=4))
    chosen = tmp_path / "config.toml"
    chosen.write_text(CONFIG, encoding="utf-8")
    out = tmp_path / "out"
    asked = ("--targets", "1=0.1", "--half-life", "1", "--config", chosen, "--out", out)
    assert run("whatif", log, *asked) == 0
    page = (out / "whatif.html").read_text(encoding="utf-8")
    assert "fairshare-easy → fairshare-easy" in page
    with duckdb.connect(str(out / "whatif.duckdb"), read_only=True) as con:
        found = con.execute(
            "SELECT setting, value FROM studies WHERE metric = 'bounded_slowdown_mean' AND "
            "dimension = 'all'"
        ).fetchall()
    assert len(found) == 3
    today, after = table(out / "whatif-pool.csv")
    assert float(today["nuwt_median"]) != float(after["nuwt_median"])


UNDECAYED = """
[[clusters]]
name = "site"
zone = "UTC"

[clusters.usage]
method = "slurm"
penalty = "billing"
billing_weights = {{ cpus = 1.0 }}
{decay}

[[clusters.pools]]
name = "all"
capacity = {{ cpus = 4 }}
order = "{order}"
"""


@pytest.mark.parametrize(
    ("order", "decay", "before"),
    [
        ("fcfs", 'half_life_days = 0\nreset = "monthly"', "forgotten monthly."),
        (
            "fairshare",
            'slurm_conf = "slurm.conf"',
            "forgotten weekly; today&#39;s replay takes that of the last 7 d instead.",
        ),
    ],
)
@pytest.mark.usefixtures("all_is_told")
def test_a_half_life_where_usage_does_not_decay(
    tmp_path: Path, order: str, decay: str, before: str
) -> None:
    # 2 had the whole pool on the first day; since then 2 and 3 wait each day for what 1 began
    day = 86_400
    lines = [line(1, wait=0, run=40_000, allocated=4, walltime=40_000, user=2)]
    for job in range(2, 23, 3):
        begin = (job + 1) // 3 * day
        lines += [
            line(job, submit=begin, wait=0, run=600, allocated=4, walltime=600, user=1),
            line(job + 1, submit=begin, wait=600, run=300, allocated=4, walltime=300, user=2),
            line(job + 2, submit=begin, wait=900, run=900, allocated=4, walltime=900, user=3),
        ]
    log = write(tmp_path / "days.swf", text(lines, MaxProcs=4))
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=site\nPriorityDecayHalfLife=0\nPriorityUsageResetPeriod=WEEKLY\n",
        encoding="utf-8",
    )
    chosen = tmp_path / "config.toml"
    chosen.write_text(UNDECAYED.format(order=order, decay=decay), encoding="utf-8")
    out = tmp_path / "out"
    asked = ("--order", "fairshare", "--half-life", "0.5", "--config", chosen, "--out", out)
    assert run("whatif", log, *asked) == 0
    page = (out / "whatif.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert f"Before the change usage does not decay, and is {before}" in page
    today, after = table(out / "whatif-pool.csv")
    assert float(today["nuwt_median"]) != float(after["nuwt_median"])


@pytest.mark.thorough
def test_what_usage_was_before_another_half_life(tmp_path: Path) -> None:
    chosen = tmp_path / "config.toml"
    chosen.write_text(CONFIG, encoding="utf-8")
    log = write(tmp_path / "busy.swf", busy(20))
    out = tmp_path / "out"
    assert run("whatif", log, "--half-life", "1", "--config", chosen, "--out", out) == 0
    page = (out / "whatif.html").read_text(encoding="utf-8")
    assert "Before the change usage is halved in 7\u00a0d." in page
    asked = ("--half-life", "1", "--order", "fairshare", "--out", out)
    assert run("whatif", log, *asked) == 0
    page = (out / "whatif.html").read_text(encoding="utf-8")
    assert "usage is that of the last 7 windows of 7\u00a0d, each weighing 0.7 times" in page


@pytest.mark.thorough
def test_intervals_are_of_as_many_resamples_as_configured(tmp_path: Path) -> None:
    # ten users, one attempt at a time, of other lengths
    lines, free = [], 0
    for job in range(1, 31):
        run_s = 100 + 37 * (job % 7)
        lines.append(line(job, wait=free, run=run_s, allocated=4, walltime=400, user=job % 10 + 1))
        free += run_s
    log = write(tmp_path / "users.swf", text(lines, MaxProcs=4))
    chosen, out = tmp_path / "config.toml", tmp_path / "out"
    intervals = []
    for resamples in (1000, 200):
        chosen.write_text(f"[uncertainty]\nresamples = {resamples}\n", encoding="utf-8")
        assert run("whatif", log, "--capacity", "+4", "--config", chosen, "--out", out) == 0
        page = (out / "whatif.html").read_text(encoding="utf-8")
        assert f"{resamples:,} paired resamples" in page
        wait = table(out / "whatif-measures.csv")[0]
        assert (wait["dimension"], wait["measure"]) == ("all", "wait_mean")
        intervals.append((wait["lower"], wait["upper"]))
    assert intervals[0] != intervals[1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((), "pass a change"),
        (("--limit", "9=3"), "no such partition"),
        (("--targets", "1=3"), "add --order fairshare"),
        (("--capacity", "+1", "--pool", "x"), "no such pool; there is: all"),
        (("--nodes", "+1"), "give --capacity instead"),
        (("--without-user", "9"), "--without-user 9"),
    ],
)
def test_whatif_refuses_what_it_cannot_do(
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    asked: tuple[str, ...],
    said: str,
) -> None:
    assert run("whatif", log, *asked, "--out", tmp_path / "out") == 2
    assert said in capsys.readouterr().err


TWO_POOLS = """
[[clusters]]
name = "site"
zone = "UTC"

[[clusters.pools]]
name = "wide"
capacity = { cpus = 4 }
partitions = ["1"]

[[clusters.pools]]
name = "narrow"
capacity = { cpus = 4 }
partitions = ["2"]
limits = [{ per = "user", most = 2 }]
"""


def test_a_name_that_one_of_several_pools_has_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        line(job, submit=50 * job, run=60, walltime=60, user=1 + job % 2, queue=1 + job % 2)
        for job in range(1, 41)
    ]
    log = write(tmp_path / "two.swf", text([*lines, line(41, user=3, queue=2)], MaxProcs=4))
    settings = write(tmp_path / "config.toml", TWO_POOLS)

    def whatif(*change: str) -> int:
        out = tmp_path / "out"
        return run("whatif", log, "--cluster", "site", "--config", settings, "--out", out, *change)

    for change, title in (
        (
            ("--lift", "1", "--without-user", "3"),
            "lift the limit of 2 running jobs per user; leave out the jobs of 3",
        ),
        (
            ("--limit", "2=3", "--order", "fairshare", "--targets", "3=5"),
            "serve the queue by order fairshare; set",
        ),
    ):
        assert whatif(*change) == 0, capsys.readouterr().err
        page = (tmp_path / "out" / "whatif.html").read_text(encoding="utf-8")
        assert f"What if: {title}" in page.replace("\u00a0", " ")
    capsys.readouterr()
    for wrong, said in (
        (("--lift", "2"), "must be all, limits, windows or a rule of the pools: 1"),
        (("--without-user", "4"), "the pools have no such user; they have 1, 2, 3"),
    ):
        assert whatif(*wrong) == 2
        assert said in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.thorough
def test_another_penalty_is_not_taken_for_what_was_computed(log: Path, tmp_path: Path) -> None:
    out, chosen = tmp_path / "out", tmp_path / "config.toml"
    kept = []
    for days in (7, 3):
        text_ = CONFIG.replace("half_life_days = 7", f"half_life_days = {days}")
        chosen.write_text(text_, encoding="utf-8")
        assert run("whatif", log, "--targets", "1=1", "--config", chosen, "--out", out) == 0
        kept += [folder.name for folder in (out / ".whatif.cells").iterdir()]
    assert len(set(kept)) == 2
