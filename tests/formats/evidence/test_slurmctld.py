"""Lines of slurmctld.log, as recorded."""

import gzip

import polars as pl
import pytest

from audit.formats.evidence.read import read
from audit.words import EvidenceKind
from tests.formats.evidence.said import AT, said
from tests.places import DATA


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
