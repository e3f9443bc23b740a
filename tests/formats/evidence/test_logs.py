"""Logs of schedulers: slurmctld's, PBS's and Grid Engine's.

The lines of slurmctld are recorded. Those of PBS and Grid Engine are made after public sources
(OpenPBS, TORQUE; sge_schedule(5)).
"""

import gzip

import polars as pl
import pytest

from audit.formats.evidence.read import read
from audit.words import EvidenceKind
from tests.places import DATA

AT = 1_795_533_410  # 2026-11-24T15:16:50 UTC


def said(kind: EvidenceKind, *lines: str) -> list[tuple[object, ...]]:
    rows = read(kind, lines, "UTC").rows
    names = ("instant", "job_id", "node", "state", "reason", "priority", "expected_start")
    return [tuple(value for value in row if value is not None) for row in rows.select(names).rows()]


def ctld(text: str) -> list[tuple[object, ...]]:
    return said(EvidenceKind.CTLD_LOG, f"[2026-11-24T15:16:50.321] {text}")


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("_slurm_rpc_submit_batch_job: JobId=7 InitPrio=4457 usec=4", ("7", "RELEASED", 4457.0)),
        ("_slurm_rpc_submit_batch_job: JobId=7 InitPrio=0 usec=4", ("7", "HELD", "JobHeldUser")),
        ("sched: Allocate JobId=7 NodeList=c01 #CPUs=4 Partition=cpu", ("7", "RUNNING")),
        ("sched: _slurm_rpc_allocate_resources JobId=7 NodeList=c01 usec=9", ("7", "RUNNING")),
        ("sched/backfill: _start_job: Started JobId=90_3(93) in cpu on c1", ("90_3", "RUNNING")),
        ("backfill: Started JobId=7 in cpu on c1", ("7", "RUNNING")),
        ("_job_complete: JobId=7 done", ("7", "ENDED")),
        ("job_signal: 9 of pending JobId=90_* successful", ("90_*", "ENDED")),
        ("Requeuing JobId=7", ("7", "REQUEUED")),
        ("sched: _hold_job_rec: hold on JobId=36 by uid 0", ("36", "HELD", "JobHeldAdmin")),
        ("sched: _hold_job_rec: hold on JobId=36 by uid 1001", ("36", "HELD", "JobHeldUser")),
        ("sched: _release_job_rec: release hold on JobId=36 by uid 0", ("36", "RELEASED")),
        ("sched: _update_job: set priority to 0 for JobId=7", ("7", "HELD", "JobHeldUser")),
        ("sched: _update_job: setting priority to 9 for JobId=7", ("7", "RELEASED", 9.0)),
        (
            "sched/backfill: _attempt_backfill: BACKFILL: JobId=7 not runable now due to licenses",
            ("7", "PENDING", "Licenses"),
        ),
        (
            "sched/backfill: _attempt_backfill: BACKFILL: adding reservation for JobId=90_*"
            " blocked by acct_policy_job_runnable_post_select",
            ("90_*", "PENDING", "AccountingPolicy"),
        ),
        (
            "sched/backfill: _dump_job_sched: JobId=7 to start at 2026-11-24T15:17:50, end at"
            " 2026-11-24T15:37:00 on nodes w[01-04] in partition whole",
            ("7", "PENDING", AT + 60),
        ),
        ("update_node: node c02 state set to DRAINING", ("c02", "DRAINING")),
        ("update_node: node c02 state set to IDLE", ("c02", "IDLE")),
        ("error: Nodes c02 not responding, setting DOWN", ("c02", "DOWN")),
        ("Node c02 now responding", ("c02", "IDLE")),
        ("drain_nodes: node c02 state set to DRAIN", ("c02", "DRAIN")),
    ],
)
def test_a_line_of_slurmctld(line: str, want: tuple[object, ...]) -> None:
    assert ctld(line) == [(AT, *want)]


def test_a_hostlist_is_about_each_of_its_nodes() -> None:
    found = ctld("error: Nodes c[02-03] not responding, setting DOWN")
    assert [row[1] for row in found] == ["c02", "c03"]


def test_a_pass_says_one_thing_of_a_job() -> None:
    begin = "[2026-11-24T15:16:50.321] sched/backfill: _attempt_backfill: BACKFILL:"
    found = said(
        EvidenceKind.CTLD_LOG,
        f"{begin} test for JobId=7 Prio=12 Partition=cpu Reservation=NONE",
        f"{begin} JobId=7 not runable now due to licenses",
        "[2026-11-24T15:16:50.400] sched/backfill: _dump_job_sched: JobId=7 to start at"
        " 2026-11-24T15:17:50, end at 2026-11-24T15:37:00 on nodes w1 in partition whole",
        f"{begin} test for JobId=8 Prio=11 Partition=cpu Reservation=NONE",
    )
    assert found == [
        (AT, "7", "PENDING", "Licenses", 12.0, AT + 60),
        (AT, "8", "PENDING", 11.0),
    ]


