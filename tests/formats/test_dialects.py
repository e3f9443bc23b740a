"""The table of dialects, and the message about a log that no dialect reads."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import audit.formats
from audit.errors import DialectError
from audit.formats import dialects
from audit.ingest.logs import open_logs, parsed_blocks
from audit.report.render import page
from audit.setup import doctor
from tests.formats import test_gridengine as gridengine
from tests.formats.lsf import test_reader as lsf
from tests.places import ROOT


def rows_of_docs() -> list[str]:
    """The table of docs/logs.md, as it must be."""
    return [f"| `{name}` | {dialect.title} |" for name, dialect in dialects.table().items()]


def test_docs_list_every_dialect() -> None:
    text = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    table = text.split("| `--dialect` | log |\n|---|---|\n")[1].split("\n\n")[0]
    assert table.splitlines() == rows_of_docs()


DUMMY = """
import numpy as np
import polars as pl

from audit.formats.dialects import Dialect, Header
from audit.formats.lines import cut
from audit.formats.shaping import faulted, shaped
from audit.model import RefusalCode


def parse(block, header):
    lines = cut(np.frombuffer(block.data, dtype=np.uint8))
    cpus = pl.col("text").str.extract("cpus=([0-9]+)").cast(pl.Int64)
    texts = pl.DataFrame({"text": block.data.decode().splitlines()}).with_row_index("number")
    found = texts.filter(pl.col("number") > 0).select(
        "number",
        job_id=pl.col("text").str.extract("^([a-z]+)"),
        kind=pl.lit("job"),
        cpus=cpus,
        **faulted([(cpus.is_null(), RefusalCode.VALUE, "names no CPUs")]),
    )
    return shaped(block, lines, found)


