import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model
from audit.kernels.scheduling.pool import Pool
from audit.kernels.scheduling.tabu.search import Workspace

class Pursuit:
    now: int
    def __init__(
        self,
        pool: Pool,
        model: Model,
        space: Workspace,
        *,
        capacity: NDArray[np.int64],
        origin: int,
        every: int,
        turns: int,
        timed: bool,
    ) -> None: ...
    def go_on(self, words: NDArray[np.uint64]) -> bool: ...
