"""Lines with named columns."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.formats import delimited
from audit.formats.lines import UNQUOTED, Block
from tests.examples import examples

NAMES = ("a", "b", "c")


def read(data: bytes, separator: str = ",", **options: object) -> delimited.DelimitedRows:
    return delimited.rows(Block(data, 0, 1), NAMES, separator, ["", "NULL"], **options)  # type: ignore[arg-type]


def test_columns_are_chosen_by_name() -> None:
    found = read(b"a,b,c\n1,2,3\n4,NULL,6\n", chosen=["c", "b"])
    assert found.texts.rows() == [(1, "3", "2"), (2, "6", None)]
    assert found.texts.columns == ["number", "c", "b"]


def test_a_line_break_in_quotes_refuses_both_parts() -> None:
    found = read(b'a,b,c\n1,"x\ny",3\n4,5,6\n')
    assert found.texts["number"].to_list() == [3]
    assert found.odd["number"].to_list() == [1, 2]


CELLS = st.text(
    st.characters(exclude_characters='\r\n\x1f"', exclude_categories=["Cs"]), max_size=8
)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8), st.sampled_from(",;|"))
def test_csv_is_read_as_python_reads_it(rows: list[tuple[str, str, str]], separator: str) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
        [NAMES, *rows]
    )
    found = read(text.getvalue().encode(), separator)
    wanted = [tuple(None if cell in ("", "NULL") else cell for cell in row) for row in rows]
    assert found.texts.drop("number").rows() == wanted


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"job_id,user,state", (["job_id", "user", "state"], ",")),
        (b",job_id,user,state\r", (["", "job_id", "user", "state"], ",")),
        (b'"JOB_NAME","COBALT_JOBID","X"', (["JOB_NAME", "COBALT_JOBID", "X"], ",")),
        (b"exit state\x1fjid\x1fusr", (["exit state", "jid", "usr"], UNQUOTED)),
        (b"a b;c d;e", (["a b", "c d", "e"], ";")),
        (b"1,2,3", None),
        (b"2021-01-01 00:00:00,ann,x", None),
        (b"a,a,b", None),
        (b"job_id,user", None),
        (b"ann|7|COMPLETED", None),
        (b"just a line of text", None),
    ],
)
def test_a_row_of_names_is_distinguished_from_a_row_of_values(
    line: bytes, found: tuple[list[str], str] | None
) -> None:
    assert delimited.names_row(line) == found
