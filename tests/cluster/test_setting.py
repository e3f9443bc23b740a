"""The part of a period that a log covers."""

import pytest

from audit.cluster.setting import covered
from audit.model import Period

LOG = Period("all", 100, 200)


@pytest.mark.parametrize(
    ("period", "span"),
    [
        ((0, 1_000), (100, 200)),
        ((120, 180), (120, 180)),
        ((50, 150), (100, 150)),
        ((150, 300), (150, 200)),
        ((300, 400), (300, 400)),  # nothing is known of it: all of it
        ((0, 100), (0, 100)),
    ],
)
def test_the_part_of_a_period_inside_the_log(
    period: tuple[int, int], span: tuple[int, int]
) -> None:
    assert covered(Period("some", *period), LOG) == span
