"""Refused and doubtful records of a site: taken in after all, by hand; the next run computes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from audit.config import Config, places
from audit.errors import UsageError, withholding
from audit.files import state_folder
from audit.nightly.stages import own_state
from audit.store import migrations
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.replay import Place, Replayed


def replay(
    config: Config,
    folder: Path,
    cluster: str | None,
    code: str | None,
    file: str | None,
    mended: Path | None,
) -> Replayed:
    """Reads refused records again; see ``ingest.replay``.

    Args:
        code, file: only of this kind, or log.
        mended: a file of JSON that holds the texts to read, as ``refused --format json`` wrote it.

    Raises:
        UsageError: there is no such cluster, or the file cannot be read.
        LockedError: a run is at work.
    """
    from audit.ingest import people, replay
    from audit.ingest.replay import Replayed

    chosen = [of for of in config.clusters if cluster in (None, of.name)]
    filters = {of.name: people.filter_of(of, folder) for of in chosen}
    with (
        withholding(when=config.hides(cluster)),
        _opened(config, folder, "refused --replay") as con,
    ):
        texts = None if mended is None else _texts(mended)
        done = [
            replay.replay(
                con,
                name,
                int(time.time()),
                code=code,
                file=file,
                mended=texts,
                people_filter=filters[name],
            )
            for name in _named(config, cluster)
        ]
    return Replayed(sum(one.taken for one in done), sum(one.left for one in done))


def accept(config: Config, folder: Path, cluster: str | None, file: str | None) -> int:
    """Takes in doubtful records; arguments and errors as ``replay``; gives their number."""
    from audit.ingest import replay

    with _opened(config, folder, "refused --accept") as con:
        return sum(
            replay.accept(con, name, int(time.time()), file=file)
            for name in _named(config, cluster)
        )


@contextmanager
def _opened(config: Config, folder: Path, what: str) -> Iterator[Connection]:
    state = own_state(config, folder)
    if not state_folder.begun(state):
        raise UsageError(f"{state}: there is no store yet; 'fairaudit run' makes it")
    base = places.published_folder(config, folder)
    with (
        state_folder.held(state, f"fairaudit {what}") as store,
        migrations.migrated(store, config.store.memory_limit, base=base) as con,
    ):
        yield con


def _named(config: Config, cluster: str | None) -> list[str]:
    names = [one.name for one in config.clusters]
    if cluster is not None and cluster not in names:
        raise UsageError(f"--cluster {cluster!r}: the configuration has {', '.join(names)}")
    return names if cluster is None else [cluster]


def _texts(path: Path) -> dict[Place, str]:
    """The texts of a file, by the record that each stands for."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {(str(row["input"]), int(row["byte_offset"])): str(row["text"]) for row in rows}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}: holds no refused records as 'fairaudit refused --format json' writes them",
            f" ({type(error).__name__}: {error})",
            f" ({type(error).__name__})",
        ) from error
