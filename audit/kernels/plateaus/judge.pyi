from typing import final

from audit.array_types import Floats, Ints

@final
class Traces:
    def __init__(
        self, *, first_stop: Ints, stop_level: Ints, stop_adds: Ints, stop_day: Ints,
        first_climb: Ints, climb_level: Ints, climb_adds: Ints, climb_day: Ints
    ) -> None: ...  # fmt: skip

def candidates(traces: Traces, begin: Ints, end: Ints, found: Ints) -> None: ...
def weigh(
    traces: Traces, begin: Ints, end: Ints, level: Ints, period: Ints, counts: Ints,
    concentration: Floats
) -> None: ...  # fmt: skip
