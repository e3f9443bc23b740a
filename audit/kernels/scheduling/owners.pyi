import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.multifactor import Books, Slurm

class Owners:
    def __init__(
        self,
        *,
        target: NDArray[np.float64],
        operator: int,
        weights: NDArray[np.float64],
        interval: int,
        origin: int,
        recalculation: int,
        first: NDArray[np.int64],
        time: NDArray[np.int64],
        value: NDArray[np.float64],
        rate: NDArray[np.float64],
        slurm: Slurm,
    ) -> None: ...

class Ledger:
    def __init__(
        self,
        owners: Owners,
        path: NDArray[np.int64],
        siblings: NDArray[np.int64],
        changes: int,
        half_life: float,
        books: Books,
    ) -> None: ...

def sum_up(
    first: NDArray[np.int64],
    time: NDArray[np.int64],
    value: NDArray[np.float64],
    rate: NDArray[np.float64],
    half_life: float,
) -> None: ...
