from typing import final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

@final
class Marks:
    made: Ints
    def __init__(
        self, user: Ints, pair: Ints, first_pair: Ints, set_of_pair: Ints, jobs: int, resources: int
    ) -> None: ...  # fmt: skip
