"""What changes are called: an imperative, in plain words, without its stop.

Names stand there as the log has them; who shows them makes them harmless (``report.text``).
"""

from typing import Final

from audit.model import Limit, Resource, Scope, Window

_NUMBERS: Final = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WHAT: Final = {"cpus": "CPU", "nodes": "node", "gpus": "GPU"}
_GIB: Final = 1 << 30
HOUR_S: Final = 3_600
WEEK: Final = 168


def reservations(depth: int, had: int | None) -> str:
    """Places kept for the first so many; ``had`` None: for all."""
    before = "all that wait" if had is None else _number(had)
    first = "the first" if depth == 1 else f"the first {_number(depth)}"
    return f"Reserve for {first} in the queue instead of {before}"


def lifted(limit: Limit, resource: Resource) -> str:
    """A limit that is no more."""
    whom = {None: "in all", "job": "per job"}.get(limit.per) or f"per {limit.per}"
    return (
        f"Lift the limit of {amount(limit.most, limit.resource)} {whom}{_of(limit.scope, resource)}"
    )


def opened(window: Window, resource: Resource) -> str:
    """A window that is always open."""
    hours = f"any hour of the week, not only at {WEEK - len(window.hours)} of {WEEK}"
    return f"Start jobs{_of(window.scope, resource, jobs='')} at {hours}"


def asking(users: int | None) -> str:
    """Walltimes no longer than twice the run time; of so many users, None: of all."""
    asked = "ask for at most twice the time that their jobs take"
    if users is None:
        return f"Have everybody {asked}"
    who = "the user who overasks" if users == 1 else f"the {_number(users)} users who overask"
    return f"Have {who} most {asked}"


def spread(user: str, most: int, resource: Resource) -> str:
    """A limit for the user of a flood."""
    whom = f"user {user}, who brought the largest flood,"
    return f"Let {whom} have no more than {amount(most, resource)} at a time"


def per_user(most: int, resource: Resource) -> str:
    """A limit for each user."""
    return f"Let no user have more than {amount(most, resource)} at a time"


def targets(by: str) -> str:
    """Other targets of accounts."""
    what = "the same target" if by == "equal" else "what it used as its target"
    return f"Give each account {what}"


def depth(looked_at: int, had: int) -> str:
    """More of the queue in a pass."""
    return f"Let backfilling look at {looked_at:,} jobs instead of {had:,}"


def often(interval_s: int, had: int) -> str:
    """More passes."""
    return f"Let the scheduler look at the queue every {interval_s} s instead of {had} s"


def amount(most: int, resource: str | None) -> str:
    """So much, such as ``32 CPUs``, ``1 job``."""
    if resource == "mem_bytes":
        return f"{most / _GIB:,.3g} GiB of memory"
    word = "job" if resource is None else _WHAT[resource]
    return f"{most:,} {word}{'' if most == 1 else 's'}"


def _of(scope: Scope, resource: Resource, jobs: str = "for jobs") -> str:
    """Whom a limit or a window is about; nothing where it is everybody."""
    named = []
    for kind in ("user", "account", "qos", "partition"):
        names = getattr(scope, kind)
        if names is not None:
            listed = [names] if isinstance(names, str) else list(names)
            named.append(f"{kind} {', '.join(listed)}")
    asking_for = []
    if scope.size_above is not None:
        asking_for.append(f"more than {amount(scope.size_above, resource)}")
    if scope.size_up_to is not None:
        asking_for.append(f"up to {amount(scope.size_up_to, resource)}")
    if scope.walltime_above_s is not None:
        asking_for.append(f"more than {scope.walltime_above_s / HOUR_S:,.3g} h")
    parts = [f"of {' and '.join(named)}"] if named else []
    if asking_for:
        parts.append(f"asking for {' and '.join(asking_for)}")
    return "".join(f" {part}" for part in (jobs, *parts) if part) if parts else ""


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else "ten" if number == 10 else str(number)
