"""SPEC §10's forward starts in slow, plain Python: a snapshot, simulated with all that came later.

A second simulation leaves out what the same owner brought later.
"""

from collections.abc import Iterable

from tests.naive.simulation import Log, Rule, queues, snapshot_at


def forward(log: Log, rule: Rule, j: int) -> int | None:
    """When j starts with everything that came after it, as logged."""
    return _simulated(log, rule, j, range(j + 1, len(log.jobs)))


def forward_without_own(log: Log, rule: Rule, j: int) -> int | None:
    """The same without the later arrivals of its owner."""
    owner = log.jobs[j].owner
    others = [k for k in range(j + 1, len(log.jobs)) if log.jobs[k].owner != owner]
    return _simulated(log, rule, j, others)


def _simulated(log: Log, rule: Rule, j: int, later: Iterable[int]) -> int | None:
    if not queues(log, j):
        return None
    pool = snapshot_at(log, rule, j)
    later = set(later)
    pool.exist |= later
    pool.blocked += [log.jobs[k] for k in sorted(later) if log.jobs[k].blocked]
    pool.queue.append(j)
    pool.arriving = {k for k in later if queues(log, k) and _there(log, k)}
    pool.last = j  # planned after the snapshot's, before those that come later
    arrived = {k for k in pool.arriving if log.jobs[k].arrival == pool.t}
    pool.arriving -= arrived
    pool.queue += sorted(arrived)
    pool.unplanned = set(pool.queue)
    pool.run(until=lambda: j in pool.started)
    return pool.started.get(j)


def _there(log: Log, k: int) -> bool:
    """Whether its start is known, or it is open."""
    return log.jobs[k].start is not None or log.jobs[k].open
