import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

def distances(
    measured: _Floats, labels: _Ints, made_at: _Ints, low: int, high: int, subject: int,
    out: _Floats
) -> None: ...  # fmt: skip
