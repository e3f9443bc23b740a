from typing import final

from audit.array_types import Ints
from audit.kernels.growing import Table

@final
class StopTables:
    intervals: Table
    stops: Table
    users: Table
    def __init__(self, measures: int, level: Ints, job: Ints, next_climb: Ints) -> None: ...
