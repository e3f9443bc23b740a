"""slurmctld, second by second, as a check of ``metrics.slurm.usage``.

Written from SPEC §7, Slurm's manual pages and its documentation of Fair Tree and classic fairshare;
nothing is shared with the package.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo


@dataclass
class Job:
    """A job of one association."""

    start: int
    end: int | None  # None: it still runs
    charge: float  # per second


def usage(
    jobs: Sequence[Job],
    at: int,
    *,
    half_life: float,
    period: int,
    phase: int,
    reset: str = "none",
    zone: ZoneInfo | None = None,
) -> float:
    """Raw usage at ``at``: a clock that goes through every second at which anything happens."""
    if not jobs:
        return 0.0
    keep = 1.0 - 0.693 / half_life if half_life else 1.0
    total = 0.0
    begin = min(job.start for job in jobs)
    last = begin - (begin - phase) % period  # the tick before anything
    ends = {job.end for job in jobs if job.end is not None}
    seconds = sorted({*range(last, at + 1, period), *(end for end in ends if end <= at)})
    for now in seconds:
        for job in jobs:
            if job.end == now and now > job.start:
                ran = now - max(job.start, last)
                total += ran * keep**ran * job.charge
        if (now - phase) % period or now == last:
            continue
        if reset != "none" and zone is not None and begins(last, now, reset, zone):
            total = 0.0
        total *= keep**period
        for job in jobs:
            if job.start < now and (job.end is None or job.end > now):
                ran = now - max(job.start, last)
                total += ran * keep**ran * job.charge
        last = now
    return total


def begins(after: int, until: int, reset: str, zone: ZoneInfo) -> bool:
    """Whether a day, week, … begins in (after, until]: looked at minute by minute."""
    first = after - after % 60 + 60
    return any(_is_boundary(second, reset, zone) for second in range(first, until + 1, 60))


def _is_boundary(second: int, reset: str, zone: ZoneInfo) -> bool:
    here = datetime.fromtimestamp(second, UTC).astimezone(zone)
    before = datetime.fromtimestamp(second - 60, UTC).astimezone(zone)
    if here.date() == before.date():
        return False
    return {
        "daily": True,
        "weekly": here.weekday() == 6,
        "monthly": here.day == 1,
        "quarterly": here.day == 1 and here.month in (1, 4, 7, 10),
        "yearly": here.day == 1 and here.month == 1,
    }[reset]


@dataclass
class Node:
    """An account or a user with its raw usage (all below it included)."""

    name: str
    share: int | None  # None: parent
    usage: int
    children: list["Node"] | None = None  # None: a user

    @property
    def is_user(self) -> bool:
        return self.children is None


@dataclass
class Seen:
    """The figures of sshare for one node."""

    norm_shares: float
    norm_usage: float
    effective: float
    level_fs: float | None
    fairshare: float | None = None


def rivals(account: Node) -> list[Node]:
    """Return the nodes that compete below an account, in the order of sshare.

    They are its own, and those of accounts with fairshare=parent, each after that account.
    """
    found = []
    for child in sorted(account.children or [], key=lambda one: (not one.is_user, one.name)):
        found.append(child)
        if child.share is None and child.children is not None:
            found += rivals(child)
    return found


def fair_tree(root: Node, *, grid: bool = False) -> dict[str, Seen]:
    """What sshare says; ``grid``: logarithms of LevelFS are rounded to multiples of 2^−32."""
    seen: dict[str, Seen] = {}

    def level(account: Node, own_norm: float) -> None:
        among = rivals(account)
        shares = sum(one.share or 0 for one in among)
        for one in among:
            part = (one.share or 0) / shares if shares else 0.0
            norm = own_norm if one.share is None else part
            used = one.usage / account.usage if account.usage else 0.0
            fs = 0.0 if norm == 0 else norm / used if used else math.inf
            if grid and 0 < fs < math.inf:
                fs = math.exp(math.floor(math.log(fs) * 2**32 + 0.5) / 2**32)
            norm_usage = one.usage / root.usage if root.usage else 0.0
            seen[one.name] = Seen(norm, norm_usage, used, None if one.share is None else fs)
        for one in among:
            if one.children is not None and one.share is not None:
                level(one, seen[one.name].norm_shares)

    level(root, 0.0)
    count = sum(1 for one in everybody(root) if one.is_user)
    groups: list[list[str]] = []
    rank(rivals(root), seen, groups, tied=False)
    ahead = 0
    for group in groups:
        for user in group:
            seen[user].fairshare = (count - ahead) / count
        ahead += len(group)
    return seen


def everybody(node: Node) -> list[Node]:
    return [node, *(one for child in node.children or [] for one in everybody(child))]


def rank(
    siblings: list[Node], seen: dict[str, Seen], groups: list[list[str]], *, tied: bool
) -> None:
    """Adds all users below to groups that share a rank, the best first.

    A user that ties with the sibling before it, or comes first below an account that does
    (``tied``), shares the rank of the last ranked user. An account without members has its place
    among its siblings.
    """

    def level_fs(one: Node) -> float:
        said = seen[one.name].level_fs
        if said is not None:
            return said
        return math.inf if one.is_user else 4_294_967_294.0

    before: Node | None = None
    for one in sorted(siblings, key=lambda one: (-level_fs(one), not one.is_user)):
        ties = tied if before is None else level_fs(before) == level_fs(one)
        before = one
        if one.is_user:
            if ties and groups:
                groups[-1].append(one.name)
            else:
                groups.append([one.name])
            continue
        rank([] if one.share is None else rivals(one), seen, groups, tied=ties)


def classic(root: Node, dampening: float = 1.0) -> dict[str, Seen]:
    seen: dict[str, Seen] = {}

    def level(account: Node, above: Seen, *, top: bool) -> None:
        among = rivals(account)
        shares = sum(one.share or 0 for one in among)
        for one in among:
            used = one.usage / root.usage if root.usage else 0.0
            if one.share is None:
                norm = above.norm_shares
                effective = used if top else above.effective
            else:
                part = one.share / shares if shares else 0.0
                norm = above.norm_shares * part
                effective = used + (above.effective - used) * part if shares else above.effective
                effective = used if top else effective
            factor = 2.0 ** -(effective / norm / dampening) if norm else 0.0
            seen[one.name] = Seen(norm, used, effective, None, factor)
        for one in among:
            if one.children is not None and one.share is not None:
                level(one, seen[one.name], top=False)

    level(root, Seen(1.0, 1.0, 1.0, None), top=True)
    return seen
