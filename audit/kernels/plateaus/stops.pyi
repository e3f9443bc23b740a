from typing import final

import numpy as np
from numpy.typing import NDArray

from audit.kernels.growing import Table

Ints = NDArray[np.int64]

@final
class StopTables:
    intervals: Table
    stops: Table
    users: Table
    def __init__(self, measures: int, level: Ints, job: Ints, next_climb: Ints) -> None: ...
