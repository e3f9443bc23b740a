from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.owners import Owners

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
        self,
        *,
        time: NDArray[np.int64],
        counter: NDArray[np.int64],
        change: NDArray[np.int64],
        cycle: int,
        period: int,
    ) -> None: ...

class Limits:
    def __init__(
        self,
        *,
        first: NDArray[np.int64],
        counter: NDArray[np.int64],
        amount: NDArray[np.int64],
        binding: NDArray[np.bool_],
        most: NDArray[np.int64],
        edges: Edges,
    ) -> None: ...

class Jobs:
    def __init__(
        self,
        *,
        arrival: NDArray[np.int64],
        occupancy: NDArray[np.int64],
        estimate: NDArray[np.int64],
        rank: NDArray[np.int64],
        request: NDArray[np.int64],
        owner: NDArray[np.int64],
        charge: NDArray[np.float64],
        limits: Limits,
    ) -> None: ...
    def with_own_rank(self) -> Jobs: ...

class Steps:
    number: int
    def __init__(
        self,
        *,
        time: NDArray[np.int64],
        change: NDArray[np.int64],
        planned: NDArray[np.bool_],
        job: NDArray[np.int64],
        ends: NDArray[np.bool_],
        number: int,
    ) -> None: ...

class Rules:
    def __init__(
        self,
        *,
        order: Order,
        fair: Order,
        latest_last: bool,
        backfill: Backfill,
        depth: int,
        window: int,
        every: int,
        origin: int,
        between: bool,
        reservations: int,
    ) -> None: ...

class Model:
    def __init__(self, jobs: Jobs, steps: Steps, rules: Rules, owners: Owners) -> None: ...

class Observed:
    def __init__(
        self,
        *,
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        blocked: NDArray[np.bool_],
        present: NDArray[np.bool_],
    ) -> None: ...
