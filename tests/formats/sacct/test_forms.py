"""Forms of sacct's text that are rewritten before they are read."""

import pytest

from audit.formats.dialects import PLAIN, Parsed
from audit.formats.lines import Block
from audit.formats.sacct import text as sacct
from audit.formats.sacct.forms import plain
from tests.formats.sacct.test_heads import NAMES, log, rows


def read(text: str) -> tuple[Parsed, tuple[str, ...]]:
    header = sacct.header(text.encode(), PLAIN)
    return sacct.parse(Block(text.encode(), 0, 1), header), header.problems


EXPECTED = read(log(NAMES, rows()))[0].records.drop("line", "byte_offset")


@pytest.mark.parametrize("between", [" | ", "|  ", "  |", " ; ", ", "])
@pytest.mark.parametrize("indent", ["", "    "])
def test_blanks_around_names_and_values_are_dropped(between: str, indent: str) -> None:
    rows_of = [[value.replace("cpu=4,mem=8G,node=1", "") for value in row] for row in rows()]
    expected = read(log(NAMES, rows_of))[0].records.drop("line", "byte_offset")
    text = "".join(indent + between.join(line) + "  \n" for line in [NAMES, *rows_of])
    parsed, problems = read(text)
    assert problems == ()
    assert parsed.refusals.is_empty()
    assert parsed.records.drop("line", "byte_offset").equals(expected)


def test_columns_of_one_width_are_read_without_their_blanks() -> None:
    table = [NAMES, *rows()]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    text = "".join("|".join(map(str.rjust, line, widths)) + "\n" for line in table)
    parsed, problems = read(text)
    assert (problems, parsed.refusals.is_empty()) == ((), True)
    assert parsed.records.drop("line", "byte_offset").equals(EXPECTED)


def test_many_blanks_take_little_time() -> None:
    row = rows()[0]
    text = log([" JobID ", *NAMES[1:]], [[*row[:-1], "a" + " " * 100_000 + "b"]])
    assert read(text)[0].records.height == 1


def test_blanks_within_values_and_empty_values_are_kept() -> None:
    assert plain(b" a b | | |\tc  \r\n  |d \n", "padded |") == b"a b|||\tc\r\n|d\n"
    assert plain(b" a | b ", "") == b" a | b "
