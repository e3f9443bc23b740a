"""Fail if too many sentences of the checkout, or of the reports that it makes, are hard to read.

    python .ci/check_prose.py TOOL

TOOL is a program that takes files and folders. With --list it prints the sentences that it marks,
and at the end "N of M sentences". FAIRAUDIT_REAL_LOGS is the folder of the real logs.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.same.__main__ import KEPT, LOGS, Log

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = {
    ("README.md", "config.toml", "docs", "templates", "sql"): 0.5,
    ("audit", "tests", ".ci", "bench"): 1.0,
}
"""Files and folders, with the maximum percentage of sentences that the tool may mark in them."""
OF_AN_AUDIT: Final = 0.5
"""The maximum percentage in what an audit prints and renders."""
QUICK: Final = ("--no-pdf", "--budget", "1", "--advice-budget", "1")


def texts(name: str, log: Log, folder: Path) -> list[str]:
    """Audit a log, and return the files with what the command printed and rendered."""
    if (path := log.path()) is None:
        print(f"*** PROSE NOT CHECKED of {name}: FAIRAUDIT_REAL_LOGS names no such log ***")
        return []
    out = folder / name
    command = [sys.executable, "-m", "audit", "audit", str(path), "--out", str(out)]
    done = subprocess.run(
        [*command, *QUICK, *log.options],
        cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"the audit of {name} ended with {done.returncode}:\n{done.stdout}")
    printed = folder / f"{name}.txt"
    printed.write_text(done.stdout, encoding="utf-8")
    return [str(printed), *map(str, sorted(out.glob("*.html")))]


def checked(folder: Path) -> Iterator[tuple[str, Sequence[str], float]]:
    """Yield the name, paths and maximum percentage of each text."""
    for of, most in SOURCES.items():
        yield ", ".join(of), of, most
    for name, log in LOGS.items():
        if paths := texts(name, log, folder):
            yield f"the audit of {name}", paths, OF_AN_AUDIT


def marked(tool: str, paths: Sequence[str]) -> tuple[str, float]:
    """Return the tool's list, and the percentage of the sentences that it marked."""
    done = subprocess.run(
        [sys.executable, tool, "--list", *paths],
        cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    counts = re.search(r"(\d+) of (\d+) sentences", done.stdout.splitlines()[-1])
    assert counts is not None, done.stdout[-200:]
    found, of = map(int, counts.groups())
    assert of > 0, f"no sentences in {paths}"
    return done.stdout, 100 * found / of


def main() -> int:
    """Run the check and return its exit code."""
    tool = str(Path(sys.argv[1]).resolve(strict=True))
    KEPT.mkdir(parents=True, exist_ok=True)
    code = 0
    with TemporaryDirectory() as folder:
        for name, paths, most in checked(Path(folder)):
            listed, share = marked(tool, paths)
            print(f"prose: {share:.2f} % of the sentences of {name} are marked, at most {most} %")
            if share > most:
                print(listed)
                code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
