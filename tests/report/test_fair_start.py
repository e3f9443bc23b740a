"""Fair start times: from the rows of the database to what is said, drawn and carried along."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

from audit.model import FstStatus, Period
from audit.report.build import build
from audit.report.charts import drawing, series
from audit.report.charts import miss as miss_chart
from audit.report.charts import pool as charts
from audit.report.contents import Contents, Fidelity, Figure, PoolPart
from audit.report.render import export
from audit.report.render import page as render
from audit.report.text import belief, findings, tables
from audit.report.text.belief import Fit
from audit.report.text.definitions import definitions
from audit.store import database
from audit.store.database import Connection
from tests import stores
from tests.report.sample import (
    HOSTILE,
    contents,
    entities,
    entity,
    fair_starts,
    fidelity,
    figure,
    pool,
    without_fair_starts,
)

_PERIOD = Period("2026-10", 1790805600, 1793487600)
_KEY = {"cluster": "demo", "period": "2026-10", "run_id": "run-1"}


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    con = stores.new(tmp_path / "audit.duckdb")
    cluster = {"cluster": "demo", "zone": "Europe/Berlin", "notes": "[]"}
    run = {
        **_KEY,
        "state": "done",
        "stage": "compute",
        "version": "0.1.0",
        "config": '{"config": {"metrics": {"tolerance_s": 120}}}',
        "config_hash": "c",
        "input_hash": "d",
    }
    known = {"cluster": "demo", "pool": "batch", "resource": "cpus", "capacity": 4}
    for table, row in (("clusters", cluster), ("run", run), ("pools", known)):
        database.insert(con, table, pl.DataFrame([row]))
    try:
        yield con
    finally:
        con.close()


def _summary(con: Connection, *rows: tuple[str, str, str | None, float | None, int]) -> None:
    frame = pl.DataFrame(
        rows, ("metric", "dimension", "dimension_value", "value", "attempts"), orient="row"
    )
    own = {**_KEY, "pool": "batch", "schedule": "observed", "unit": "s"}
    database.insert(
        con, "summary_result", frame.with_columns(**{name: pl.lit(own[name]) for name in own})
    )


def _entity(con: Connection, kind: str, name: str | None, **values: object) -> None:
    own = {"pool": "batch", "schedule": "observed", "entity_kind": kind, "entity": name}
    counts = {"jobs": 9, "attempts": 9, "never_started": 0, "gave_up_wait_s": 0, "tuwt_s": 9}
    row = {**_KEY, **own, **counts, "tusa": 9.0, **values}
    database.insert(con, "entity_result", pl.DataFrame([row]))


def _part(con: Connection) -> PoolPart:
    return build(con, "demo", _PERIOD).pools[0]


def test_a_database_without_fair_starts_has_none(con: Connection) -> None:
    _summary(con, ("attempts", "all", None, 9.0, 9))
    _entity(con, "user", "anna")
    part = _part(con)
    assert not part.has_fair_starts
    assert not part.fair_start.statuses
    assert not part.fair_start.partitions
    assert part.fair_start.fidelity is None
    assert part.users.rows[0].missed is None


def test_statuses_and_partitions_come_in_order(con: Connection) -> None:
    _summary(
        con,
        ("fst_attempts", "fst_status", "blocked", 2.0, 2),
        ("fst_attempts", "fst_status", "final", 7.0, 7),
        ("fst_attempts", "fst_status", "provisional", 1.0, 1),
        ("miss_strict_mean", "partition", "short", 50.0, 10),
        ("miss_strict_mean", "partition", "long", 600.0, 2),
        ("miss_strict_mean", "partition", None, 0.0, 1),
        ("miss_strict_mean", "partition", "unknown", None, 0),
    )
    fair = _part(con).fair_start
    assert [row.status for row in fair.statuses] == ["final", "provisional", "blocked"]
    assert (fair.subjects, fair.counted) == (10, 8)
    assert [part.label for part in fair.partitions] == ["long", "short", "unknown"]
    assert fair.tolerance_s == 120


def test_one_partition_is_no_comparison(con: Connection) -> None:
    _summary(con, ("miss_strict_mean", "partition", "short", 50.0, 10))
    assert _part(con).fair_start.partitions == ()


def test_fidelity_is_that_of_the_pool(con: Connection) -> None:
    rows = [("batch", "start_error_median", 60.0), ("other", "start_error_median", 9.0)]
    frame = pl.DataFrame(rows, ("pool", "metric", "value"), orient="row").with_columns(
        order=pl.lit("fcfs"), backfill=pl.lit("easy"), unit=pl.lit("s")
    )
    marked = frame.with_columns(**{name: pl.lit(_KEY[name]) for name in _KEY})
    database.insert(con, "fidelity_result", marked)
    found = _part(con).fair_start.fidelity
    assert found is not None
    assert (found.order, found.backfill) == ("fcfs", "easy")
    assert found.figures == (Figure("start_error_median", 60.0, unit="s"),)


def test_who_lost_and_who_gained(con: Connection) -> None:
    for name, late, preferred, early in (
        ("anna", 500, 0.0, 10.0),
        ("ben", 100, 0.5, 90.0),
        (None, 900, 0.0, 0.0),
    ):
        _entity(
            con,
            "user",
            name,
            miss_strict_s=late,
            miss_relaxed_s=late // 2,
            missed_strict=2,
            missed_relaxed=1,
        )
        _summary(
            con,
            ("miss_strict_mean", "user", name, late / 5, 5),
            ("preferred_strict_share", "user", name, preferred, 5),
            ("preference_strict_mean", "user", name, early, 5),
            ("miss_strict_mean", "account", name, 1e9, 7),
        )
    users = _part(con).users
    told = {row.name: row.missed for row in users.rows if row.missed}
    assert told["anna"].net_s == 450
    assert told["anna"].missed_strict_share == 0.4
    assert told["anna"].missed_relaxed_share == 0.2
    assert told[None].miss_strict_s == 900
    assert [row.name for row in tables.lost(users, 5)] == ["anna"]
    assert [row.name for row in tables.gained(users, 5)] == ["ben"]
    assert tables.unlisted(users, 5) == 0


def test_every_status_is_explained() -> None:
    assert set(tables.STATUSES) == set(FstStatus)
    assert all(sentence.endswith(".") for _, sentence in tables.STATUSES.values())
    assert tables.status("<b>") == ("<b>", "")


@pytest.mark.parametrize(
    ("told", "fit"),
    [
        (fidelity(0.9, 0.6), Fit.GOOD),
        (fidelity(0.9, 0.4), Fit.LIMITED),
        (fidelity(0.4, 0.3), Fit.POOR),
        (fidelity(0.9, 0.6, 0.49), Fit.POOR),
        (fidelity(0.9, 0.6, None), Fit.GOOD),
        (None, Fit.UNKNOWN),
        (Fidelity("fcfs", "easy", (figure("replayed", 0.0),)), Fit.UNKNOWN),
    ],
)
def test_how_far_figures_can_be_believed(told: Fidelity | None, fit: Fit) -> None:
    assert belief.fit(told) is fit


def _with(told: Fidelity | None) -> PoolPart:
    return replace(pool(), fair_start=replace(fair_starts(), fidelity=told))


def test_a_verdict_says_from_what_it_is_concluded() -> None:
    assert belief.verdict(_with(fidelity())) == (
        "Most of what was missed is beyond the errors of the model."
    )
    assert belief.verdict(_with(fidelity(0.4, 0.3, -0.25))) == (
        "The model fits this log poorly: what looks like unfairness may be its error. Waits in a "
        "replay and those observed correlate by −0.25. Of what was missed, 40.0 % is left without "
        "misses below the median error of a replayed start, 5 min."
    )
    assert "90th percentile of the error of a replayed start, 2 h." in belief.verdict(
        _with(fidelity(0.9, 0.4))
    )
    assert "not known" in belief.verdict(_with(None))


def test_all_that_belongs_beside_a_figure_is_in_one_line() -> None:
    assert belief.fit_line(pool()) == (
        "Model fidelity (fcfs + easy): starts off by 5 min (median), 2 h (90th percentile); "
        "misses beyond these: 90.0 % strict, 100 % relaxed; 60.0 % strict, 80.0 % relaxed; "
        "correlation of waits 0.75; mean wait +15 min; 0.0 % of the time over capacity."
    )
    assert belief.fit_line(_with(None)) == (
        "Model fidelity: not known; 0.0 % of the time over capacity."
    )


def test_a_policy_that_nobody_knows_stays_text() -> None:
    odd = replace(fidelity(), order=HOSTILE[4], backfill=HOSTILE[5])
    assert belief.policy(odd).isprintable()
    assert belief.fit_line(_with(odd)).isprintable()
    assert belief.policy(fidelity()) == "first come, first served, EASY backfilling"


def _found(said: Contents) -> dict[str, str]:
    return {found.subject: found.text for found in findings.findings(said)}


def test_the_headline_is_said_with_its_caveat() -> None:
    found = _found(contents())
    assert found["Fair start times"] == (
        "30.0 % of the 1,000 attempts that can be judged started more than 1 min later than they "
        "would have, had nobody arrived after them; these by 1 h 40 min in the mean. 10.0 % "
        "started that much earlier. Over all, the miss per attempt is 30 min (95 % interval 15 to "
        "60 min), and 15 min (95 % interval 7.50 to 30 min) where nobody may slip past those ahead "
        "(relaxed). Most of what was missed is beyond the errors of the model."
    )
    assert "user anna lost most, 2 h over 200 attempts" in found["Who started late"]
    assert found["Model fidelity"] == belief.fit_line(pool())


def test_a_poor_fit_is_said_with_every_finding_and_noticed() -> None:
    said = contents(_with(fidelity(0.2, 0.1)))
    found = _found(said)
    for subject in ("Fair start times", "Who started late"):
        assert "may be its error" in found[subject]
    assert "20.0 % is left" in found["Model fidelity"]
    assert any("fits this log poorly" in notice.text for notice in findings.notices(said))
    assert not any("poorly" in notice.text for notice in findings.notices(contents()))


def test_nothing_missed_is_said_as_such() -> None:
    part = pool()
    nothing = tuple(
        replace(made, value=0.0, lower=0.0, upper=0.0) if made.metric.startswith("miss") else made
        for made in part.figures
    )
    nobody = entities("user", (entity("anna", 0.0),))
    part = replace(part, figures=nothing, widths=(), users=nobody)
    found = _found(contents(part))
    assert found["Fair start times"].startswith("None of the 1,000 attempts that can be judged")
    assert "Who started late" not in found
    assert miss_chart.miss(part) is None
    assert miss_chart.missed(part) is None


def test_without_fair_starts_the_report_says_so() -> None:
    said = contents(without_fair_starts(pool()))
    assert "Fair start times" not in _found(said)
    told = "No fair start times were computed"
    assert any(told in notice.text for notice in findings.notices(said))
    page = render.render_html(said)
    assert "No fair start times were computed for this period" in page
    assert 'class="status good"' not in page
    assert "Model fidelity" not in page


def test_attempts_of_which_none_counts_are_no_figure() -> None:
    part = without_fair_starts(pool())
    said = contents(replace(part, fair_start=fair_starts(over_capacity=30, blocked=2)))
    (notice,) = (notice for notice in findings.notices(said) if "no figure" in notice.text)
    assert notice.grave
    assert notice.text.endswith("fair start times: over capacity 30, blocked 2.")
    assert "No attempt has a fair start time that counts" in render.render_html(said)


@pytest.mark.parametrize(
    ("statuses", "noticed"),
    [
        ({"final": 90, "blocked": 10}, None),
        ({"final": 80, "blocked": 20}, "20 of 100 attempts (20.0 %) are in no figure"),
        ({"final": 80, "provisional": 20}, "of 20 attempts (20.0 %) are provisional"),
    ],
)
def test_many_that_are_left_out_are_noticed(statuses: dict[str, int], noticed: str | None) -> None:
    said = contents(replace(pool(), fair_start=fair_starts(**statuses)))
    texts = [notice.text for notice in findings.notices(said)]
    assert (
        any(noticed in text for text in texts) if noticed else not any("fair" in t for t in texts)
    )


def test_fidelity_stands_beside_each_table_and_chart() -> None:
    page = render.render_html(contents())
    section = page[page.index('id="pool-1-fair"') : page.index('id="pool-1-sharing"')]
    beside = section.count("Model fidelity (fcfs + easy)")
    # All tables but that of fidelity itself, and all charts.
    assert beside == section.count("<table") - 1 + section.count("<figure")
    assert beside == 11
    for said in ("first come, first served, EASY backfilling", "debug", "Who lost", "beyond 1 min"):
        assert said in section


def test_hostile_partitions_and_statuses_stay_text() -> None:
    fair = fair_starts(**{HOSTILE[0]: 3, "final": 5})
    parts = tuple(replace(fair.partitions[0], label=name) for name in HOSTILE)
    page = render.render_html(contents(replace(pool(), fair_start=replace(fair, partitions=parts))))
    assert "alert(1)</script>" not in page
    assert "<img src=x" not in page
    assert "\u202e" not in page


def test_bars_stand_side_by_side_with_their_intervals() -> None:
    made = miss_chart.miss(pool())
    assert made is not None
    assert [(row["width"], row["of"]) for row in made.spec["data"]["values"]][:4] == [
        ("all", "strict"),
        ("all", "relaxed"),
        ("1", "strict"),
        ("1", "relaxed"),
    ]
    first = made.spec["data"]["values"][0]
    assert (first["lower"], first["value"], first["upper"]) == (0.25, 0.5, 1.0)
    assert "Strict: over all 30 min, highest over 128 with 32 h." in made.alt
    ElementTree.fromstring(drawing.svg(made))


def test_the_week_is_drawn_where_hours_can_be_told_apart() -> None:
    part = pool()
    assert charts.miss_week(part) is not None
    for value, attempts in ((0.0, 40), (60.0, 5)):
        figures = (figure("miss_strict_mean", value, unit="s", attempts=attempts),)
        hours = tuple(replace(hour, figures=figures) for hour in part.hours)
        assert charts.miss_week(replace(part, hours=hours)) is None


def test_files_carry_misses_and_the_fidelity_of_the_model() -> None:
    part = pool()
    users, _, model = export.files(contents(part))["batch"]
    rows = list(csv.DictReader(io.StringIO(users.text, newline="")))
    assert rows[0]["miss_strict_s"] == str(7_200 + 60 * 200)
    assert rows[0]["fst_attempts"] == "200"
    told = {row["metric"]: row for row in csv.DictReader(io.StringIO(model.text, newline=""))}
    assert told["start_error_p90"]["value"] == "7200.0"
    assert told["over_capacity_time"]["value"] == "0.0"
    assert {row["order"] for row in told.values()} == {"fcfs"}
    without = export.files(contents(without_fair_starts(part)))["batch"]
    assert [file.name for file in without] == ["users.csv", "accounts.csv"]


def test_the_worked_example_is_that_of_the_definition() -> None:
    """Four CPUs. Job 1 takes three of them until 100; job 3 came after job 2 and runs until 150.

    Job 2, wide, could have started at 100, and job 4 beside it in thought: at its arrival it sees
    job 3 end at 150, fits before that, and so has a strict FST of 100. Relaxed, it queues when job
    2 starts, at 150, and waits for its end at 250. Job 3 would delay job 2, which is ahead of it,
    and so comes after it, at 200.
    """
    example = next(of.example for of in definitions() if of.term.startswith("Fair start time"))
    assert example is not None
    titles = ("Strict FST", "Relaxed FST", "Strict miss (s)")
    columns = [example.columns.index(title) for title in titles]
    assert [tuple(row[at] for at in columns) for row in example.rows] == [
        ("0", "0", "0"),
        ("100", "100", "50"),
        ("200", "200", "0"),
        ("100", "250", "150"),
    ]
    assert "180 s before its FST" in example.result
    assert "Overall: 50 s per attempt strict, 12.5 s relaxed." in example.result


def test_rows_say_which_fair_start_time_they_are_of() -> None:
    rows = series.misses(pool(), "missed_{}_share", str)
    assert {row["of"] for row in rows} == {"strict", "relaxed"}


@pytest.mark.parametrize(
    ("order", "said"), [("fairshare", "by fairshare"), ("nuwt", "by how long owners waited")]
)
def test_another_fair_order_than_that_of_arrival_is_said(order: str, said: str) -> None:
    fidelity = Fidelity("fcfs", "easy", (), order)
    assert said in belief.fair_order(fidelity)
    assert said in belief.judged(fidelity)
    for by_arrival in (None, Fidelity("fcfs", "easy", ())):
        assert belief.fair_order(by_arrival) == ""
        assert belief.judged(by_arrival) == ""
