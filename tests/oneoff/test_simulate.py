"""Simulated schedules follow the policy and read back the same."""

import math
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given, settings

from audit import config
from audit.cluster.inference import Fact
from audit.cluster.setting import ClusterSettings
from audit.errors import UsageError
from audit.formats import swf
from audit.formats.lines import Block
from audit.metrics.attempts.population import describe
from audit.model import DESCRIBED, SEQUENCE, Backfill, Order, Policy, Pool, Resource, Standing
from audit.oneoff.simulate import ScheduleFigures, SimulateResult, simulate, table, to_swf
from audit.pipeline.opening import LogRequest, Session
from audit.scenario import engine
from audit.scenario.whatif.options import change
from tests.examples import examples
from tests.logs import busy, line, log, write
from tests.strategies import EPOCH, policies, workloads
from tests.studies import commands

ORIGIN = 1_000_000_000
# A pool of 4 under first come, first served with EASY. 1 (2 of 4) runs until 40; 2 (3) waits for
# it; 3 (1), whose start the log does not know, ends by 40 and slips in; 4 (2) would not. 5 gave up
# waiting, 6 asks for more than there is.
HAND = log(
    [
        line(1, submit=0, wait=100, run=40, allocated=2, walltime=40, user=1, queue=1),
        line(2, submit=1, wait=300, run=30, allocated=3, walltime=30, user=2, queue=1),
        line(3, submit=5, wait=-1, run=30, allocated=1, walltime=30, user=1, queue=2),
        line(4, submit=6, wait=0, run=10, allocated=2, walltime=100, user=3, queue=2),
        line(5, submit=7, wait=60, run=-1, allocated=-1, requested=1, status=5, queue=2),
        line(6, submit=8, wait=9, run=5, allocated=9, walltime=10, user=3, queue=2),
    ],
    MaxProcs=4,
    TimeZoneString="Europe/Berlin",
)
STARTS = {"1": 0, "2": 40, "3": 5, "4": 70, "5": None, "6": None}

CONFIG = """
[[clusters]]
name = "site"
zone = "UTC"

[[clusters.pools]]
name = "small"
partitions = ["1"]
capacity = { cpus = 3 }
steps = [{ since = 2001-09-10, cpus = 2 }]
order = "sjf"
depth = 2

[[clusters.pools]]
name = "large"
capacity = { cpus = 9 }
backfill = "none"
"""


DEFAULTS = config.Config()


def what_if(path: Path, chosen: config.Config = DEFAULTS, **asked: Any) -> SimulateResult:
    of_log = {
        key: asked.pop(key) for key in ("cluster", "pool_size", "resource", "zone") if key in asked
    }
    out = asked.pop("out", None)
    return simulate(Session(LogRequest(logs=[path], **of_log), chosen), change(**asked), out)


def read(path: Path) -> pl.DataFrame:
    return parsed(path.read_bytes())


def parsed(data: bytes) -> pl.DataFrame:
    found = swf.parse(Block(data, 0, 1), swf.header(data))
    assert found.refusals.is_empty()
    return found.records


def starts(schedule: pl.DataFrame) -> dict[str, int | None]:
    return dict(schedule.select("job_id", pl.col("start_time") - ORIGIN).iter_rows())


def setting(*pools: Pool, cluster: str = "c") -> ClusterSettings:
    return ClusterSettings(cluster, ZoneInfo("UTC"), pools, {}, EPOCH + 200, (), ())


@pytest.fixture
def hand(tmp_path: Path) -> Path:
    return write(tmp_path / "hand.swf", HAND)


