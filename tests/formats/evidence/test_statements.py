"""Statements as rows: distinct, dated, without names."""

import pytest

from audit.formats.evidence.statements import Remark, collected, evidence, known, number
from audit.words import EvidenceKind

AT = 1_795_533_410  # 2026-11-24T15:16:50 UTC


def test_rows_are_distinct() -> None:
    said = [Remark(str(AT + late), "7", None, "PENDING") for late in (5, 0, 5)]
    found = evidence(EvidenceKind.SQUEUE, collected(said, 2), "UTC", "x")
    assert sorted(found.rows["instant"]) == [AT, AT + 5]
    assert (found.skipped, found.problem) == (2, None)


def test_what_has_no_time_is_counted() -> None:
    said = [Remark("yesterday", "7"), Remark("2026-11-24T15:16:50", node="n1", state="DOWN")]
    found = evidence(EvidenceKind.CTLD_LOG, collected(said), "UTC", "x")
    assert (found.rows.height, found.skipped) == (1, 1)


def test_nothing_is_no_problem_unless_lines_were_skipped() -> None:
    assert evidence(EvidenceKind.SQUEUE, collected([]), "UTC", "x").problem is None
    problem = evidence(EvidenceKind.SQUEUE, collected([], 1), "UTC", "the remedy").problem
    assert problem is not None
    assert "the remedy" in problem


@pytest.mark.parametrize(("text", "want"), [("12", 12.0), ("0.5", 0.5), ("-1", None), ("x", None)])
def test_numbers(text: str, want: float | None) -> None:
    assert number(text) == want


@pytest.mark.parametrize("text", ["", " N/A ", "(null)", "None"])
def test_unknown_values(text: str) -> None:
    assert known(text) is None
