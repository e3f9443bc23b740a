"""With which power of the number of attempts a cost grows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from bench.measure.figures import Figure


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """The p of cost = c · sizeᵖ that fits best: least squares over the logarithms of both.

    None with fewer than two different sizes, or where a size or a cost is not positive.
    """
    if any(size <= 0 or cost <= 0 for size, cost in points):
        return None
    if len({size for size, _ in points}) < 2:
        return None
    sizes, costs = np.log(points).T
    return float(np.polyfit(sizes, costs, 1)[0])


class Growth(NamedTuple):
    """Figures of one thing at several sizes."""

    stage: str
    what: str
    ours: tuple[tuple[float, float], ...]  # size, s
    twin: tuple[tuple[float, float], ...]

    @property
    def powers(self) -> tuple[float | None, float | None]:
        """The exponent of ours and of the twin."""
        return exponent(self.ours), exponent(self.twin)


def growths(figures: Iterable[Figure]) -> list[Growth]:
    """Figures measured at two sizes or more, in their order."""
    series: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        if figure.size is not None:
            series.setdefault((figure.stage, figure.what), []).append(figure)
    return [
        Growth(
            stage,
            what,
            tuple((float(one.size or 0), one.seconds) for one in of),
            tuple((float(one.size or 0), one.twin.seconds) for one in of if one.twin),
        )
        for (stage, what), of in series.items()
        if len({one.size for one in of}) > 1
    ]
