import numpy as np
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.kernels.scheduling.model import Model
from audit.kernels.scheduling.pool import Pool

class Workspace:
    words_used: int
    words_needed: int
    searches: int
    moves: int
    accepted: int
    def __init__(self, pool: Pool, attempts: int, owners: int, tabu: int, stop: Ints) -> None: ...
    def begin_words(self) -> None: ...

class Pursuit:
    now: int
    def __init__(
        self, pool: Pool, model: Model, space: Workspace, *, capacity: Ints, origin: int,
        every: int, turns: int, timed: bool
    ) -> None: ...  # fmt: skip
    def go_on(self, words: NDArray[np.uint64]) -> bool: ...
