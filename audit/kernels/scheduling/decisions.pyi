from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model, Observed
from audit.kernels.scheduling.pool import Pool

class Withheld(IntEnum):
    NOTHING = 0
    BY_WINDOW = 1
    BY_LIMIT = 2

def decide(
    model: Model,
    observed: Observed,
    by_start: NDArray[np.int64],
    capacity: NDArray[np.int64],
    tolerance: int,
    until: int,
    pool: Pool,
    ready: NDArray[np.int64],
    over: NDArray[np.bool_],
    withheld: NDArray[np.int64],
) -> None: ...
