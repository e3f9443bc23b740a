"""The content of a report about preempted, requeued and suspended attempts of a pool."""

from typing import NamedTuple


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

    users: tuple[
        InterruptedUser, ...
    ] = ()  # empty: no attempt was preempted, requeued or suspended
    attempts: tuple[Preempted, ...] = ()
