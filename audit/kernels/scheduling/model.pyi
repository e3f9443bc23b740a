from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.owners import Owners

_Bools = NDArray[np.bool_]
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

class Order(IntEnum):
    RANK = 0
    EXPANSION = 1
    FAIRSHARE = 2
    NUWT = 3
    MULTIFACTOR = 4

class Backfill(IntEnum):
    NONE = 0
    NO_GUARANTEE = 1
    EASY = 2
    CONSERVATIVE = 3
    REPLAN = 4

class Edges:
    def __init__(
        self, *, time: _Ints, counter: _Ints, change: _Ints, cycle: int, period: int
    ) -> None: ...

class Limits:
    def __init__(
        self, *, first: _Ints, counter: _Ints, amount: _Ints, binding: _Bools, most: _Ints,
        late: _Bools, remaining: _Bools, edges: Edges
    ) -> None: ...  # fmt: skip

class Preemption:
    def __init__(self, *, gives_way: _Ints, takes: _Ints, delay: _Ints) -> None: ...

class Jobs:
    def __init__(
        self, *, arrival: _Ints, occupancy: _Ints, estimate: _Ints, rank: _Ints, request: _Ints,
        owner: _Ints, charge: _Floats, limits: Limits, preemption: Preemption
    ) -> None: ...  # fmt: skip

class Steps:
    number: int
    def __init__(
        self, *, time: _Ints, change: _Ints, planned: _Bools, job: _Ints, holder: _Ints,
        ends: _Bools, number: int
    ) -> None: ...  # fmt: skip

class Nodes:
    def __init__(
        self, *, capacity: _Ints, first_member: _Ints, member: _Ints, set: _Ints, wide: _Ints,
        part: _Ints, parts: _Ints, most: _Ints, bound: _Bools, shape: _Ints, first: _Ints,
        held: _Ints, node: _Ints, amount: _Ints, consecutive: bool, least_loaded: bool
    ) -> None: ...  # fmt: skip

class Rules:
    def __init__(
        self, *, order: Order, fair: Order, latest_last: bool, backfill: Backfill, depth: int,
        window: int, every: int, origin: int, between: bool, reservations: int,
        resolution: int, pause: int
    ) -> None: ...  # fmt: skip

class Model:
    def __init__(self, jobs: Jobs, steps: Steps, rules: Rules, owners: Owners) -> None: ...

class Observed:
    def __init__(
        self, *, start: _Ints, end: _Ints, blocked: _Bools, present: _Bools, queues: _Bools
    ) -> None: ...
