"""Rows of the result tables."""

from datetime import date
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.cluster import compute
from audit.cluster.compute import outages_in
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.results import _first_stretch
from audit.cluster.rules import rules_of, waiting_by_rule, with_waiting
from audit.cluster.setting import ClusterSettings
from audit.cluster.windows import WHOLE, ComputedWindow, of_days
from audit.config import Config, Metrics, UsageConfig
from audit.config.places import Site
from audit.metrics.attempts import account
from audit.metrics.attempts.summary import summarise
from audit.model import ATTEMPTS, Limit, Period, Pool, Resource
from audit.model import Window as Hours
from audit.nightly.run import run
from audit.report.sections.causes.shown import named_rule
from audit.scenario.releases.holds import inferred_holds
from audit.scenario.workload import workload_of_rows
from audit.store import database
from tests import stores
from tests.examples import examples
from tests.logs import line, log
from tests.nightly.test_run import FIGURES, NOW, site
from tests.strategies import EPOCH, ended, frame, workloads

DAY = 86_400


@pytest.mark.parametrize(
    ("blocks", "first"),
    [
        ([], (None, None)),
        ([(0, 7), (7, 21)], (0, 21)),
        ([(0, 7), (14, 21), (21, 28)], (0, 7)),
        ([(0, 14), (7, 10)], (0, 14)),
    ],
)
def test_attempts_of_published_weeks_are_not_read_up_to_a_gap(
    blocks: list[tuple[int, int]], first: tuple[int | None, int | None]
) -> None:
    assert _first_stretch(blocks) == first


