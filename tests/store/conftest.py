"""An empty store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.store.database import Connection
from tests import stores


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Connection]:
    """Migrated, in a folder of its own, so that what else appears in ``tmp_path`` is the test's."""
    folder = tmp_path / "private"
    folder.mkdir()
    con = stores.new(folder / "store.duckdb")
    yield con
    con.close()
