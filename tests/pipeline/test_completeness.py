"""Logs that are a part of the workload, and what tells (SPEC §14, *A part of the workload*)."""

import gzip
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from audit.cluster.setting import ClusterSettings
from audit.config import Config
from audit.config.table import presets
from audit.formats.dialects import Reading
from audit.formats.swf import Announced
from audit.ingest import ingest
from audit.ingest.logs import LogHead, open_log, open_logs
from audit.pipeline import completeness
from audit.pipeline.completeness import Completeness, Numbers
from audit.pipeline.opening import ClusterFinder, LogRequest, take_in
from audit.store import migrations, queries
from audit.words import Population
from tests.logs import line, log, write
from tests.places import DATA

DAY_S = 86_400
T0 = 1_000_000_000
SPAN = {
    "StartTime": "Sun Sep 09 03:46:40 CEST 2001",
    "EndTime": "Wed Sep 19 03:46:40 CEST 2001",  # ten days
}


def judged(path: Path, *stated: Population | None) -> Completeness:
    """The additions to a setting by the completeness of a log's cluster."""
    logs = open_logs([path])
    with migrations.temporary() as con:
        taken = take_in(con, logs, ClusterFinder(logs, "c", Config()), Config())
        before = LogRequest(logs=[path]).setting(taken)
        setting = completeness.with_completeness(before, con, stated)
    assert before.warnings == setting.warnings[: len(before.warnings)]
    warnings = setting.warnings[len(before.warnings) :]
    return Completeness(setting.part, warnings, setting.announced, setting.gaps)


def swf(path: Path, days: float, records: int, **entries: object) -> Path:
    """A log of evenly spaced jobs over some days."""
    step = round(days * DAY_S / records)
    lines = [line(job, submit=job * step) for job in range(records)]
    return write(path, log(lines, MaxProcs=4, **entries))


@pytest.mark.parametrize(
    ("days", "entries", "part", "cautions"),
    [
        (10, {"MaxRecords": 200, **SPAN}, "", []),
        (10, {"MaxJobs": 203, "MaxRecords": 200, **SPAN}, "", []),  # 98 %
        (10, {"MaxJobs": 300, "MaxRecords": 200, **SPAN}, "", ["has 200, or 67 %, of the 300"]),
        (10, {"MaxJobs": 405, **SPAN}, "it has 200, or 49 %, of the 405 records", []),
        # the beginning of a log: all of a shorter time
        (2, {"MaxRecords": 1_000, **SPAN}, "", ["ends on 2001-09-19, but its last record is of"]),
        (2, {"MaxRecords": 3_000, **SPAN}, "it has 200, or 34 %, of the 597 records", []),
        (2, {"MaxRecords": 1_000}, "it has 200, or 20 %, of the 1,000 records", []),
        (2, {"MaxRecords": "many", **SPAN}, "", []),
        (2, {"MaxRecords": "9" * 5_000, **SPAN}, "", []),
        (2, {"MaxRecords": 1_000, **SPAN, "EndTime": "soon"}, "it has 200, or 20 %", []),
    ],
)
def test_what_a_header_announces(
    tmp_path: Path, days: float, entries: dict[str, object], part: str, cautions: list[str]
) -> None:
    found = judged(swf(tmp_path / "a.swf", days, 200, **entries))
    assert found.part.startswith(part)
    assert bool(found.part) is bool(part)
    assert len(found.cautions) == len(cautions)
    for text, caution in zip(found.cautions, cautions, strict=True):
        assert text.startswith("the log may be a part of the workload: ")
        assert caution in text


@pytest.mark.parametrize(
    ("days", "named", "announced"),
    [
        (10, 203, None),  # 98 %
        (10, 300, (200, 300, False)),  # nearly all of its time: the number of the header itself
        (2, 3_000, (200, 597, True)),  # a fifth of its time
    ],
)
def test_records_are_those_that_a_header_names_for_their_time(
    tmp_path: Path, days: float, named: int, announced: tuple[int, int, bool] | None
) -> None:
    path = swf(tmp_path / "a.swf", days, 200, MaxRecords=named, **SPAN)
    assert judged(path).announced == announced


