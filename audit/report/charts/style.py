"""How every picture looks, and what one is: the one place of colours, marks and sizes.

A colour means one thing on every page, in every picture and in mails. Colours are written as CSS
variables, so that a page shows them light or dark; ``drawing`` puts the light ones in their place
for paper and mail. Neighbours of a stack can be told apart by people with the usual kinds of
colour blindness, and series differ in shape or dash besides.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

FONT: Final = "DejaVu Sans, Verdana, sans-serif"
SIZE: Final = 12.5
"""Of text, in px at a picture's own width: some 8 px where a phone shows it at 343."""
WIDTH: Final = 520
"""Of a picture, in px: what a phone shows it in is two thirds of it."""


class Shade(NamedTuple):
    """A colour on light and on dark ground."""

    light: str
    dark: str


SHADES: Final = {
    "ink": Shade("#17212b", "#e6ebf0"),
    "muted": Shade("#52606d", "#9aa7b4"),
    "rule": Shade("#d5dbe1", "#2c3742"),
    "paper": Shade("#ffffff", "#11181f"),
    "soft": Shade("#f4f6f8", "#18212a"),
    # Why an attempt waited (SPEC §10), and what else is of that kind.
    "room": Shade("#5b3a94", "#9a70dd"),
    "shared": Shade("#8793a0", "#75828f"),
    "own": Shade("#2f8a64", "#3fa37c"),
    "earlier": Shade("#4a90d0", "#7fbcf2"),
    "later": Shade("#c24a17", "#f0763c"),
    "down": Shade("#3d3530", "#e6dccf"),
    # What is said of a report: words and edges.
    "good": Shade("#00664b", "#5cba8d"),
    "warn": Shade("#8a5f00", "#d9a53a"),
    "bad": Shade("#b84a00", "#f0814c"),
    "link": Shade("#0066a1", "#7fbcf2"),
}
"""Every colour by its name."""


def _variable(name: str) -> str:
    assert name in SHADES
    return f"var(--{name})"


INK: Final = _variable("ink")
MUTED: Final = _variable("muted")
RULE: Final = _variable("rule")
PAPER: Final = _variable("paper")
ROOM: Final = _variable("room")
SHARED: Final = _variable("shared")
OWN: Final = _variable("own")
EARLIER: Final = _variable("earlier")
LATER: Final = _variable("later")
DOWN: Final = _variable("down")

MAIN: Final = EARLIER
"""Of a series that stands alone, or first."""
SERIES: Final = (EARLIER, LATER, OWN, ROOM, SHARED, DOWN)
"""Of series that are neither of the kinds above, in order."""
SHAPES: Final = ("circle", "square", "up", "diamond", "cross", "down")
DASHES: Final = ("", "6 3", "2 2", "8 2 2 2", "4 4", "1 3")


def css() -> str:
    """The colours as CSS variables: light, dark where the reader's screen is, light in print."""
    light, dark = (
        "".join(f"--{name}:{shade[k]};" for name, shade in SHADES.items()) for k in (0, 1)
    )
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture that answers one question."""

    key: str
    title: str  # what it answers, in words and figures
    alt: str  # what it shows, for those who cannot see it
    body: str  # its marks as SVG elements; every text in it is escaped
    height: int  # in px, ``WIDTH`` being its width
    note: str = ""  # what is drawn, and in which unit
