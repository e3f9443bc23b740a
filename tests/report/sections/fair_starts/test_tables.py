"""Statuses of fair start times."""

from audit.model import FstStatus
from audit.report.sections.fair_starts import shown as fair_starts_tables


def test_every_status_is_explained() -> None:
    assert set(fair_starts_tables.STATUSES) == set(FstStatus)
    assert all(sentence.endswith(".") for _, sentence in fair_starts_tables.STATUSES.values())
    assert fair_starts_tables.status("<b>") == ("<b>", "")
