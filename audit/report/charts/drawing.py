"""Charts as SVG for a page, as SVG for paper, and as PNG for mail. The only module that uses resvg.

On a page, a chart has the page's light or dark colours; elsewhere it has light ones.
"""

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Final

from audit.report.charts.marks.svg import text
from audit.report.charts.style import FONT, INK, SHADES, SIZE, Chart

_GROUND: Final = SHADES["paper"].light
_EDGE: Final = 2
"""Margin around a chart, px, so that no mark is cut."""
_FONT_FOLDERS: Final = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts")
_FONT_FILES: Final = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")


def inline(chart: Chart) -> str:
    """Return a chart as part of a page, with the page's colours."""
    return _svg(chart, f'role="img" aria-label="{text(chart.alt)}"')


def still(chart: Chart) -> str:
    """Return a chart as a separate SVG in light colours."""
    return alone(_svg(chart, _ALONE))


def alone(svg: str) -> str:
    """Return an inline SVG as a separate SVG in light colours."""
    own = re.sub(r'role="img" aria-label="[^"]*"', _ALONE, svg, count=1)
    seen = re.sub(r'<g fill="none" pointer-events="all">.*?</g>', "", own)
    light = _VARIABLE.sub(lambda found: SHADES[found[1]].light, seen)
    return re.sub(r' data-tip="[^"]*"', "", light)


def has_png() -> bool:
    """Return whether resvg is installed; it is an extra, and without it mails have no pictures."""
    return importlib.util.find_spec("resvg_py") is not None


def png(chart: Chart, scale: float) -> bytes:
    """Return a chart for mail programs on white, with ``scale`` times as many pixels."""
    import resvg_py

    fonts = _fonts()
    return resvg_py.svg_to_bytes(
        still(chart),
        background=_GROUND,
        zoom=scale,
        font_files=fonts,
        skip_system_fonts=bool(fonts),  # so that bytes do not depend on other fonts
        sans_serif_family="DejaVu Sans",
    )


@cache
def _fonts() -> list[str]:
    """Return the files of DejaVu Sans; empty if it is not installed."""
    found = {
        path.name: str(path)
        for folder in _FONT_FOLDERS
        for path in sorted(Path(folder).expanduser().rglob("DejaVuSans*.ttf"))
    }
    return [found[name] for name in _FONT_FILES if name in found]


_ALONE: Final = 'xmlns="http://www.w3.org/2000/svg"'
_VARIABLE: Final = re.compile(r'(?<=")var\(--([a-z]+)\)(?=")')


def _svg(chart: Chart, attributes: str) -> str:
    wide, high = chart.width + 2 * _EDGE, chart.height + 2 * _EDGE
    return (
        f'<svg {attributes} viewBox="{-_EDGE} {-_EDGE} {wide} {high}" width="{wide}" '
        f'height="{high}" font-family="{FONT}" font-size="{SIZE}" fill="{INK}">{chart.body}</svg>'
    )
