"""The bounds from which a report passes, warns and fails; ``[verdict]`` of config.toml."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Bound:
    """From where on a share of 1 is worth a warning, and from where on it fails."""

    warn: float
    fail: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """A bound for each of the three questions of a report's first page."""

    overtaken: Bound = Bound(0.1, 0.25)
    """Part of all waiting that later arrivals cost."""
    room: Bound = Bound(0.25, 0.5)
    """Part of all waiting during which there was room."""
    longer: Bound = Bound(0.01, 0.1)
    """Part of the users who can be compared that wait longer than their peers."""


BOUNDS: Final = Bounds()
"""Where config.toml says nothing else."""
