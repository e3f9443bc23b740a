from typing import final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

@final
class Usage:
    def __init__(
        self, first: Ints, time: Ints, rate: Floats, used: Floats, share: Floats, decay: float
    ) -> None: ...

@final
class Subjects:
    def __init__(
        self, begin: Ints, arrival: Ints, user: Ints, entity: Ints, owner: Ints, need: Ints,
        first: Ints, last: Ints, start: Ints, held_begin: Ints, held_end: Ints, held_from: Ints,
        held_to: Ints
    ) -> None: ...  # fmt: skip

@final
class Rivals:
    def __init__(
        self, begin: Ints, end: Ints, arrival: Ints, user: Ints, entity: Ints, need: Ints,
        run: Ints, used: Floats, weight: Floats, start: Ints
    ) -> None: ...  # fmt: skip

@final
class Classes:
    def __init__(
        self, as_much: NDArray[np.bool_], of_block: Ints, block: Ints, swept: Ints, sign: Ints,
        key: Ints, first_segment: Ints, of_segment: Ints, segment_begin: Ints, arrival_at: Ints,
        sums: Floats, place: Ints, segment: Ints, by_start: Ints, of_rival: Ints, arrival: Ints,
        user: Ints, entity: Ints, weight: Floats, least: float, first: Ints, before: Ints,
        after: Ints, started: Floats, tree: Floats
    ) -> None: ...  # fmt: skip

@final
class Found:
    def __init__(
        self, pairs: Floats, lost: Floats, since: Ints, met: NDArray[np.bool_]
    ) -> None: ...

def accumulate(usage: Usage) -> None: ...
def used_at(usage: Usage, owner: Ints, instant: Ints, used: Floats) -> None: ...
def compare(
    subjects: Subjects, rivals: Rivals, usage: Usage, classes: Classes, lead: int, found: Found
) -> None: ...