@pytest.mark.thorough
def test_periods_share_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        line(k, submit=k * DAY, wait=60, run=3_600, walltime=4_000, allocated=1)
        for k in range(1, 152)
    ]
    summarised: list[int] = []
    workloads: list[int] = []

    def counted(held: pl.DataFrame, *rest: object, **named: object) -> pl.DataFrame:
        summarised.append(held.height)
        return summarise(held, *rest, **named)  # type: ignore[arg-type]

    def made(held: pl.DataFrame, *rest: object, **named: object) -> object:
        workloads.append(held.height)
        return workload_of_rows(held, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("audit.cluster.compute.summarise", counted)
    monkeypatch.setattr("audit.scenario.scenario.workload_of_rows", made)
    config = site(tmp_path, pools=({"name": "all", "backfill": "easy"},))
    (tmp_path / "logs" / "year.swf").write_text(log(lines, MaxProcs=4))
    run(Site(config, tmp_path), NOW, stages=("ingest", "compute"))
    assert len(summarised) > 3
    assert sum(summarised) < 1.2 * len(lines)
    # two of all attempts, which none keeps in between: fair starts, and replays; and two of the
    # log of each period, which ends with it: what the log shows, and delays
    ends = list(accumulate(summarised))
    assert sorted(workloads) == sorted([*ends, *ends, *[len(lines)] * 2])


def test_views_show_who_is_passed_over(tmp_path: Path) -> None:
    """On each day user 1 waits three hours, and a later job of user 2 starts at once."""
    lines = [
        entry
        for day in range(10)
        for entry in (
            line(2 * day + 1, submit=day * DAY, wait=10_800, user=1, group=7),
            line(2 * day + 2, submit=day * DAY + 600, wait=0, user=2, group=8),
        )
    ]
    config = site(tmp_path, pools=({"name": "all", "backfill": "easy"},))
    (tmp_path / "logs" / "days.swf").write_text(log(lines, MaxProcs=4))
    run(Site(config, tmp_path), NOW, stages=FIGURES)
    figures = "passed_share, passed_expected, passed_s"
    with stores.published(tmp_path / "fairaudit.duckdb") as con:
        for kind, entity in (("user", "1"), ("account", "7")):
            view = f"{kind}_fairness WHERE {kind} = $of"
            asked = f"SELECT sum(passed_s), min(passed_share) FROM {view}"
            assert database.rows(con, asked, {"of": entity}) == [(10 * 10_200, 1.0)]
        others = f"SELECT DISTINCT {figures} FROM user_fairness WHERE user = '2'"
        assert database.rows(con, others) == [(None, None, None)]


SETTING = ClusterSettings("c", ZoneInfo("UTC"), (), {}, 9 * DAY, (), ())


def days(window: ComputedWindow, *ends: int | None) -> list[tuple[int, int, str]]:
    times = {name: pl.Series(ends, dtype=pl.Int64) for name in ("end_time", "arrival_time")}
    unknown = pl.Series([None] * len(ends), dtype=pl.Int64)
    frame = pl.DataFrame({**times, "start_time": unknown, "submit_time": unknown})
    frame = frame.with_columns(tasks=pl.lit(1))
    rows = of_days(frame, SETTING.zone, window).select("day", "records", "state").rows()
    return [((day - date(1970, 1, 1)).days, records, state) for day, records, state in rows]


def test_days_without_records_are_empty() -> None:
    assert days(WHOLE, 0, 1, 2 * DAY, None) == [(0, 2, "full"), (1, 0, "empty"), (2, 1, "full")]
    assert days(WHOLE) == []


def test_a_window_has_all_of_its_own_days() -> None:
    ends = (0, 2 * DAY, 6 * DAY)
    assert days(ComputedWindow(None, 3 * DAY), *ends) == [
        (0, 1, "full"),
        (1, 0, "empty"),
        (2, 1, "full"),
    ]
    assert days(ComputedWindow(3 * DAY, 5 * DAY), *ends) == [(3, 0, "empty"), (4, 0, "empty")]
    assert days(ComputedWindow(5 * DAY, None), *ends) == [(5, 0, "empty"), (6, 1, "full")]


POOL = Pool(
    "main",
    Resource.cpus,
    8,
    limits=(Limit(most=2, per="user", valid_from=date(2026, 1, 5)),),
    windows=(
        Hours(hours=(8, 9), walltime_above_s=3_600),
        Hours(hours=(8, 9), overlap=True),
    ),
)
LIMIT = "limit of 2 running jobs per user from 2026-01-05"


@pytest.mark.parametrize(
    ("limit", "whole"),
    [
        (Limit(most=1_256, resource="cpus"), "1,256 CPUs"),
        (Limit(most=1, resource="gpus:a100"), "1 a100 GPU"),
        (Limit(most=1_256, resource="cpus", per="user"), ""),
        (Limit(most=1_256, resource="cpus", partition=("long",)), ""),
        (Limit(most=1_256, resource="cpus", remaining=True), ""),
        (Limit(most=1_256), ""),
        (Hours(hours=(8, 9)), ""),
    ],
)
def test_what_a_limit_leaves_of_the_whole_machine(limit: Limit | Hours, whole: str) -> None:
    of = {"limits": (limit,)} if isinstance(limit, Limit) else {"windows": (limit,)}
    pool = Pool("main", Resource.cpus, 2_000, **of)
    (configured,) = rules_of(pool, ()).to_dicts()
    evidence = {"rule": configured["rule"], "starts": 40, "breaks": 1, "stops": 30}
    (inferred,) = rules_of(pool, [evidence]).to_dicts()
    assert named_rule(inferred).whole == whole
    assert named_rule(configured).whole == ""


def test_inferred_rules_have_evidence() -> None:
    evidence = [{"rule": LIMIT, "starts": 40, "breaks": 1, "stops": 30}]
    rows = rules_of(POOL, evidence).to_dicts()
    assert [row["kind"] for row in rows] == ["limit", "window", "overlap window"]
    assert [row["source"] for row in rows] == ["inferred", "configured", "configured"]
    assert rows[0]["rule"] == LIMIT
    assert (rows[0]["starts"], rows[0]["breaks"], rows[0]["stops"]) == (40, 1, 30)
    assert [row["name"] for row in rows] == [
        "limit of 2 running jobs per user",
        "daytime closure for jobs over 1 h",
        "closed hours",
    ]
    assert [(row["scope"], row["per"], row["level"], row["unit"]) for row in rows] == [
        (None, "user", 2, "jobs"),
        ("jobs over 1 h", None, None, None),
        (None, None, None, None),
    ]
    assert rows[0]["valid_from"] == date(2026, 1, 5)
    assert rows[1]["rule"] == "closed hours Mon 08–10 (UTC) for jobs over 1 h"
    assert rows[1]["starts"] is rows[1]["valid_from"] is None


def test_seconds_under_each_rule() -> None:
    jobs = pl.DataFrame(
        {
            "rule": [LIMIT, LIMIT, None],
            "cause_rule_s": [100.4, 20.0, 0.0],
            account.RULE_FREE: [60.0, 0.0, 0.0],
        }
    )
    rows = with_waiting(rules_of(POOL, ()), jobs).select("waiting_s", "free_s").rows()
    assert rows == [(120, 60), (0, 0), (0, 0)]


def test_outages_that_overlap_a_period() -> None:
    outages = pl.DataFrame({"from_time": [0, 50, 200], "to_time": [40, 150, 300]})
    assert outages_in(outages, Period("p", 100, 200))["from_time"].to_list() == [50]
    assert outages_in(outages, Period("all", 0, 300)).height == 3


def test_share_of_waiting_by_rule() -> None:
    jobs = pl.DataFrame(
        {
            "wait_s": [100, 100, 200],
            "rule": [LIMIT, None, LIMIT],
            "cause_rule_s": [80.0, 0.0, 20.0],
            "cause_nodes_s": [0.0, 100.0, 100.0],
        }
    )
    assert waiting_by_rule(jobs, POOL) == {"1": 0.25, "window1": 0.0, "window2": 0.0, "nodes": 0.5}
    assert set(waiting_by_rule(jobs.clear(), POOL).values()) == {0.0}


TABLES = (
    *("summary_result", "entity_result", "job_result", "coverage_result", "fidelity_result"),
    *("stuck_result", "prediction_result", "charge_result", "advice_result", "rule_result"),
)
LAST = EPOCH + 60


@st.composite
def with_arrays(draw: st.DrawFn) -> pl.DataFrame:
    """A log in which some records that never started stand for several tasks."""
    held = draw(workloads(most=10))
    waits = pl.col("start_time").is_null() & pl.col("occupancy_s").is_null()
    numbers = draw(st.lists(st.integers(1, 4), min_size=held.height, max_size=held.height))
    some = pl.lit(pl.Series(numbers, dtype=pl.Int64))
    return held.with_columns(
        cpus=pl.min_horizontal("cpus", pl.lit(16)),
        walltime_s=pl.lit(5),
        tasks=pl.when(waits).then(some).otherwise(1),
        array_tasks=pl.when(waits).then(pl.format("0-{}", some - 1)),
    )


def by_record(held: pl.DataFrame) -> pl.DataFrame:
    """The same log with a record for each task."""
    rows = []
    for row in held.to_dicts():
        for task in range(row["tasks"]):
            own = {**row, "tasks": 1, "array_tasks": None}
            if row["array_tasks"] is not None:
                own["array_task"] = task
                own["job_id"] = f"{row['job_id']}[{task}]" if task else row["job_id"]
            rows.append(own)
    return pl.DataFrame(rows, schema=ATTEMPTS)


def results(
    held: pl.DataFrame, chosen: Config, folder: Path | None = None
) -> dict[str, pl.DataFrame]:
    pool = Pool("all", Resource.cpus, 16, amounts=(("cpus", 16),))
    setting = ClusterSettings("c", ZoneInfo("UTC"), (pool,), {None: "all"}, LAST, (), ())
    task = compute.Task(held, setting, FairshareInputs(UsageConfig()), ())
    made: dict[str, list[pl.DataFrame]] = {}
    seeds = {Period("all", EPOCH, LAST): 1}
    for table, _, rows in compute.compute(task, seeds, chosen, folder):
        made.setdefault(table, []).append(rows)
    return {table: pl.concat(made[table], how="diagonal") for table in TABLES if table in made}


def test_holds_are_inferred_once_for_all_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account of waits and the fair starts of an audit use the same."""
    asked: list[int] = []

    def counted(attempts: pl.DataFrame, *others: Any) -> pl.DataFrame:
        asked.append(attempts.height)
        return inferred_holds(attempts, *others)

    monkeypatch.setattr("audit.cluster.delivered.inferred_holds", counted)
    results(frame([ended(EPOCH, EPOCH + k, EPOCH + k + 9, 1) for k in range(3)]), Config())
    assert asked == [3]


@pytest.mark.thorough
@settings(max_examples=examples(8), deadline=None)
@given(with_arrays())
def test_tables_on_disk_give_the_same_figures(held: pl.DataFrame) -> None:
    expected = results(held, Config())
    with pytest.MonkeyPatch.context() as patched, TemporaryDirectory() as name:
        patched.setattr("audit.on_disk.LEAST", 1)
        found = results(held, Config(), Path(name))
    assert found.keys() == expected.keys()
    for table, rows in found.items():
        assert rows.equals(expected[table], null_equal=True), table


@pytest.mark.thorough
@settings(max_examples=examples(12), deadline=None)
@given(with_arrays(), st.booleans())
def test_one_record_of_many_tasks_gives_the_figures_of_many_records(
    held: pl.DataFrame, count_never: bool
) -> None:
    """Users, resource equality, the account of waits, fair starts, queues: everything stored."""
    chosen = Config(metrics=Metrics(count_never_started=count_never))
    together, apart = results(held, chosen), results(by_record(held), chosen)
    assert together.keys() == apart.keys()
    records = held.select("job_id", "attempt")
    assert together["job_result"]["tasks"].sum() == apart["job_result"].height
    dated = pl.any_horizontal(pl.col("^.*_time$").is_not_null())
    assert together.pop("coverage_result")["records"].sum() == held.filter(dated).height
    for table, rows in together.items():
        others = apart[table]
        if "job_id" in rows.columns:
            others = others.join(records, on=["job_id", "attempt"], how="semi")
        shown = [name for name in rows.columns if name != "tasks"]
        assert rows.select(shown).equals(others.select(shown), null_equal=True), table
