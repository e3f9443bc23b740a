"""Rows by their mapping: what is unknown, what is refused, and the definition written slowly."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.config.faults import tuples
from audit.config.table import COUNTS, MEMORY, NULLS, TIMES, TableMapping, presets
from audit.formats.shaping import unreadable
from audit.formats.table.values import records
from audit.model import RefusalCode
from tests.examples import examples
from tests.naive import tables as naive

Rows = Sequence[Mapping[str, str | None]]


def mapped(**fields: Any) -> TableMapping:
    least = {"job_id": "id", "submit_time": "sub", "start_time": "beg", "end_time": "end"}
    return TableMapping.model_validate(tuples({**least, **fields}))


def convert(rows: Rows, mapping: TableMapping, zone: str = "UTC") -> pl.DataFrame:
    schema = dict.fromkeys(mapping.columns, pl.String)
    texts = pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema)
    nulls = pl.col(pl.String).is_in(list(NULLS))
    texts = texts.with_columns(pl.when(~nulls).then(pl.col(pl.String)).name.keep())
    return records(texts.with_row_index("number").cast({"number": pl.Int64}), mapping, zone)


GOOD: Final = {"id": "7", "sub": "100", "beg": "200", "end": "500"}


def one(mapping: TableMapping, **cells: str | None) -> dict[str, Any]:
    return convert([{**GOOD, **cells}], mapping).row(0, named=True)


def test_a_number_that_no_column_holds_is_unknown() -> None:
    mapping = mapped(nice="n", priority="p")
    found = one(mapping, n="1e25", p="1e25")
    assert (found["nice"], found["priority"]) == (None, 1e25)
    assert found["remarks"] == [unreadable("column n")]


def test_what_is_refused() -> None:
    mapping = mapped(cpus="c")
    for cells, code, why in (
        ({"id": ""}, RefusalCode.VALUE, "column id: '' is not a job id"),
        ({"sub": "soon"}, RefusalCode.TIME, "column sub: 'soon' is not a time"),
        ({"end": "-5"}, RefusalCode.TIME, "column end: '-5' is not a time"),
        ({"end": "150"}, RefusalCode.ORDER, "ends 50 s before it starts (columns beg, end)"),
        (
            {"beg": "2021-01-01T00:00:00.000"},
            RefusalCode.ORDER,
            "ends 1609458700 s before it starts (columns beg, end)",
        ),
    ):
        found = one(mapping, **cells)
        assert (found["code"], found["problem"]) == (code, why)
    for cells in ({"c": "many"}, {"c": "-1"}, {"c": "1.5"}, {"c": str(2**63)}, {"c": "1e400"}):
        found = one(mapping, **cells)
        assert found["problem"] is None
        assert found["cpus"] is None
        assert found["remarks"] == [unreadable("column c")]


def test_a_time_may_be_unknown() -> None:
    found = one(mapped(), beg=None, end="Unknown")
    assert found["problem"] is None
    assert (found["start_time"], found["end_time"]) == (None, None)
    assert one(mapped(), beg="0")["start_time"] is None


@pytest.mark.parametrize(
    ("text", "unit", "seconds"),
    [
        *(("90", "min", 5400), ("1.5", "h", 5400), ("5400.9", "s", 5400), ("0", "min", None)),
        *(("01:30:00", "clock", 5400), ("1-00:00:10", "clock", 86_410), ("30:00", "clock", 1800)),
        *(
            ("5400000", "ms", 5400),
            ("-1", "s", None),
            ("UNLIMITED", "min", None),
            ("2", "d", 172_800),
        ),
    ],
)
def test_a_walltime_has_its_unit(text: str, unit: str, seconds: int | None) -> None:
    mapping = mapped(walltime={"column": "w", "unit": unit})
    assert one(mapping, w=text)["walltime_s"] == seconds


def test_amounts_per_node_and_in_parts() -> None:
    mapping = mapped(
        nodes="n",
        gpus={"constant": 4, "per": "node"},
        cpus={"column": "c", "unit": "milli", "round": "up"},
        mem_bytes={"column": "m", "unit": "GiB", "per": "node"},
    )
    found = one(mapping, n="3", c="2500", m="1.5")
    assert (found["gpus"], found["cpus"], found["mem_bytes"]) == (12, 3, 3 * 3 * 2**29)
    assert one(mapping, n=None, c="3000", m="1")["mem_bytes"] is None
    assert one(mapping, n="3", c="3000", m="1")["cpus"] == 3


def test_parts_of_a_byte_and_of_a_second_are_dropped_exactly() -> None:
    memory = mapped(mem_bytes={"column": "m", "unit": "GiB"})
    assert one(memory, m="1.1")["mem_bytes"] == 1_181_116_006
    minutes = mapped(walltime={"column": "w", "unit": "min"})
    assert one(minutes, w="2123.2")["walltime_s"] == 127_392


def test_durations_give_the_times_that_are_not_mapped() -> None:
    elapsed, wait = {"column": "e", "unit": "s"}, {"column": "w", "unit": "s"}
    by_wait = TableMapping.model_validate(
        {"job_id": "id", "submit_time": "sub", "wait": wait, "elapsed": elapsed}
    )
    found = convert([{"id": "7", "sub": "100", "w": "20", "e": "30"}], by_wait).row(0, named=True)
    assert [found[name] for name in TIMES] == [100, None, 120, 150]
    found = one(mapped(wait=wait), w="20")
    assert found["eligible_time"] == 180
    found = one(mapped(elapsed=elapsed), e="290")
    assert found["occupancy_s"] == 300
    assert found["remarks"] == ["elapsed is not end − start, and is not used"]


def test_states_by_rules_values_and_as_they_stand() -> None:
    rules = [
        {"column": "s", "is": ["R", "S"], "present": "end", "state": "COMPLETED"},
        {"absent": "end", "state": "RUNNING"},
    ]
    mapping = mapped(state={"column": "s", "values": {"F": "FAILED"}}, state_when=rules)
    assert one(mapping, s="R")["state"] == "COMPLETED"
    assert one(mapping, s="F", end=None)["state"] == "RUNNING"
    assert one(mapping, s="F")["state"] == "FAILED"
    found = one(mapping, s="?")
    assert found["state"] is None
    assert found["remarks"] == [unreadable("column s")]
    assert one(mapped(state="s"), s="cancelled by 1000")["state"] == "CANCELLED"
    other = mapped(state={"column": "s", "values": {"0": "COMPLETED"}, "else": "FAILED"})
    assert [one(other, s=text)["state"] for text in ("0", "9", None)] == [
        "COMPLETED",
        "FAILED",
        None,
    ]


def test_a_pattern_takes_a_part() -> None:
    mapping = mapped(nodes={"column": "n", "pattern": ":([0-9]+)x"})
    assert one(mapping, n="frontier:excl:2500x112")["nodes"] == 2500
    assert one(mapping, n="frontier")["remarks"] == [unreadable("column n")]


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("['n1']", "n1"),
        ("['n1', 'n2']", "n1,n2"),
        ('["n1","n2"]', "n1,n2"),
        ("[1, 2]", "1,2"),
        ("[1-2]", "[1-2]"),
        ("n[1-2],m1", "n[1-2],m1"),
        (None, None),
    ],
)
def test_nodes_may_be_listed_as_python_does(text: str | None, nodes: str | None) -> None:
    found = one(mapped(node_list="l"), l=text)
    assert (found["node_list"], found["remarks"]) == (nodes, [])


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("2026-01-31 12:00:05 UTC", 5),
        ("2026-01-31 12:00:05.25 UTC", 5),
        ("2026/01/31 12:00:05", 5),
        ("2026-01-31T12:00", 0),
        ("2026-01-31T12:00Z", 0),
        ("2026-01-31 13:00:05 +01:00", 5),
    ],
)
def test_times_in_other_forms(text: str, second: int) -> None:
    late = {"beg": "2026-02-01 00:00:00", "end": "2026-02-02 00:00:00"}
    found = one(mapped(), sub=text, **late)
    assert (found["submit_time"], found["problem"]) == (1_769_860_800 + second, None)


def test_times_whose_form_is_ambiguous_are_refused() -> None:
    assert one(mapped(), sub="01/02/2026 12:00:00")["problem"] == (
        "column sub: '01/02/2026 12:00:00' is not a time"
    )


def test_lists_types_and_numbers_of_ids() -> None:
    mapping = mapped(node_list="l", gpus="g", gpu_types="t", nodes={"column": "l", "unit": "items"})
    found = one(mapping, id="app_15_14001", l="n1,n2", g="8", t="A100")
    assert (found["node_list"], found["nodes"], found["gpu_types"]) == ("n1,n2", 2, "a100:8")
    assert found["job_number"] == 14_001
    assert one(mapping, id="1000.0")["job_number"] == 1000
    found = one(mapping, l="n[1-")
    assert (found["node_list"], found["remarks"]) == (None, [unreadable("column l")])
    assert one(mapping, id="dl5jcn0ivgxv479")["job_number"] is None
    found = one(mapping, id="12_3")
    assert (found["job_number"], found["array_task"]) == (12, 3)


def test_local_times_and_other_origins() -> None:
    found = convert(
        [{**GOOD, "sub": "2017-10-07 01:10:42", "beg": "", "end": ""}],
        mapped(),
        "America/Los_Angeles",
    )
    assert found["submit_time"].item() == 1_507_363_842
    origin = mapped(origin="1970-01-02", end_time={"column": "end", "unit": "ms"})
    assert one(origin, sub="5", beg="6", end="7999")["submit_time"] == 86_405
    assert one(origin, sub="5", beg="6", end="7999")["end_time"] == 86_407
    assert one(origin, sub="x", beg="6", end="7999")["code"] == RefusalCode.TIME


NUMBERS: Final = st.one_of(
    st.none(),
    st.integers(-2, 10**4).map(str),
    st.integers(0, 9999).map(lambda number: f"{number}.{number % 7}"),
    st.sampled_from(["", "x", "1e3", "None", "9" * 25]),
)
INSTANTS: Final = st.one_of(
    st.none(),
    st.integers(0, 2**33).map(str),
    st.just("2020-02-29 12:00:01"),
    st.sampled_from(["", "0", "2020-02-30 12:00:01", "soon"]),
)


@st.composite
def mappings(draw: st.DrawFn) -> TableMapping:
    times = draw(st.sets(st.sampled_from(TIMES))) | {draw(st.sampled_from([TIMES[0], *TIMES[2:]]))}
    fields: dict[str, Any] = {"job_id": "id", **{name: name for name in times}}
    for name in draw(st.sets(st.sampled_from(("walltime", "elapsed", "wait", "suspended")))):
        fields[name] = {"column": name, "unit": draw(st.sampled_from(["s", "min", "ms", "h"]))}
    for name in draw(st.sets(st.sampled_from(COUNTS))):
        fields[name] = {"column": name}
        if draw(st.booleans()):
            fields[name] |= {"unit": "milli"} | ({"round": "up"} if draw(st.booleans()) else {})
    if "nodes" in fields and draw(st.booleans()):
        fields["mem_bytes"] = {"column": "mem_bytes", "unit": "GiB", "per": "node"}
    elif draw(st.booleans()):
        fields["mem_bytes"] = {"column": "mem_bytes", "unit": draw(st.sampled_from(["B", "MB"]))}
    if draw(st.booleans()):
        fields["state"] = draw(
            st.sampled_from(
                [
                    {"column": "state"},
                    {"column": "state", "values": {"a": "COMPLETED"}},
                    {"column": "state", "values": {"a": "COMPLETED"}, "else": "FAILED"},
                    {"column": "state", "nulls": ["a"], "pattern": "([ab])"},
                ]
            )
        )
        fields["state_when"] = draw(
            st.sampled_from([(), ({"column": "state", "is": "b", "state": "X"},)])
        )
    return TableMapping.model_validate(tuples(fields))


@st.composite
def tables(draw: st.DrawFn) -> tuple[TableMapping, Rows]:
    mapping = draw(mappings())
    kinds = {
        **dict.fromkeys(mapping.columns, NUMBERS),
        **dict.fromkeys(TIMES, INSTANTS),
        "id": st.sampled_from(["1", "a_7", "", None]),
        "state": st.sampled_from(["a", "b", "c", None]),
    }
    row = st.fixed_dictionaries({name: kinds[name] for name in mapping.columns})
    return mapping, draw(st.lists(row, min_size=1, max_size=6))


@settings(max_examples=examples(60), deadline=None)
@given(tables())
def test_each_row_is_what_its_mapping_says(given_table: tuple[TableMapping, Rows]) -> None:
    mapping, rows = given_table
    for found, row in zip(convert(rows, mapping).iter_rows(named=True), rows, strict=True):
        try:
            wanted = naive.record(row, mapping)
        except naive.RefusedRowError:
            assert found["problem"] is not None, row
            continue
        assert found["problem"] is None, row
        for name, value in wanted.items():
            if name not in ("elapsed", "wait"):
                assert found.get(name) == value, (name, row)


@pytest.mark.parametrize("name", [name for name, of in presets().items() if not of.adds])
def test_every_unit_of_a_preset_matters(name: str) -> None:
    """Another unit gives another figure, so that a sample no longer agrees."""
    preset = presets()[name]
    for field, of in preset.fields.items():
        if field in (*MEMORY, "walltime"):
            other = {"min": "s", "s": "min", "GiB": "GB", "MiB": "MB", "B": "KB"}[of.unit or ""]
            changed = preset.model_copy(update={field: of.model_copy(update={"unit": other})})
            row = {**dict.fromkeys(preset.columns, "3600"), of.column or "": "7200"}
            row |= dict.fromkeys(_times(preset), "1600000000")
            (before,), (after,) = (
                convert([row], each).rows(named=True) for each in (preset, changed)
            )
            column = "walltime_s" if field == "walltime" else field
            assert before[column] is not None
            assert before[column] != after[column]


def _times(preset: TableMapping) -> list[str]:
    return [of.column or "" for field, of in preset.fields.items() if field in TIMES]
