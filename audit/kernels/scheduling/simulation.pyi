import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model, Observed
from audit.kernels.scheduling.pool import Pool

_Bools = NDArray[np.bool_]
_Ints = NDArray[np.int64]

def replay(
    model: Model, observed: Observed, takes_part: _Bools, capacity: _Ints, since: int,
    goes_on: bool, pool: Pool
) -> None: ...  # fmt: skip
def start_queue(
    model: Model, capacity: _Ints, now: int, running: _Ints, planned: _Ints, end: _Ints,
    queue: _Ints, target: int, pool: Pool
) -> None: ...  # fmt: skip
