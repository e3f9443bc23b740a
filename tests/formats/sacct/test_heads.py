"""The head of sacct's text: what is skipped, what is read all the same, and what is explained."""

import pytest

from audit.errors import DialectError
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Parsed
from audit.formats.lines import Block
from audit.formats.sacct import heads
from audit.formats.sacct import text as sacct

NAMES = ["JobID", "User", "State", "Submit", "Start", "End", "AllocTRES", "JobName"]
DAY = "2026-01-01T"


def rows(count: int = 6) -> list[list[str]]:
    times = [f"{DAY}01:00:00", f"{DAY}02:00:00"]
    return [
        [str(job), "ana", "COMPLETED", f"{DAY}00:00:0{job}", *times, "cpu=4,mem=8G,node=1", "a b"]
        for job in range(count)
    ]


def log(names: list[str], lines: list[list[str]], separator: str = "|") -> str:
    return "".join(separator.join(line) + "\n" for line in [names, *lines])


def read(text: str) -> tuple[Parsed, tuple[str, ...]]:
    assert dialects.detect(text.encode(), "x").name == "sacct"
    header = sacct.header(text.encode(), PLAIN)
    return sacct.parse(Block(text.encode(), 0, 1), header), header.problems


def refused(text: str) -> str:
    with pytest.raises(DialectError) as caught:
        sacct.header(text.encode(), PLAIN) if dialects.detect(text.encode(), "x") else None
    return str(caught.value)


EXPECTED = read(log(NAMES, rows()))[0].records.drop("line", "byte_offset")


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("Welcome to north\n\n*** maintenance on Friday ***\n", "(line 4): 2 ('Welcome to north')"),
        ("[root@head ~]# sacct -a -P\n", "(line 2): 1 ('[root@head ~]# sacct -a -P')"),
        ("# sacct -a -P\n", "(line 2): 1 ('# sacct -a -P')"),
    ],
)
def test_lines_before_the_header_row_are_skipped_and_counted(before: str, said: str) -> None:
    text = before + log([name.lower() for name in NAMES], rows())
    parsed, problems = read(text)
    assert problems == (f"lines skipped before the header row {said}",)
    assert parsed.refusals.is_empty()
    assert parsed.records.drop("line", "byte_offset").equals(EXPECTED)
    assert parsed.records["line"][0] == before.count("\n") + 2


@pytest.mark.parametrize("all_of_them", [True, False])
@pytest.mark.parametrize("separator", [",", ";"])
def test_quoted_csv_is_read(separator: str, all_of_them: bool) -> None:
    if separator == ";" and not all_of_them:
        separator = ","

    def field(text: str) -> str:
        return f'"{text}"' if all_of_them or separator in text else text

    lines = [[field(text) for text in row] for row in rows()]
    lines[2][7] = '"say ""hi"""'
    text = log([field(name) for name in NAMES], lines, separator)
    parsed, problems = read(text)
    assert problems == ()
    assert parsed.refusals.is_empty()
    assert parsed.records.drop("line", "byte_offset").equals(EXPECTED)
    header = sacct.header(text.encode(), PLAIN)
    end = text.index("\n", len(text) // 2) + 1
    first = sacct.whole(text.encode()[:end], header)
    one = sacct.parse(Block(text.encode()[:first], 0, 1), header)
    two = sacct.parse(Block(text.encode()[first:], first, 1 + text.count("\n", 0, first)), header)
    assert 0 < one.records.height < 6
    assert one.records.height + two.records.height == 6


def test_an_open_quote_costs_its_line() -> None:
    lines = [[f'"{text}"' for text in row] for row in rows()]
    lines[3][1] = '"ana'
    parsed, _ = read(log([f'"{name}"' for name in NAMES], lines, ","))
    assert parsed.records["job_id"].to_list() == ["0", "1", "2", "4", "5"]
    assert parsed.refusals["line"].to_list() == [5]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Part Name", "column 2 ('Part Name') is not a column of sacct: it is not read"),
        ("100%", "column 2 ('100%') is not a column of sacct: it is not read"),
        ("User%20", None),
        (" User ", None),
    ],
)
def test_an_odd_name_costs_its_column_at_most(name: str, problem: str | None) -> None:
    parsed, problems = read(log([NAMES[0], name, *NAMES[2:]], rows()))
    assert problems == ((problem,) if problem else ())
    expected = EXPECTED.with_columns(user=None) if problem else EXPECTED
    assert parsed.records.drop("line", "byte_offset").rows() == expected.rows()


@pytest.mark.parametrize("width", ["%20", "%-3"])
def test_widths_of_all_names_are_no_part_of_the_separator(width: str) -> None:
    parsed, problems = read(log([name + width for name in NAMES], rows()))
    assert problems == ()
    assert parsed.records.drop("line", "byte_offset").rows() == EXPECTED.rows()


