"""Tables of sacct for people: values that are whole, and those that sacct cut."""

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.formats import dialects
from audit.formats.dialects import PLAIN, Parsed
from audit.formats.sacct.text import DIALECT
from tests.formats import contract

DAY = "2026-03-01T"
EPOCH = 1_772_323_200  # 2026-03-01T00:00:00Z
WIDTHS = {
    "JobID": 12,
    "User": 9,
    "Partition": 10,
    "Submit": 19,
    "Start": 19,
    "End": 19,
    "Timelimit": 10,
    "NCPUS": 8,
    "State": 10,
}
ROW = {
    "JobID": "8",
    "User": "ana",
    "Partition": "batch",
    "Submit": f"{DAY}00:00:00",
    "Start": f"{DAY}00:01:00",
    "End": f"{DAY}00:11:00",
    "Timelimit": "01:00:00",
    "NCPUS": "4",
    "State": "COMPLETED",
}


def line(**values: str) -> str:
    """A row as sacct prints it: ids on the left, others on the right, the rest cut."""
    cells = []
    for name, text in {**ROW, **values}.items():
        width = WIDTHS[name]
        short = text if len(text) <= width else text[: width - 1] + "+"
        cells.append(short.ljust(width) if name == "JobID" else short.rjust(width))
    return " ".join(cells) + " \n"


HEAD = line(**{name: name for name in ROW}) + " ".join("-" * width for width in WIDTHS.values())
HEAD += " \n"


def read(*lines: str) -> Parsed:
    text = HEAD + "".join(lines)
    assert dialects.detect(text.encode(), "x") is DIALECT
    return contract.parsed(DIALECT, text)


def problem(*lines: str) -> str:
    return DIALECT.header((HEAD + "".join(lines)).encode(), PLAIN).problems[0]


def test_whole_values_are_read() -> None:
    found = contract.only(read(line(), line(JobID="8.batch", User="", Partition="", Timelimit="")))
    assert (found["job_id"], found["user"], found["partition"]) == ("8", "ana", "batch")
    times = (found["submit_time"], found["start_time"], found["end_time"])
    assert times == (EPOCH, EPOCH + 60, EPOCH + 660)
    assert (found["walltime_s"], found["cpus"], found["state"]) == (3600, 4, "COMPLETED")
    assert "(lines with such a value are refused); write it again with --parsable2" in problem(
        line()
    )


@pytest.mark.parametrize(
    ("state", "whole"),
    [("CANCELLED by 1001", "CANCELLED"), ("OUT_OF_MEMORY", "OUT_OF_MEMORY")],
)
def test_the_beginning_of_a_state_is_enough(state: str, whole: str) -> None:
    assert contract.only(read(line(State=state)))["state"] == whole


def test_a_column_that_sacct_cut_is_not_read() -> None:
    """Two users may begin alike: their jobs are of nobody, not of one."""
    lines = (line(User="wolfgang-a"), line(JobID="9", User="wolfgang-b"), line(JobID="10"))
    found = read(*lines).records
    assert found["user"].to_list() == [None] * 3
    assert found["partition"].to_list() == ["batch"] * 3
    assert "(User not read)" in problem(*lines)


def test_an_id_that_sacct_cut_costs_its_line() -> None:
    found = read(line(), line(JobID="123456789_1000"))
    assert found.records["job_id"].to_list() == ["8"]
    assert found.refusals["line"].to_list() == [4]


def test_the_id_of_a_step_may_be_cut() -> None:
    found = read(line(), line(JobID="123456789.batch", User=""))
    assert (found.records.height, found.steps, found.refusals.height) == (1, 1, 0)


def test_a_line_that_is_not_of_the_table_is_refused() -> None:
    found = read(line(), "sacct: error: slurmdbd went away\n", line(JobID="9")[:-20] + "\n")
    assert (found.records.height, found.refusals["line"].to_list()) == (1, [4, 5])


def test_headings_may_come_again() -> None:
    found = read(line(), "\n", HEAD, line(JobID="9"))
    assert found.records["job_id"].to_list() == ["8", "9"]
    assert found.refusals.is_empty()


def test_a_prompt_may_precede_the_table() -> None:
    text = "$ sacct -a\n" + HEAD + line()
    assert contract.only(contract.parsed(DIALECT, text))["line"] == 4


def write(frame: pl.DataFrame) -> bytes:
    lines = []
    for row in frame.iter_rows(named=True):
        times = {
            name.title(): pl.from_epoch(pl.Series([row[f"{name}_time"]]))
            .dt.strftime("%FT%T")
            .item()
            for name in ("submit", "start", "end")
        }
        minutes = row["walltime_s"] // 60
        limit = f"{minutes // 1440}-{minutes // 60 % 24:02}:{minutes % 60:02}:00"
        own = {"JobID": row["job_id"], "NCPUS": str(row["cpus"]), "State": row["state"]}
        lines.append(line(Timelimit=limit, **own, **times))
    return (HEAD + "".join(lines)).encode()


CASE = contract.Case(
    dialect=DIALECT,
    head=HEAD.encode(),
    records=tuple(line(JobID=job).encode() for job in ("8", "9", "10")),
    write=write,
    carries=("job_id", "state", "submit_time", "start_time", "end_time", "walltime_s"),
    names=(),
    ids=("7", "8", "12_3"),
    changes={"walltime_s": st.integers(1, 10_000).map(lambda minutes: minutes * 60)},
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)
