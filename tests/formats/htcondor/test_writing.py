"""Attempts as ads: the same jobs in every form are the same records."""

from typing import get_args

import pytest

from audit.formats.htcondor.writing import Form, write
from tests.formats import contract
from tests.formats.contract import PLAIN_JOB, case_frame
from tests.formats.htcondor.histories import parse
from tests.formats.htcondor.test_long import LONG

DIALECTS = {"json": "htcondor-json", "jsonl": "htcondor-json", "xml": "htcondor-xml"}
ROWS = [
    PLAIN_JOB,
    {**PLAIN_JOB, "state": "FAILED"},
    {**PLAIN_JOB, "state": "CANCELLED"},
    {**PLAIN_JOB, "state": "CANCELLED", "start_time": None, "suspended_s": None},
    {**PLAIN_JOB, "state": "RUNNING", "end_time": None},
    {**PLAIN_JOB, "state": "PENDING", "start_time": None, "end_time": None, "suspended_s": None},
]


@pytest.mark.parametrize("form", get_args(Form))
def test_every_form_holds_every_standing(form: Form) -> None:
    frame = case_frame(LONG, ROWS)
    parsed = parse(write(frame, form), dialect=DIALECTS.get(form, "htcondor"))
    assert parsed.refusals.is_empty()
    columns = list(LONG.carries)
    assert parsed.records.select(columns).to_dicts() == frame.select(columns).to_dicts()
    assert contract.is_sane(parsed)


def test_an_id_that_is_none() -> None:
    with pytest.raises(ValueError, match=r"'3_0' is no id of HTCondor's: write it like ap#7.0"):
        write(case_frame(LONG, [{**PLAIN_JOB, "job_id": "3_0"}]))