def test_unknown_and_damaged_lines_are_counted() -> None:
    lines = [
        "[2026-11-24T15:16:50.321] debug:  Spawning ping agent for c1",
        "no time: sched: Allocate JobId=7 NodeList=c01 #CPUs=4 Partition=cpu",
        "[2026-11-24T15:16:50.321] sched: Allocate JobId=x NodeList=c01",
        "[2026-11-24T15:16:50.321] update_node: node c[ state set to DRAINING",
        "",
    ]
    found = read(EvidenceKind.CTLD_LOG, lines, "UTC")
    assert (found.rows.height, found.skipped) == (0, 4)
    assert found.problem is not None
    assert "SlurmctldLogFile" in found.problem


def test_the_recorded_drains_have_the_instants_of_their_commands() -> None:
    text = gzip.decompress((DATA / "modern" / "north" / "slurmctld.log.gz").read_bytes()).decode()
    found = read(EvidenceKind.CTLD_LOG, text.splitlines(), "UTC")
    nodes = found.rows.filter(pl.col("node").is_not_null()).select("node", "instant", "state")
    assert nodes.rows() == [
        ("c02", 1_795_534_030, "DRAINING"),
        ("c02", 1_795_534_510, "IDLE"),
        ("v02", 1_795_534_630, "DRAINING"),
        ("v02", 1_795_534_930, "IDLE"),
    ]
    assert found.skipped < len(text.splitlines())


def pbs(text: str, about: str = "Job;21.srv") -> list[tuple[object, ...]]:
    return said(EvidenceKind.PBS_LOG, f"11/24/2026 15:16:50;0040;pbs_sched;{about};{text}")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("would exceed user ann's limit on resource ncpus in queue q", "ResourceLimitPerUser"),
        ("would exceed group phys's limit on resource ncpus in queue q", "ResourceLimitPerGroup"),
        ("would exceed overall limit on resource ngpus in queue gdev", "ResourceLimit"),
        ("User has reached server running job limit.", "JobLimitPerUser"),
        ("Queue job limit has been reached.", "JobLimit"),
        ("Insufficient amount of resource: ncpus (R: 4 A: 2 T: 8)", "Resources"),
        ("Not enough of the right type of nodes available", "Resources"),
        ("Job would conflict with reservation or top job", "planned"),
    ],
)
def test_what_pbs_says_of_a_job_that_waits(text: str, want: str) -> None:
    assert pbs(text) == [(AT, "21.srv", "PENDING", want)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Holds u set at request of ann@srv", ("HELD", "JobHeldUser")),
        ("Holds u released at request of ann@srv", ("RELEASED",)),
        ("Job Run at request of Scheduler@srv on exec_vnode (n1:ncpus=3)", ("RUNNING",)),
        ("Exit_status=0 resources_used.cput=00:00:00", ("ENDED",)),
    ],
)
def test_changes_that_pbs_logs(text: str, want: tuple[str, ...]) -> None:
    assert pbs(text) == [(AT, "21.srv", *want)]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("attributes set: state + offline", "OFFLINE"),
        ("attributes set: state - offline", "IDLE"),
        ("node down: communication closed", "DOWN"),
        ("node up", "IDLE"),
    ],
)
def test_nodes_of_pbs(text: str, want: str) -> None:
    assert pbs(text, "Node;n1") == [(AT, "n1", want)]


def test_other_lines_of_pbs_are_counted() -> None:
    lines = [
        "11/24/2026 15:16:50;0002;pbs_sched;Svr;Log;Log opened",
        "11/24/2026 15:16:50;0040;pbs_sched;Job;21.srv;Considering job to run",
        "13/41/2026 15:16:50;0040;pbs_sched;Job;21.srv;User has reached server running job limit.",
        "11/24/2026 15:16:50;0040;pbs_sched;Job;'; DROP TABLE;User has reached server job limit.",
    ]
    assert read(EvidenceKind.PBS_LOG, lines, "UTC").skipped == len(lines)


def test_a_pass_of_grid_engine_has_the_instant_of_its_starts() -> None:
    found = said(
        EvidenceKind.GE_SCHEDULE,
        "::::::::",
        f"8:1:STARTING:{AT}:3660:Q:all.q@n1:slots:4.000000",
        f"8:1:STARTING:{AT}:3660:H:n1:slots:4.000000",
        f"9:2:RESERVING:{AT + 60}:3660:Q:all.q@n1:slots:4.000000",
        f"7:1:RUNNING:{AT - 60}:3660:Q:all.q@n1:slots:1.000000",
        "::::::::",
        f"9:2:RESERVING:{AT + 90}:3660:Q:all.q@n1:slots:4.000000",
        "damaged",
    )
    assert found == [
        (AT, "8", "RUNNING"),
        (AT, "8.1", "RUNNING"),
        (AT, "9.2", "PENDING", AT + 60),
    ]
    assert read(EvidenceKind.GE_SCHEDULE, ["::::::::", "damaged"], "UTC").skipped == 1
