"""Predicted starts in sentences: days relative to today, on the cluster's clock."""

from datetime import UTC, datetime

from audit.report.sections import predicted
from audit.scenario.predict.calibration import Bounds, Withheld


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def test_days_are_named_relative_to_today_in_the_zone() -> None:
    now = at("2026-10-31T22:30")  # 23:30 in Berlin
    soon = Bounds(at("2026-10-31T22:40"), at("2026-10-31T22:50"), at("2026-10-31T23:20"))
    assert predicted.expected("Job 7", soon, now, "Europe/Berlin", "; as before") == (
        "Job 7: between today 23:40 and tomorrow 00:20, most likely around 23:50; as before."
    )
    at_once = Bounds(now + 1, now + 1, now + 20)
    assert predicted.expected("Job 7", at_once, now, "Europe/Berlin", "; as before") == (
        "Job 7: around today 23:30; as before."
    )
    long = soon._replace(p90=at("2026-11-02T22:50"))
    assert predicted.expected("Job 7", long, now, "Europe/Berlin") == (
        "Job 7: between today 23:40 and 2026-11-02 23:50, most likely around today 23:50."
    )
    late = Bounds(at("2026-11-01T08:00"), at("2026-11-02T09:00"), at("2026-11-03T10:00"))
    assert predicted.expected("Job 7", late, now, "UTC") == (
        "Job 7: between tomorrow 08:00 and 2026-11-03 10:00, most likely around 2026-11-02 09:00."
    )


def test_each_reason_has_a_sentence() -> None:
    assert predicted.WHY.keys() == {*Withheld}
    assert predicted.withheld("Job 7", Withheld.NEVER_STARTS) == (
        "Job 7: no prediction, because under the modelled policy it would never start."
    )
