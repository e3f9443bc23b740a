"""HTCondor's histories line by line: banners and empty lines, epochs, damage, our own capture."""

from pathlib import Path
from typing import Any, get_args

import pytest

from audit.formats import dialects
from audit.formats.dialects import PLAIN
from audit.formats.htcondor import long as module
from bench.logs.writers.htcondor import Form, write
from tests.formats import contract
from tests.formats.contract import EPOCH, PLAIN_JOB, case_frame
from tests.formats.htcondor.histories import Remembered, case, long, parse
from tests.places import DATA

DIALECTS = {"json": "htcondor-json", "jsonl": "htcondor-json", "xml": "htcondor-xml"}


def returned(name: str) -> str:
    return name.replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\x00")


LONG = case("htcondor", "long", rb"\n\n", returned)
RAW = case("htcondor", "raw", rb"(?m)^\*\*\* .*\n", returned)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "typed", Remembered())
    check(LONG)


@pytest.mark.parametrize("check", contract.OF_FORMS, ids=contract.name_of)
def test_contract_of_raw(check: contract.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "typed", Remembered())
    check(RAW)


def test_a_capture_in_both_forms() -> None:
    printed, kept = (
        parse((DATA / "htcondor" / name).read_bytes())
        for name in ("history_long.txt", "history.raw")
    )
    assert printed.refusals.is_empty()
    assert kept.refusals.is_empty()
    assert contract.rows(printed) == contract.rows(kept)[::-1]  # the newest first
    found = {row["job_id"]: row for row in printed.records.iter_rows(named=True)}
    assert list(found) == ["vm.lab#5.0", "vm.lab#4.0", "vm.lab#6.0", "vm.lab#1.3"]
    never = found["vm.lab#6.0"]
    assert (never["start_time"], never["state"], never["cpus"]) == (None, "CANCELLED", 99)
    assert never["end_time"] - never["submit_time"] == 20
    removed = found["vm.lab#4.0"]
    assert (removed["account"], removed["occupancy_s"], removed["cpus"]) == ("group_chem", 12, 4)


@pytest.mark.thorough
@pytest.mark.parametrize("block_bytes", [100, 1_000])
@pytest.mark.parametrize("form", get_args(Form))
def test_blocks_of_any_length_tell_the_same(form: Form, block_bytes: int) -> None:
    rows = [{**PLAIN_JOB, "job_id": f"{k}.0", "cpus": k + 1} for k in range(9)]
    data = write(case_frame(LONG, rows), form)
    if form in {"long", "raw"}:
        data += write(case_frame(LONG, rows), "raw")
    dialect = DIALECTS.get(form, "htcondor")
    found, expected = (
        contract.in_blocks(dialects.table()[dialect], data, block_bytes),
        parse(data, dialect=dialect),
    )
    assert found.records.equals(expected.records)
    assert found.refusals.is_empty()
    assert expected.records.height == data.count(b"QDate")


@pytest.mark.parametrize("name", ["history.json", "history.xml"])
def test_captures_in_other_forms_tell_of_the_same_jobs(name: str) -> None:
    dialect = DIALECTS[name.split(".")[1]]
    found = parse((DATA / "htcondor" / name).read_bytes(), dialect=dialect)
    assert found.refusals.is_empty()
    expected = parse((DATA / "htcondor" / "history_long.txt").read_bytes())
    assert contract.rows(found) == contract.rows(expected)


def test_the_last_of_equal_attributes_holds_and_case_means_nothing() -> None:
    data = long({"OWNER": '"ben"', "jobSTATUS": 3}, {"ClusterId": 8})
    assert parse(data).records.select("user", "state").rows() == [
        ("ben", "CANCELLED"),
        ("ana", "COMPLETED"),
    ]


def test_blanks_around_the_sign_mean_nothing() -> None:
    data = long({}).replace(b" = ", b"=") + long({}).replace(b" = ", b"\t=  ")
    parsed = parse(data)
    assert parsed.records.height == 2
    assert parsed.records["user"].to_list() == ["ana", "ana"]


def test_a_banner_with_a_damaged_star_still_ends_its_record() -> None:
    for stars in (b"j**", b"*j*", b"**j"):
        data = RAW.sample.replace(b"***", stars, 1)
        assert contract.rows(parse(data)) == contract.rows(RAW.whole)


def test_records_that_run_into_each_other_are_no_record() -> None:
    for lost in (b"\n\n", b"\n*** Offset"):
        form = LONG if lost == b"\n\n" else RAW
        parsed = parse(form.sample.replace(lost, b"\n", 1))
        assert contract.rows(parsed) == contract.rows(form.whole)[2:]
        assert "run into each other" in parsed.refusals["reason"].item() or lost != b"\n\n"


def test_a_line_that_is_no_attribute_costs_its_record() -> None:
    data = long({}, {"ProcId": 1}, {"ProcId": 2}).replace(
        b"ProcId = 1\n", b"ProcId = 1\nsay what\n"
    )
    parsed = parse(data)
    assert parsed.records["array_task"].to_list() == [0, 2]
    assert parsed.refusals["reason"].item() == "a line of it is not an attribute: 'say what'"


BANNER = '*** {}ClusterId=7 ProcId=0 RunInstanceId=0 Owner="ana" CurrentTime={}'


def test_an_epoch_file_has_each_execution() -> None:
    runs: list[dict[str, Any]] = [
        {"JobStatus": 2, "CompletionDate": None, "JobCurrentStartDate": EPOCH + 60},
        {
            "JobStatus": 2,
            "JobCurrentStartDate": EPOCH + 500,
            "LastVacateTime": EPOCH + 400,
            "NumShadowStarts": 2,
            "ExitCode": 0,
        },
    ]
    data = long(runs[0], end=BANNER.format("EPOCH ", EPOCH + 400))
    data += long({}, end=BANNER.format("INPUT ", EPOCH + 501))
    data += long(runs[1], end=BANNER.format("", EPOCH + 900))
    parsed = parse(data.replace(b"\n\n", b"\n"))
    assert parsed.refusals.is_empty()
    assert parsed.steps == 1
    times = parsed.records.select("submit_time", "start_time", "end_time") - EPOCH
    assert times.rows() == [(0, 60, 400), (400, 500, 900)]
    assert parsed.records["state"].to_list() == ["PREEMPTED", "COMPLETED"]


def test_a_file_of_the_schedd_of_others(real_logs: Path) -> None:
    data = (real_logs / "htcondor" / "test_adstash_job_history_input.ads").read_bytes()
    parsed = parse(data)
    assert parsed.records.is_empty()
    assert parsed.steps == 1  # of the local universe
    assert parsed.refusals["reason"].item().endswith("how long it ran is unknown")


def test_nothing_but_empty_lines() -> None:
    for data in (b"", b"\n", b"\r\n\n***\n"):
        parsed = parse(data)
        assert contract.accounted(parsed) == 0


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
    with pytest.raises(ValueError, match=r"'3_0' is not an id of HTCondor's: write it like ap#7.0"):
        write(case_frame(LONG, [{**PLAIN_JOB, "job_id": "3_0"}]))


def test_the_file_of_one_job_has_no_banner() -> None:
    data = LONG.sample[: LONG.ends[1]].rstrip(b"\n") + b"\n"
    header = LONG.dialect.header(data, PLAIN)
    assert contract.rows(LONG.read(data, header)) == contract.rows(LONG.whole)[:1]
    cut = data[:-5]
    assert LONG.read(cut, LONG.dialect.header(cut, PLAIN)).refusals["code"].to_list() == ["cut"]
