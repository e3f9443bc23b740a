"""Content of a site after an undisturbed night, to compare disturbed ones with."""

import pytest

from tests.nightly.nights import after_a_night
from tests.nightly.test_run import content


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The content of a site after the night of ``after_a_night``."""
    folder = tmp_path_factory.mktemp("calm")
    after_a_night(tmp_path_factory, folder)
    return content(folder)
