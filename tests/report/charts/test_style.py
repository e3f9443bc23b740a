"""Contrast of colours on light and on dark backgrounds."""

import itertools

import pytest

from audit.registry.causes import CAUSES
from audit.report.charts.style import SHADES, css

LIGHT, DARK = 0, 1
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK])

# Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as those see it who lack a kind of
# cone.
SEEN = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(colour: str) -> tuple[float, ...]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)


def luminance(colour: str) -> float:
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one: str, other: str) -> float:
    """As WCAG 2.2 has it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, kind: str) -> tuple[float, float, float]:
    r, g, b = (
        max(sum(w * c for w, c in zip(row, linear(colour), strict=True)), 0) for row in SEEN[kind]
    )
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@THEMES
@pytest.mark.parametrize("name", ["ink", "muted", "good", "warn", "bad", "link"])
@pytest.mark.parametrize("ground", ["paper", "soft"])
def test_text_can_be_read(theme: int, name: str, ground: str) -> None:
    assert contrast(SHADES[name][theme], SHADES[ground][theme]) >= 4.5


@THEMES
def test_shares_within_their_parts_can_be_read(theme: int) -> None:
    for name in ("unexplained", "later"):
        assert contrast(SHADES[name][theme], SHADES["paper"][theme]) >= 4.5


@THEMES
@pytest.mark.parametrize("name", [cause.key for cause in CAUSES])
def test_marks_stand_out(theme: int, name: str) -> None:
    assert contrast(SHADES[name][theme], SHADES["paper"][theme]) >= 3


@THEMES
@pytest.mark.parametrize("kind", list(SEEN))
def test_neighbours_of_a_stack_are_distinct(theme: int, kind: str) -> None:
    """Colours with a distance of 10 in CIELAB are clearly distinct."""
    for one, other in itertools.pairwise(cause.key for cause in CAUSES):
        colours = (lab(SHADES[name][theme], kind) for name in (one, other))
        apart = sum((a - b) ** 2 for a, b in zip(*colours, strict=True)) ** 0.5
        assert apart > 10, (one, other)


def test_pages_get_every_colour_in_both_themes() -> None:
    for name, shade in SHADES.items():
        assert f"--{name}:{shade.light};" in css()
        assert f"--{name}:{shade.dark};" in css()
