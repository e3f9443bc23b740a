"""An empty store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.store.database import Connection
from tests import stores


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Connection]:
    """A migrated store, in a separate folder below ``tmp_path``."""
    folder = tmp_path / "private"
    folder.mkdir()
    con = stores.new(folder / "store.duckdb")
    yield con
    con.close()
