import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.model import Model, Observed
from audit.kernels.scheduling.pool import Pool

_Bools = NDArray[np.bool_]
_Ints = NDArray[np.int64]

def agree(
    model: Model, observed: Observed, by_start: _Ints, held_until: _Ints, by_release: _Ints,
    capacity: _Ints, waited: _Bools, until: int, pool: Pool, out: _Ints
) -> None: ...  # fmt: skip
