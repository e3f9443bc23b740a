"""Hostile names."""

import csv
import io
from pathlib import Path

from audit.oneoff.sshare.table import Outcome, comma_separated, psv
from tests.oneoff.sshare.lab import recompute, request


def hostile(tmp_path: Path) -> Outcome:
    (tmp_path / "assoc").write_text(
        "Account\x1fUser\x1fShare\x1fParentName\nroot\x1f\x1f1\x1f\n=a|b\x1f\x1f1\x1froot\n"
        "=a|b\x1f+cmd|' /C calc'!A0\x1f1\x1f\n=a|b\x1f\x1b[31mred\x1f1\x1f\n"
    )
    return recompute(request(associations=tmp_path / "assoc"))


def test_hostile_names_break_no_line_and_no_field(tmp_path: Path) -> None:
    found = hostile(tmp_path)
    lines = psv(found).splitlines()
    assert len(lines) == 1 + len(found.rows) == 5
    assert {line.count("|") for line in lines} == {10}
    assert "\x1b" not in psv(found)
    assert r"+cmd\x7c' /C calc'!A0" in lines[4]


def test_csv_is_no_formula(tmp_path: Path) -> None:
    rows = list(csv.reader(io.StringIO(comma_separated(hostile(tmp_path)))))
    assert {len(row) for row in rows} == {11}
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert rows[4][1] == "'+cmd|' /C calc'!A0"
