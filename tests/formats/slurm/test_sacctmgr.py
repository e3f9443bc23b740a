"""sacctmgr's accounts and QOS: our lab's own, every way of telling parents, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.slurm.sacctmgr import Association, Fault, associations, qualities
from tests.places import SLURM

HEADER = "Account|User|Share|ParentName\n"


def text(name: str) -> str:
    return (SLURM / "plain" / name).read_text()


def plain(row: Association) -> tuple[object, ...]:
    share = "parent" if math.isnan(row.share) else row.share
    return row.account, row.user, row.partition, row.parent or "root", share


def tree(listing: str) -> set[tuple[object, ...]]:
    read = associations(listing)
    assert read.faults == ()
    return {plain(row) for row in read.rows if (row.account, row.user) != ("root", None)}


EXPECTED = {
    ("root", "root", None, "root", 1.0),
    ("chem", None, None, "root", 60.0),
    ("chem", "lab_ana", None, "root", 2.0),
    ("chem", "lab_dot", None, "root", 5.0),
    ("chem", "lab_eve", None, "root", "parent"),
    ("physics", None, None, "root", 40.0),
    ("phys_exp", None, None, "physics", 1.0),
    ("phys_exp", "lab_cyd", None, "root", 1.0),
    ("phys_theory", None, None, "physics", 3.0),
    ("phys_theory", "lab_ana", None, "root", 10.0),
    ("phys_theory", "lab_ben", None, "root", 20.0),
}


@pytest.mark.parametrize("name", ["assoc.psv", "dump.cfg", "sshare.psv"])
def test_the_lab(name: str) -> None:
    assert tree(text(name)) == EXPECTED


def without(listing: str, *dropped: str) -> str:
    rows = [line.split("|") for line in listing.splitlines()]
    kept = [place for place, name in enumerate(rows[0]) if name not in dropped]
    return "".join("|".join(row[place] for place in kept) + "\n" for row in rows)


@pytest.mark.parametrize(
    "dropped",
    [("ParentName",), ("ParentName", "ParentID"), ("LFT", "RGT", "ID"), ("Cluster", "Partition")],
)
def test_each_way_of_telling_parents(dropped: tuple[str, ...]) -> None:
    assert tree(without(text("assoc.psv"), *dropped)) == EXPECTED


def test_lineage_tells_parents() -> None:
    listing = """\
