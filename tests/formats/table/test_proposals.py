"""Proposals for tables with unknown names, and that nothing of them is used silently."""

import json
import random
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from audit.config.faults import validated
from audit.config.table import TableMapping, presets
from audit.errors import DialectError
from audit.formats import dialects
from audit.formats.dialects import Reading
from audit.formats.table import proposals
from audit.ingest.logs import open_log
from tests.formats.table.test_samples import SAMPLES, TABLES, Sample

EPOCH: Final = 1_600_000_000


def iso(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}"


def made(
    names: str, *, wall: int = 60, elapsed: int = 1, shuffled: bool = False, ids: int = 10**6
) -> bytes:
    """Return jobs with these names of id, user, state, submit, start, end, elapsed, walltime."""
    drawn = random.Random(1)
    lines = [names]
    for number in range(60):
        submit = EPOCH + 100 * number
        start = submit + drawn.randrange(1000)
        limit = 3600 * drawn.randrange(1, 5)
        cut = number % 4 == 0
        end = start + (limit + drawn.randrange(20) if cut else drawn.randrange(60, limit))
        times = [submit, start, end]
        if shuffled:
            times = [end, submit, start]
        state = "TIMEOUT" if cut else "COMPLETED"
        spent = (end - start) / elapsed
        cells = [number % ids, f"u{number % 5}", state, *map(iso, times), spent, limit // wall]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines).encode() + b"\n"


NAMES: Final = "jobid,uid,status,submitted,began,ended,run_time,time_limit"
NAMED: Final = NAMES.replace("began", "start_time").replace("ended", "end_time")


def proposed(data: bytes) -> str:
    found = proposals.propose(data)
    assert found is not None
    assert found.preset is None
    return found.text


def mapping(text: str) -> TableMapping:
    return TableMapping.model_validate(tomllib.loads(text))


def test_names_are_proposed_and_units_proven() -> None:
    text = proposed(made(NAMED))
    fields = mapping(text).fields
    columns = {name: of.column for name, of in fields.items()}
    assert columns == {
        "job_id": "jobid",
        "user": "uid",
        "state": "status",
        "submit_time": "submitted",
        "start_time": "start_time",
        "end_time": "end_time",
        "walltime": "time_limit",
    }
    assert fields["walltime"].unit == "min"
    assert '# elapsed = { column = "run_time", unit = "s" } # equals end − start' in text
    assert '# zone = "Europe/Berlin"' in text
    assert "Ids repeat" not in text


@pytest.mark.parametrize(("wall", "unit"), [(1, "s"), (60, "min"), (3600, "h")])
def test_the_unit_of_the_walltime_follows_from_timeouts(wall: int, unit: str) -> None:
    assert mapping(proposed(made(NAMED, wall=wall))).fields["walltime"].unit == unit


def test_without_timeouts_the_unit_is_asked() -> None:
    text = proposed(made(NAMED).replace(b"TIMEOUT", b"FAILED"))
    assert "walltime" not in mapping(text).fields
    assert '# walltime = { column = "time_limit", unit = ? } # in which unit: s, min, h?' in text


def test_records_of_apel_are_a_table_of_jobs() -> None:
    names = "LocalJobId,LocalUserId,Queue,WallDuration,Processors,StartTime,EndTime"
    rows = (f"{k},u{k},long,90,8,2026-01-0{k}T00:00:00Z,2026-01-0{k}T00:01:30Z" for k in (1, 2, 3))
    text = proposed("\n".join([names, *rows, ""]).encode())
    assert {name: of.column for name, of in mapping(text).fields.items()} == {
        "job_id": "LocalJobId",
        "user": "LocalUserId",
        "partition": "Queue",
        "start_time": "StartTime",
        "end_time": "EndTime",
        "cpus": "Processors",
    }
    assert '# elapsed = { column = "WallDuration", unit = "s" } # equals end − start' in text


def rows(names: str, *lines: str) -> bytes:
    return "\n".join([names, *lines, ""]).encode()


def times(*lines: str) -> bytes:
    return rows("id,user,state,submitted,start_time,end_time,cores", *lines)


def test_the_zone_of_times_with_an_offset_is_not_asked() -> None:
    data = made(NAMED)
    text = proposed(data.replace(b":00,", b":00-07:00,"))
    assert "# zone" in text  # some times have none
    every = (f"{k},u,OK,{iso(k)}-07:00,{iso(k + 5)}-07:00,{iso(k + 9)}-07:00,1" for k in range(4))
    assert "# zone" not in proposed(times(*every))


@pytest.mark.parametrize(("unit", "factor"), [("ms", 10**3), ("us", 10**6)])
def test_the_unit_of_epoch_times_follows_from_their_size(unit: str, factor: int) -> None:
    lines = [
        f"{k},u,done,{t * factor},{(t + 5) * factor},{(t + 9) * factor},1"
        for k in range(4)
        for t in [EPOCH + 60 * k]
    ]
    fields = mapping(proposed(times(*lines))).fields
    assert {fields[name].unit for name in ("submit_time", "start_time", "end_time")} == {unit}


def test_times_of_another_form_are_named_with_a_form_that_is_read() -> None:
    text = proposed(
        times(
            *(f"{k},u,done,01/3{k}/2026,01/3{k}/2026,01/3{k}/2026,1" for k in (0, 1)),
            "9,u,done,,,,1",
        )
    )
    assert text.count("write them as 2026-01-31 12:00:00, or in seconds since 1970") == 3


def test_times_that_count_from_another_instant_ask_for_it() -> None:
    text = proposed(times(*(f"{k},u,done,{k},{k + 5},{k + 9},1" for k in range(4))))
    assert '# origin = "2020-01-01"' in text
    assert "# origin" not in proposed(made(NAMED))


def test_a_wait_is_not_proposed_as_the_submission() -> None:
    text = proposed(rows("id,queued_time,start_time", *(f"{k},{k},{EPOCH + k}" for k in range(4))))
    assert "submit_time" not in mapping(text).fields
    assert "# not proven: submit_time is often years before start_time" in text


def test_a_walltime_that_is_the_elapsed_time_is_no_limit() -> None:
    data = made(NAMED.replace("run_time", "wall_time").replace("time_limit", "x"))
    text = proposed(data)
    assert "walltime" not in mapping(text).fields
    assert "not proven: it equals end − start, as no limit does" in text


def test_durations_of_hours_minutes_and_seconds_need_no_proof() -> None:
    names = "jobid,submit_time,time_limit,duration,waiting_time"
    text = proposed(
        rows(names, *(f"{k},{iso(k)},1-04:00:00,00:0{k}:00,00:00:09" for k in range(4)))
    )
    fields = mapping(text).fields
    assert [fields[name].unit for name in ("walltime", "elapsed", "wait")] == ["clock"] * 3


def test_durations_without_which_a_time_is_unknown_are_asked_about() -> None:
    names = "job_number,submit_time,wait_time,duration,allocated_processors"
    text = proposed(rows(names, *(f"{k},{EPOCH + k},5,9,16" for k in range(4))))
    for field, column in (("wait", "wait_time"), ("elapsed", "duration")):
        assert (
            f'# {field} = {{ column = "{column}", unit = ? }} # in which unit: s, min, h?' in text
        )
    assert mapping(text).fields["cpus"].column == "allocated_processors"


def test_requested_amounts_are_proposed_where_no_allocated_ones_are() -> None:
    names = "job_id,start_time,end_time,nodes_req,processors_req,gpus_req"
    line = f"{{}},{iso(EPOCH)},{iso(EPOCH + 9)},2,72,0"
    fields = mapping(proposed(rows(names, *map(line.format, range(4))))).fields
    columns = [fields[name].column for name in ("nodes", "cpus", "gpus")]
    assert columns == ["nodes_req", "processors_req", "gpus_req"]
    assert "req_cpus" not in fields


@pytest.mark.parametrize(("separator", "shown"), [(",", '","'), ("\t", r'"\t"')])
def test_a_table_of_jobs_without_ids_says_how_to_number_them(separator: str, shown: str) -> None:
    line = f"u1,{iso(EPOCH)},{iso(EPOCH + 9)},16"
    data = rows("user_ID,start_time,end_time,node_count", *[line] * 4)
    text = proposed(data.replace(b",", separator.encode()))
    assert "a table needs job ids" in text
    assert f"""awk '{{ print (NR > 1 ? NR - 1 : "job_id") {shown} $0 }}' LOG""" in text


@pytest.mark.parametrize(("names", "known"), [("abcd", True), ("aabc", False)])
def test_names_of_jobs_are_ids_if_they_differ(names: str, known: bool) -> None:
    lines = (f"{name},u1,{EPOCH},{EPOCH + 9},1" for name in names)
    text = proposed(rows("job_name,user,start_time,end_time,gpu_request", *lines))
    assert ('job_id = "job_name"' in text) is known
    assert ("a table needs job ids" in text) is not known


def test_columns_may_be_separated_by_blanks() -> None:
    lines = (f"{k} ana {EPOCH} {EPOCH + 5} 8" for k in range(4))
    data = rows("ClusterId Owner QDate JobStartDate RequestCpus", *lines)
    text = proposed(data)
    assert "# One blank separates the columns: pass --separator ' ' too." in text
    columns = {name: of.column for name, of in mapping(text).fields.items()}
    assert (columns["submit_time"], columns["cpus"]) == ("QDate", "RequestCpus")
    with pytest.raises(DialectError, match=r"pass --separator ' '$"):
        dialects.table()["table"].header(data, Reading(table=mapping(text)))


def test_a_column_called_queue_may_hold_the_wait() -> None:
    names = "job_id,submit_time,start_time,end_time,queue"
    waits = [(k, 3 * k % 7 + 1) for k in range(9)]
    lines = (f"{k},{EPOCH},{EPOCH + wait},{EPOCH + 99},{wait}.0" for k, wait in waits)
    text = proposed(rows(names, *lines))
    assert "partition" not in mapping(text).fields
    assert '# wait = { column = "queue", unit = "s" } # equals start − submit' in text


JOBS: Final = [
    {"run": {"jobId": k, "t": [{"a": 1}]}, "user": f"u{k}", "start_time": EPOCH + k, "numNodes": 2}
    for k in range(4)
]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (json.dumps(JOBS), ""),
        ("\n".join(map(json.dumps, JOBS)), ""),
        (json.dumps({"version": 1, "list": [1], "all": JOBS}, indent=1), "all."),
    ],
)
def test_objects_of_json_are_a_table(text: str, path: str) -> None:
    found = mapping(proposed(text.encode()))
    assert {name: of.column for name, of in found.fields.items()} == {
        "job_id": f"{path}run.jobId",
        "user": f"{path}user",
        "start_time": f"{path}start_time",
        "nodes": f"{path}numNodes",
    }
    assert found.records == (path.removesuffix(".") or None)


