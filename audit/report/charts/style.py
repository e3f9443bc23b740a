"""How every chart of a report looks, and what it is before it is drawn.

Colours are those of Okabe and Ito, which people with the usual kinds of colour blindness can tell
apart; no chart relies on colour alone.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
"""Of what a specification is written in."""
FONT: Final = "DejaVu Sans"
BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
INK: Final = "#1f2933"
MUTED: Final = "#52606d"
RULE: Final = "#d5dbe1"

Spec: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart: what it shows, in words and as a specification."""

    key: str
    title: str
    alt: str
    spec: Spec


def config() -> Spec:
    """Fonts, colours and rules of a Vega-Lite specification."""
    label = {"labelFont": FONT, "labelFontSize": 11, "labelColor": MUTED}
    title = {"titleFont": FONT, "titleFontSize": 11, "titleFontWeight": "normal"}
    return {
        "font": FONT,
        "background": "#ffffff",
        "view": {"stroke": None},
        "axis": {
            **label,
            **title,
            "titleColor": INK,
            "gridColor": "#e8ecf0",
            "domainColor": RULE,
            "tickColor": RULE,
            "titlePadding": 8,
        },
        "axisX": {"grid": False},
        "axisXDiscrete": {"labelAngle": 0},  # boot.js slants them where the page is narrow
        "legend": {**label, **title, "titleColor": INK, "symbolStrokeWidth": 2},
    }
