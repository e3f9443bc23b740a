"""Pictures and the page's script: the same bytes anywhere, and made once."""

import hashlib
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.report.charts import drawing
from audit.report.charts import pool as charts
from tests.report.sample import pool


def _digests() -> list[str]:
    made = [drawing.svg(chart) for chart in charts.of_pool(pool()).values()]
    return [hashlib.sha256(text.encode()).hexdigest() for text in (*made, drawing.script())]


_SCRIPT = "from tests.report.charts import test_drawing as own; print(own._digests())"


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
