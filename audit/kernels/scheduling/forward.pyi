import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model, Observed, Steps
from audit.kernels.scheduling.pool import Pool
from audit.kernels.scheduling.snapshot import Aside

class Later:
    def __init__(
        self,
        *,
        own: NDArray[np.int64],
        user: NDArray[np.int64],
        blocked: NDArray[np.bool_],
        start: NDArray[np.int64],
    ) -> None: ...

class Trials:
    def __init__(
        self, snapshot: Pool, trial: Pool, branch: Pool, steps: Steps, aside: Aside, blocked: int
    ) -> None: ...

def forward_starts(
    model: Model,
    sweep: Model,
    observed: Observed,
    capacity: NDArray[np.int64],
    later: Later,
    subject: NDArray[np.bool_],
    low: int,
    high: int,
    trials: Trials,
    start: NDArray[np.int64],
    without_own: NDArray[np.int64],
) -> None: ...
