"""The queue of a pool as the evidence of holds reads it: jobs, what is free for them, and limits.

*Room* at x: what is free just before x is at least the job's size. Where the pool's nodes are
known, only free parts of a job's eligible nodes count (SPEC §12). A share is compared with its
*shifted* one: the mean of the shares with own ends moved by ``SHIFTS_S``.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.array_types import Bools, Ints, ShortInts
from audit.metrics.attempts.contention import amounts, capacity_steps
from audit.metrics.attempts.population import is_in_order, only
from audit.metrics.closed_hours import DAY_S, HOUR_S, LocalClock
from audit.metrics.nodes import OnNodes, placed
from audit.metrics.waits.queue import READ, Queued, coded, in_force, queued
from audit.model import SEQUENCE, Pool
from audit.scenario.workload import NEVER

UNKNOWN: Final = 0
SHIFTS_S: Final = tuple(sign * hours * HOUR_S for hours in (6, 12, 24) for sign in (-1, 1))


class FreeAmount(NamedTuple):
    """A free amount over time."""

    at: Ints  # [k], when it changes, ascending, epoch s
    amount: Ints  # [k + 1], up to each of these instants and after the last

    def before(self, at: Ints) -> Ints:
        """Return the amount just before each instant."""
        return self.amount[np.searchsorted(self.at, at)]

    def seconds_with(self, size: int, begin: int, end: int) -> int:
        """Return for how long at least ``size`` is free in [begin, end), s."""
        inside = self.at[slice(*np.searchsorted(self.at, (begin + 1, end)))]
        edges = np.concatenate(([begin], inside, [end]))
        return int(np.diff(edges)[self.before(edges[1:]) >= size].sum())


class Room:
    """The free amounts for the n attempts of a queue."""

    def __init__(self, queue: Queued, pool: Pool) -> None:
        """Prepare; amounts on nodes are computed when they are asked for."""
        self._free: dict[int, FreeAmount] = {}
        self.nodes: OnNodes | None = None  # None: sums decide
        self.set_of: Ints = np.zeros(queue.rows.height, np.int32)
        """[n], equal for attempts that may use the same nodes."""
        if pool.nodes:
            self.nodes, self.set_of, _ = placed(queue.rows, queue.reserved, pool)
            self._times = queue.column("start_time"), queue.column("end")
            self._user = coded(queue.rows["user"])
        else:
            self._free[0] = _of_pool(queue, pool)

    def free(self, number: int) -> FreeAmount:
        """Return what is free for the attempts of a set."""
        if number not in self._free:
            self._free[number] = self._of_set(number)
        return self._free[number]

    def before(self, jobs: Ints, at: Ints) -> Ints:
        """Return what is free for each of ``jobs`` just before an instant."""
        if self.nodes is None:
            return self._free[0].before(at)
        sets = self.set_of[jobs]
        found: Ints = np.zeros(len(jobs), np.int64)
        for number in np.unique(sets).tolist():
            mine = sets == number
            found[mine] = self.free(number).before(at[mine])
        return found

    def fits(self, jobs: Ints, at: Ints) -> Bools:
        """Return whether single nodes had enough for each of ``jobs`` just before an instant.

        Of users with many starts, only nodes count on which their jobs ever ran: a feature that the
        log does not have may keep them from others. Only the counted resource counts. Without
        nodes, every job fits.
        """
        if (nodes := self.nodes) is None:
            return np.ones(len(jobs), np.bool_)
        capacity, times, node, change = self._of_nodes
        part, parts, most = nodes.part[0, jobs], nodes.parts[jobs], nodes.most[jobs]
        first = np.searchsorted(node, np.arange(len(capacity) + 1))
        user, ran = self._user[jobs], self._own_nodes
        hold: Ints = np.zeros(len(jobs), np.int64)
        for k, whole in enumerate(capacity.tolist()):
            sets = nodes.set[nodes.first_set[k] : nodes.first_set[k + 1]]
            mine = np.flatnonzero(np.isin(self.set_of[jobs], sets) & ran[user, k])
            within = slice(first[k], first[k + 1])
            amount = whole + np.concatenate(([0], np.cumsum(change[within])))
            left = FreeAmount(times[within], amount).before(at[mine])
            hold[mine] += np.minimum(left // np.maximum(part[mine], 1), most[mine])
        return hold >= parts

    @cached_property
    def _own_nodes(self) -> Bools:
        """The nodes on which each user's jobs ran, [users, N]; all where these are not known."""
        assert self.nodes is not None
        nodes = self.nodes
        ran = nodes.ran_on(self._user, np.diff(nodes.first) > 0)
        ran[~ran.any(1)] = True
        return ran

    def _of_set(self, number: int) -> FreeAmount:
        capacity, at, node, change = self._of_nodes
        assert self.nodes is not None
        nodes = self.nodes
        members = nodes.member[nodes.first_member[number] : nodes.first_member[number + 1]]
        inside = np.isin(node, members)
        return _summed(int(capacity[members].sum()), (at[inside],), (change[inside],))

    @cached_property
    def _of_nodes(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Capacities, and changes of what is free on a node: instants, nodes and amounts.

        A node has nothing free while it is unavailable.
        """
        assert self.nodes is not None
        nodes = self.nodes
        start, end = self._times
        held = np.repeat(np.arange(len(start)), np.diff(nodes.first))
        none: Ints = np.zeros(len(held), np.int64)
        at = np.concatenate((start[held], end[held], nodes.change_time))
        node = np.concatenate((nodes.node, nodes.node, nodes.change_node))
        use = np.concatenate((nodes.amount[0], -nodes.amount[0], 0 * nodes.change))
        away = np.concatenate((none, none, nodes.change))
        order = np.lexsort((at, node))
        at, node = at[order], node[order]
        first = np.concatenate(([True], node[1:] != node[:-1])) if len(node) else none > 0
        used, gone = (_within(of[order], first) for of in (use, away))
        capacity = nodes.capacity[0]
        free = np.where(gone > 0, 0, np.maximum(capacity[node] - used, 0))
        earlier = np.concatenate(([0], free[:-1]))[: len(free)]
        return capacity, at, node, free - np.where(first, capacity[node], earlier)


def _within(changes: Ints, first: Bools) -> Ints:
    """Return running sums that begin anew at each ``first``."""
    sums = np.cumsum(changes)
    begins = np.flatnonzero(first)
    before = np.concatenate(([0], sums))[begins]
    found: Ints = sums - np.repeat(before, np.diff(np.append(begins, len(changes))))
    return found


def _of_pool(queue: Queued, pool: Pool) -> FreeAmount:
    """Return what is free of a pool's sums."""
    start, end = queue.column("start_time"), queue.column("end")
    ran = np.flatnonzero(queue.rows["start_time"].is_not_null().to_numpy() & (end > start))
    size, steps = queue.column("size")[ran], capacity_steps(pool, queue.reserved)
    times = (start[ran], end[ran], steps.time)
    del start, end, ran  # before more is made
    return _summed(int(amounts(pool)[0]), times, (-size, size, steps.change[:, 0]))


def _summed(capacity: int, times: Sequence[Ints], changes: Sequence[Ints]) -> FreeAmount:
    """Return the amount that is ``capacity`` first and then changes."""
    at = np.concatenate(times)
    order = np.argsort(at, kind="stable")
    at = at[order]
    last = np.flatnonzero(np.append(at[1:] != at[:-1], np.True_)[: len(at)])
    at, sums = at[last], np.concatenate(changes)[order]
    del order  # before more is made
    sums = np.cumsum(sums, out=sums)[last]
    return FreeAmount(at, np.concatenate(([capacity], sums + capacity)))


class UnderLimits:
    """The levels of a pool's limits over time, for the n attempts of a queue.

    Limits of remaining times are left out. A job that a limit forbids is no evidence of a chain:
    where one job fills the limit, its user's next job starts when that one ends.
    """

    def __init__(self, queue: Queued, pool: Pool) -> None:
        """Add up what runs under each limit."""
        limits = [one for one in pool.limits if not one.remaining]
        if not limits:
            self._rules = None
            return
        rules = in_force(queue, limits, (), pool.zone)
        small = {name: getattr(rules, name).astype(np.int32) for name in ("counter", "binding")}
        self._rules = rules._replace(length=rules.length[:0], **small)
        start, end = queue.column("start_time"), queue.column("end")
        ran = queue.rows["start_time"].is_not_null().to_numpy() & (end > start)
        self._first = int(start[ran].min(initial=0))
        self._span = max(int(end[ran].max(initial=0)) - self._first, 0) + 2
        self._keys, self._levels = list[Ints](), list[Ints]()
        for counter, amount in zip(rules.counter, rules.amount, strict=True):
            runs = np.flatnonzero(ran & (counter >= 0))
            keys = np.concatenate([self._key(counter[runs], at) for at in (start[runs], end[runs])])
            changes = np.concatenate((amount[runs], -amount[runs]))
            order = np.argsort(keys, kind="stable")
            self._keys.append(keys[order])
            # those of one counter add up to 0
            self._levels.append(np.concatenate(([0], np.cumsum(changes[order]))))

    def forbid(self, jobs: Ints, at: Ints) -> Bools:
        """Return whether a limit forbids each of ``jobs`` just before an instant."""
        found: Bools = np.zeros(len(jobs), np.bool_)
        if (rules := self._rules) is None:
            return found
        for k, (keys, levels) in enumerate(zip(self._keys, self._levels, strict=True)):
            counter = rules.counter[k][jobs]
            level = levels[np.searchsorted(keys, self._key(counter, at))]
            valid = (rules.valid_from[k] < at) & (at <= rules.valid_to[k])
            applies = (counter >= 0) & (rules.binding[k][jobs] != 0) & valid
            found |= applies & (level + rules.amount[k][jobs] > rules.most[k])
        return found

    def _key(self, counter: Ints, at: Ints) -> Ints:
        """Return keys that ascend by counter and instant."""
        within: Ints = np.clip(at - self._first, 0, self._span - 1)
        return counter.astype(np.int64) * self._span + within


@dataclass(frozen=True)
class UserJobs:
    """The jobs of a pool, n, in the order (arrival, submit, sequence)."""

    row: Ints  # of the given frame
    arrival: Ints
    leave: Ints  # when it leaves the queue
    start: Ints  # NEVER: it did not start
    end: Ints  # NEVER: it did not start
    size: Ints
    user: ShortInts  # from 1 on; UNKNOWN
    names: tuple[str, ...]  # of users 1, 2, …
    by_number: ShortInts  # the jobs by user and number
    room: Room
    limits: UnderLimits
    clock: LocalClock

    @property
    def wait(self) -> Ints:
        """How long each waited, s; NEVER: it did not start."""
        return np.where(self.start == NEVER, NEVER, self.start - self.arrival)

    def of_user(self, number: int) -> ShortInts:
        """Return the jobs of a user."""
        return self.by_number[self._first[number] : self._first[number + 1]]

    @cached_property
    def _first(self) -> Ints:
        """The place in ``by_number`` of each user's first job."""
        return np.searchsorted(self.user[self.by_number], np.arange(len(self.names) + 2))

    def has_room(self, jobs: Ints, at: Ints) -> Bools:
        """Return whether each of ``jobs`` has room at an instant; of unknown size: no."""
        size = self.size[jobs]
        return (size > 0) & (self.room.before(jobs, at) >= size)

    def days(self, at: Ints) -> Ints:
        """Return the local days of instants."""
        return self.clock.seconds(at) // DAY_S

    def seconds_of_day(self, at: Ints) -> Ints:
        """Return the seconds since local midnight of instants."""
        return self.clock.seconds(at) % DAY_S


def user_jobs(described: pl.DataFrame, pool: Pool, now: int) -> UserJobs:
    """Return the jobs of a pool.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
    """
    read = described.select(READ | cs.by_name("pool")).with_row_index("row")
    own = only(read, pl.col("pool") == pool.name)
    del read
    queue = queued(own, now, pl.col("size") > 0)
    del own
    user = coded(queue.rows["user"]).astype(np.int32)
    room, limits = Room(queue, pool), UnderLimits(queue, pool)
    arrival, end = queue.column("arrival_time"), queue.column("end")
    first = min(arrival.min(initial=0), end.min(initial=0))
    last = max(arrival.max(initial=0), end.max(initial=0))
    never = queue.rows["start_time"].is_null().to_numpy()
    start = queue.column("start_time")
    if never.any():
        start, end = (np.where(never, NEVER, times) for times in (start, end))
    return UserJobs(
        row=queue.column("row"),
        arrival=arrival,
        leave=queue.column("leave"),
        start=start,
        end=end,
        size=queue.column("size"),
        user=user,
        names=tuple(queue.rows["user"].unique().drop_nulls().sort()),
        by_number=_by_number(queue, user),
        room=room,
        limits=limits,
        clock=LocalClock.of(pool.zone, int(first), int(last) + 2 * DAY_S),
    )


def _by_number(queue: Queued, user: ShortInts) -> ShortInts:
    """Return the jobs by user and number."""
    place = np.arange(len(user), dtype=np.int32)
    if not is_in_order(queue.rows, *SEQUENCE):
        numbers = queue.rows.select(SEQUENCE)
        place = numbers.select(pl.arg_sort_by(SEQUENCE)).to_series().to_numpy().astype(np.int32)
    return place[np.argsort(user[place], kind="stable")]