def test_the_schedule_is_the_policy_s_and_reads_back(hand: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.swf"
    what_if(hand, pool_size=4, out=out)
    found = read(out)
    assert starts(found) == STARTS
    gone = found.filter(pl.col("job_id") == "5").row(0, named=True)
    assert (gone["state"], gone["end_time"]) == ("CANCELLED", ORIGIN + 67)
    assert found["partition"].to_list() == ["1", "1", "2", "2", "2", "2"]
    header = swf.header(out.read_bytes())
    assert header.capacity == {"cpus": 4}
    assert (header.zone, header.problems) == ("Europe/Berlin", ())
    assert header.entries["Conversion"].endswith("(fcfs-easy)")
    # The policy makes the same schedule of its own schedule.
    what_if(out, pool_size=4, out=tmp_path / "again.swf")
    assert starts(read(tmp_path / "again.swf")) == STARTS


def test_figures_side_by_side(hand: Path) -> None:
    (found,) = what_if(hand, pool_size=4).comparisons
    assert (found.pool, found.schedule) == ("all", "fcfs-easy")
    assert found.observed == ScheduleFigures(
        attempts=6,
        started=4,
        never_started=1,
        start_unknown=1,
        wait_mean=(100 + 300 + 0 + 9) / 4,
        wait_median=9,
        bounded_slowdown_mean=math.fsum([140 / 40, 330 / 30, 1, 14 / 10]) / 4,
        utilization=(2 * 40 + 3 * 30 + 2 * 10 + 9 * 5) / (4 * 331),
        span_s=331,
    )
    assert found.simulated == ScheduleFigures(
        attempts=6,
        started=4,
        never_started=2,
        start_unknown=0,
        wait_mean=(0 + 39 + 0 + 64) / 4,
        wait_median=0,
        bounded_slowdown_mean=math.fsum([1, 69 / 30, 1, 74 / 10]) / 4,
        utilization=(2 * 40 + 3 * 30 + 1 * 30 + 2 * 10) / (4 * 80),
        span_s=80,
    )
    assert table(found).splitlines() == [
        "pool all                     observed   fcfs-easy",
        "attempts                            6           6",
        "started                             4           4",
        "never started                       1           2",
        "start unknown                       1           0",
        "mean wait, s                    102.2       25.75",
        "median wait, s                      9           0",
        "mean bounded slowdown            4.22        2.92",
        "utilization                    17.7 %      68.8 %",
        "first arrival to last end  5 min 31 s  1 min 20 s",
    ]


def test_parquet_holds_the_schedule_with_whole_seconds(hand: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.parquet"
    what_if(hand, pool_size=4, out=out, order=Order.sjf, backfill=Backfill.conservative)
    found = pl.read_parquet(out)
    assert found.schema == {
        **DESCRIBED,
        engine.PLANNED: pl.Int64(),
        engine.FIRST_START: pl.Int64(),
    }
    assert found["schedule"].unique().to_list() == ["sjf-conservative"]
    never = found.filter(pl.col("start_time").is_null())
    assert sorted(never["job_id"]) == ["5", "6"]
    assert never["standing"].unique().to_list() == [Standing.NEVER_STARTED]
    late = found.filter(pl.col("start_time") > pl.col(engine.PLANNED))
    assert late.is_empty()


@pytest.mark.parametrize("name", ["S.SWF", "s.parquet"])
def test_the_same_again_gives_the_same_bytes_and_nothing_beside(
    hand: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "out").mkdir()
    made = []
    for _ in range(2):  # the second replaces the first
        what_if(hand, out=tmp_path / "out" / name)
        assert [path.name for path in (tmp_path / "out").iterdir()] == [name]
        made.append((tmp_path / "out" / name).read_bytes())
    assert made[0] == made[1]


@settings(max_examples=examples(25))
@given(workloads(), policies(slurm=False))
def test_every_schedule_reads_back(attempts: pl.DataFrame, policy: Policy) -> None:
    pool = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))
    now = EPOCH + 200
    schedule = engine.simulate(describe(attempts, [pool]), pool, now, policy)
    told = [Standing.ENDED.value, Standing.START_UNKNOWN.value]
    # SWF takes what ran for no time on nothing for something that never ran.
    nothing = (pl.col("occupancy_s") == 0) & (pl.col("size").fill_null(0) == 0)
    mine = (
        schedule.filter(
            pl.col("standing").is_in(told), pl.col("arrival_time").is_not_null(), ~nothing
        )
        .sort("arrival_time", "submit_time", *SEQUENCE, maintain_order=True)
        .select(
            *(["job_number"] if attempts["job_number"].is_unique().all() else []),
            "start_time",
            "end_time",
            "occupancy_s",
            submit_time="arrival_time",
            cpus=pl.when(pl.col("size") > 0).then("size"),
            walltime_s=pl.when(pl.col("walltime_s") > 0).then("walltime_s"),
        )
    )
    data = to_swf(schedule, setting(pool))
    assert data == to_swf(schedule, setting(pool))
    found = parsed(data)
    again = found.filter(pl.col("occupancy_s").is_not_null()).select(mine.columns)
    assert again.rows() == mine.rows()
    never = schedule.filter(
        (pl.col("standing") == Standing.NEVER_STARTED) | (nothing & pl.col("standing").is_in(told)),
        pl.col("arrival_time").is_not_null(),
    )
    assert found.filter(pl.col("occupancy_s").is_null()).height == never.height


