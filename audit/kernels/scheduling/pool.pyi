import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Nodes
from audit.kernels.scheduling.owners import Ledger

_Ints = NDArray[np.int64]

class Pool:
    def __init__(
        self, *, resources: int, attempts: int, steps: int, counters: int, nodes: Nodes,
        ledger: Ledger,
        begun: _Ints, promised: _Ints, first_begun: _Ints, block_bits: int = 6,
        long_queue: int = 192, few_gaps: int = 8
    ) -> None: ...  # fmt: skip
