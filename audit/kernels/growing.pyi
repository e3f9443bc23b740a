from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Table:
    def __init__(self, width: int, most: int = ...) -> None: ...
    def taken(self) -> NDArray[np.int64]: ...
