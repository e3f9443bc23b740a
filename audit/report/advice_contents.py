"""What a report advises, as part of ``contents.Contents``."""

from dataclasses import dataclass
from typing import Final

MOST: Final = 3
"""So many changes are advised at most."""


@dataclass(frozen=True, slots=True)
class Change:
    """A figure after a change less today's, in s, with its interval where it has one."""

    value: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Loser:
    """A width or walltime class that would wait longer."""

    dimension: str
    """``width_class`` or ``walltime_class``."""
    label: str
    """Such as ``65-128``, or ``0-1h``."""
    wait: Change
    """> 0, of its mean wait."""
    attempts: int
    certain: bool
    """Whether that is beyond chance; else it is a tenth of the wait or more, and may be chance."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that helps beyond chance, in replays."""

    change: str
    """As JSON."""
    title: str
    """In plain words, an imperative without a full stop; it may hold names as the log has them."""
    resource: str
    """What the pool counts."""
    width: str | None
    """The width class whose mean wait it is judged by; None: all attempts."""
    today_s: float
    gain: Change
    """How much less these wait, > 0; the interval is corrected for all that was tried."""
    saved_s: float
    """How much less all wait in sum, ≥ 0."""
    losers: tuple[Loser, ...]
    """Who loses most first."""
    users: int
    gaining_users: int
    losing_users: int
    sql: str
    """Gives the evidence: what the change does to all, and to each width class."""


@dataclass(frozen=True, slots=True)
class Advised:
    """What is advised of a pool, and on what that rests."""

    changes: tuple[Advice, ...] = ()
    """The best first, at most ``MOST``."""
    tried: tuple[str, ...] = ()
    """The titles of all that was replayed."""
    not_tried: tuple[str, ...] = ()
    """The titles of what there was no budget for."""
    agreement: float | None = None
    """Of those that waited, the share that the model starts when the site did."""
    wait_correlation: float | None = None
    """Rank correlation of replayed and observed waits."""
    believed: bool = False
    """Whether the model decides and ranks waits as the site did (SPEC §10)."""


NOTHING_TRIED: Final = Advised()
