"""Width classes: attempts by size, in powers of two (SPEC §8, after [S] table 2).

The classes are 1, 2, 3-4, 5-8, … up to a greatest power of two, and all that is wider; before them
``0``, for attempts that were allocated none of the counted resource. An unknown size has no class.
"""

from typing import Final

import polars as pl

TOP: Final = 128
"""Upper end of the last bounded class, as in [S]."""


def width_class(size: pl.Expr, top: int = TOP) -> pl.Expr:
    """The label of the class that ``size`` falls into; null where the size is.

    Args:
        size: amount of the counted resource, ≥ 0.
        top: upper end of the last bounded class, a power of two.

    Raises:
        ValueError: ``top`` is not a power of two.
    """
    *bounded, wider = order(top)
    label: pl.Expr = pl.when(size > top).then(pl.lit(wider))
    for end, name in reversed(list(zip(_ends(top), bounded, strict=True))):
        label = pl.when(size <= end).then(pl.lit(name)).otherwise(label)
    return label


def order(top: int = TOP) -> list[str]:
    """All labels, from narrow to wide."""
    ends = _ends(top)
    bounded = [
        str(end) if end <= 2 else f"{below + 1}-{end}"
        for below, end in zip([-1, *ends], ends, strict=False)
    ]
    return [*bounded, f">{top}"]


def _ends(top: int) -> list[int]:
    """The greatest size of each bounded class: 0, 1, 2, 4, …, top."""
    if top < 1 or top & (top - 1):
        raise ValueError(f"top = {top}: not a power of two")
    return [0, *(1 << k for k in range(top.bit_length()))]
