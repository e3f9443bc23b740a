import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.multifactor import Books, Slurm

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

class Owners:
    def __init__(
        self, *, target: _Floats, operator: int, weights: _Floats, interval: int, origin: int,
        recalculation: int, first: _Ints, time: _Ints, value: _Floats, rate: _Floats, slurm: Slurm
    ) -> None: ...  # fmt: skip

class Ledger:
    def __init__(
        self, owners: Owners, path: _Ints, siblings: _Ints, changes: int, half_life: float,
        books: Books
    ) -> None: ...  # fmt: skip

def sum_up(first: _Ints, time: _Ints, value: _Floats, rate: _Floats, half_life: float) -> None: ...
