"""Predicted starts in the database; the next night judges those of one night."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from audit.cluster import predicted
from audit.cluster.windows import ComputedWindow
from audit.config import Config
from audit.model import Period
from audit.oneoff.audit import AuditOptions, audit
from audit.pipeline.opening import LogRequest, Session
from audit.report.sections.predicted import Predicted, read
from audit.report.source import SectionSource
from audit.scenario.predict import predictions
from tests import stores
from tests.cli.command import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 (a fixture)
from tests.logs import write
from tests.nightly.test_run import published
from tests.oneoff.test_when import JOBS, sacct_at
from tests.oneoff.test_when import site as site  # noqa: PLC0414 (a fixture)
from tests.scenario.predict.test_predictions import records
from tests.scenario.predict.test_sweep import scenario

UTC = ZoneInfo("UTC")
pytestmark = pytest.mark.usefixtures("short_paper")


def test_of_many_submissions_every_nth_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "SAMPLED", 100)
    of = scenario(records(250))
    made = predicted.predicted(of, UTC, ComputedWindow())
    assert made["job_id"].to_list() == [str(number) for number in range(1, 251, 3)]
    monkeypatch.setattr(predictions, "SAMPLED_NIGHTLY", 50)
    made = predicted.predicted(of, UTC, ComputedWindow(), nightly=True)
    assert made["job_id"].to_list() == [str(number) for number in range(1, 251, 5)]
    assert set(made["kind"]) == {predicted.SUBMISSION}


def test_a_window_has_the_predictions_of_its_own_attempts() -> None:
    of = scenario(records(60))
    ends = of.attempts["end_time"]
    made = predicted.predicted(of, UTC, ComputedWindow(ends[20], ends[40]))
    assert made["job_id"].to_list() == of.attempts["job_id"][20:40].to_list()


def test_a_night_begins_some_submissions_before_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    of = scenario(records())
    ends = of.attempts["end_time"]
    window = ComputedWindow(ends[250], ends[280])
    every = predicted.predicted(of, UTC, window)
    begun = of.attempts["submit_time"].search_sorted(window.from_time)
    monkeypatch.setattr(predictions, "LEAD", begun)
    assert predicted.predicted(of, UTC, window, nightly=True).equals(every)
    monkeypatch.setattr(predictions, "LEAD", 60)
    made = predicted.predicted(of, UTC, window, nightly=True)
    assert made["job_id"].to_list() == every["job_id"].to_list()
    assert made["withheld_because"].to_list() != every["withheld_because"].to_list()
    monkeypatch.setattr(predictions, "SAMPLED", 43)  # of 300: every 7th
    since = predictions.at_submission(of, "UTC", since=window.from_time)
    assert since["row"].to_list() == list(range((begun - 60) // 7 * 7, 300, 7))


@pytest.mark.thorough
def test_an_audit_predicts_where_jobs_are_pending_or_if_requested(tmp_path: Path) -> None:
    """Audits of the same log with and without predictions are different runs."""
    *_, last = records(JOBS)
    runs = set()
    for at, predict, kinds in (
        (last["end_time"] + 1, False, set()),
        (last["end_time"] + 1, True, {predicted.SUBMISSION}),
        (last["submit_time"], False, {predicted.SUBMISSION, predicted.PENDING}),
    ):
        log = write(tmp_path / "mine.psv", sacct_at(at))
        options = AuditOptions(out=tmp_path / "out", pdf=False, predict=predict)
        made = audit(Session(LogRequest(logs=[log]), Config(), fit=False), options)
        found = stores.rows(made.database, "SELECT DISTINCT kind FROM predictions")
        assert {kind for (kind,) in found} == kinds
        page = made.html.read_text()
        assert ("How good predicted starts were" in page) is bool(kinds)
        assert ("attempts that ended, evenly spaced by submission" in page) is bool(kinds)
        runs |= {run_id for (run_id,) in stores.rows(made.database, "SELECT run_id FROM runs")}
    assert len(runs) == 3


@pytest.mark.thorough
def test_predictions_of_pending_jobs_are_kept_and_judged(
    run: Run, tmp_path: Path, site: Path
) -> None:
    now = records(JOBS)[-1]["submit_time"]
    night = ("run", "--config", "config.toml")
    write(site, sacct_at(now - 86_400))
    run(*night)
    of = "SELECT job_id, made_at, p10, p50, p90, withheld_because FROM predictions"
    pending = f"{of} WHERE kind = 'pending' AND start_time IS {{}} NULL ORDER BY made_at, job_id"
    first = published(tmp_path, pending.format(""))
    assert any(row[3] is not None for row in first)
    write(site, sacct_at(now))
    run(*night)
    assert published(tmp_path, pending.format("NOT")) == first
    newer = published(tmp_path, pending.format(""))
    assert newer[0][1] > first[0][1]
    submissions = "FROM predictions WHERE kind = 'submission'"
    ((rows, jobs),) = published(tmp_path, f"SELECT count(*), count(DISTINCT job_id) {submissions}")
    assert rows == jobs > 200
    judged = judgements(tmp_path)
    assert {(one.kind, one.dimension) for one in judged if one.contested} == {
        (kind, of)
        for kind in ("submission", "pending")
        for of in ("all", "month", "width", "walltime")
    }
    pending_ones = [one for one in judged if one.kind == predicted.PENDING and one.contested]
    known = [row for row in first if row[3] is not None]
    assert [one.predictions for one in pending_ones] == [len(known)] * 4
    assert pending_ones[0].recent_error_s is None
    assert pending_ones[0].modelled_error_s is not None


def judgements(folder: Path) -> tuple[Predicted, ...]:
    """How good the predictions in the published database were, as a report shows it."""
    with stores.published(folder / "fairaudit.duckdb") as con:
        (found,) = read(SectionSource(con, "c", Period("all", 0, 1 << 40))).values()
        return found.rows
