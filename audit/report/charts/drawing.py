"""Pictures as SVG for a page, as SVG for paper, and as PNG for mail. The only home of vl-convert.

The marks of a picture are the same everywhere. In a page its colours are the page's, light or
dark; elsewhere the light ones stand in their place.
"""

import re
from typing import Final

from audit.report.charts.marks.svg import text
from audit.report.charts.style import FONT, INK, SHADES, SIZE, WIDTH, Chart

_GROUND: Final = SHADES["paper"].light
_EDGE: Final = 2
"""Around a picture, so that no mark is cut."""


def inline(chart: Chart) -> str:
    """A picture as part of a page, whose colours it takes."""
    return _svg(chart, f'role="img" aria-label="{text(chart.alt)}"')


def still(chart: Chart) -> str:
    """A picture by itself, on light ground."""
    return alone(_svg(chart, _ALONE))


def alone(svg: str) -> str:
    """A picture of a page, or of ``still``, by itself."""
    own = re.sub(r'role="img" aria-label="[^"]*"', _ALONE, svg, count=1)
    seen = re.sub(r'<g fill="none" pointer-events="all">.*?</g>', "", own)
    return re.sub(r' data-tip="[^"]*"', "", _VARIABLE.sub(_light, seen))


def png(chart: Chart, scale: float) -> bytes:
    """The same as mail programs show it, with ``scale`` times as many pixels, on white."""
    import vl_convert

    ground = f'<rect x="-{_EDGE}" y="-{_EDGE}" width="100%" height="100%" fill="{_GROUND}"/>'
    on_white = still(chart).replace("><", f">{ground}<", 1)
    return bytes(vl_convert.svg_to_png(on_white, scale=scale))


_ALONE: Final = 'xmlns="http://www.w3.org/2000/svg"'
_VARIABLE: Final = re.compile(r'(?<=")var\(--([a-z]+)\)(?=")')


def _light(found: re.Match[str]) -> str:
    return SHADES[found[1]].light


def _svg(chart: Chart, attributes: str) -> str:
    wide, high = WIDTH + 2 * _EDGE, chart.height + 2 * _EDGE
    return (
        f'<svg {attributes} viewBox="{-_EDGE} {-_EDGE} {wide} {high}" width="{wide}" '
        f'height="{high}" font-family="{FONT}" font-size="{SIZE}" fill="{INK}">{chart.body}</svg>'
    )
