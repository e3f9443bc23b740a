"""Preempted, requeued and suspended attempts of a pool."""

from typing import Final, NamedTuple

from audit.report.figures import records
from audit.report.finding import Kind, whole
from audit.report.source import ReportSection, SectionSource


class InterruptedUser(NamedTuple):
    """A user with such attempts."""

    name: str | None  # None: not named in the log
    preempted: int  # or requeued
    lost_work: float  # resource·s, at most
    suspended_s: int


class Preempted(NamedTuple):
    """An attempt that ended PREEMPTED or was requeued."""

    job_id: str
    user: str | None
    partition: str | None
    size: int
    end_time: int  # epoch s
    lost_work: float  # resource·s, at most
    freed_for: str | None  # jobs that started on its nodes within 60 s
    freed_users: str | None  # their users


class Preemption(NamedTuple):
    """The users and attempts with the most lost work of a pool."""

    users: tuple[InterruptedUser, ...] = ()
    """Empty: no attempt was preempted, requeued or suspended."""
    attempts: tuple[Preempted, ...] = ()


PREEMPTED: Final = 10
"""Most preempted attempts listed for each pool."""


def read(source: SectionSource) -> dict[str, Preemption]:
    """Return the users and attempts with the most lost work of each pool."""
    users = source.by_pool("preemption/users")
    if all(rows.is_empty() for rows in users.values()):
        return {}
    attempts = source.by_pool("preemption/preempted", most=PREEMPTED)
    return {
        pool: Preemption(records(InterruptedUser, rows), records(Preempted, attempts[pool]))
        for pool, rows in users.items()
        if not rows.is_empty()
    }


KINDS: Final = (
    Kind(
        whole,
        "lost_share",
        "work lost to preemption",
        "preemption",
        "Preempted and requeued jobs had used {lost_share} of all consumption "
        "({lost_share:within}), which is lost unless they wrote checkpoints.",
        "Let preemptible jobs write checkpoints, or exempt them from preemption when they have "
        "just started.",
        0.01,
    ),
)


SECTION: Final = ReportSection("preemption", Preemption, read, findings=KINDS)
