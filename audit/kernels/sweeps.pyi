import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

def time_order(times: _Ints, order: _Ints, spare: _Ints) -> None: ...
def shares(
    arrival: _Ints, start: _Ints, end: _Ints, size: _Ints, by_arrival: _Ints, by_start: _Ints,
    by_end: _Ints, cap: int, share: _Floats, share_low: _Floats
) -> None: ...  # fmt: skip
def integrals(
    arrival: _Ints, start: _Ints, end: _Ints, size: _Ints, by_arrival: _Ints, by_start: _Ints,
    by_end: _Ints, capacity: _Ints, edges: _Ints, out: _Ints
) -> int: ...  # fmt: skip
def overtakes(
    arrival: _Ints, start_rank: _Ints, by_arrival: _Ints, overtaken_by: _Ints, overtook: _Ints
) -> None: ...
