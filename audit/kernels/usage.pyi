from typing import final

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Floats, Ints

_Codes = NDArray[np.uint32]

@final
class Attempts:
    def __init__(self, offsets: Ints, start: Ints, end: Ints, penalty: Floats) -> None: ...

def number(hashes: Ints, codes: _Codes, firsts: Ints, counts: Ints) -> int: ...
def group_by_owner(
    codes: _Codes, start: Ints, end: Ints, penalty: Floats, places: Ints, start_out: Ints,
    end_out: Ints, penalty_out: Floats
) -> None: ...  # fmt: skip
def window_usage(
    attempts: Attempts, edges: Ints, bounds: Ints, weights: Floats, usage: Floats,
    total: Floats
) -> None: ...  # fmt: skip
def half_life_usage(
    attempts: Attempts, instants: Ints, half_life: float, usage: Floats, total: Floats
) -> None: ...