def test_records_that_two_logs_have_count_once(tmp_path: Path) -> None:
    one = swf(tmp_path / "a.swf", 10, 200, MaxRecords=300, **SPAN)
    two = write(tmp_path / "b.swf", one.read_text() + line(201, submit=10 * DAY_S) + "\n")
    logs = open_logs([one, two])
    with migrations.temporary() as con:
        taken = take_in(con, logs, ClusterFinder(logs, "c", Config()), Config())
        setting = completeness.with_completeness(LogRequest(logs=[one, two]).setting(taken), con)
    assert setting.announced == (201, 300, False)


def test_a_log_that_was_read_in_parts_counts_as_one(tmp_path: Path) -> None:
    path = swf(tmp_path / "a.swf", 10, 200, MaxRecords=200, **SPAN)
    whole = path.read_text()
    write(path, whole[: whole.index("\n100 ") + 1])
    first = open_log(path)
    write(path, whole)
    second = open_log(path, earlier=[LogHead(first.source.size, first.source.sha256)])
    setting = ClusterSettings("c", ZoneInfo("UTC"), (), {}, T0 + 10 * DAY_S, (), ())
    with migrations.temporary() as con:
        write(path, whole[: whole.index("\n100 ") + 1])
        ingest.take_in(con, "c", [first])
        write(path, whole)
        ingest.take_in(con, "c", [second])
        assert [records for *_, records in queries.rows(con, "headers", cluster="c")] == [100, 100]
        assert completeness.with_completeness(setting, con) == setting


def sacct(path: Path, numbers: list[str]) -> Path:
    rows = [
        f"{number}|u{k % 7}|COMPLETED|{T0 + 3_600 * k}|{T0 + 3_600 * k + 60}|{T0 + 3_600 * k + 900}"
        "|cpu=1,mem=1G,node=1"
        for k, number in enumerate(numbers)
    ]
    return write(path, "\n".join(["JobID|User|State|Submit|Start|End|AllocTRES", *rows, ""]))


def test_missing_numbers_are_a_caution_and_with_single_tasks_a_part(tmp_path: Path) -> None:
    apart = sacct(tmp_path / "apart.psv", [str(3 * k) for k in range(300)])
    found = judged(apart)
    assert found.part == ""
    assert found.gaps
    assert found.cautions == (
        "the log may be a part of the workload: 67 % of the job numbers of its median month have "
        "no record",
    )
    single = [f"{10 * k}_3" for k in range(120)]
    found = judged(sacct(tmp_path / "single.psv", single))
    assert found == Completeness(
        "90 % of the job numbers of its median month have no record, and 120 of 120 array jobs "
        "have one task"
    )
    # each task takes a number: nothing is missing
    whole = [f"{10 * k}_{task}" for k in range(40) for task in range(10)]
    assert judged(sacct(tmp_path / "whole.psv", whole)) == Completeness()
    # arrays of one task alone, and few jobs, tell nothing
    assert judged(sacct(tmp_path / "ones.psv", [f"{k}_0" for k in range(120)])) == Completeness()
    assert judged(sacct(tmp_path / "few.psv", [str(9 * k) for k in range(99)])) == Completeness()


def test_a_damaged_number_does_not_make_a_month_sparse(tmp_path: Path) -> None:
    numbers = [*map(str, range(1_000, 1_300)), "99999999"]
    assert judged(sacct(tmp_path / "a.psv", numbers)) == Completeness()


def test_the_members_of_a_federation_number_their_jobs_apart(tmp_path: Path) -> None:
    members = [str((member << 26) + k) for k in range(200) for member in (1, 2)]
    assert judged(sacct(tmp_path / "whole.psv", members)) == Completeness()
    assert judged(sacct(tmp_path / "apart.psv", members[:80] + members[320:])).gaps


