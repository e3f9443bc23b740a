"""Types of numpy arrays."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
