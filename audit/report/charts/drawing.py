"""How charts are drawn: as pictures, and as a page's script. The only home of vl-convert."""

import re
import subprocess
import sys
import threading
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

from audit.errors import ReportError
from audit.files import caches
from audit.report.charts.style import Chart

_SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"


def svg(chart: Chart) -> str:
    """The still picture of ``chart``; the same bytes for the same chart."""
    import vl_convert

    drawn = str(vl_convert.vegalite_to_svg(chart.spec, allowed_base_urls=[]))
    # Vega numbers gradients and clips through all that a process draws; here each picture does.
    for number, name in enumerate(
        dict.fromkeys(re.findall(r' id="((?:gradient_|clip)\d+)"', drawn))
    ):
        for use in ('id="{}"', '"url(#{})"'):
            drawn = drawn.replace(use.format(name), use.format(f"part-{number}"))
    return drawn


def png(chart: Chart, scale: float) -> bytes:
    """The still picture as mail programs show it, ``scale`` times as many pixels."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(chart.spec, scale=scale, allowed_base_urls=[]))


@cache
def _bundling() -> subprocess.Popen[str]:
    program = "import sys, vl_convert; print(vl_convert.javascript_bundle(sys.argv[1]), end='')"
    return subprocess.Popen(  # noqa: S603 - our own words only
        [sys.executable, "-c", program, _SNIPPET],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # of one whose output nobody wanted in the end
        encoding="utf-8",
    )


def prepare() -> None:
    """Begins in the background what pictures and the page's script would have to wait for.

    The script takes some two seconds of one core, and Python's lock, so it is made in a process of
    its own, and kept for the next; what a first picture takes beyond others, half a second, is
    outside that lock. A command that will write a report calls this when it starts, and finds both
    ready.
    """
    if _kept() is None:
        _bundling()
    _first_picture()


@cache
def _first_picture() -> threading.Thread:
    def draw() -> None:
        import vl_convert

        vl_convert.vegalite_to_svg(
            {"data": {"values": [{}]}, "mark": "point"}, allowed_base_urls=[]
        )

    # No daemon: a command that fails early must not end in the middle of foreign code.
    drawing = threading.Thread(target=draw, name="fairaudit-first-picture")
    drawing.start()
    return drawing


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, to be inlined once in a page.

    Raises:
        ReportError: it could not be made.
    """
    if kept := _kept():
        return kept.decode()
    made, _ = _bundling().communicate()
    if not made:
        raise ReportError("vl-convert made no script for the charts; reinstall vl-convert-python")
    caches.keep(_place(), _SNIPPET.encode(), made.encode())
    return made


@cache
def _place() -> Path:
    """Where the script of this version of vl-convert is kept."""
    folder = caches.folder(Path(__file__).parent, "charts")
    return folder / f"vega-{metadata.version('vl-convert-python')}.js"


@cache
def _kept() -> bytes | None:
    """The script that an earlier process made, where there is one."""
    return caches.kept(_place(), _SNIPPET.encode())
