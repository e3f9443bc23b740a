"""When nodes were out of service or reserved: the lab's own events, by hand, and hostile ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.nodes import absences
from audit.formats.nodes.absences import events, reservations
from audit.model import Absence
from tests.places import SLURM

AT = 1_795_233_600  # 2026-11-21T04:00:00 UTC
HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
RESERVED = """\
ReservationName=maint StartTime=2026-11-21T04:00:00 EndTime=2026-11-21T05:00:00 Duration=01:00:00
   Nodes=n[1-2] NodeCnt=2 CoreCnt=32 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES
   TRES=cpu=32
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE

ReservationName=some StartTime=2026-11-21T04:00:00 EndTime=2026-11-21T05:00:00
   Nodes=n3 NodeCnt=1 CoreCnt=4 TRES=cpu=4 Users=ann
ReservationName=floating StartTime=2026-11-21T04:00:00 EndTime=2026-11-21T05:00:00
   Nodes=(null) Licenses=matlab:3
"""


def test_the_events_of_a_lab() -> None:
    # n4 was down for no time, and a row without a node is about slurmctld
    assert events((SLURM / "nodes" / "events.psv").read_text(), "UTC") == ((), ())


def test_events_by_state() -> None:
    said = events(
        HEADER
        + "lab|n1|2026-11-21T04:00:00|2026-11-21T04:10:00|DRAINED|disk|root(0)\n"
        + "lab|n2|2026-11-21T04:00:00|Unknown|DOWN*|lost|slurm(64030)\n"
        + "lab|n3|2026-11-21T04:00:00|Unknown|IDLE+POWERED_DOWN|saving|slurm(64030)\n"
        + "lab|n4|soon|Unknown|DOWN|lost|slurm(64030)\n"
        + "lab|n5|2026-11-21T04:00:00|Unknown|DOWN|a | in the reason|root(0)\n",
        "UTC",
    )
    assert said.absences == (
        Absence("n1", AT, AT + 600, "drained"),
        Absence("n2", AT, None, "down"),
    )
    assert len(said.problems) == 2


def test_events_are_in_the_zone_of_the_site() -> None:
    text = HEADER + "lab|n1|2026-11-21T05:00:00|Unknown|DOWN|lost|root(0)\n"
    assert events(text, "Europe/Berlin").absences == (Absence("n1", AT, None, "down"),)


def test_events_of_several_clusters() -> None:
    rows = [f"{name}|n1|2026-11-21T04:00:00|Unknown|DOWN||" for name in ("a", "b")]
    text = HEADER + "\n".join(rows)
    assert len(events(text, "UTC", "a").absences) == 1
    assert events(text, "UTC", "c").problems
    # an only cluster may have another name elsewhere
    assert len(events(HEADER + rows[0], "UTC", "c").absences) == 1


def test_reservations_of_whole_nodes() -> None:
    said = reservations(RESERVED, "UTC", {"n1": 16, "n2": 16, "n3": 16})
    assert said.absences == (
        Absence("n1", AT, AT + 3_600, "reserved", "maint"),
        Absence("n2", AT, AT + 3_600, "reserved", "maint"),
    )
    assert said.problems == ("1 reservations of parts of nodes are left out",)


def test_reservations_that_sacctmgr_lists() -> None:
    said = reservations(
        "Cluster|Name|TimeStart|TimeEnd|NodeNames|TRES\n"
        "lab|maint|2026-11-21T04:00:00|2026-11-21T05:00:00|n1|cpu=16\n",
        "UTC",
        {"n1": 16},
    )
    assert said == ((Absence("n1", AT, AT + 3_600, "reserved", "maint"),), ())


@pytest.mark.parametrize(
    "text", ["", "Cluster|Name|TRES|TimeStart|TimeEnd\nlab|a|cpu=1|x|y\n", "nothing"]
)
def test_a_table_without_nodes_names_the_remedy(text: str) -> None:
    said = reservations(text, "UTC", {})
    assert not said.absences
    assert "NodeNames" in said.problems[0]


def test_no_reservations() -> None:
    assert reservations("No reservations in the system\n", "UTC", {}) == ((), ())


def test_no_more_times_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absences, "MOST", 3)
    said = reservations(RESERVED.replace("n[1-2]", "n[1-4]"), "UTC", {})
    assert not said.absences
    assert len(said.problems) == 1


PIECES = st.sampled_from([*"n1[-]|=:T+\n ", "2026-11-21T04:00:00|", "DOWN|"])


@given(st.lists(PIECES).map("".join))
def test_no_text_is_an_error(text: str) -> None:
    for whole in (text, HEADER + text, "ReservationName=" + text):
        events(whole, "UTC")
        reservations(whole, "UTC", {})


def test_the_name_of_a_reservation_may_have_blanks() -> None:
    """Jobs name it whole, and only those within it are its own."""
    text = RESERVED.replace("=maint StartTime", "=maintenance of May StartTime")
    assert {each.reservation for each in reservations(text, "UTC", {}).absences} == {
        "maintenance of May",
        "some",
    }
