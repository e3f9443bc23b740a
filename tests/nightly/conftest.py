"""Nights draw one chart of each pool."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _nights_draw_one_chart(one_chart: None) -> None: ...