def test_a_table_for_people_without_times_is_explained() -> None:
    widths = [12, 9, 10]
    table = [NAMES[:3], ["-" * (width - 1) for width in widths], *(row[:3] for row in rows())]
    text = "".join(
        "".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) + "\n"
        for line in table
    )
    said = refused("Last login: Monday\n" + text)
    assert said.startswith("x: line 2 ('JobID     User")
    assert said.endswith(f"write it again with --parsable2: {heads.COMMAND}")
    assert "PBS" not in said


def test_a_header_row_without_ids_is_explained() -> None:
    said = refused(log(NAMES[1:], [row[1:] for row in rows()]))
    assert said.startswith("x: line 1 names columns of sacct ('User|State|Submit|")
    assert "but not JobID" in said
    assert heads.COMMAND in said


@pytest.mark.parametrize("changed", ["01 Jan 00:00", "01/01-00:00:00", "00:00", "2026-01-01"])
def test_times_in_another_form_are_explained(changed: str) -> None:
    lines = [[*row[:3], changed, changed, changed, *row[6:]] for row in rows()]
    said = refused(log(NAMES, lines))
    assert said.startswith(f"line 2: column Submit is '{changed}', not a time such as 2026-01-31T")
    assert f"SLURM_TIME_FORMAT=standard {heads.COMMAND}" in said


def test_a_few_damaged_times_are_refused_one_by_one() -> None:
    lines = rows()
    lines[1][3] = "2026-0"
    parsed, _ = read(log(NAMES, lines))
    assert (parsed.records.height, parsed.refusals.height) == (5, 1)


def test_a_log_that_ends_within_a_line_says_so() -> None:
    text = log(NAMES, rows())
    for cut in (len(text) - 12, len(text) - 60):
        parsed, _ = read(text[:cut])
        assert parsed.records.height == 5
        assert parsed.refusals.select("code", "reason").rows() == [
            ("cut", "the log ends within this record")
        ]


TIMED = ["JobID", "State", "Submit", "Start", "End", "Elapsed", "Suspended"]
SPENT = [
    ["1", "COMPLETED", "00:00", "01:00", "02:00", "00:50:00", "00:10:00"],
    ["2", "CANCELLED by 7", "00:00", "01:00", "01:00", "00:00:00", "00:00:00"],
    ["3", "RUNNING", "00:00", "01:00", "Unknown", "00:30:00", "00:00:00"],
    ["4", "PENDING", "00:00", "Unknown", "Unknown", "00:00:00", "00:00:00"],
]


def timed(without: str) -> tuple[list[tuple[object, ...]], tuple[str, ...]]:
    """Start, end and suspended time of each job, of a log that lacks some columns."""
    kept = [at for at, name in enumerate(TIMED) if name not in without.split()]
    rows = [[f"{DAY}{text}:00" if len(text) == 5 else text for text in row] for row in SPENT]
    parsed, problems = read(
        log([TIMED[at] for at in kept], [[row[at] for at in kept] for row in rows])
    )
    assert parsed.refusals.is_empty()
    shown = parsed.records.select("start_time", "end_time", "suspended_s")
    return shown.rows(), problems


def test_elapsed_gives_a_start_or_an_end_that_the_log_lacks() -> None:
    whole, no_problem = timed("")
    assert timed("End") == (whole, no_problem)
    running = (None, None, None)
    assert timed("Start") == ([*whole[:2], running, whole[3]], no_problem)


@pytest.mark.parametrize("lacking", ["End Elapsed", "Start Elapsed", "Start End"])
def test_times_that_nothing_gives_are_named(lacking: str) -> None:
    problems = timed(lacking)[1]
    named = [name for name in ("Start", "End") if name in lacking.split()]
    assert len(problems) == len(named)
    for name, problem in zip(named, problems, strict=True):
        assert problem.startswith(f"no column {name}, nor ")


def test_without_any_time_the_command_that_writes_them_is_said() -> None:
    text = (
        "JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode\n15|x|debug|a|2|COMPLETED|0:0\n"
    )
    assert refused(text).endswith(f"; let sacct write all columns: {heads.COMMAND}")


def test_columns_that_only_blanks_separate_are_explained() -> None:
    table = [NAMES, *rows()]
    widths = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
    said = refused("".join("".join(map(str.ljust, line, widths)) + "\n" for line in table))
    assert said.startswith("x: line 1 names columns of sacct (")
    assert "as 'column -t' prints them" in said
    assert said.endswith(f"use: {heads.COMMAND}")
