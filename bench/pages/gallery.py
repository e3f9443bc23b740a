"""Makes the pictures of ``docs/report`` and ``docs/tutorial``: pages as a browser shows them.

    FAIRAUDIT_REAL_LOGS=… python -m bench.pages.gallery [NAME…]

Needs Chromium. Pictures of public logs need the folder of real logs; without it, they stay as they
are. Names are those of the logs in ``LOGS``.
"""

import base64
import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from audit.formats import swf
from tests.places import ROOT
from tests.report.chromium import Page
from tests.scenario.windows.sites import SITES, made

REPORT, TUTORIAL = ROOT / "docs" / "report", ROOT / "docs" / "tutorial"
PROGRAM = Path(sys.executable).with_name("fairaudit")
LAB = ROOT / "tests" / "data" / "modern" / "north"
PAGE_ONE = ".page-one"


class Shot(NamedTuple):
    """A part of a page, and the picture of it."""

    picture: Path
    page: str = "report.html"
    part: str = PAGE_ONE  # CSS selector
    width: int = 760
    height: int = 2_000  # at most


class Log(NamedTuple):
    """A log, how it is audited, and the pictures of its pages."""

    make: Callable[[Path], Iterator[str]]
    """Yields the words after ``fairaudit audit``; takes a folder for files."""
    shots: tuple[Shot, ...]
    command: str = "audit"


def _public(name: str, *options: str) -> Callable[[Path], Iterator[str]]:
    def find(_: Path) -> Iterator[str]:
        yield from (str(Path(os.environ["FAIRAUDIT_REAL_LOGS"], name)), *options)

    return find


def _site(name: str) -> Callable[[Path], Iterator[str]]:
    def write(folder: Path) -> Iterator[str]:
        attempts, pool = made(SITES[name], seed=1)
        frame, _ = swf.numbered(attempts)
        begin = attempts["submit_time"].min()
        path = folder / "site.swf"
        path.write_bytes(
            swf.write(frame, {"UnixStartTime": str(begin), "MaxProcs": str(pool.capacity)})
        )
        yield str(path)

    return write


def _demo(folder: Path) -> Iterator[str]:
    path = folder / "demo.swf"
    subprocess.run([sys.executable, "-m", "bench.logs.demo_log", path], check=True, cwd=ROOT)
    yield str(path)


def _demo_of_user(folder: Path) -> Iterator[str]:
    yield from _demo(folder)
    yield from ("--user", "35")


def _demo_conservative(folder: Path) -> Iterator[str]:
    yield from _demo(folder)
    yield from ("--backfill", "conservative")


def _lab(folder: Path) -> Iterator[str]:
    for name in ("sacct.txt", "nodes.txt"):
        (folder / name).write_bytes(gzip.decompress((LAB / f"{name}.gz").read_bytes()))
    yield from (str(folder / "sacct.txt"), "--nodes", str(folder / "nodes.txt"))
    yield from ("--zone", "UTC", "--cluster", "lab")


LOGS = {
    "kth-sp2": Log(
        _public("swf/KTH-SP2-1996-2.1-cln.swf.gz", "--predict"),
        (
            Shot(REPORT / "kth-sp2.png"),
            Shot(REPORT / "predicted.png", part="#pool-1-predicted", width=1_100, height=700),
        ),
    ),
    "lanl-cm5": Log(_public("swf/LANL-CM5-1994-4.1-cln.swf.gz"), (Shot(REPORT / "lanl-cm5.png"),)),
    "unilu-gaia": Log(_public("swf/UniLu-Gaia-2014-1.swf.gz"), (Shot(REPORT / "unilu-gaia.png"),)),
    "phillips": Log(_public("slurm/xdmod-phillips.log.gz"), (Shot(REPORT / "phillips.png"),)),
    "demo": Log(
        _demo_of_user,
        (
            Shot(REPORT / "demo.png"),
            Shot(REPORT / "phone.png", width=390, height=1_500),
            Shot(REPORT / "user.png", "user-35.html", "main", height=1_300),
            Shot(TUTORIAL / "page-one.png", width=1_000, height=1_000),
        ),
    ),
    "whatif": Log(
        _demo_conservative,
        (Shot(TUTORIAL / "whatif.png", "whatif.html", "main", width=1_000, height=540),),
        command="whatif",
    ),
    "lab": Log(_lab, (Shot(REPORT / "lab.png"),)),
    "limit": Log(_site("jobs of a user"), (Shot(REPORT / "limit.png"),)),
    "closed-hours": Log(_site("window by walltime"), (Shot(REPORT / "closed-hours.png"),)),
    "outages": Log(_site("no rule"), (Shot(REPORT / "outages.png"),)),
}


def take(log: Log) -> None:
    """Audit a log, and take the pictures of its pages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [str(PROGRAM), log.command, *log.make(folder), "--out", str(folder / "out")]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with Page() as page:
            for shot in log.shots:
                shot.picture.write_bytes(picture(page, folder / "out" / shot.page, shot))
                print(shot.picture.relative_to(ROOT))


def picture(page: Page, file: Path, shot: Shot) -> bytes:
    """Return a picture of the part of a page, as PNG."""
    page.show(file, shot.width)
    y, height = page.evaluate(
        "(() => { const part = document.querySelector("
        f"{shot.part!r}); for (let up = part; up; up = up.parentElement) up.open = true; "
        "const at = part.getBoundingClientRect(); "
        "return [at.y + scrollY, at.height]; })()"
    )
    clip = {"x": 0, "y": max(y - 10, 0), "width": shot.width, "scale": 1}
    clip["height"] = min(height + 20, shot.height)
    answer = page.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    return base64.b64decode(answer["data"])


if __name__ == "__main__":
    for name in sys.argv[1:] or LOGS:
        if "FAIRAUDIT_REAL_LOGS" not in os.environ and "_public" in LOGS[name].make.__qualname__:
            print(f"{name}: not made, FAIRAUDIT_REAL_LOGS names no folder")
            continue
        take(LOGS[name])
