"""Sentences about logs that are a part of the workload (SPEC §14).

Other jobs may have used the capacity that seems free in such a log, so no sentence says that
capacity was free.
"""

from typing import Final

from audit.registry.causes import Cause

CAUTION: Final = (
    "Other jobs may have used what seems free in the log. The report therefore gives no verdict, "
    "recommends no change, and states use and causes of waiting only for this part."
)
VERDICT: Final = "the log is a part of the workload"
ADVICE: Final = "No change is recommended: replays of a part of the workload do not show its queue."


def meanwhile(cause: Cause, *, part: bool) -> str:
    """Return ``Cause.meanwhile``, or what a part of the workload shows of it."""
    return cause.in_part or cause.meanwhile if part else cause.meanwhile


def time_passed(cause: Cause, *, part: bool) -> str:
    """Return what completes the sentence "9 % of all waiting time passed …"."""
    shows = ", as far as this part of the workload shows" if part else ""
    return f"{meanwhile(cause, part=part)}{shows}"
