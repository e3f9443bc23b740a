"""Sentences about jobs that were held as the log shows."""

import pytest

from audit.report.sections.causes.holds import after_own_end
from audit.scenario.releases.chains import OwnEnd


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (OwnEnd("16", 40), "started 40 s after job 16 of the same user ended: a dependency or a"),
        (OwnEnd("16", 0), "started when job 16 of the same user ended"),
        (OwnEnd("16", -3), "started when job 16"),
        (OwnEnd("1\u202e6", 40), r"after job 1\u202e6 of"),
    ],
)
def test_after_which_own_job_a_job_started(end: OwnEnd, told: str) -> None:
    assert told in after_own_end("17", end, "the same user")