@pytest.mark.thorough
def test_pools_steps_and_policies_are_those_of_the_configuration(
    hand: Path, tmp_path: Path
) -> None:
    path = tmp_path / "site.toml"
    path.write_text(CONFIG, encoding="utf-8")
    chosen = config.load(path)
    told: list[Fact] = []
    out = tmp_path / "s.swf"
    done = simulate(
        Session(LogRequest(logs=[hand]), chosen, on_inferred=told.append), change(), out
    )
    assert [(pool.pool, pool.schedule) for pool in done.comparisons] == [
        ("small", "sjf-easy-depth2"),
        ("large", "fcfs-none"),
    ]
    said = {fact.what: (fact.value, fact.source) for fact in told}
    assert said["cluster"] == ("site", "the only one that is configured")
    assert said["policy of pool 'large'"] == ("fcfs-none", "config.toml")
    assert said["capacity of pool 'small'"] == ("3 CPUs", "config.toml")
    # Everything came on 9 September 2001; from the next day on there are 2, as the header says.
    assert starts(read(tmp_path / "s.swf")) == {
        "1": 0,
        "2": 40,
        "3": 5,
        "4": 6,
        "5": None,
        "6": 35,
    }
    header = (tmp_path / "s.swf").read_text(encoding="utf-8")
    assert "; MaxProcs: 12\n" in header
    assert (
        "; Note: pool small: processors are cpus, 3; from epoch second 1000080000 on 2\n" in header
    )

    other = what_if(hand, chosen, backfill=Backfill.conservative)
    assert [pool.schedule for pool in other.comparisons] == [
        "sjf-conservative",
        "fcfs-conservative",
    ]
    flags: dict[str, Any]
    for flags, refusal in (
        ({"pool_size": 3}, "--pool-size: the configuration describes"),
        ({"zone": "UTC"}, "--zone: the configuration describes"),
        ({"cluster": "elsewhere"}, "no cluster 'elsewhere'; it has: site"),
    ):
        with pytest.raises(UsageError, match=refusal):
            what_if(hand, chosen, **flags)
    two = chosen.model_copy(
        update={"clusters": (*chosen.clusters, config.Cluster(name="b", zone="UTC"))}
    )
    with pytest.raises(UsageError, match=r"site, b; choose \(--cluster\)"):
        what_if(hand, two)
    assert what_if(hand, two, cluster="b", order=Order.lxf).comparisons[0].schedule == "lxf-easy"


def test_limits_belong_to_two_kinds_of_backfilling(hand: Path) -> None:
    limited = what_if(hand, depth=1, window_s=60)
    assert limited.comparisons[0].schedule == "fcfs-easy-depth1-window60"
    limits: dict[str, dict[str, Any]] = {"depth": {"depth": 1}, "window": {"window_s": 60}}
    for name, limit in limits.items():
        refusal = f"^--{name}: only backfill easy and conservative_replan have one"
        with pytest.raises(UsageError, match=refusal):
            what_if(hand, backfill=Backfill.none, **limit)


