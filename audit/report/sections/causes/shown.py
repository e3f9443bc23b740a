"""The causes of waiting, grouped by the side that can act, as on page one.

The account's causes (``registry.causes``) are divided by the kind of hold, and inferred holds count
as not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from audit.registry.reasons import INFERRED_HOLDS

SITE: Final = "The site"
OTHERS: Final = "Other users"
USER: Final = "The user"
UNKNOWN: Final = "Not known"
GROUPS: Final = (SITE, OTHERS, USER, UNKNOWN)

_OF_SITE: Final = ("licence", "administrator")
_OF_USER: Final = ("begin", "dependency", "hold", "array")


@dataclass(frozen=True, slots=True)
class ShownCause:
    """A cause on page one."""

    key: str
    group: str
    label: str
    brief: str
    """In lists, as in "31 % …"."""
    column: str
    """Of an attempt, s."""
    held_by: tuple[str, ...] = ()
    """Of ``cause_held_s``: the kinds of holds; empty: all other ones too."""
    in_part: str = ""
    """The label in a part of the workload, which hides what was free; empty: the same."""
    said: str = ""
    """The cause in sentences and lists, of which it is a part; empty: itself."""


# fmt: off
CAUSES: Final = (
    ShownCause("rule", SITE, "A limit or rule", "a limit or rule", "cause_rule_s"),
    ShownCause("held_site", SITE, "Held by the site (licence, administrator)",
               "held by the site", "cause_held_s", _OF_SITE),
    ShownCause("nodes", SITE, "Enough free, but scattered", "enough free, but scattered",
               "cause_nodes_s", in_part="Too little on single nodes"),
    ShownCause("down", SITE, "Machine down", "machine down", "cause_unavailable_s"),
    ShownCause("cycle", SITE, "Next look of the scheduler", "next look of the scheduler",
               "cause_cycle_s"),
    ShownCause("earlier", OTHERS, "Machine full of earlier jobs", "machine full of earlier jobs",
               "cause_earlier_s", said="full"),
    ShownCause("later", OTHERS, "Machine full of later jobs", "machine full of later jobs",
               "cause_later_s", said="full"),
    ShownCause("claimed", OTHERS, "A job ahead was about to start",
               "a job ahead was about to start", "cause_claimed_s"),
    ShownCause("kept", OTHERS, "Kept free for a bigger job ahead",
               "kept free for a bigger job ahead", "cause_kept_s",
               in_part="Kept for a bigger job ahead"),
    ShownCause("own", USER, "The user’s own jobs", "the user’s own jobs", "cause_own_s"),
    ShownCause("held_user", USER,
               "Held by the user (begin time, dependency, array throttle, hold)",
               "held by the user", "cause_held_s", _OF_USER),
    ShownCause("outside", UNKNOWN, "Before the log begins", "before the log begins",
               "cause_outside_s"),
    ShownCause("held_unknown", UNKNOWN, "Held, by whom unknown (inferred)",
               "held, by whom unknown", "cause_held_s", tuple(INFERRED_HOLDS)),
    ShownCause("none", UNKNOWN, "Enough free, no reason logged", "no reason in the log",
               "cause_unexplained_s", in_part="No reason logged"),
)
# fmt: on
BY_KEY: Final = {cause.key: cause for cause in CAUSES}
KEYS: Final = tuple(BY_KEY)
IN_TOTAL: Final = "Enough {resources} free in total, no reason logged"
"""Label of the last where nodes are unknown."""
BEHIND: Final = ("earlier", "later", "claimed", "kept")
FULL: Final = "full"
"""A full machine: of earlier or later jobs."""
FULL_OF: Final = ("earlier", "later")
NOT_KNOWN: Final = ("outside", "held_unknown", "none")


def together(shares: Mapping[str, float]) -> dict[str, float]:
    """Return shares as sentences and lists have them, the largest first: a full machine is one."""
    made: dict[str, float] = {}
    for cause in CAUSES:
        key = cause.said or cause.key
        made[key] = made.get(key, 0.0) + shares.get(cause.key, 0.0)
    return dict(sorted(made.items(), key=lambda item: (-item[1], item[0])))


def shown_causes() -> list[pl.Expr]:
    """Return the seconds of each cause of an attempt, a column each."""
    kinds = {kind for cause in CAUSES for kind in cause.held_by}
    made = []
    for cause in CAUSES:
        seconds = pl.col(cause.column).fill_null(0.0)
        if cause.held_by:
            mine = pl.col("held_by").is_in(list(cause.held_by))
            if cause.key == "held_unknown":  # a kind that no one knows
                mine |= pl.col("held_by").is_null() | ~pl.col("held_by").is_in(sorted(kinds))
            seconds = pl.when(mine.fill_null(value=False)).then(seconds).otherwise(0.0)
        made.append(seconds.alias(cause.key))
    return made
