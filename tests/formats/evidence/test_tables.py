"""Tables of squeue and sprio: against the slow twin, in parts of any length."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.evidence import tables
from audit.formats.evidence.read import read
from audit.formats.evidence.statements import PENDING
from audit.formats.evidence.tables import TableReader
from audit.words import EvidenceKind
from tests.naive import samples as naive

AT = 1_795_233_600
CELLS = st.sampled_from(
    [
        *("7", "9_1", "7_[0-2,9%2]", "x", "PD", "R", "PENDING", "(Priority)", "N/A", "", "()"),
        *("12", "0", "0.5", "13.5", "2026-11-21T05:00:00", " 8 ", "9_["),
    ]
)
NAMES = st.sampled_from(["JOBID", "STATE", "ST", "REASON", "PRIORITY", "START_TIME", "USER"])
LINES = st.one_of(
    st.sampled_from([str(AT), "== 2026-11-21T04:01:00", "", "  ", "x | y", "JOBID"]),
    st.builds(
        lambda between, cells: between.join(cells),
        st.sampled_from(["|", " "]),
        st.lists(CELLS, min_size=1, max_size=5) | st.lists(NAMES, min_size=2, max_size=5),
    ),
    st.text(max_size=20),
)


@given(
    st.lists(LINES, max_size=12),
    st.sampled_from([None, "1795233600"]),
    st.sampled_from([None, PENDING]),
    st.integers(1, 12),
)
def test_as_defined(lines: list[str], taken: str | None, state: str | None, length: int) -> None:
    with mock.patch.object(tables, "AT_ONCE", length):
        parts = [*TableReader(taken, state).parts(lines)]
    said, skipped = naive.tables(lines, taken, state)
    names = ("at", "job", "state", "reason", "priority", "expected")
    got = [row for part in parts for row in part.said.select(names).rows()]
    assert sorted(got, key=str) == sorted(said, key=str)
    assert sum(part.skipped for part in parts) == skipped


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_parts_change_nothing(length: int) -> None:
    lines = [str(AT), "JOBID|ST|REASON", "7|PD|Resources", "8|R|None", str(AT + 10)]
    lines += ["7|R|None", "8|R|None", str(AT + 20), "7|R|None"]
    whole = read(EvidenceKind.SQUEUE, lines, "UTC").rows
    with mock.patch.object(tables, "AT_ONCE", length):
        assert read(EvidenceKind.SQUEUE, lines, "UTC").rows.equals(whole)
    assert whole.select("instant", "job_id", "state").rows() == [
        (AT, "7", "PENDING"),
        (AT + 10, "7", "RUNNING"),
    ]
