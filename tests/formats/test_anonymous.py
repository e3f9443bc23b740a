"""The head of a log without names reads as the log, and holds no name of it."""

import json
import re
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import DialectError
from audit.formats import dialects
from audit.formats.anonymous import KEPT, without_names
from audit.formats.dialects import PLAIN, Parsed
from audit.formats.lines import Block
from audit.ingest.streams import opened
from tests.examples import examples
from tests.formats import contract
from tests.formats.lsf.test_reader import CASE as LSF
from tests.formats.pbs.test_reader import CASE as PBS
from tests.formats.sacct.test_completion import line
from tests.formats.sacct.test_job_table import CASE as JOB_TABLE
from tests.formats.test_gridengine import CASE as GRID_ENGINE
from tests.formats.test_gridengine import gridware
from tests.formats.test_older_dialects import SACCT, SWF
from tests.places import ROOT

DATA = ROOT / "tests" / "data"
CASES = (SACCT, JOB_TABLE, PBS, LSF, GRID_ENGINE, SWF)
LOGS = [
    *(DATA / "sacct" / name for name in ("all.psv", "epoch.psv", "noconvert.psv", "json.json")),
    *(DATA / "sacct" / name for name in ("berlin.psv", "stepusage.psv", "us.txt", "window.psv")),
    *sorted((DATA / "htcondor").iterdir()),
    *sorted((DATA / "arrays").iterdir()),
    DATA / "gridengine" / "accounting",
    *sorted(DATA.glob("tables/kueue/[we]*s.json")),
    *sorted(DATA.glob("tables/slurmrestd/jobs_*.json")),
    *sorted(path for path in DATA.glob("cases/*/input") if path.parent.name != "pbsnodes-vnodes"),
]
NAMES = ("user", "account", "group", "partition", "qos", "reservation", "cluster", "node_list")


def read(log: bytes) -> Parsed:
    dialect = dialects.detect(log, "log")
    return dialect.parse(Block(log, 0, 1), dialect.header(log, PLAIN))


def head_of(path: Path, size: int = 1 << 20) -> bytes:
    with opened(path) as stream:
        data = stream.read(size)
    dialect = dialects.detect(data, path.name)
    return data[: dialect.whole(data, dialect.header(data, PLAIN))] or data


def is_the_same(log: bytes) -> tuple[Parsed, str]:
    """Compare a log with itself without names; return what it was read as, and the text."""
    text = without_names(log)
    before, after = read(log), read(text.encode())
    assert after.records.height == before.records.height
    assert after.refusals["code"].to_list() == before.refusals["code"].to_list()
    assert after.steps == before.steps
    texts = [name for name, kind in before.records.schema.items() if kind == pl.String]
    other = [name for name in before.records.columns if name not in {*texts, "byte_offset"}]
    for name in (*other, "kind", "state"):
        assert after.records[name].to_list() == before.records[name].to_list(), name
    for name in texts:  # equal names have equal replacements, and different ones different ones
        pairs = set(zip(before.records[name], after.records[name], strict=True))
        assert len({one for one, _ in pairs}) == len({other for _, other in pairs}) == len(pairs)
    return before, text


def names_in(parsed: Parsed) -> set[str]:
    return {
        word
        for name in NAMES
        if name in parsed.records.columns
        for text in parsed.records[name].drop_nulls()
        for word in re.findall(r"[^\W\d_]\w+", text)
    } - KEPT


@pytest.mark.parametrize("path", LOGS, ids=lambda path: "-".join(path.parts[-2:]))
def test_logs_read_the_same_and_name_nobody(path: Path) -> None:
    log = head_of(path)
    parsed, text = is_the_same(log)
    assert set(re.findall(r"\w+", text)) & names_in(parsed) == set()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.dialect.name)
def test_every_dialect_reads_the_same(case: contract.Case) -> None:
    _, text = is_the_same(case.sample)
    if case is not SWF:  # whose users are numbers
        assert case.name.decode() in case.sample.decode()
        assert case.name.decode() not in re.findall(r"\w+", text)


def test_every_dialect_has_a_log_here() -> None:
    seen = {dialects.detect(head_of(path), path.name).name for path in LOGS}
    assert seen | {case.dialect.name for case in CASES} >= set(dialects.table()) - {
        "near-swf",
        "table",
    }


def test_records_of_gridware_read_the_same() -> None:
    lines = (gridware(owner="secret"), gridware(job_number=8, owner="ana", project="secret2"))
    _, text = is_the_same("".join(lines).encode())
    assert '"submission_time": 1795234360500000' in text
    assert not SECRET.search(text)


