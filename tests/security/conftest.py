"""A published database with an archive, and other files that must not change."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import pytest

from audit.store import archive, migrations, publish
from audit.words import ARCHIVE
from tests.store.test_archive import fill, record

State = dict[str, tuple[str, int, int]]
"""Hash, size and mode by path."""


@dataclass(frozen=True)
class Place:
    """The folder of a site."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "fairaudit.duckdb"

    @property
    def kept(self) -> Path:
        """A file of the archive."""
        return min((self.folder / ARCHIVE).rglob("*-records-*.parquet"))

    def fill(self, statement: str) -> str:
        """Return the statement with the paths of this folder."""
        return statement.format(db=self.database, folder=self.folder, kept=self.kept)

    @cached_property
    def before(self) -> State:
        """The first answer of ``state``."""
        return self.state()

    def state(self) -> State:
        """Return hash, size and mode of every file and folder."""
        return {
            str(path.relative_to(self.folder)): (
                sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
                path.stat().st_size if path.is_file() else 0,
                path.stat().st_mode,
            )
            for path in self.folder.rglob("*")
        }


def published(folder: Path) -> Place:
    """Make a database with an archive of one month, and a foreign file."""
    with migrations.migrated(folder / "store.duckdb", base=folder) as con:
        fill(con, *(record(f"old {n}", 50 + n) for n in range(3)), record("young", 200))
        archive.move(con, "c", (10, 100), folder, f"{ARCHIVE}/c")
        publish.publish(con, folder / "fairaudit.duckdb")
    (folder / "store.duckdb").unlink()
    (folder / "other.txt").write_text("not of fairaudit\n")
    return Place(folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A site's folder, which no test changes."""
    made = published(tmp_path_factory.mktemp("site"))
    assert made.before
    yield made
    assert made.state() == made.before
