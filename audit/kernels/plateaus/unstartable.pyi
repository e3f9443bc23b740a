from typing import final

from audit.array_types import Ints

@final
class Marks:
    made: Ints
    def __init__(
        self, user: Ints, pair: Ints, first_pair: Ints, set_of_pair: Ints, jobs: int, resources: int
    ) -> None: ...  # fmt: skip
