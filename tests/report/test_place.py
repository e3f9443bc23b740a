"""Where a figure stands, and what one interval picked from many still carries."""

import numpy as np
import pytest

from audit.report.finding import corrected
from tests.report.sample import figure, present


def test_one_picked_from_one_is_as_sure_as_it_was() -> None:
    assert corrected(figure("share", 2.0, 1.0, 4.0), 1) == pytest.approx((1.0, 4.0))
    assert corrected(figure("share", 2.0), 1) is None


def test_the_greatest_of_many_that_do_not_differ_seldom_stands_out() -> None:
    """Ten figures of one true value 0: the greatest looks greater in 5 % of cases at most."""
    rng = np.random.default_rng(5)
    greatest = rng.normal(size=(4_000, 10)).max(axis=1)
    plain, fair = 0, 0
    for value in greatest:
        of = figure("share", float(value), float(value) - 1.96, float(value) + 1.96)
        plain += float(value) - 1.96 > 0
        within = present(corrected(of, 10))
        fair += within[0] > 0
    assert plain / len(greatest) > 0.15
    assert fair / len(greatest) < 0.04  # one side of 5 %, with room for this draw
