from typing import final

from audit.array_types import Ints

@final
class GrowingTable:
    def __init__(self, width: int, most: int = ...) -> None: ...
    def taken(self) -> Ints: ...
