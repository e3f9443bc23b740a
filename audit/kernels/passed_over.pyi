from typing import final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

@final
class Subjects:
    def __init__(
        self, begin: Ints, arrival: Ints, user: Ints, entity: Ints, need: Ints, first: Ints,
        last: Ints, start: Ints, held_begin: Ints, held_end: Ints, held_from: Ints, held_to: Ints
    ) -> None: ...  # fmt: skip

@final
class Rivals:
    def __init__(
        self, begin: Ints, end: Ints, arrival: Ints, user: Ints, entity: Ints, need: Ints,
        run: Ints, weight: NDArray[np.float64], start: Ints
    ) -> None: ...  # fmt: skip

@final
class Found:
    def __init__(
        self, pairs: NDArray[np.float64], lost: NDArray[np.float64], since: Ints,
        met: NDArray[np.bool_]
    ) -> None: ...  # fmt: skip

def compare(subjects: Subjects, rivals: Rivals, lead: int, found: Found) -> None: ...