def test_a_log_of_which_nothing_started(tmp_path: Path) -> None:
    gone = [line(k, wait=5, run=-1, allocated=-1, requested=2, status=5) for k in (1, 2)]
    path = write(tmp_path / "gone.swf", log(gone))
    out = tmp_path / "s.swf"
    (found,) = what_if(path, pool_size=4, out=out).comparisons
    assert (found.simulated.started, found.simulated.never_started) == (0, 2)
    assert "–" in table(found)
    assert read(out).height == 2


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    return commands.run("simulate", *arguments), *capsys.readouterr()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "busy.swf", busy())
    code, out, err = command(capsys, path, "--order", "sjf", "--backfill", "none")
    assert code == 0
    assert out.splitlines()[0].split() == ["pool", "all", "observed", "sjf-none"]
    assert "policy of pool 'all': sjf-none (from --order, --backfill)" in err
    assert "capacity of pool 'all': 4 CPUs (from the log's header)" in err
    target = tmp_path / "s.parquet"
    code, out, _ = command(capsys, path, "--out", target)
    assert (code, out) == (0, f"{target}\n")
    assert pl.read_parquet(target).height == 40


WINDOWED = """
[[clusters]]
name = "site"
zone = "UTC"

[[clusters.pools]]
name = "all"
capacity = { cpus = 4 }
windows = [
    { hours = "Thu 00-02", walltime_above_s = 50 },
    { hours = "Thu 00-01", walltime_above_s = 400 },
]
"""


@pytest.mark.parametrize(
    ("options", "starts"),
    [
        # 3 may not delay 2, which is promised a start at 100, as long as it asks for 500 s
        (("--walltimes-of", "1", "--walltimes", "exact"), [0, 100, 110]),
        (("--walltimes-of", "3", "--walltimes", "exact"), [0, 100, 2]),
        # the first hours of the epoch, a Thursday, are closed to jobs of over 50 s
        (("--config", "windows.toml"), [7200, 1, 7200]),
        (("--config", "windows.toml", "--lift", "window1"), [0, 100, 3600]),
        (("--config", "windows.toml", "--relax", "window1=100"), [0, 100, 7200]),
        (("--config", "windows.toml", "--lift", "window1", "--lift", "window2"), [0, 100, 110]),
    ],
)
def test_it_takes_the_changes_that_advice_names(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    starts: list[int],
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        line(1, submit=0, wait=0, run=100, allocated=2, walltime=100, user=1),
        line(2, submit=1, wait=99, run=10, allocated=4, walltime=10, user=2),
        line(3, submit=2, wait=108, run=90, allocated=2, walltime=500, user=3),
    ]
    write(tmp_path / "three.swf", log(lines, MaxProcs=4, UnixStartTime=0))
    write(tmp_path / "windows.toml", WINDOWED)
    code, _, err = command(capsys, "three.swf", *options, "--out", "s.parquet")
    assert code == 0, err
    made = pl.read_parquet("s.parquet").sort("job_number")
    assert made["start_time"].to_list() == starts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "s.csv"], "s.csv: name a file that ends in .swf or .parquet"),
        (["--out", "s"], "name a file that ends in"),
        (["--out", "no/such/s.swf"], "no/such: no such folder"),
        (["--out", "folder.swf"], "folder.swf: is a folder"),
        (["--out", "busy.swf"], "busy.swf: is the log itself"),
        (["--out", "/dev/null/s.swf"], "no such folder"),
        (["--backfill", "none", "--depth", "3"], "--depth: only"),
        (["--depth", "0"], "--depth"),
        (["--order", "random"], "--order"),
        (["--walltimes-of", "1"], "--walltimes-of: pass --walltimes too"),
        (["--limit", "user:nobody=2jobs"], "--limit user:nobody: the log has no such user"),
        (["--limit", "qos:none=2jobs"], "--limit qos:none: the log has no such qos"),
        (["--order", "recorded"], "--order recorded: no job of pool 'all' has a known priority"),
        (["--zone", "Mars"], "time zone 'Mars'"),
        (["--resource", "gpus"], "gives no gpus"),
        (["--config", "nowhere.toml"], "nowhere.toml: no such file"),
    ],
)
def test_wrong_use_is_named_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "busy.swf", busy())
    (tmp_path / "folder.swf").mkdir()
    code, out, err = command(capsys, "busy.swf", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["busy.swf", "folder.swf"]


def test_a_schedule_that_cannot_be_written_leaves_what_was_there(
    hand: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = write(tmp_path / "s.swf", "before")

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match=r"s.swf: cannot be written: No space left"):
        what_if(hand, out=out)
    assert out.read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hand.swf", "s.swf"]
