"""An empty store for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.store import database, migrations
from audit.store.database import Connection


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Connection]:
    """Migrated, in a folder of its own, so that what else appears in ``tmp_path`` is the test's."""
    folder = tmp_path / "private"
    folder.mkdir()
    con = database.open_store(folder / "store.duckdb")
    migrations.migrate(con)
    yield con
    con.close()
