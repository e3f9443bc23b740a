"""The jobs of a pool, their groups, and what may keep them from starting (SPEC §11, *Plateaus*).

Times are in epoch s; jobs are numbered by (arrival, submit, sequence). Groups have R resources.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class QueuedJobs:
    """The jobs of a pool, in n groups: queued over [arrival, leave), running over [start, end)."""


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class EqualJobs:
    """The groups, G, and the K entities and cells to which each belongs."""


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class NodeSets:
    """The nodes of a pool, N, and their S sets; without nodes, one set that stands for the pool.

    A group fits if its parts do: on a node of its set, at most ``most`` of them.
    """


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Barriers:
    """Limits and windows in force, with C counters; a closed window is far above its bound."""


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Supply:
    """The capacity of sets of nodes at first, and the changes of the one set without nodes."""