def test_times_out_of_order_are_not_proposed() -> None:
    text = proposed(made(NAMED, shuffled=True))
    assert not {"submit_time", "start_time"} & set(tomllib.loads(text))
    assert "# not proven: submit_time is often after start_time" in text


def test_ids_that_repeat_are_asked_about() -> None:
    text = proposed(made(NAMED, ids=7))
    assert "# Ids repeat." in text
    assert mapping(text).one == "job"


def test_what_states_mean_is_proposed() -> None:
    data = made(NAMED).replace(b"COMPLETED", b"Pass").replace(b"TIMEOUT", b"zzz")
    text = proposed(data)
    assert mapping(text).fields["state"].values == {"Pass": "COMPLETED"}
    assert '# What do these values of "status" mean: "zzz"?' in text


@pytest.mark.parametrize(
    ("word", "state"),
    [("COMPLETED_WALLTIME_REACHED", "TIMEOUT"), ("COMPLETED_FAILED", "FAILED")],
)
def test_a_completed_job_may_have_failed(word: str, state: str) -> None:
    text = proposed(made(NAMED).replace(b"COMPLETED", word.encode()))
    assert mapping(text).fields["state"].values == {"TIMEOUT": "TIMEOUT", word: state}


def test_hostile_texts_stay_within_their_line() -> None:
    data = made(NAMED.replace("uid", "user")).replace(b"COMPLETED", b'C"\x07]#')
    text = proposed(data)
    mapping(text)
    assert "\x07" not in text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a,b,c\n",
        b"job_id,user,submit_time\n1,a,soon\n",
        b"job_id,user,color\n1,a,b\n2,a,b\n3,a,b\n",
        b"user,state,submit_time\n" + b"a,b,2021-01-01 00:00:00\n" * 5,
        b"\xff\xfe\x00",
        b"{}",
        b'[{"a": 1}, {"a": 2}, {"a": 3}]',
        b'{"name": "x", "version": 1, "files": [1, 2, 3]}',
        b'[{"jobid": 1, "start_time": 5}, {"jobid": 2',
    ],
)
def test_what_is_no_table_of_jobs_has_no_proposal(data: bytes) -> None:
    assert proposals.propose(data) is None


