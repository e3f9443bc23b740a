"""Writes ``docs/studies/*-waits.md``: why jobs of real logs waited.

Runs `audit` on each log in the folder ``FAIRAUDIT_REAL_LOGS``,
`fit-policy`, and `explain` for the most delayed attempts.

    FAIRAUDIT_REAL_LOGS=… python -m bench.pages.waits [FOLDER]

Results that are already in FOLDER are reused.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from audit.registry.causes import CAUSES

LOGS = {
    "kth-sp2": "KTH-SP2-1996-2.1-cln",
    "lanl-cm5": "LANL-CM5-1994-4.1-cln",
    "unilu-gaia": "UniLu-Gaia-2014-1",
}
PARTS = {
    "agreement": "Agreement of candidates with the observed starts",
    "limits": "Limits that the log shows",
    "own-limits": "Limits of single users",
    "windows": "Windows that the log shows",
    "failed-windows": "Windows that fail a condition",
}
"""The tables of `fit-policy`."""
DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"
EXPLAINED = 3
SHARES = f"""
    SELECT
        if(dimension = 'all', 'all', coalesce(dimension_value, 'unknown')) AS width,
        attempts, metric, value
    FROM summary
    WHERE dimension IN ('all', 'width_class') AND metric IN {tuple(one.share for one in CAUSES)}
"""
DELAYED = f"""
    SELECT job_id FROM job_fairness
    WHERE miss_delivered_s > 0
    ORDER BY miss_delivered_s DESC, arrival_time, job_id LIMIT {EXPLAINED}
"""


def fairaudit(*arguments: object) -> str:
    """Return the output of a command.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    program = Path(sys.executable).with_name("fairaudit")
    done = subprocess.run(
        [program, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def asked(database: Path, query: str) -> list[dict[str, object]]:
    """Return the rows of a query."""
    rows: list[dict[str, object]] = json.loads(
        fairaudit("sql", query, "--db", database, "--format", "json")
    )
    return rows


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a Markdown table, followed by an empty line."""
    lines = [header, ["---"] * len(header), *rows]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return [*(f"| {' | '.join(line)} |" for line in cells), ""]


def account(database: Path) -> list[str]:
    """Return the account of waits by width class."""
    shares: dict[object, dict[object, object]] = {}
    for row in asked(database, SHARES):
        of = shares.setdefault(row["width"], {"attempts": row["attempts"]})
        of[row["metric"]] = row["value"]

    def width(label: object) -> tuple[int, bool]:
        """All first, then from narrow to wide."""
        text = str(label)
        known = text[-1].isdigit()
        return int(text.lstrip(">").split("-")[0]) if known else 0, text.startswith(">")

    rows = [
        [label, f"{of['attempts']:,}"]
        + [f"{100 * float(str(of[one.share])):.1f} %" for one in CAUSES]
        for label, of in sorted(shares.items(), key=lambda item: width(item[0]))
    ]
    return table(["width", "attempts", *(one.legend for one in CAUSES)], rows)


def rows_of(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, header first, with rounded numbers."""

    def shown(cell: str) -> str:
        try:
            number = float(cell)
        except ValueError:
            return cell
        return f"{number:,.0f}" if number.is_integer() else f"{number:.4g}"

    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    titles = [name.replace("_", " ") for name in header]
    return [titles, *([shown(cell) for cell in row] for row in rows)]


def made(title: str, log: Path, folder: Path) -> str:
    """Return the page of a log."""
    database = folder / "audit.duckdb"
    if not database.exists():
        fairaudit("audit", log, "--out", folder, "--no-pdf")
    if not (folder / "fit-policy.html").exists():
        fairaudit("fit-policy", log, "--out", folder)
    name = LOGS[title]
    lines = [f"# Causes of waiting: {name}", "", "`make waits` writes this page.", ""]
    lines += ["## Account of waits", "", f"`fairaudit audit {log.name}`", ""]
    lines += account(database)
    lines += ["## The site's policy", "", f"`fairaudit fit-policy {log.name}`", ""]
    for part, heading in PARTS.items():
        header, *rows = rows_of(folder / f"fit-policy-{part}.csv")
        lines += [f"### {heading}", "", *(table(header, rows) if rows else ["None.", ""])]
    lines += ["## The jobs that later arrivals delayed most", ""]
    for row in asked(database, DELAYED):
        story = fairaudit("explain", row["job_id"], "--db", database)
        lines += [f"`fairaudit explain {row['job_id']}`", "", "```text", story.rstrip(), "```", ""]
    return "\n".join(lines)


def main() -> None:
    """Write the pages of all logs."""
    logs = Path(os.environ["FAIRAUDIT_REAL_LOGS"]) / "swf"
    chosen = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="fairaudit-waits-")
    for title, name in LOGS.items():
        folder = Path(chosen) / title
        folder.mkdir(parents=True, exist_ok=True)
        text = made(title, logs / f"{name}.swf.gz", folder)
        (DOCS / f"{title}-waits.md").write_text(text, encoding="utf-8")
        print(title)


if __name__ == "__main__":
    main()
