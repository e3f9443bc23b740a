"""Whether a run is slower than the committed one: by ratios, which another machine's load bears.

A ratio is worse when it is more than the committed one times 1 + tolerance, where

    tolerance = LEAST + NOISES · √(noise then² + noise now²)

and the noise of a ratio is by how much of it a round typically differed. LEAST covers differences
between two runs but not between rounds of one, such as the layout of memory and the content of
caches. It was chosen by repeating runs of the same code (docs/development.md).
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from bench.measure.figures import Figure

LEAST = 0.35
NOISES = 4.0


class Change(NamedTuple):
    """A figure of both runs."""

    then: Figure
    now: Figure

    @property
    def factor(self) -> float:
        """How many times the committed ratio the new one is."""
        assert self.then.compared is not None
        assert self.now.compared is not None
        return self.now.compared.ratio / self.then.compared.ratio

    @property
    def tolerance(self) -> float:
        """By how much of it the ratio may have grown."""
        sides = (self.then.compared, self.now.compared)
        noise = math.hypot(*(side.noise for side in sides if side is not None))
        return LEAST + NOISES * noise

    @property
    def worse(self) -> bool:
        """Whether it has grown beyond that."""
        return self.factor > 1 + self.tolerance


def changes(then: Iterable[Figure], now: Iterable[Figure]) -> list[Change]:
    """The figures that both runs compare with the same twin or limit, in the order of ``now``."""
    before = {figure.key: figure for figure in then if figure.compared}
    return [
        Change(before[figure.key], figure)
        for figure in now
        if figure.compared and figure.key in before
    ]
