"""Why an entity is not named as passed over, or cannot be tested (SPEC §11, *Passed over*, 6).

Each member is a value of ``passed_why``. Pages, findings and mails say its phrase.
"""

from enum import StrEnum
from typing import Final, Self


class PassedWhy(StrEnum):
    """The condition that failed."""

    phrase: str
    """A clause, of an entity or of each of several."""

    def __new__(cls, value: str, phrase: str = "") -> Self:
        """Make a member of its value and its phrase."""
        made = str.__new__(cls, value)
        made._value_, made.phrase = value, phrase
        return made

    # It cannot be tested.
    FEW_JOBS = (
        "few_jobs",
        "fewer than 20 jobs waited while later jobs of others requested as much",
    )
    FEW_DAYS = (
        "few_days",
        "the jobs that waited while later jobs requested as much arrived on fewer than 8 days",
    )
    NO_OTHERS = (
        "no_others",
        "no other user waited while later jobs requested as much, which would tell what is usual",
    )
    LEFT_OUT = (
        "left_out",
        "more than 40 % of the jobs seem to have been held, or to have waited for a node",
    )
    OWN_ENDS = (
        "own_ends",
        "most jobs start when a job of the same user ends, as with a limit or a dependency",
    )
    UNSTARTABLE = (
        "unstartable",
        "more than half of all waiting is that of jobs that did not start although enough was "
        "free, so the log cannot tell whether the order was fair",
    )
    REASON = (
        "reason",
        "the last reason of the overtaken jobs is a hold or a limit, and the log does not say "
        "since when",
    )
    # It is not named.
    USUAL = ("usual", "later jobs did not start first significantly more often than expected")
    LITTLE_MORE = ("little_more", "the share may exceed the expected one by less than 10 points")
    LITTLE_TIME = (
        "little_time",
        "the passed time is less than 0.5 % of all waiting time, and less than a day per job",
    )
    OWN_ORDER = ("own_order", "own later jobs passed own earlier jobs about as often")
    USAGE = ("usage", "the order follows recent usage")
    USAGE_ORDER = (
        "usage_order",
        "users or accounts that had used less recently started first",
    )
    MEMORY = (
        "memory",
        "the jobs request much memory, and later ones that request as much did not start first",
    )
    ORDER = ("order", "the order of partitions and of QOS is stated, and not judged")

    @property
    def tested(self) -> bool:
        """Whether the entity could be tested."""
        return self not in _UNTESTED


_UNTESTED: Final = frozenset(
    {
        PassedWhy.FEW_JOBS,
        PassedWhy.FEW_DAYS,
        PassedWhy.NO_OTHERS,
        PassedWhy.LEFT_OUT,
        PassedWhy.OWN_ENDS,
        PassedWhy.UNSTARTABLE,
        PassedWhy.REASON,
    }
)