def test_what_sources_state_decides(tmp_path: Path) -> None:
    single = sacct(tmp_path / "a.psv", [f"{10 * k}_3" for k in range(120)])
    assert judged(single, Population.ALL, Population.ALL) == Completeness()
    assert judged(single, Population.ALL, None).part.startswith("90 % of the job numbers")
    whole = swf(tmp_path / "a.swf", 10, 200, MaxRecords=200, **SPAN)
    assert judged(whole, None, Population.PART).part == (
        "its sources hold only a part of the jobs (clusters.sources.population)"
    )
    assert "in which long ones are over-represented" in judged(whole, Population.LENGTH_BIASED).part


def test_no_submission_and_no_record_tell_nothing() -> None:
    header = [(Announced(100, T0, T0 + DAY_S), 100)]
    assert completeness.judged([], header, Numbers(), None) == Completeness()
    assert completeness.judged([], [], Numbers(), None) == Completeness()


@pytest.mark.parametrize(
    ("name", "part", "cautions"),
    [
        ("KTH-SP2-1996-2.1-cln", False, []),
        ("LANL-CM5-1994-4.1-cln", False, ["it has 122,060, or 61 %, of the 201,387 records"]),
        ("UniLu-Gaia-2014-1", False, []),
    ],
)
def test_public_logs(
    real_logs: Path, tmp_path: Path, name: str, part: bool, cautions: list[str]
) -> None:
    found = judged(real_logs / "swf" / f"{name}.swf.gz")
    assert bool(found.part) is part
    assert len(found.cautions) == len(cautions)
    assert all(caution in text for caution, text in zip(cautions, found.cautions, strict=True))


def test_the_beginning_of_a_public_log(real_logs: Path, tmp_path: Path) -> None:
    """Its jobs are all those of a shorter time; without times in the header they are a part."""
    with gzip.open(real_logs / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz", "rt") as whole:
        head = [text for text, _ in zip(whole, range(3_000), strict=False)]
    found = judged(write(tmp_path / "head.swf", "".join(head)))
    assert not found.part
    assert "ends on 1997-08-29, but its last record is of 1996-11-14" in found.cautions[-1]
    bare = [text for text in head if not text.startswith(("; StartTime", "; EndTime"))]
    found = judged(write(tmp_path / "bare.swf", "".join(bare)))
    assert found.part.startswith("it has 2,976, or 10 %, of the 28,490 records")


TABLES = DATA / "tables"


def of_table(name: str, file: str, *stated: Population) -> Completeness:
    path = TABLES / name / file
    request = LogRequest(logs=[path], reading=Reading(table=presets()[name]))
    with migrations.temporary() as con:
        taken = take_in(con, request.open(), ClusterFinder(request.open(), "c", Config()), Config())
        before = request.setting(taken)
        setting = completeness.with_completeness(before, con, stated)
    warnings = setting.warnings[len(before.warnings) :]
    return Completeness(setting.part, warnings, setting.announced, setting.gaps)


def test_what_a_preset_states_reaches_the_report() -> None:
    pm100 = presets()["pm100"]
    assert of_table("pm100", "job_table.parquet").part == f"{pm100.title}: {pm100.caution}"
    philly = presets()["philly"]
    found = of_table("philly", "cluster_job_log")
    assert found == Completeness(cautions=(f"{philly.title}: {philly.caution}",))
    assert of_table("helios", "cluster_log.csv") == Completeness()


def test_what_a_source_states_takes_precedence_over_its_preset() -> None:
    found = of_table("pm100", "job_table.parquet", Population.ALL)
    assert found.part == ""
    assert [text.partition(": ")[0] for text in found.cautions] == ["PM100"]
    assert (
        "(clusters.sources.population)"
        in of_table("philly", "cluster_job_log", Population.PART).part
    )
