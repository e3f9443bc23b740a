"""An empty store that takes logs in."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from audit.store.database import Connection
from tests import stores


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    with closing(stores.new(tmp_path / "store.duckdb")) as con:
        yield con
