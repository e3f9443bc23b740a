"""The records of the section *trust*."""

from typing import Final, NamedTuple

from audit.model import Announcement
from audit.report.first_page.sentences import Sentence

COLUMNS: Final = ("Reason", "Priority", "QOS", "ReqTRES")
"""Columns of sacct that page one uses."""


class Known(NamedTuple):
    """The contents of the log: the share of the records that has each."""

    records: int
    refused: int
    announced: Announcement | None  # None: headers announce about as many records
    empty_days: int
    reasons: float
    walltimes: float
    queues: float
    qos: float
    nodes: float
    nodes_declared: bool
    limits: str  # source of limits that files or the configuration state; empty: none
    priorities: float
    dialects: tuple[str, ...]
    by_priority: float | None  # of the starts before an earlier job: those of higher priority
    evidence: tuple[str, ...] = ()  # kinds of samples and logs of the scheduler
    gaps: bool = False  # whether most job numbers have no record
    missing: tuple[str, ...] = COLUMNS  # of these columns, those that a log of sacct lacks


class TrustStep(NamedTuple):
    """One step of the evidence."""

    mark: str  # full | half | empty
    title: str
    text: Sentence
