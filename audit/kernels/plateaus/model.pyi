from typing import final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Ints

Flags = NDArray[np.uint8]

@final
class QueuedJobs:
    def __init__(
        self, *, arrival: Ints, leave: Ints, start: Ints, end: Ints, walltime: Ints, group: Ints,
        by_arrival: Ints, by_leave: Ints, by_start: Ints, by_end: Ints, by_planned: Ints
    ) -> None: ...  # fmt: skip

@final
class EqualJobs:
    def __init__(
        self, *, request: Ints, rank: Ints, sizes: Ints, entity: Ints, cell: Ints, part: Ints,
        entity_of: Ints, cell_of: Ints, user_of: Ints, entities: int
    ) -> None: ...  # fmt: skip

@final
class NodeSets:
    def __init__(
        self, *, capacity: Ints, first_member: Ints, member: Ints, first_set: Ints, set: Ints,
        meets: Flags, holds: Flags, set_of: Ints, part: Ints, parts: Ints, most: Ints, first: Ints,
        node: Ints, amount: Ints, change_time: Ints, change_node: Ints, change: Ints
    ) -> None: ...  # fmt: skip

@final
class Barriers:
    def __init__(
        self, *, first: Ints, counter: Ints, amount: Ints, binding: Flags, most: Ints,
        remaining: Flags, edge_time: Ints, edge_counter: Ints, edge_change: Ints
    ) -> None: ...  # fmt: skip

@final
class Supply:
    def __init__(self, *, capacity: Ints, step: Ints, change: Ints) -> None: ...
