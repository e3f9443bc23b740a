"""Separators and line breaks in users' texts: against all ways to cut, tried one by one."""

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from audit.formats.sacct.columns import SacctLayout, fits, split
from audit.formats.slurm.fields import FieldKind

LAYOUT = SacctLayout(("JobID", "JobName", "User", "State", "Submit", "Comment"), "|")
TIME = "2026-01-01T00:00:00"


def row(job: str = "1", name: str = "n", user: str = "u", comment: str = "c") -> str:
    return f"{job}|{name}|{user}|COMPLETED|{TIME}|{comment}"


def used(texts: list[str]) -> tuple[str, str, str, str]:
    return texts[0], texts[2], texts[3], texts[4]


def test_a_name_with_line_breaks() -> None:
    lines = row(name="a\nb|c\nd").split("\n")
    found = split(lines, LAYOUT, after_record=False)
    assert [(first, used(texts)) for first, texts in found.records] == [
        (0, ("1", "u", "COMPLETED", TIME))
    ]
    assert found.belongs == {1, 2}


def test_the_rest_of_the_last_column() -> None:
    lines = [*row(name="a|b", comment="one\ntwo | three\n").split("\n")[:2], "echo done"]
    found = split(lines, LAYOUT, after_record=False)
    assert found.belongs == {1, 2}
    assert not found.refused
    assert split(["echo done"], LAYOUT, after_record=True).belongs == {0}
    assert split(["echo done"], LAYOUT, after_record=False).refused == {
        0: "1 fields, not the 6 of the columns"
    }


def test_a_broken_line_takes_no_neighbour_along() -> None:
    found = split(["1|na", row("2", name="a|b"), "3|x|u"], LAYOUT, after_record=False)
    assert [(first, texts[0]) for first, texts in found.records] == [(1, "2")]
    assert sorted(found.refused) == [0, 2]


def test_what_can_be_read_in_two_ways_that_matter_is_refused() -> None:
    layout = SacctLayout(("JobID", "JobName", "User", "WorkDir", "Submit"), "|")
    found = split([f"1|a|b|c|{TIME}", f"1|a|b|c|d|{TIME}"], layout, after_record=False)
    assert [first for first, _ in found.records] == [0]
    assert "separators within JobName or WorkDir" in found.refused[1]
    assert not fits(f"1|a|b|c|d|{TIME}", layout)


def test_a_record_that_may_end_on_either_of_two_lines_is_refused() -> None:
    layout = SacctLayout(("JobID", "Submit", "JobName", "NCPUS"), "|")
    found = split([f"1|{TIME}|a", "b|7", "c|4"], layout, after_record=False)
    assert sorted(found.refused) == [0, 1, 2]
    assert not found.records


def test_a_comma_separates_lists_too() -> None:
    layout = SacctLayout(("JobID", "JobName", "State", "AllocTRES", "NodeList", "Submit"), ",")
    line = f"1,a,b,COMPLETED,cpu=1,mem=2G,node=1,n[1-3,5],{TIME}"
    found = split([line], layout, after_record=False)
    assert [texts for _, texts in found.records] == [
        ["1", "", "COMPLETED", "cpu=1,mem=2G,node=1", "n[1-3,5]", TIME]
    ]


def test_two_lists_of_resources_part_where_a_name_repeats() -> None:
    layout = SacctLayout(("JobID", "AllocTRES", "ReqTRES", "Submit"), ",")
    asked, given = "billing=4,cpu=4,mem=8G,node=1", "billing=8,cpu=8,energy=3,mem=8G,node=1"
    for alloc in (given, asked, ""):
        line = f"1,{alloc},{asked},{TIME}"
        found = split([line], layout, after_record=False)
        assert [texts for _, texts in found.records] == [["1", alloc, asked, TIME]]
    doubtful = split([f"1,cpu=4,mem=8G,{TIME}"], layout, after_record=False)
    assert [texts for _, texts in doubtful.records] == [["1", "cpu=4", "mem=8G", TIME]]
    assert split([f"1,cpu=4,mem=8G,node=1,{TIME}"], layout, after_record=False).refused


def test_a_list_of_nodes_that_may_begin_in_several_places_costs_no_record() -> None:
    layout = SacctLayout(("JobID", "NodeList", "JobName", "Submit"), ",")
    found = split([f"1,n[1-3,5],a,{TIME}"], layout, after_record=False)
    assert found.records == [(0, ["1", "", "", TIME])]


def test_a_line_of_separators_alone_costs_little() -> None:
    found = split(["|" * 200_000, "a|" * 5_000], LAYOUT, after_record=False)
    assert sorted(found.refused) == [0, 1]


LAYOUT_PATTERNS = {column.kind: LAYOUT.pattern(column).fullmatch for column in LAYOUT.columns}


def ways(pieces: Sequence[str], columns: Sequence[FieldKind]) -> Iterator[list[str]]:
    """All ways to fill columns with the pieces of one line."""
    if not columns:
        if not pieces:
            yield []
        return
    most = len(pieces) if columns[0] is FieldKind.FREE else 1
    for count in range(1, most + 1):
        text = "|".join(pieces[:count])
        if len(pieces) >= count and LAYOUT_PATTERNS[columns[0]](text):
            for rest in ways(pieces[count:], columns[1:]):
                yield [text, *rest]


@given(
    st.lists(
        st.sampled_from(["1", "2_3", "a", "", "COMPLETED", TIME, "Unknown", "x y"]),
        min_size=1,
        max_size=9,
    )
)
def test_as_the_slow_twin(pieces: list[str]) -> None:
    kinds = [column.kind for column in LAYOUT.columns]
    possible = {used(texts) for texts in ways(pieces, kinds)}
    found = split(["|".join(pieces)], LAYOUT, after_record=False)
    if len(possible) == 1:
        assert [used(texts) for _, texts in found.records] == list(possible)
    else:
        assert not found.records
        assert list(found.refused) == [0]


@given(st.lists(st.text(st.sampled_from("1a|\t"), max_size=12), min_size=1, max_size=8))
def test_every_line_has_one_part(lines: list[str]) -> None:
    found = split(lines, LAYOUT, after_record=False)
    parts = [*(first for first, _ in found.records), *found.belongs, *found.refused]
    assert sorted(parts) == list(range(len(lines)))
