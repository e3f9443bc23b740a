"""The records of the section *causes*."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from audit.report.first_page.sentences import Sentence

Shares = Mapping[str, float]
"""Of some waiting, by key of ``causes.CAUSES``."""


class Scattered(NamedTuple):
    """Waiting while enough was free on all nodes together, but single nodes lacked a resource."""

    lack: str  # key of ``registry.causes.LACKS``
    lacked_s: float
    attempts: int
    nodes: int  # of the request with most of this waiting
    amount: int | None  # that it requests of each node
    part: float  # of this waiting, by attempts with that request


class Unexplained(NamedTuple):
    """Attempts with much of the waiting that has no known cause."""

    kind: str  # hour (of arrival) | width_class | partition | user
    label: str
    part: float  # of such waiting of the pool


@dataclass(frozen=True, slots=True)
class Causes:
    """The evidence for two causes of the waiting in a pool."""

    scattered: tuple[Scattered, ...] = ()  # most waiting first
    unexplained: tuple[Unexplained, ...] = ()  # by kind; empty where little is unexplained


@dataclass(frozen=True, slots=True)
class Reservations:
    """The plan that an account of waits assumes."""

    most: int | None
    """Most reservations at one time; None: every job has one."""
    strict: bool
    """Whether no job starts behind one that cannot."""
    broken: int | None = None
    """Starts for which the plan had no room; None: the backfilling is configured."""
    stretches: int | None = None
    """How often a job was kept from starting; None: the same."""


class RuleTime(NamedTuple):
    """The waiting under rules of one name."""

    name: str
    kind: str  # limit | window | overlap window
    source: str  # configured | slurm | pbs | inferred
    waiting_s: float = 0.0
    free_s: float = 0.0  # of it while enough was free
    scope: str = ""  # the jobs that it is about; empty: all
    unit: str = ""  # of a limit, as in the view ``rules``; empty: not known
    whole: str = ""  # amount that an inferred limit leaves of the machine; empty: another rule
    several: bool = False  # whether it is a limit of several users together


class Where(NamedTuple):
    """A class of jobs with much of the waiting that has no reason."""

    kind: str  # walltime | queue | size | reason | user
    value: str | int
    share: float  # of this waiting
    jobs: float  # of all jobs


class Segment(NamedTuple):
    """A part of a bar."""

    key: str  # of the cause
    share: float
    label: str


class KeyRow(NamedTuple):
    """A cause in the key of the bar."""

    cause: str
    label: str
    share: Sentence  # empty: it is the only one of its group
    percent: int
    most: bool
    part: bool = False  # of the row above


class KeyGroup(NamedTuple):
    """A group of causes."""

    title: str
    total: Sentence
    rows: tuple[KeyRow, ...]
