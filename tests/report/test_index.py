"""The index of reports: what it says about periods of few jobs."""

import math
from dataclasses import replace

import pytest

from audit.errors import ReportError
from audit.metrics.verdict import Because, Word
from audit.report import index
from audit.report.index import IndexVerdict, render_index
from audit.store.database import Connection, fetch
from tests.report.first_page.sample import decision, verdict
from tests.report.sample import contents
from tests.report.sections.changes.test_charts import MONTHS


def test_stretches_of_few_jobs_are_not_drawn() -> None:
    few = replace(MONTHS.points[-1], attempts=29)
    answer = IndexVerdict(
        *("demo", "batch", "1996-12", 0, 1, Word.FAIR.value, "Fair.", "Outages cost most"),
        *(900, 60.0, 0.3, 0.7, 0.2),
    )
    for trend, title in (
        (MONTHS, "Mean wait: 3 h in Oct 1996, 5 h in Dec 1996"),
        (replace(MONTHS, points=(*MONTHS.points[:-1], few)), "Mean wait: 3 h in Oct 1996, 4 h in"),
    ):
        shown = render_index([answer], {"demo": trend}, lambda *of: "/".join(of), lambda _: ())
        assert title in shown.replace("\u00a0", " ")


def test_a_damaged_verdict_is_an_error_of_the_database() -> None:
    answer = IndexVerdict(
        *("demo", "batch", "1996-12", 0, 1, "fair", "Fair.", "Outages cost most"),
        *(900, math.inf, 0.3, 0.7, 0.2),
    )
    with pytest.raises(ReportError, match=r"^index of reports: results in the database cannot be"):
        render_index([answer], {}, lambda *of: "/".join(of), lambda _: ())


def test_a_verdict_without_page_one_says_what_is_missing(bare: Connection) -> None:
    because = replace(verdict(), decision=decision(Word.CANNOT_TELL, Because.MISSING_DAYS))
    index.keep(bare, replace(contents(), first=(), verdicts=(because,)))
    (row,) = fetch(bare, "SELECT sentence, cause FROM verdict_result").rows()
    missing = "Records of some days are missing"
    assert row == (f"Cannot tell: {missing}.", missing)
