"""Grid Engine's file schedule; the lines are made after sge_schedule(5)."""

from audit.formats.evidence.read import read
from audit.words import EvidenceKind
from tests.formats.evidence.said import AT, said


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