DOCUMENTED: Final[Sequence[tuple[str, str]]] = (
    # public data sets without a preset: their names, and a row as documented
    (
        "user_ID,group_ID,submit_time,start_time,end_time,wallclock_limit,job_status,node_count,tasks",
        "1,2,2011-10-28 14:17:16,2011-10-28 14:25:42,2011-10-28 14:28:42,08:00:00,COMPLETED,16,384",
    ),
    (
        "job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,mem_req,"
        "submit_time,start_time,end_time,run_time,state",
        "10,u1,a1,short,normal,04:00:00,1,36,1024,2019-01-01 00:00:00,2019-01-01 00:00:05,"
        "2019-01-01 00:10:05,600,COMPLETED",
    ),
    (
        "time,type,collection_id,scheduling_class,missing_type,collection_type,priority,alloc_id,user",
        "0,0,330587238433,3,,0,200,0,2y9MVB",
    ),
    (
        "job_name,inst_id,user,status,start_time,end_time",
        "4b3f04b66a525d2df903eb16,8cb3bb,58540f191766,Terminated,2500456.0,2500460.0",
    ),
    (
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
        "queue,gpu_time",
        "5778432,u5907,1,8,128,Other,COMPLETED,2023-03-01 00:01:36+08:00,2023-03-01 00:01:37+08:00,"
        "2023-03-01 00:34:32+08:00,1975,1.0,15800",
    ),
    (
        "vmid,subscriptionid,deploymentid,vmcreated,vmdeleted,maxcpu,avgcpu,p95maxcpu,vmcategory",
        "x/3pw,VDU4C,Pc2VL,0,2591700,99.36,3.42,10.19,Delay-insensitive",
    ),
)


