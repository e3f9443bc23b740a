from typing import final

from audit.array_types import Ints
from audit.kernels.growing import GrowingTable

@final
class StopTables:
    intervals: GrowingTable
    stops: GrowingTable
    users: GrowingTable
    def __init__(self, measures: int, level: Ints, job: Ints, next_climb: Ints) -> None: ...
