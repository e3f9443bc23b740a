import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model, Observed, Steps
from audit.kernels.scheduling.pool import Pool
from audit.kernels.scheduling.snapshot import Aside

class Trials:
    def __init__(
        self, snapshot: Pool, start: Pool, trial: Pool, steps: Steps, aside: Aside
    ) -> None: ...

def fair_starts(
    model: Model,
    observed: Observed,
    capacity: NDArray[np.int64],
    at_once: bool,
    subject: NDArray[np.bool_],
    low: int,
    high: int,
    trials: Trials,
    strict: NDArray[np.int64],
    relaxed: NDArray[np.int64],
    over: NDArray[np.bool_],
) -> None: ...
