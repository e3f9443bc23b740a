"""Fixtures of the account and the anatomy of waits."""

from collections.abc import Iterator

import pytest

from audit.kernels.waits import account as kernels


@pytest.fixture(scope="module", params=[0, kernels.CROWD], ids=["sums", "walk"])
def either_sweep(request: pytest.FixtureRequest) -> Iterator[None]:
    """Queues, however short, are swept by sums per request, or walked through."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "CROWD", request.param)
        yield