DIALECT = Dialect(
    name="dummy",
    title="Dummy's diary",
    recognises=lambda head: head.startswith(b"DUMMY"),
    header=lambda head, reading: Header(zone=reading.zone),
    parse=parse,
)
"""


def test_a_dialect_is_one_folder_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dummy").mkdir()
    (tmp_path / "dummy" / "diary.py").write_text(DUMMY, encoding="utf-8")
    monkeypatch.setattr(audit.formats, "__path__", [*audit.formats.__path__, str(tmp_path)])
    monkeypatch.setattr(dialects, "MODULES", (*dialects.MODULES, "dummy.diary"))
    monkeypatch.setattr(doctor, "_kernels", lambda: "left out")
    monkeypatch.setattr(page, "try_out", lambda: 0)  # takes seconds
    log = tmp_path / "log"
    log.write_bytes(b"DUMMY 1.0\na cpus=4\nb\nc cpus=2\n")
    dialects.table.cache_clear()
    try:
        (opened,) = open_logs([log], "dummy")
        with pytest.raises(DialectError, match=r"no dialect 'dumy'; known: sacct-json, .*, dummy$"):
            open_logs([log], "dumy")
        (found,) = [item.found for item in doctor.examine(None, None) if item.what == "dialects"]
        assert rows_of_docs()[-1] == "| `dummy` | Dummy's diary |"
    finally:
        dialects.table.cache_clear()
    assert found.endswith(", near-swf, kueue, table, dummy")
    ((_, parsed),) = parsed_blocks(opened)
    assert parsed.records.select("job_id", "cpus", "line").rows() == [("a", 4, 2), ("c", 2, 4)]
    assert parsed.refusals.select("line", "reason").rows() == [(3, "names no CPUs")]


def test_of_an_unknown_log_nothing_is_shown() -> None:
    """It may be no log, but a secret to which a link leads."""
    with pytest.raises(DialectError) as caught:
        dialects.detect(b"\n\xffJobID|User|State\n", "a/b.swf")
    message = str(caught.value)
    assert message.startswith("a/b.swf: not a log that fairaudit reads (known: ")
    assert "--table FILE" in message
    assert "JobID" not in message
    assert caught.value.exit_code == 2


def test_lines_behind_the_names_of_files_are_recognised() -> None:
    for dialect in (gridengine, lsf):
        data = b"".join(b"acct.1:" + line for line in dialect.CASE.sample.splitlines(keepends=True))
        with pytest.raises(DialectError, match=r"a file's name precedes each line.*grep -h"):
            dialects.detect(data, "x")


LSF = '"JOB_NEW" "10.108" 1643910038 101 1501 33570818 1 1643910037 0 0 1643910038 "ana" "q"\n'
REPORTING = (
    "1795234360:new_job:1795234360:1:-1:NONE:ok:lab_ana:lab_ana::defaultdepartment:sge:1024\n"
)
GRIDWARE = '{"time":1795234360123456,"type":"new_job","job_number":7,"owner":"ana"}\n'
QACCT = "==============\nqname        all.q               \nhostname     sgelab\n"
CONDOR_EVENTS = "000 (001.000.000) 2026-11-21 04:34:01 Job submitted from host: <127.0.0.1:18229>\n"
SACCT_YAML = "%YAML 1.1\n--- !!map\n!!str jobs: !!seq\n- !!map\n  !!str allocation_nodes: !!int 1\n"
SHOWN_JOB = "JobId=8 ArrayJobId=7 ArrayTaskId=1 JobName=run\n   UserId=cyd(1003) MCS_label=N/A\n"
DUMP = (
    "-- MySQL dump 10.14\nDROP TABLE IF EXISTS `lab_job_table`;\nCREATE TABLE `lab_job_table` (\n"
)
SHARES = "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\n"


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        (LSF, r"LSF.s log of events \(lsb.events\)", 1),
        ("\nAccounting information about jobs that are: \n", "LSF's bacct", 2),
        ("JOBID   USER    STAT  QUEUE      FROM_HOST\n", "bhist or bjobs", 1),
        ("   JOBID PARTITION     NAME     USER ST       TIME  NODES\n", "squeue", 1),
        ("ACCOUNT|MIN_CPUS|JOBID|NAME|ST|USER|CPUS|NODELIST(REASON)\n", "squeue", 1),
        ('{\n  "jobs": [\n    {\n      "accrue_time": 1795233702,\n', "squeue", 4),
        ("----\nCluster Utilization 2026-11-20T00:00:00 - 2026-11-20T23:59:59\n", "sreport", 2),
        ("Job id            Name             User              Time Use S Queue\n", "qstat", 1),
        ("job-ID  prior   name       user         state submit/start at\n", "qstat", 1),
        ("\n\n-- Schedd: submit.example.org : <10.0.0.1:9618?...\n", "condor_q", 3),
        (REPORTING, "Grid Engine's reporting file", 1),
        (GRIDWARE, "Grid Engine's reporting file", 1),
        (QACCT, "Grid Engine's qacct", 1),
        ("JOBID   USER    JOB_NAME  PEND    PSUSP   RUN\n", "bhist or bjobs", 1),
        ('{\n  "COMMAND":"bjobs",\n  "RECORDS":[]\n}\n', "bhist or bjobs", 2),
        ("Job Id: 7.srv\n    Job_Name = x\n    ctime = Tue Apr  9 15:01:47 2013\n", "qstat", 1),
        ('{\n"pbs_version":"23",\n"pbs_server":"srv",\n"Jobs":{"7.srv":{}}}\n', "qstat", 2),
        ("Job Id:7.srv|Job_Name=x|job_state=F\n", "qstat", 1),
        ("<?xml version='1.0'?>\n<job_info>\n<JB_job_number>7</JB_job_number>\n", "qstat", 3),
        ("\nJob: 7.srv\n\n06/04/2007 10:04:37  S    enqueuing into workq\n", "tracejob", 2),
        ("06/04/2007 10:04:37;0008;PBS_Server;Job;7.srv;Job Queued\n", "server or scheduler", 1),
        ("06/04/2007 10:04:37.123456;0080;pbs_sched;Job;7.srv;Not enough\n", "or scheduler", 1),
        ("#\n# Create queues\n#\ncreate queue workq\n", "qmgr and pbsnodes", 4),
        ("n1\n     state = free\n     np = 4\n", "qmgr and pbsnodes", 3),
        (" ID     OWNER          SUBMITTED   RUN_TIME     ST COMPLETED\n", "condor_history", 1),
        ("ce.example.org#7.0#1435671643|ana|287|1435671643|1435671930|1\n", "condor_history", 1),
        ("APEL-individual-job-message: v0.3\nSite: X\nLocalJobId: 7\n%%\n", "APEL", 1),
        ('"timestamp=2012-05-20 23:59:47" "userDN=/CN=a" "lrmsID=7.srv"\n', "BLAH", 1),
        ("VERSION 230\n7 1 1 ana users 3600 Completed [batch:1] 1600000000\n", "Maui", 1),
        ("11:54:58 1039604098:0 job 7 JOBEND 64 64 ana users\n", "Moab", 1),
        ("=========== Job n1.5 ===========\nJob Id: n1.5\n", "llsummary", 1),
        ('{"timestamp":1600000000.1,"name":"submit","context":{"userid":1}}\n', "Flux", 1),
        ('{"7":{"Job_Id":7,"owner":"ana","submissionTime":1600000000}}\n', "oarstat", 1),
        ("apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\n", "Kubernetes in YAML", 1),
        (CONDOR_EVENTS, "HTCondor job event log", 1),
        (SACCT_YAML, "sacct --yaml", 1),
        ("  JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI\n", "squeue", 1),
        (SHOWN_JOB, "scontrol show job", 1),
        (SHOWN_JOB.replace("\n", "\r\n"), "scontrol show job", 1),
        (SHARES, "sshare", 1),
        (SHARES.replace("|", "   "), "sshare", 1),
        (DUMP, "mysqldump", 3),
        ('{"jobid": 8, "@start": "2026-01-01T00:00:00", "@queue_wait": 4}\n', "kafka", 1),
    ],
)
def test_logs_of_others_are_named(text: str, name: str, line: int) -> None:
    said = rf"^x: this looks like .*{name}.* \(line {line}\); fairaudit does not read those yet: \w"
    with pytest.raises(DialectError, match=said) as caught:
        dialects.detect(text.encode(), "x")
    assert "Standard Workload Format" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("NodeName=n1 Arch=x86_64 CPUAlloc=0 CPUTot=4 Gres=(null)\n", "--nodes"),
        ("NODELIST|CPUS|MEMORY|GRES\nn1|4|1000|(null)\n", "--nodes"),
        ('{"nodes": [{"name": "n1", "real_memory": 1000}]}\n', "--nodes"),
        ("PartitionName=batch\n   AllowGroups=ALL AllowAccounts=ALL\n", "--partitions"),
        ("ClusterName=lab\nSlurmctldHost=head\nNodeName=n1 RealMemory=1000\n", "--slurm-conf"),
        ("Configuration data as of 2026-01-01T00:00:00\n", "--slurm-conf"),
        ("Cluster|Account|User|Partition|Share|\n", "--assoc"),
        ("   Cluster    Account       User  Partition\n---------- ---------- \n", "--assoc"),
        ("Name|Priority|GraceTime|Preempt\n", "--qos"),
        ("     JOBID PARTITION   PRIORITY       SITE\n", "--sprio"),
        ("[2026-01-01T00:00:00.123] sched: Allocate JobId=1 NodeList=n1\n", "--ctld-log"),
    ],
)
def test_files_that_go_beside_a_log_are_named_with_their_option(text: str, option: str) -> None:
    with pytest.raises(DialectError, match=rf"has no jobs: pass it with {option}, beside a log"):
        dialects.detect(text.encode(), "x")


FIELDS = [
    str(number) for number in (7, 10, 5, 100, 4, -1, -1, 4, 200, -1, 1, 3, 1, -1, 1, -1, -1, -1)
]
COMMENT = "; MaxProcs: 64\n"


def nearly(fields: list[str], separator: str = " ") -> str:
    text = COMMENT + (separator.join(fields) + "\n") * 3
    with pytest.raises(DialectError) as caught:
        dialects.detect(text.encode(), "x")
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "separator", "seen", "remedy"),
    [
        (
            [*FIELDS, *"1234567"],
            " ",
            "25 columns separated by blanks",
            "leave out columns 19 to 25",
        ),
        ([*FIELDS, *"1234567"], "\t", "25 columns separated by blanks", "leave out columns 19"),
        (FIELDS[:17], " ", "17 columns separated by blanks", "write -1"),
        (FIELDS, ":", "18 columns separated by colons", "blanks instead of colons"),
        (FIELDS[:17], "; ", "17 columns separated by semicolons", "blanks instead of semicolons"),
        ([*FIELDS, "1"], ":", "19 columns separated by colons", "colons; leave out column 19"),
        ([*FIELDS[:11], "ana", *FIELDS[12:]], " ", "18 columns", "write numbers in column 12"),
    ],
)
def test_the_differences_of_what_is_nearly_swf_are_reported(
    fields: list[str], separator: str, seen: str, remedy: str
) -> None:
    message = nearly(fields, separator)
    assert message.startswith(f"x: nearly SWF: line 2 has {seen}")
    assert remedy in message


def test_tabs_are_blanks() -> None:
    text = COMMENT + ("\t".join(FIELDS) + "\n") * 3
    assert dialects.detect(text.encode(), "x").name == "swf"


@pytest.mark.parametrize("part", ["|JOBID", "|JOBID|", "Cluster Utilization ", "a ", " ", "|"])
def test_a_long_line_is_looked_at_once(part: str) -> None:
    """A pattern that starts again at each place of it would not end."""
    assert dialects.describe((part * (1 << 18))[: dialects.HEAD_BYTES].encode()) is None


@given(st.binary(max_size=200) | st.text('0123456789.,;:| \n\t"=-', max_size=300).map(str.encode))
def test_nothing_is_too_odd_to_be_looked_at(head: bytes) -> None:
    assert dialects.describe(head) is None or dialects.describe(head)


@pytest.mark.parametrize("text", ["", "one two three\n", "1 2 3\n4 5 6\n", "{}", "a=1\n"])
def test_what_nobody_knows_is_not_guessed(text: str) -> None:
    assert dialects.describe(text.encode()) is None
