import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

def deficits(
    time: _Ints, attempt: _Ints, demands: _Ints, uses: _Ints, entity: _Ints, request: _Ints,
    step_time: _Ints, step: _Ints, had: _Ints, weight: _Floats, begin: int, end: int, out: _Floats,
    edges: _Ints, curves: _Floats
) -> None: ...  # fmt: skip
