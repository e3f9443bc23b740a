"""What may run at one time, and who is not started when (SPEC §10, *Limits*).

What limits count stands in *counters*, one for each of whom so much may run. A window is a counter
too, which is far too full while the window is closed.
"""

from typing import NamedTuple

from audit.kernels.arrays import Bools, Ints
from audit.kernels.compiled import inner
from audit.kernels.scheduling.profile import NEVER


class Edges(NamedTuple):
    """When windows open and close; the last ones are repeated for ever."""

    time: Ints  # [edges], ascending, epoch s
    counter: Ints  # [edges], of the window
    change: Ints  # [edges], what is added to it
    cycle: int
    """How many of the last edges are repeated."""
    period: int
    """After how many seconds they are."""


class Limits(NamedTuple):
    """Which counters each attempt touches; without any, nothing is limited."""

    first: Ints  # [attempts + 1], of each its first element in the next three
    counter: Ints
    amount: Ints
    """How much it adds while it runs."""
    binding: Bools
    """Whether it is not started where that would be too much; else it only counts."""
    most: Ints  # [counters]
    edges: Edges


@inner
def count(limits: Limits, used: Ints, job: int, sign: int) -> None:
    """Adds ``sign`` times what an attempt counts to ``used``, what is in each counter."""
    if len(limits.most) > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            used[limits.counter[k]] += sign * limits.amount[k]


@inner
def allowed(limits: Limits, used: Ints, job: int) -> bool:
    """Whether no limit and no window keeps an attempt from being started."""
    if len(limits.most) > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            counter = limits.counter[k]
            if limits.binding[k] and used[counter] + limits.amount[k] > limits.most[counter]:
                return False
    return True


@inner
def edge_at(edges: Edges, edge: int, later: int) -> int:
    """When the edge of index ``edge`` is, all being ``later`` by so much; NEVER: there is none."""
    return edges.time[edge] + later if edge < len(edges.time) else NEVER


@inner
def pass_edges(edges: Edges, edge: int, later: int, instant: int, used: Ints) -> tuple[int, int]:
    """Lets the edges up to ``instant`` pass; gives what ``edge_at`` is called with for the next."""
    while edge_at(edges, edge, later) <= instant:
        used[edges.counter[edge]] += edges.change[edge]
        edge += 1
        if edge == len(edges.time) and edges.cycle > 0:
            edge -= edges.cycle
            later += edges.period
    return edge, later
