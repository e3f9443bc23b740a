"""Grid Engine's file schedule: lines made after sge_schedule(5), and a recording."""

from typing import Final

from audit.formats.evidence.read import read
from audit.words import EvidenceKind
from tests.formats.evidence.said import AT, said
from tests.places import DATA

RECORDED: Final = DATA / "gridengine" / "schedule"


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


def test_a_recorded_schedule() -> None:
    """Son of Grid Engine 8.1.9: job 3 has a reservation behind the time limit of job 1."""
    lines = RECORDED.read_text().splitlines()
    found = read(EvidenceKind.GE_SCHEDULE, lines, "UTC")
    assert found.problem is None
    assert found.skipped == 3  # passes that start nothing have no instant
    ran = found.rows.filter(state="RUNNING").select("instant", "job_id")
    assert ran.sort("instant", "job_id").rows() == [
        (1795886288, "2"),
        (1795886288, "2.1"),
        (1795886303, "1"),
        (1795886303, "1.1"),
        (1795886303, "4"),
        (1795886303, "4.1"),
        (1795886313, "4.2"),
        (1795886323, "4.3"),
        (1795886333, "3"),
        (1795886333, "3.1"),
        (1795886348, "5"),
        (1795886348, "5.1"),
    ]
    planned = found.rows.filter(state="PENDING", job_id="3")
    assert planned["instant"].to_list() == [1795886303, 1795886313, 1795886323]
    assert planned["expected_start"].unique().to_list() == [1795886423]
