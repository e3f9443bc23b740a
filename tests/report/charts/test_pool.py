import hashlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from audit.report.charts import drawing, series
from audit.report.charts import pool as charts
from audit.report.charts.style import Chart
from audit.report.contents import Entities, Step
from tests.report.sample import HOSTILE, pool, without_fair_starts


def test_every_chart_is_drawn_and_described() -> None:
    made = charts.of_pool(pool())
    assert list(made) == [
        "miss",
        "missed",
        "miss_week",
        "shortfall_share",
        "shortfall",
        "nuwt",
        "waits",
        "week",
        "utilization",
        "queued",
    ]
    for chart in made.values():
        drawn = ElementTree.fromstring(drawing.svg(chart))
        assert chart.alt.endswith(".")
        assert chart.spec["description"] == chart.alt
        assert "DejaVu Sans" in ElementTree.tostring(drawn, "unicode")
        assert not [said for said in _notes(chart) if said]


def _notes(chart: Chart) -> list[str]:
    """Nothing in a chart points outside the page."""
    data = dict(chart.spec)
    data.pop("$schema", None)
    return [text for text in (json.dumps(data),) if "http" in text]


def test_nothing_is_drawn_of_nothing() -> None:
    nobody = Entities("user", (), (), ())
    part = without_fair_starts(pool())
    part = replace(part, hours=(), days=(), users=nobody, accounts=nobody)
    assert charts.of_pool(part) == {}


def test_attempts_of_unknown_width_are_not_drawn() -> None:
    unknown = replace(pool().widths[0], label="unknown")
    made = charts.of_pool(replace(pool(), widths=(*pool().widths, unknown)))
    assert "unknown" not in json.dumps(made["waits"].spec)


def _drawn(steps: tuple[Step, ...]) -> list[dict[str, float]]:
    part = replace(pool(), users=Entities("user", (), (), steps), accounts=pool().users)
    part = replace(part, accounts=Entities("account", (), (), ()))
    values: list[dict[str, float]] = charts.of_pool(part)["nuwt"].spec["data"]["values"]
    return values


def test_the_distribution_is_thinned_to_pixels_and_ends_at_the_cut() -> None:
    steps = tuple(Step(number / 1_000, (number + 1) / 20_000) for number in range(20_000))
    drawn = _drawn(tuple(step for step in steps if step.nuwt <= series.NUWT_CUT))
    assert len(drawn) < 700
    assert (drawn[0]["nuwt"], drawn[0]["share"]) == (0, 0.0)
    assert (drawn[-1]["nuwt"], drawn[-1]["share"]) == (series.NUWT_CUT, steps[10_000].share)
    # What is drawn at any pixel is the value of the distribution there, not near it.
    assert all(Step(point["nuwt"], point["share"]) in steps for point in drawn[1:-1])


def test_the_axis_ends_early_where_all_values_are_small() -> None:
    drawn = _drawn((Step(0.001, 0.5), Step(0.13, 1.0)))
    assert drawn[-1] == {"of": "users", "nuwt": 0.2, "share": 1.0}


def test_long_periods_are_drawn_by_week() -> None:
    day = pool().days[0]
    part = replace(
        pool(), days=tuple(replace(day, label=f"{2000 + n // 300}-01-01") for n in range(1_400))
    )
    assert len(charts.of_pool(part)["utilization"].spec["data"]["values"]) == 200


@pytest.mark.parametrize("name", [*HOSTILE[:4], "".join(HOSTILE)])
def test_hostile_names_leave_the_picture_whole(name: str) -> None:
    part = replace(pool(name), resource=name, hours=(), days=())
    for chart in charts.of_pool(part).values():
        drawn = drawing.svg(chart)
        root = ElementTree.fromstring(drawn)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {
            *("svg", "g", "path", "rect", "text", "defs", "linearGradient", "stop", "clipPath"),
            *("line", "title"),
        }


def _digests() -> list[str]:
    made = [drawing.svg(chart) for chart in charts.of_pool(pool()).values()]
    return [hashlib.sha256(text.encode()).hexdigest() for text in (*made, drawing.script())]


_SCRIPT = "from tests.report.charts import test_pool as own; print(own._digests())"


def test_the_same_bytes_in_any_process_and_zone() -> None:
    """In one that did nothing before, and in this one, which may have drawn much."""
    alone = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env={**os.environ, "TZ": "America/Los_Angeles", "PYTHONHASHSEED": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert alone.stdout == f"{_digests()}\n"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that keeps the script; nothing is remembered of it before and after the test."""
    monkeypatch.setattr(drawing, "_place", lambda: tmp_path / "vega.js")
    _forget()
    yield tmp_path / "vega.js"
    _forget()


def _forget() -> None:
    for remembered in (drawing.script, drawing._kept, drawing._bundling):
        remembered.cache_clear()


def test_the_script_is_kept_for_the_next_process(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = drawing.script()
    content = kept.read_bytes()
    assert content.endswith(made.encode())
    _forget()
    monkeypatch.setattr("subprocess.Popen", None)  # nobody needs it
    assert drawing.script() == made


@pytest.mark.parametrize("damage", [b"", b"half", b"0" * 64 + b"\nalert(1)", b"\xff\n\xff"])
def test_a_damaged_script_is_made_anew(kept: Path, damage: bytes) -> None:
    kept.write_bytes(damage)
    made = drawing.script()
    assert "vegaEmbed" in made
    assert kept.read_bytes().endswith(made.encode())


def test_where_nothing_can_be_kept_it_is_made(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_place", lambda: tmp_path / "absent" / "vega.js")
    assert "vegaEmbed" in drawing.script()
    assert not kept.exists()


def test_a_picture_does_not_depend_on_what_was_drawn_before() -> None:
    """Vega counts gradients through all that a process draws."""
    week = charts.of_pool(pool())["week"]
    drawn = [inspect.unwrap(drawing.svg)(week) for _ in range(3)]  # each time, not once
    assert "url(#part-0)" in drawn[0]
    assert drawn[0] == drawn[1] == drawn[2]
