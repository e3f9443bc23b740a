"""Rows of tables in docs/report, which the tests of made sites write."""

import fcntl
import re
from pathlib import Path


def write_row(page: Path, first: str, *cells: object) -> None:
    """Replace the row of a Markdown table that begins with a cell; other tests may write, too."""
    row = f"| {' | '.join(map(str, (first, *cells)))} |"
    with page.open("r+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        changed, count = re.subn(rf"^\| {re.escape(first)} \|.*$", row, file.read(), flags=re.M)
        assert count == 1, f"{page.name} has no row for {first}"
        file.seek(0)
        file.truncate()
        file.write(changed)
