"""What is written as LSF would."""

from audit.formats.lsf.writing import quoted, write
from tests.formats.contract import PLAIN_JOB, case_frame
from tests.formats.lsf.test_acct import CASE


def test_hosts_in_short_say_the_same() -> None:
    frame = case_frame(CASE, [{**PLAIN_JOB, "cpus": 7, "nodes": 3, "suspended_s": 40}])
    long, short = write(frame), write(frame, short=True)
    assert b' 7 "host1" "host1" "host1" "host2" "host2" "host3" "host3" ' in long
    assert b' 3 "3*host1" "2*host2" "2*host3" ' in short
    one, two = CASE.read(long).records, CASE.read(short).records
    assert one.equals(two)
    assert one.select("cpus", "nodes", "suspended_s").row(0) == (7, 3, 40)


def test_what_never_started() -> None:
    never = {"start_time": None, "state": "CANCELLED", "eligible_time": None, "gpus": None}
    frame = case_frame(CASE, [{**PLAIN_JOB, **never, "mem_bytes": None, "group": None}])
    (row,) = CASE.read(write(frame)).records.to_dicts()
    assert (row["start_time"], row["state"], row["eligible_time"]) == (None, "CANCELLED", None)
    assert (row["mem_bytes"], row["group"], row["cpus"], row["nodes"]) == (None, None, 8, None)


def test_ids_of_others_are_told_by_their_numbers() -> None:
    frame = case_frame(CASE, [{**PLAIN_JOB, "job_id": "7_3", "job_number": 7, "array_task": 3}])
    assert CASE.read(write(frame)).records["job_id"].to_list() == ["7[3]"]


def test_quotes_are_doubled() -> None:
    assert quoted('a"b') == '"a""b"'
    assert quoted(None) == '""'
