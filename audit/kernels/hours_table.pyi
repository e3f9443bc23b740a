import numpy as np
from numpy.typing import NDArray

def best_stretch(
    base: NDArray[np.float64], hours: NDArray[np.float64], which: int,
    chance: NDArray[np.float64], least: float, raw: float
) -> tuple[int, int, float, float]: ...  # fmt: skip
