"""Nights draw one chart of each pool."""

from collections.abc import Iterator

import pytest

from audit.report import charts
from tests.service.one_chart import of_pool


@pytest.fixture(scope="module", autouse=True)
def _one_chart() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charts, "of_pool", of_pool)
        yield
