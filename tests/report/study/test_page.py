import base64
import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from audit.errors import UsageError
from audit.metrics.claims import ClaimHolds, ClaimVerdict
from audit.oneoff import study as studies
from audit.report.charts.style import Chart
from audit.report.study import page as study
from audit.report.study.charts import Layout, Value, heat_map
from audit.report.study.page import Section, Study, Table, TableColumn
from audit.spreadsheets import visible
from tests.report.sample import present

HOSTILE = "=cmd|'/c calc'!A1</script><script>alert(1)</script>\u202e"
CHART = heat_map(
    "of_bars",
    "Bars",
    "Nothing is left out.",
    [Value(HOSTILE, "a", 1, 1.0, "mean 1")],
    Layout([HOSTILE], ["a"], "X", "Mean"),
)
COLUMNS: study.Columns = (
    TableColumn("Who", "who", "text"),
    TableColumn("Hours", "hours"),
    TableColumn("Part", "part", "percent"),
    TableColumn("Keeps it", "keeps", "yes_no"),
)
ROWS: tuple[tuple[study.Cell, ...], ...] = (
    (HOSTILE, 0.1 + 0.2, 0.25, True),
    ("b", None, 1 / 3, False),
    ("c", "never", 0.0, None),
)


def small(shown: int = study.ROWS, title: str = "A study") -> Study:
    table = Table("of-rows", "Some rows", COLUMNS, ROWS, shown=shown)
    return Study(
        "sample",
        title,
        "What was found.",
        (Section("First", ("Some <b>text</b>.", table, CHART)),),
        (("Seed", "7"),),
        ("[X] A paper.",),
    )


def test_texts_are_escaped_and_the_policy_names_each_script() -> None:
    page = study.render_html(small(title=HOSTILE))
    assert "<script>alert(1)" not in page
    assert "Some &lt;b&gt;text&lt;/b&gt;." in page
    assert "\u202e" not in page
    assert "\\u202e</h1>" in page
    policy = present(re.search(r'Content-Security-Policy" content="([^"]*)"', page))
    assert policy[1].count("sha256-") == 1
    assert "http-equiv" in page
    assert 'src="http' not in page


def test_a_table_reads_on_the_page_and_is_whole_in_its_file() -> None:
    made = small(shown=2)
    page = study.render_html(made)
    for shown in ("0.300", "25.0\u00a0%", "yes", "no", "–"):
        assert f">{shown}<" in page
    assert "1 more row of this table: see <code>sample-of-rows.csv</code>" in page
    bare = study.render_html(small(shown=0))
    assert "Some rows: 3 rows in <code>sample-of-rows.csv</code>" in bare
    assert "<caption>" not in bare
    [file] = study.files(made)
    assert file.name == "sample-of-rows.csv"
    header, *rows = csv.reader(io.StringIO(file.text))
    assert header == ["who", "hours", "part", "keeps"]
    assert rows[0] == ["'" + visible(HOSTILE), "0.30000000000000004", "0.25", "true"]
    assert rows[1] == ["b", "", "0.3333333333333333", "false"]
    assert rows[2] == ["c", "never", "0.0", ""]
    inside = present(re.search(r'download="sample-of-rows.csv" href="data:[^,]*,([^"]*)"', page))
    assert base64.b64decode(inside[1]).decode() == file.text


def test_the_same_study_gives_the_same_bytes() -> None:
    assert study.render_html(small()) == study.render_html(small())


def test_a_study_without_charts_carries_no_script() -> None:
    page = study.render_html(Study("bare", "Bare", "Nothing.", ()))
    assert "<script" not in page


def test_what_would_overwrite_or_misread_a_table_is_refused() -> None:
    table = Table("a", "A", COLUMNS[:1], (("x",),))
    with pytest.raises(ValueError, match="same key"):
        study.files(Study("s", "S", "", (Section("1", (table, table)),)))
    with pytest.raises(ValueError, match="not of 1 cells"):
        study.files(
            Study("s", "S", "", (Section("1", (Table("a", "A", COLUMNS[:1], (("x", 1),)),)),))
        )
    with pytest.raises(ValueError, match="same key"):
        study.render_html(Study("s", "S", "", (Section("1", (CHART, CHART)),)))


class Policy(NamedTuple):
    name: str
    source: str


def test_columns_say_what_they_show_of_a_row() -> None:
    assert TableColumn("Policy", "name", "text").cell(Policy("easy", "k")) == "easy"
    assert TableColumn("A", "a").cell({"b": 2, "a": 1}) == 1


def test_verdicts_stand_in_one_kind_of_table() -> None:
    verdict = ClaimVerdict("a before b", ClaimHolds.yes, "5 > 3", "[X §1]")
    assert study.verdict_table([("", verdict)]).rows == (("a before b", "yes", "5 > 3", "[X §1]"),)
    made = study.verdict_table([("own", verdict)], ("Estimates", "estimates"))
    assert [column.name for column in made.columns][:3] == ["claim", "estimates", "holds"]
    assert made.rows == (("a before b", "own", "yes", "5 > 3", "[X §1]"),)


def test_pools_have_sections_and_files_of_their_own() -> None:
    table = Table("a", "A", COLUMNS[:1], (("x",),))
    sections = (Section("First", ("Words.", table, CHART)),)
    assert study.by_pool([("cpu", sections)]) == sections
    made = study.by_pool([("cpu", sections), ("gpu", sections)])
    assert [section.title for section in made] == ["Pool cpu: First", "Pool gpu: First"]
    found = Study("s", "S", "", made)
    assert [one.key for one in study.tables(found)] == ["1-a", "2-a"]
    assert [part.key for part in made[1].parts if isinstance(part, Chart)] == ["2-of_bars"]
    assert made[1].parts[0] == "Words."
    assert [study.pool_prefix(0, pools) for pools in (1, 2)] == ["", "1-"]


def test_it_is_written_with_its_tables(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    page, table = studies.write(small(), out)
    assert page.name == "sample.html"
    assert page.read_text(encoding="utf-8") == study.render_html(small())
    assert table.read_bytes().startswith(b"who,hours,part,keeps\r\n")
    assert sorted(out.iterdir()) == sorted([page, table])


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="file: cannot be written"):
        studies.write(small(), blocked)
    with pytest.raises(UsageError, match="file: is not a folder"):
        studies.refuse_unfit(blocked)
    studies.refuse_unfit(tmp_path)
    studies.refuse_unfit(tmp_path / "new")
