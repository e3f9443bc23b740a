"""The papers' studies on real logs: makes the pages and pictures of ``docs/studies``.

Each study is run as a user would (``fairaudit experiment``) on KTH-SP2 and on LANL-CM5, in the
folder that ``FAIRAUDIT_REAL_LOGS`` names. Of its page the pictures are kept, and what it decided
about the paper's conclusions, with the time that it took, kernels compiled.

    FAIRAUDIT_REAL_LOGS=… python -m bench.pages.studies [FOLDER]

Finished studies in FOLDER are reused, so that an interrupted run can continue.
"""

import csv
import html
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from audit.report.charts import drawing

LOGS = {"kth-sp2": "KTH-SP2-1996-2.1-cln", "lanl-cm5": "LANL-CM5-1994-4.1-cln"}
STUDIES = {
    "grid": "Queue orders and backfilling, after Sabin and Sadayappan",
    "users": "Six policies and their users, after Klusáček and Rudová",
    "sensitivity": "Settings of fairshare, after Bui et al.",
}
DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"
PICTURE = re.compile(r'<svg role="img" aria-label="([^"]*)".*?</svg>', re.DOTALL)


class Page(NamedTuple):
    """The kept parts of a study's page."""

    pictures: list[tuple[str, str]]  # SVG, and what it shows
    verdicts: list[list[str]]  # a header, then a row each
    wall_s: float
    cpu_s: float


def study(name: str, log: Path, folder: Path) -> Page:
    """Runs a study, or takes what an earlier run of it left in ``folder``."""
    took = folder / f"{name}.seconds"
    page = folder / f"{name}.html"
    if not (page.exists() and took.exists()):
        wall, cpu = time.perf_counter(), _cpu_s()
        program = Path(sys.executable).with_name("fairaudit")
        subprocess.run([program, "experiment", name, log, "--out", folder], check=True)
        took.write_text(json.dumps([time.perf_counter() - wall, _cpu_s() - cpu]))
    pictures = [
        (drawing.alone(found[0]) + "\n", html.unescape(found[1]))
        for found in PICTURE.finditer(page.read_text(encoding="utf-8"))
    ]
    with (folder / f"{name}-verdicts.csv").open(encoding="utf-8", newline="") as file:
        verdicts = list(csv.reader(file))
    return Page(pictures, verdicts, *json.loads(took.read_text()))


def _cpu_s() -> float:
    """Of all processes that have ended, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def markdown(title: str, log: str, pages: dict[str, Page], names: dict[str, list[str]]) -> str:
    """A page of ``docs/studies``."""
    lines = [f"# The papers' studies on {log}", "", "Made by `make studies`.", ""]
    for name, page in pages.items():
        command = f"fairaudit experiment {name} {log}.swf.gz"
        lines += [f"## {STUDIES[name]}", "", f"`{command}`: {page.cpu_s:.0f} s of CPU.", ""]
        header, *rows = page.verdicts
        lines += [row_of(header), row_of(["---"] * len(header)), *map(row_of, rows), ""]
        for file, (_, shows) in zip(names[name], page.pictures, strict=True):
            kind, _, said = shows.partition(". ")
            lines += [f"![{kind}]({title}/{file})", "", said, ""]
    return "\n".join(lines)


def row_of(cells: list[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> None:
    """Runs all studies on all logs and writes their pages."""
    logs = Path(os.environ["FAIRAUDIT_REAL_LOGS"]) / "swf"
    chosen = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="fairaudit-studies-")
    for title, log in LOGS.items():
        folder = Path(chosen) / title
        folder.mkdir(parents=True, exist_ok=True)
        pages = {name: study(name, logs / f"{log}.swf.gz", folder) for name in STUDIES}
        (DOCS / title).mkdir(parents=True, exist_ok=True)
        names: dict[str, list[str]] = {}
        for name, page in pages.items():
            names[name] = [f"{name}-{k}.svg" for k in range(1, len(page.pictures) + 1)]
            for file, (drawn, _) in zip(names[name], page.pictures, strict=True):
                (DOCS / title / file).write_text(drawn, encoding="utf-8")
        text = markdown(title, log, pages, names)
        (DOCS / f"{title}.md").write_text(text, encoding="utf-8")
        print(f"{log}: {sum(page.wall_s for page in pages.values()):.0f} s")


if __name__ == "__main__":
    main()
