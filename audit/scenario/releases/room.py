"""How much is free for a pool's jobs: of the pool, or of the nodes that each may use.

*Room* at x: what is free just before x is at least the job's size. Where the pool's nodes are
known, only free parts of a job's eligible nodes count (SPEC §12).

Source: SPEC §11, *Chains, releases, begin times*.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from audit.array_types import Bools, Ints
from audit.metrics.attempts.contention import amounts, capacity_steps
from audit.metrics.nodes import OnNodes, placed
from audit.metrics.waits.queue import Queued, coded
from audit.model import Pool


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
