"""Refused and doubtful records that an operator accepts; the next run computes the changes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from audit.config.places import Site
from audit.errors import UsageError, refusals, withholding
from audit.files import state_folder
from audit.nightly.stages import own_state
from audit.store import migrations
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.replay import Place, Replayed


def replay(
    site: Site, cluster: str | None, code: str | None, file: str | None, mended: Path | None
) -> Replayed:
    """Read refused records again; see ``ingest.replay``.

    Args:
        code, file: only of this kind, or log.
        mended: a JSON file with the texts to read, in the form of ``refused --format json``.

    Raises UsageError if there is no such cluster, or the file cannot be read; LockedError if a run
    is at work.
    """
    from audit.ingest import people, replay
    from audit.ingest.replay import Replayed

    with withholding(when=site.config.hides(cluster)):
        chosen = [one for one in site.config.clusters if cluster in (None, one.name)]
        filters = {one.name: people.filter_of(one, site.folder) for one in chosen}
        with _opened(site, "refused --replay", cluster) as (con, clusters):
            texts = None if mended is None else _texts(mended)
            again = partial(replay.replay, con, code=code, file=file, mended=texts)
            done = [again(name, int(time.time()), people_filter=filters[name]) for name in clusters]
    return Replayed(sum(one.taken for one in done), sum(one.left for one in done))


def accept(site: Site, cluster: str | None, file: str | None) -> int:
    """Take in doubtful records and return their number; arguments and errors as of ``replay``."""
    from audit.ingest import replay

    with _opened(site, "refused --accept", cluster) as (con, clusters):
        return sum(replay.accept(con, name, int(time.time()), file=file) for name in clusters)


@contextmanager
def _opened(site: Site, what: str, cluster: str | None) -> Iterator[tuple[Connection, list[str]]]:
    """Open the store while the block runs; yield it with the names of the clusters to work on."""
    state = own_state(site)
    if not state_folder.begun(state):
        raise UsageError(f"{state}: there is no store yet; 'fairaudit run' creates it")
    with migrations.of_site(site, what) as con:
        names = [one.name for one in site.config.clusters]
        if cluster is not None and cluster not in names:
            raise UsageError(f"--cluster {cluster!r}: the configuration has {', '.join(names)}")
        yield con, names if cluster is None else [cluster]


def _texts(path: Path) -> dict[Place, str]:
    """Return the texts of a file, by the record that each replaces."""
    try:
        with refusals(UsageError, path, "cannot be read"):
            rows = json.loads(path.read_text(encoding="utf-8"))
        return {(str(row["input"]), int(row["byte_offset"])): str(row["text"]) for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        kind = type(error).__name__
        raise UsageError(
            f"{path}: contains no refused records in the form of 'fairaudit refused --format json'",
            f" ({kind}: {error})",
            f" ({kind})",
        ) from error
