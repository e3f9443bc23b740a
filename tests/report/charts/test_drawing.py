"""Pictures and the page's script: how they are made, and what is kept for the next process.

That they are the same in any process, zone and order: tests/report/render/test_page.py.
"""

import inspect
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from audit.report.charts import drawing
from audit.report.charts import pool as charts
from tests.report.sample import pool


@cache
def _bundling_at_once() -> subprocess.Popen[str]:
    """In the place of what takes seconds, for tests of what becomes of its output."""
    return subprocess.Popen(
        ["echo", "-n", "window.vegaEmbed = again;"], stdout=subprocess.PIPE, encoding="utf-8"
    )


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
    assert "vegaEmbed" in made
    content = kept.read_bytes()
    assert content.endswith(made.encode())
    _forget()
    monkeypatch.setattr("subprocess.Popen", None)  # nobody needs it
    assert drawing.script() == made


@pytest.mark.parametrize("damage", [b"", b"half", b"0" * 64 + b"\nalert(1)", b"\xff\n\xff"])
def test_a_damaged_script_is_made_anew(
    kept: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    monkeypatch.setattr(drawing, "_bundling", _bundling_at_once)
    kept.write_bytes(damage)
    made = drawing.script()
    assert made == "window.vegaEmbed = again;"
    assert kept.read_bytes().endswith(made.encode())


def test_where_nothing_can_be_kept_it_is_made(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_place", lambda: tmp_path / "absent" / "vega.js")
    monkeypatch.setattr(drawing, "_bundling", _bundling_at_once)
    assert "vegaEmbed" in drawing.script()
    assert not kept.exists()


def test_a_picture_does_not_depend_on_what_was_drawn_before() -> None:
    """Vega counts gradients through all that a process draws."""
    week = charts.of_pool(pool())["week"]
    drawn = [inspect.unwrap(drawing.svg)(week) for _ in range(3)]  # each time, not once
    assert "url(#part-0)" in drawn[0]
    assert drawn[0] == drawn[1] == drawn[2]
