import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model, Observed
from audit.kernels.scheduling.pool import Pool

def replay(
    model: Model,
    observed: Observed,
    taking_part: NDArray[np.bool_],
    capacity: NDArray[np.int64],
    since: int,
    goes_on: bool,
    pool: Pool,
) -> None: ...