def test_a_log_of_completions_reads_the_same_and_hides_numbers_that_are_names() -> None:
    fields = {"UserId": "secret(77777)", "Account": "77778", "QOS": "77779", "Name": "my secret"}
    _, text = is_the_same("".join(line(JobId=str(k), **fields) for k in range(3)).encode())
    assert not SECRET.search(text)
    assert "7777" not in text
    assert text.count("ProcCnt=8 WorkDir=") == 3


def test_keys_of_objects_stay_if_most_have_them() -> None:
    log = [{"jobId": k, "startTime": k, "numNodes": 4, "user": "secret"} for k in range(4)]
    log[0]["secret1"] = log[1]["secret1"] = 1
    text = without_names(json.dumps(log).encode())
    assert text.count('"numNodes": 4') == 4
    assert not SECRET.search(text)


SECRET = re.compile(r"secret", re.I)


@pytest.mark.parametrize("name", [name for name in contract.HOSTILE if len(name) < 100])
@pytest.mark.parametrize("separator", ["|", "\x1f", "☃"])
def test_hostile_names_are_replaced(name: str, separator: str) -> None:
    name = f"secret{name}secret"
    rows = [["JobID", "JobName", "User", "State", "Submit", "Start", "End", "WorkDir"]]
    day = "2026-01-0{}T00:00:00"
    rows += [
        [str(job), name, "anna", "COMPLETED", *map(day.format, (1, 2, 3)), "/home/anna/2026/x"]
        for job in range(9)
    ]
    text = "".join(separator.join(row) + "\n" for row in rows)
    found = without_names(text.encode())
    assert not SECRET.search(found)
    assert "anna" not in found
    assert "home" not in found
    assert found.startswith(separator.join(rows[0]))
    assert found.count("2026-01-02T00:00:00") == 9
    assert not re.search(r"[\x00-\x08\x0b-\x0c\x0e-\x1b\x7f]|\u202e", found)


@given(st.text(min_size=1), st.sampled_from(["", "{", "<", "04/16/2025 09:23:33;E;7.srv;user="]))
@settings(max_examples=examples(200))
def test_no_text_keeps_a_word_that_is_not_known(text: str, before: str) -> None:
    """A word is kept only if it is known, or a number, or a single letter."""
    found = without_names((before + text).encode("utf-8", "replace"))
    left = re.sub(r"\bname\d+\b", "", found)
    for word in re.findall(r"[A-Za-z\u0080-\U0010ffff]{3,}", left):
        assert word in KEPT or any(word in known for known in KEPT), (word, found)


def test_a_hand_worked_example() -> None:
    log = (
        "04/16/2025 09:23:33;E;7[1].srv.example.org;user=anna group=physics jobname=4711 "
        "queue=q1 ctime=5 exec_host=cn01/0*4+cn02/0*4 Resource_List.select=2:ncpus=4\n"
    )
    assert without_names(log.encode()) == (
        "04/16/2025 09:23:33;E;7[1].name1;user=name2 group=name3 jobname=name4 "
        "queue=name5 ctime=5 exec_host=name6/0*4+name7/0*4 Resource_List.select=2:ncpus=4\n"
    )


def test_a_log_of_no_dialect_loses_its_names() -> None:
    log = b"2026-01-02 10:00:00 job 17 of Anna-Maria (anna@example.org) took 3.5 GB in /home/anna\n"
    found = without_names(log)
    assert (
        found
        == "2026-01-02 10:00:00 job 17 name1 name2 (name3@name4) name5 3.5 name6 name7 /name8\n"
    )


def test_the_column_names_of_a_table_stay() -> None:
    rows = "".join(f"{n},anna,gpu,2026-01-01 10:0{n}:00,2026-01-02 10:00:00\n" for n in range(9))
    table = f"job_id,user_name,queue_of_ours,submit_time,start_time\n{rows}"
    found = without_names(table.encode())
    assert found.startswith("job_id,user_name,queue_of_ours,submit_time,start_time\n0,name1,gpu,")
    assert without_names(rows.encode()).startswith("0,name1,gpu,2026-01-01 10:00:00")


@pytest.mark.thorough
def test_real_logs_read_the_same(real_logs: Path) -> None:
    seen = set()
    for path in sorted(
        path for path in real_logs.glob("*/*") if path.suffix not in {".md", ".csv"}
    ):
        if "unknown-job-state" in path.name:  # whose states are words that no scheduler has
            continue
        with suppress(DialectError):
            log = head_of(path, 200_000)
            parsed, text = is_the_same(log)
            assert set(re.findall(r"\w+", text)) & names_in(parsed) == set(), path
            seen.add(dialects.detect(log, path.name).name)
    assert {"sacct", "pbs", "lsf", "gridengine", "swf"} <= seen
