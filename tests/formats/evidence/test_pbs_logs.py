"""Lines of PBS's logs, made after public sources (OpenPBS, TORQUE)."""

import pytest

from audit.formats.evidence.read import read
from audit.words import EvidenceKind
from tests.formats.evidence.said import AT, said


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
