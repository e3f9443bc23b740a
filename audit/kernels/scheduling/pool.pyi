import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.owners import Ledger

class Pool:
    def __init__(
        self,
        *,
        resources: int,
        attempts: int,
        steps: int,
        counters: int,
        ledger: Ledger,
        begun: NDArray[np.int64],
        promised: NDArray[np.int64],
        block_bits: int = 6,
        long_queue: int = 192,
        few_gaps: int = 8,
    ) -> None: ...