@pytest.mark.parametrize(("names", "row"), DOCUMENTED)
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_of_documented_tables_nothing_is_read_unasked(
    names: str, row: str, separator: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.csv"
    lines = [names, *[row] * 30]
    path.write_text("\n".join(lines).replace(",", separator) + "\n", encoding="utf-8")
    with pytest.raises(DialectError) as caught:
        open_log(path)
    said = str(caught.value)
    assert "needs a mapping" in said or "not a log that fairaudit reads" in said
    assert names.partition(",")[0] not in str(caught.value.withheld())


@pytest.mark.parametrize(
    "sample", [of for of in TABLES if of.name != "frontier-swf"], ids=lambda sample: sample.name
)
def test_a_preset_is_proposed_and_not_used(sample: Sample) -> None:
    with pytest.raises(DialectError, match=f"if it is that, pass --table {sample.name}$"):
        open_log(SAMPLES / sample.name / sample.file)


def test_a_proposed_preset_is_written_whole() -> None:
    sample = TABLES[0]
    found = proposals.propose((SAMPLES / sample.name / sample.file).read_bytes())
    assert found is not None
    assert validated(TableMapping, tomllib.loads(found.written), "x") == presets()[sample.name]


def test_a_log_that_another_dialect_reads_is_no_table() -> None:
    text = b"JobID|User|State|Submit|Start|End\n7|a|COMPLETED|2021-01-01T00:00:00|||\n"
    assert dialects.detect(text, "x").name == "sacct"
