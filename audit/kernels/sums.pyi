from typing import Final

import numpy as np
from numpy.typing import NDArray

DIGITS: Final[int]

def add_ints(
    groups: NDArray[np.int64], values: NDArray[np.int64], out: NDArray[np.int64]
) -> None: ...
def add_floats(
    groups: NDArray[np.int64], values: NDArray[np.float64], out: NDArray[np.float64]
) -> None: ...
def add_to_digits(
    groups: NDArray[np.int64], bits: NDArray[np.int64], digits: NDArray[np.int64]
) -> bool: ...
