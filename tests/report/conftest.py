"""A store to which a test adds what a report is to read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.store.database import Connection
from tests import stores


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Connection]:
    """An empty store."""
    con = stores.new(tmp_path / "audit.duckdb")
    try:
        yield con
    finally:
        con.close()


@pytest.fixture
def con(bare: Connection) -> Connection:
    """The same; modules whose tests share rows add them."""
    return bare
