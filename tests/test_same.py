"""`make same`: what counts as a difference between two audits, and what does not."""

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import pytest

from bench.same import __main__ as same
from bench.same.names import Renames
from bench.same.records import differences, record

Row = tuple[str, str, float | None, str, str]
ROWS: Sequence[Row] = (
    ("demo", "wait", 0.1, "8 users wait", "a run"),
    ("demo", "wait", None, "2 users wait", "a run"),  # the same key as the first
    ("demo", "share", 0.0, "3 in 10", "a run"),
)
NAMES = ("summary", "cluster", "metric", "value", "sentence", "run_id")
PAGE = """
<title>99</title><style>p { margin: 98px }</style>
<h1>Mean <b>wait</b>: 4.2 h</h1><p>of 1,234 jobs of user u97, −5 to 6</p>
<details class="query">metric = 96 <details>95</details> 94</details>
<table><caption>Shares</caption><tr><td>7</td><td>8.50 %</td></tr></table>
<dl class="provenance"><dd>93</dd></dl><script>92</script>
"""

Audit = Callable[..., Path]


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    """Makes the folder of an audit with one table and a view of it."""

    def make(
        name: str, rows: Sequence[Row] = ROWS, names: Sequence[str] = NAMES, page: str = PAGE
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "report.html").write_text(page)
        table, cluster, metric, value, sentence, run_id = names
        with duckdb.connect(str(folder / "audit.duckdb")) as con:
            con.execute(
                f"CREATE TABLE {table} ({cluster} TEXT, {metric} TEXT, {value} DOUBLE,"
                f" {sentence} TEXT, {run_id} TEXT)"
            )
            con.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", rows)
            con.execute(f"CREATE VIEW seen AS SELECT {cluster}, {value} FROM {table}")
        return folder

    return make


def changed(row: int, **fields: str | float | None) -> list[Row]:
    """The rows, one of them with other values."""
    rows = [dict(zip(NAMES[1:], one, strict=True)) for one in ROWS]
    rows[row] |= fields
    return [tuple(one.values()) for one in rows]  # type: ignore[misc]


@pytest.mark.parametrize("value", [math.nextafter(0.0, 1.0), -0.0, None, math.nan])
def test_one_bit_of_a_value_is_found(audit: Audit, value: float | None) -> None:
    now = record(audit("now", changed(2, value=value)))
    assert differences(record(audit("then")), now) == {
        "seen.value": "differs",
        "summary.value": "differs",
    }


def test_a_value_that_moves_to_another_row_is_found(audit: Audit) -> None:
    swapped = [*changed(0, value=0.0)[:2], changed(2, value=0.1)[2]]
    assert "summary.value" in differences(record(audit("then")), record(audit("now", swapped)))


def test_the_order_of_rows_does_not_count_not_even_of_equal_keys(audit: Audit) -> None:
    now = record(audit("now", ROWS[::-1]))
    assert differences(record(audit("then")), now) == {}


def test_left_out_columns_and_the_wording_of_prose_do_not_count(audit: Audit) -> None:
    then = record(audit("then"))
    rows = changed(0, run_id="another run", sentence="it is 8 users who wait")
    assert differences(then, record(audit("now", rows))) == {}
    assert not any("run_id" in column for column in then.columns)


def test_renamed_tables_columns_and_values_are_followed(audit: Audit) -> None:
    rows = [(*row[:1], row[1].replace("wait", "delay"), *row[2:]) for row in ROWS]
    names = ("figures", "site", "measure", "amount", "sentence", "run_id")
    folder, then = audit("now", rows, names), record(audit("then"))
    renames = Renames(
        tables={"summary": "figures"},
        columns={"*.cluster": "site", "summary.metric": "measure", "*.value": "amount"},
        values={"metric": {"wait": "delay"}},
    )
    assert differences(then, record(folder, renames), renames) == {}
    assert differences(then, record(folder)) == {
        "summary": "3 rows → no such table",
        "figures": "no such table → 3 rows",
        "seen.cluster": "missing",
        "seen.value": "missing",
        "seen.site": "new",
        "seen.amount": "new",
    }
    assert "summary.metric" in differences(then, record(folder, renames._replace(values={})))


def test_what_was_removed_on_purpose_is_not_missed(audit: Audit) -> None:
    then, now = record(audit("then")), record(audit("now", names=("other", *NAMES[1:])))
    renames = Renames(tables={"summary": None, "seen": "other"}, columns={"*.value": None})
    assert renames.removed("summary")
    assert not renames.removed("seen")
    assert renames.removed("seen", "value")
    assert "summary" not in differences(then, now, renames)


def test_the_numbers_of_a_report_are_those_one_reads_in_their_order(audit: Audit) -> None:
    found = record(audit("then"))
    assert found.report == [["Mean", "4.2 1,234 −5 6"], ["Shares", "7 8.50"]]


def test_the_command_compares_with_what_it_wrote(
    audit: Audit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    audits = iter([audit("first"), audit("same"), audit("other", changed(2, value=0.25))])
    monkeypatch.setattr(same, "audited", lambda *_: record(next(audits)))
    monkeypatch.setattr(same, "REFERENCE", tmp_path)
    monkeypatch.setattr(same, "KEPT", tmp_path)
    found = same.Log(lambda: Path("log")), same.Log(lambda: None)
    monkeypatch.setattr(same, "LOGS", dict(zip(("demo", "kth"), found, strict=True)))

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["same", *arguments])
        return same.main(), capsys.readouterr().out

    assert run("--write")[0] == 0
    code, said = run()
    assert code == 0
    assert "  demo.summary.value\n" in said
    assert "*** kth: NOT COMPARED" in said
    code, said = run("--only", "demo")
    assert code == 1
    assert said.endswith(
        "demo.seen.value: differs\ndemo.summary.value: differs\n"
        "demo: DIFFERS (6 columns, 6 numbers in report.html)\n"
    )
