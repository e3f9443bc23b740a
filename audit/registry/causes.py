"""The causes of waiting: the parts that each wait is divided into (SPEC §10, *Anatomy*).

Names of columns and measures, colours and phrases of each cause come from its entry here: the views
that analysts see, tables, charts, findings, ``fairaudit explain``, and pages and mails of users.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause. Phrases begin in lower case and have no full stop."""

    key: str
    label: str
    """Its share of all waiting, in tables."""
    heading: str
    """The same as the title of a column."""
    legend: str
    """In legends of charts."""
    clause: str
    """What was the case meanwhile, said of one attempt: "for 3 h …"."""
    meanwhile: str
    """How the waiting of a user or account passed: "9 % of their waiting passed …"; ``{kind}`` is
    ``user`` or ``account``."""
    verdict: str
    """The same on page one: "9 % of its waiting was …"."""
    colour: tuple[str, str]
    """On light and on dark ground."""
    stuck: str
    """The probable cause of an attempt that is stuck mainly for this, one of ``STUCK``."""
    optional: bool = False
    """Whether tables and charts leave it out where nobody waited for it."""
    divided: bool = False
    """Whether a second may be divided among several causes: its column holds fractions."""

    @property
    def column(self) -> str:
        """The column that holds its part of a wait, in s."""
        return f"wait_{self.key}_s"

    @property
    def share(self) -> str:
        """The measure of its share of all waiting."""
        return f"wait_{self.key}_share"


CAUSES: Final = (
    Cause(
        key="room",
        label="There was room",
        heading="Room",
        legend="room for it",
        clause="there was room for it, even after all that waited before it took theirs",
        meanwhile="with room for the job, even after all that waited before it took theirs",
        verdict="with room for its jobs",
        colour=("#5b3a94", "#9a70dd"),
        stuck="room",
    ),
    Cause(
        key="shared",
        label="There was room, but for others first",
        heading="Room, others first",
        legend="room, others first",
        clause="there was room for it, but others that waited before it could claim that",
        meanwhile="with room for the job that others before it could claim",
        verdict="with room that others could claim first",
        colour=("#8793a0", "#75828f"),
        stuck="others",
    ),
    Cause(
        key="own",
        label="In use by its own user",
        heading="Used by own user",
        legend="own jobs",
        clause="what it lacked was in use by the same user",
        meanwhile="behind running jobs of the same {kind}",
        verdict="behind jobs of its own",
        colour=("#2f8a64", "#3fa37c"),
        stuck="own",
        divided=True,
    ),
    Cause(
        key="earlier",
        label="In use by earlier arrivals",
        heading="by earlier arrivals",
        legend="earlier arrivals",
        clause="what it lacked was in use by others that had come before it",
        meanwhile="behind running jobs of others that had come before it",
        verdict="behind those who had come before",
        colour=("#4a90d0", "#7fbcf2"),
        stuck="others",
        divided=True,
    ),
    Cause(
        key="later",
        label="In use by later arrivals",
        heading="by later arrivals",
        legend="later arrivals",
        clause="what it lacked was in use by others that came after it",
        meanwhile="behind running jobs of others that came after it",
        verdict="behind those who came later",
        colour=("#c24a17", "#f0763c"),
        stuck="others",
        divided=True,
    ),
    Cause(
        key="down",
        label="The pool had less",
        heading="Pool too small",
        legend="pool too small",
        clause="the pool had less than it asked for",
        meanwhile="while the pool had less than the job asked for",
        verdict="while the machine was too small",
        colour=("#3d3530", "#e6dccf"),
        stuck="down",
        optional=True,
    ),
)
"""All causes; what they divide sums to the wait."""

COLUMNS: Final = tuple(cause.column for cause in CAUSES)

STUCK: Final = {
    "exceeds_capacity": "it asks for more than the pool has",
    "room": "there was room: something else held it back",
    "own": "its own user had what it lacked",
    "others": "others had what it lacked, or came first",
    "down": "the pool had less than it asked for",
}
"""Probable causes of attempts that are stuck, in words; of a recorded reason, that stands there."""
