import numpy as np
from numpy.typing import NDArray

from audit.kernels.scheduling.pool import Pool

class Workspace:
    words_used: int
    words_needed: int
    searches: int
    moves: int
    accepted: int
    def __init__(
        self, pool: Pool, attempts: int, owners: int, tabu: int, stop: NDArray[np.int64]
    ) -> None: ...
    def begin_words(self) -> None: ...
