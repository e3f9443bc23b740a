import numpy as np
from numpy.typing import NDArray

from audit.array_types import Bools, Ints
from audit.kernels.delivered.model import DeliveredCapacity, ObservedPool, PassRule

def fair_starts(
    log: ObservedPool, rule: PassRule, delivered: DeliveredCapacity, subject: Bools,
    marks: NDArray[np.uint8], out: Ints, context: NDArray[np.uint8]
) -> None: ...  # fmt: skip
def fair_start_without(
    log: ObservedPool, rule: PassRule, delivered: DeliveredCapacity, j: int, removed: Bools
) -> int: ...
