"""When jobs of a pool of one resource are marked unstartable (SPEC §11), in plain Python.

For tests of what marks change in *passed over*; capacity without steps, no rules but spans in which
single jobs are forbidden.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

LAPSE = 3_600
_END, _ARRIVE, _START, _LEAVE = range(4)


class Waiting(NamedTuple):
    """A job in the order of the queue."""

    row: int
    user: str | None
    size: int
    group: tuple[Any, ...]
    started: bool


@dataclass
class Group:
    """Queued jobs that are equal."""

    user: str | None
    size: int
    jobs: dict[int, None] = field(default_factory=dict)  # places, oldest first
    hungry: int = 0  # s since it last started a job
    fitted: int = 0  # s in which its first job would fit without others' waiting jobs
    unstartable: bool = False

    @property
    def waits(self) -> int:
        """The requests of its startable jobs."""
        return 0 if self.unstartable else self.size * len(self.jobs)


class Marking:
    """The sweep through a log."""

    def __init__(
        self, attempts: pl.DataFrame, capacity: int, forbidden: Mapping[int, list[tuple[int, int]]]
    ) -> None:
        """Read the attempts, in the order of the queue; spans that forbid, by row."""
        self.capacity, self.forbidden = capacity, forbidden
        self.groups: dict[tuple[Any, ...], Group] = {}
        self.used = 0
        self.marks: dict[int, int] = {}
        self.jobs: list[Waiting] = []
        self.events: list[tuple[int, int, int]] = []
        for row, one in enumerate(attempts.iter_rows(named=True)):
            arrival, start, end = one["arrival_time"], one["start_time"], one["end_time"]
            if arrival is None or end is None or not one["size"]:
                continue
            walltime = one["walltime_s"]
            if walltime is None:
                walltime = 1 if start is None else end - start
            place = (one["account"], one["partition"], one["qos"])
            group = (one["user"], *place, one["size"], walltime)
            number, leave = len(self.jobs), end if start is None else start
            self.jobs.append(Waiting(row, one["user"], one["size"], group, start is not None))
            if start is not None and end > start:
                self.events += [(end, _END, number), (start, _START, number)]
            if leave > arrival:
                self.events += [(arrival, _ARRIVE, number), (leave, _LEAVE, number)]
        self.events.sort()

    def run(self, since: int) -> dict[int, int]:
        """Return when each row was marked; ``since``: the begin of the log."""
        for k, (now, kind, number) in enumerate(self.events):
            self._happen(now, kind, number)
            until = self.events[k + 1][0] if k + 1 < len(self.events) else now
            while now < until:
                now += self._pass(now, until - now, since)  # noqa: PLW2901
        return self.marks

    def _happen(self, now: int, kind: int, number: int) -> None:
        job = self.jobs[number]
        if kind in (_END, _START):
            self.used += job.size if kind == _START else -job.size
        elif kind == _ARRIVE:
            group = self.groups.setdefault(job.group, Group(job.user, job.size))
            group.jobs[number] = None
            if group.unstartable:
                self.marks.setdefault(job.row, now)
        else:
            group = self.groups[job.group]
            del group.jobs[number]
            if job.started:
                group.hungry = group.fitted = 0
                group.unstartable = False
            if not group.jobs:
                del self.groups[job.group]

    def _pass(self, now: int, most: int, since: int) -> int:
        """Let time pass until a decision may change; return how much."""
        found = list(self._hungry(now)) if now >= since and self.used < self.capacity else []
        rest = [LAPSE - group.hungry for group, _ in found if group.hungry < LAPSE]
        rest += [LAPSE - group.fitted for group, fits in found if fits]
        step = min([most, *rest])
        for group, fits in found:
            group.hungry = min(group.hungry + step, LAPSE)
            group.fitted += step if fits else 0
            if fits and group.fitted >= LAPSE:
                group.unstartable = True
                for number in group.jobs:
                    self.marks.setdefault(self.jobs[number].row, now + step)
        return step

    def _hungry(self, now: int) -> Iterator[tuple[Group, bool]]:
        """Yield the groups that fit in what is left, and whether they would without others."""
        free = left = self.capacity - self.used
        waiting = sum(group.waits for group in self.groups.values())
        by_user: dict[str | None, int] = {}
        for group in self.groups.values():
            by_user[group.user] = by_user.get(group.user, 0) + group.waits
        for group in sorted(self.groups.values(), key=lambda one: next(iter(one.jobs))):
            first = self.jobs[next(iter(group.jobs))].row
            if group.size > left or _within(self.forbidden.get(first, ()), now):
                continue
            others = waiting - by_user[group.user]
            yield group, not group.unstartable and group.size <= free - others
            if group.hungry < LAPSE:
                left -= min(len(group.jobs), left // group.size) * group.size


def _within(spans: Sequence[tuple[int, int]], now: int) -> bool:
    return any(begin <= now <= end for begin, end in spans)
