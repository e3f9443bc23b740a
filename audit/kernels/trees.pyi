import numpy as np
from numpy.typing import NDArray

_Bools = NDArray[np.bool_]
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

def ranks(keys: _Floats, ranked: _Bools, out: _Ints) -> None: ...
def keep_present(
    present: _Bools, instants: _Ints, usage: _Floats, fraction: _Floats, rank: _Ints, as_of: _Ints,
    column: NDArray[np.uint32], usage_out: _Floats, fraction_out: _Floats, rank_out: _Ints
) -> None: ...  # fmt: skip
def priorities(operator: int, targets: _Floats, states: _Floats, out: _Floats) -> None: ...
def climb(
    parents: _Ints, groups: _Ints, shared: _Bools, usage: _Floats, states: _Floats
) -> None: ...
def apply(operator: int, targets: _Floats, states: _Floats, priorities: _Floats) -> None: ...
def rank(
    offsets: _Ints, members: _Ints, depths: _Ints, kinds: _Ints, priorities: _Floats, ranks: _Ints
) -> None: ...
