from typing import final

from audit.array_types import Ints

@final
class Ranges:
    def __init__(self, values: Ints, bits: int) -> None: ...
    def below(self, begin: Ints, end: Ints, bounds: Ints) -> Ints: ...
    def nth_without(
        self, begin: Ints, end: Ints, other: Ranges,
        left: Ints, right: Ints, nth: Ints
    ) -> Ints: ...  # fmt: skip
