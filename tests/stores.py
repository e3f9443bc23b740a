"""Empty stores: migrated once, for that takes longer than most tests that need one."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from audit.store import database, migrations
from audit.store.database import Connection


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        con = database.open_store(path)
        migrations.migrate(con)
        con.close()
        return path.read_bytes()


def new(path: Path) -> Connection:
    """A store at ``path``, as migrations make it."""
    path.write_bytes(_empty())
    return database.open_store(path)