Account|User|Share|Lineage
root||1|/
a||1|/a/
b||2|/a/b/
b|u|3|/a/b/0-u/
"""
    assert {(row[0], row[3]) for row in tree(listing) if row[1] is None} == {
        ("a", "root"), ("b", "a"),
    }  # fmt: skip


def test_the_default_columns_tell_no_parents() -> None:
    (fault,) = associations(text("assoc_default.psv")).faults
    assert fault.line == 1
    assert "ParentName" in fault.text


def test_the_default_columns_tell_limits_unless_one_is_of_an_account_as_a_whole() -> None:
    columns = "Cluster|Account|User|Share|GrpTRES|MaxJobs\n"
    told = "c|root||1||\nc|a||2||7\nc|a|u|1|cpu=4|\n"
    rows, faults = associations(columns + told, shares=False)
    assert not faults
    assert [dict(row.limits) for row in rows] == [{}, {"maxjobs": "7"}, {"grptres": "cpu=4"}]
    (fault,) = associations(columns + told + "c|b||1|cpu=9|\n", shares=False).faults
    assert "ParentName" in fault.text


def test_any_order_of_columns_any_delimiter() -> None:
    names = "User,Share,Account,Par Name,Cluster,Junk"
    lines = ["", "4", "a", "root", "c", "x"], ["u", "parent", "a", "", "c", "y"]
    for mark in ("|", "\x1f", ",", "|~|"):
        rows = [names.split(","), *lines]
        for tail in ("", mark):
            listing = "".join(mark.join(row) + tail + "\r\n" for row in rows)
            assert tree(listing) == {
                ("a", None, None, "root", 4.0), ("a", "u", None, "root", "parent"),
            }  # fmt: skip


def test_partitions_and_limits() -> None:
    listing = "Cluster|Account|User|Partition|Share|ParentName|GrpTRESMins\n" + (
        "c|root|||1||\nc|a|||1|root|cpu=100\nc|a|u|short|7||\nc|a|u||5||\n"
    )
    rows = associations(listing).rows
    assert [(row.partition, row.share) for row in rows if row.user] == [("short", 7.0), (None, 5.0)]
    assert rows[1].grp_tres_mins == "cpu=100"
    assert [row.line for row in rows] == [2, 3, 4, 5]


def test_priorities() -> None:
    listing = "Account|User|Share|ParentName|Priority\n"
    rows = associations(listing + "root||1||\na||1|root|0\na|u|1||20\na|v|1||-\n").rows
    assert [row.priority for row in rows] == [None, 0, 20, None]
    dump = "Cluster - 'c'\nParent - 'root'\nUser - 'u':Fairshare=1:Priority=7\n"
    assert [row.priority for row in associations(dump).rows] == [None, 7]


def test_clusters() -> None:
    listing = "Cluster|Account|User|Share|ParentName\n" + "".join(
        f"{name}|root||1|\n{name}|a||{share}|root\n" for name, share in (("x", 1), ("y", 2))
    )
    assert "x, y" in associations(listing).faults[0].text
    assert [row.share for row in associations(listing, "y").rows] == [1.0, 2.0]
    assert associations(listing, "z").faults[0].text.startswith("no association of cluster 'z'")
    only = listing[: listing.index("y|root")]  # it may have another name elsewhere
    assert len(associations(only, "z").rows) == 2


@pytest.mark.parametrize(
    ("listing", "line", "said"),
    [
        ("", 0, "empty"),
        ("-----\nx\n", 1, "no header row"),
        ("Account User Share\n", 1, "no header row"),
        ("Account|User\na|\n", 1, "no column Share"),
        (HEADER, 0, "no association"),
        (HEADER + "root||1|\n", 2, "nothing but root"),
        (HEADER + "root||1|\na||-1|root\n", 3, "share '-1'"),
        (HEADER + "root||1|\na||lots|root\n", 3, "share 'lots'"),
        (HEADER + "root||1|\na||99999999999|root\n", 3, "share"),
        (HEADER + "root||1|\na||1\n", 3, "3 fields where the header row has 4"),
        (HEADER + "root||1|\na||1|gone\n", 3, "its parent 'gone' is not among"),
        (HEADER + "root||1|\na||1|\n", 3, "its parent is not there"),
        (HEADER + "root||1|\na||1|root\na||2|root\n", 4, "more than once"),
        (HEADER + "root||1|\na||1|root\na|u|2|\na|u|2|\n", 5, "user 'u' of account 'a'"),
        (HEADER + "root||1|\nb|u|1|\n", 3, "account 'b' is not among"),
        (HEADER + "root||1|\na||1|b\nb||1|a\n", 3, "is above itself"),
        (HEADER + "|u|1|\n", 2, "without account"),
        ("Cluster - 'c':Fairshare=x\n", 1, "Fairshare='x'"),
        ("Cluster - 'c'\nsomething else\n", 2, "not a line of 'sacctmgr dump'"),
    ],
)
def test_what_is_refused(listing: str, line: int, said: str) -> None:
    faults = associations(listing).faults
    assert any(fault.line == line and said in fault.text for fault in faults), faults


def test_a_list_of_one_user_is_told_to_list_all() -> None:
    (fault,) = associations(HEADER + "a|u|1|\n").faults
    assert fault.text.endswith("let sacctmgr show those of all users and accounts, not of some")


def test_all_faults_are_reported_at_once() -> None:
    listing = HEADER + "root||1|\na||x|root\nb||-2|root\nc|1\n"
    assert [fault.line for fault in associations(listing).faults] == [3, 4, 5]


def test_a_dump_may_hold_colons_in_quotes() -> None:
    listing = """\
Cluster - 'c':Fairshare=1:QOS='normal'
Parent - 'root'
Account - 'a':Description='one: two':Fairshare=7
Parent - 'a'
User - 'u':Partition='short':Fairshare=parent
"""
    assert tree(listing) == {
        ("a", None, None, "root", 7.0), ("a", "u", "short", "root", "parent"),
    }  # fmt: skip


@given(listing=st.text(alphabet=st.sampled_from(list("|\n -:'=ab1")), max_size=80))
def test_nothing_makes_it_raise(listing: str) -> None:
    for begin in ("", HEADER, "Cluster - 'c'\n", "Name|UsageFactor\n"):
        read = associations(begin + listing)
        assert read.rows or read.faults
        qualities(begin + listing)


def test_qualities_of_service() -> None:
    read = qualities(text("qos.psv"))
    assert read.faults == ()
    assert [(qos.name, qos.usage_factor, qos.priority) for qos in read.rows] == [
        ("normal", 1.0, 100), ("high", 2.0, 1000), ("low", 0.5, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("listing", "fault"),
    [
        ("Name|Priority\nnormal|1\n", Fault(1, "no column UsageFactor")),
        ("Name|UsageFactor\n", Fault(0, "no QOS in it")),
        ("Name|UsageFactor\na|-1\n", Fault(2, "QOS 'a': '-1', '' must be numbers ≥ 0")),
        ("Name|UsageFactor\na|nan\n", Fault(2, "QOS 'a': 'nan', '' must be numbers ≥ 0")),
        ("Name|UsageFactor\na|1\na|2\n", Fault(3, "QOS 'a' is listed more than once")),
    ],
)
def test_qualities_that_are_refused(listing: str, fault: Fault) -> None:
    assert qualities(listing).faults[0] == fault


def test_no_factor_is_1() -> None:
    assert qualities("UsageFactor|Name\n|a\n").rows[0].usage_factor == 1.0
