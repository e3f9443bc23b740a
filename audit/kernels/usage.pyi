from typing import final

import numpy as np
from numpy.typing import NDArray

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]
_Codes = NDArray[np.uint32]

@final
class Attempts:
    def __init__(self, offsets: _Ints, start: _Ints, end: _Ints, penalty: _Floats) -> None: ...

def number(hashes: _Ints, codes: _Codes, firsts: _Ints, counts: _Ints) -> int: ...
def group_by_owner(
    codes: _Codes, start: _Ints, end: _Ints, penalty: _Floats, places: _Ints, start_out: _Ints,
    end_out: _Ints, penalty_out: _Floats
) -> None: ...  # fmt: skip
def window_usage(
    attempts: Attempts, edges: _Ints, bounds: _Ints, weights: _Floats, usage: _Floats,
    total: _Floats
) -> None: ...  # fmt: skip
def half_life_usage(
    attempts: Attempts, instants: _Ints, half_life: float, usage: _Floats, total: _Floats
) -> None: ...
