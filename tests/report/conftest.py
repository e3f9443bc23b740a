"""A store to which a test adds what a report is to read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.store.database import Connection
from tests import stores


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    """Empty; modules whose tests share rows have one of their own."""
    con = stores.new(tmp_path / "audit.duckdb")
    try:
        yield con
    finally:
        con.close()
