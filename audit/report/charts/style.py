"""Charts, and their colours, shapes and sizes.

A colour has the same meaning on all pages and in all mails. Colours are CSS variables, so that a
page shows them light or dark; ``drawing`` replaces them with light colours for paper and mail.
Neighbours in a stack are distinct for readers with the usual kinds of colour blindness, and series
also differ in shape or dash.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES

FONT: Final = "DejaVu Sans, Verdana, sans-serif"
SIZE: Final = 12.5
"""Of text, in px; about 8 px on a phone, which shows charts 343 px wide."""
WIDTH: Final = 520
"""Of a chart, in px."""


class Shade(NamedTuple):
    """A colour on light and on dark backgrounds."""

    light: str
    dark: str


SHADES: Final = {
    "ink": Shade("#17212b", "#e6ebf0"),
    "muted": Shade("#52606d", "#9aa7b4"),
    "line": Shade("#d5dbe1", "#2c3742"),
    "paper": Shade("#ffffff", "#11181f"),
    "soft": Shade("#f4f6f8", "#18212a"),
    # Causes of waiting (SPEC §11) and related figures.
    **{cause.key: Shade(*cause.colour) for cause in CAUSES},
    # Levels and links.
    "good": Shade("#00664b", "#5cba8d"),
    "warn": Shade("#8a5f00", "#d9a53a"),
    "bad": Shade("#b84a00", "#f0814c"),
    "link": Shade("#0066a1", "#7fbcf2"),
}
"""All colours by name."""


def _variable(name: str) -> str:
    assert name in SHADES
    return f"var(--{name})"


INK: Final = _variable("ink")
MUTED: Final = _variable("muted")
LINE: Final = _variable("line")
PAPER: Final = _variable("paper")
UNEXPLAINED: Final = _variable("unexplained")
CLAIMED: Final = _variable("claimed")
OWN: Final = _variable("own")
EARLIER: Final = _variable("earlier")
LATER: Final = _variable("later")
UNAVAILABLE: Final = _variable("unavailable")

MAIN: Final = EARLIER
"""Of the only series, or the first."""
SERIES: Final = (EARLIER, LATER, OWN, UNEXPLAINED, CLAIMED, UNAVAILABLE)
"""Of other series, in order."""
SHAPES: Final = ("circle", "square", "up", "diamond", "cross", "down")
DASHES: Final = ("", "6 3", "2 2", "8 2 2 2", "4 4", "1 3")


def css() -> str:
    """Return the colours as CSS variables: light or dark as the reader's screen, light in print."""
    light, dark = (
        "".join(f"--{name}:{shade[k]};" for name, shade in SHADES.items()) for k in (0, 1)
    )
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart that answers one question."""

    key: str
    title: str  # the answer, in words and figures
    alt: str  # description for readers who cannot see it
    body: str  # SVG elements; all text is escaped
    height: int  # px
    note: str = ""  # what is drawn, with its unit
    width: int = WIDTH  # px
