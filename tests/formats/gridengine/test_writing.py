"""What is written as Grid Engine would."""

from audit.formats.dialects import PLAIN
from audit.formats.gridengine import accounting
from audit.formats.gridengine.writing import escaped, write
from audit.formats.lines import Block
from tests.formats.contract import EPOCH, PLAIN_JOB, case_frame
from tests.formats.gridengine.test_accounting import CASE


def test_by_hand() -> None:
    job = {**PLAIN_JOB, "job_id": "7.3", "nodes": 1, "cpus": 2, "mem_bytes": 2_048, "gpus": 1}
    text = write(case_frame(CASE, [job])).decode().splitlines()[-1]
    columns = text.split(":")
    assert columns[:4] == ["batch", "node1", "staff", "ana"]
    assert columns[5] == "7"
    assert columns[8:14] == [str(EPOCH), str(EPOCH + 60), str(EPOCH + 3_660), "0", "0", "3600"]
    assert columns[31:37] == ["phys", "defaultdepartment", "NONE", "2", "3", "0.000000"]
    assert columns[39] == "-l h_rt=7200,gpu=1,h_vmem=1024"
    assert len(columns) == 45


def test_milliseconds_are_read_as_seconds() -> None:
    never = {"start_time": None, "end_time": EPOCH, "state": "FAILED", "cpus": 1, "nodes": 1}
    frame = case_frame(CASE, [dict(PLAIN_JOB), {**PLAIN_JOB, **never}])
    plain, fine = write(frame), write(frame, milliseconds=True)
    assert plain != fine
    one, two = (
        accounting.parse(Block(data, 0, 1), accounting.header(data, PLAIN))
        for data in (plain, fine)
    )
    assert one.records.drop("byte_offset").equals(two.records.drop("byte_offset"))
    assert one.records["start_time"].to_list() == [EPOCH + 60, None]


def test_ids_of_others_are_told_by_their_numbers() -> None:
    frame = case_frame(CASE, [{**PLAIN_JOB, "job_id": "7[3]", "job_number": 7, "array_task": 3}])
    assert CASE.read(write(frame)).records["job_id"].to_list() == ["7.3"]


def test_names_stay_in_their_columns() -> None:
    assert escaped("#a:b\n\r") == "\\x23a\\x3ab\\x0a\\x0d"
    assert escaped("a#b") == "a#b"
