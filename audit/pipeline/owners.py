"""The pages of single users and accounts: from the figures of a period to files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import polars as pl

from audit.config import Config, places
from audit.errors import UsageError
from audit.files import privacy
from audit.files.replace import drafting
from audit.model import Period
from audit.pipeline import drawing
from audit.progress import printable
from audit.report.contents import Contents
from audit.report.owner import build
from audit.report.owner.contents import Who
from audit.report.render import owner as page
from audit.store import database, queries
from audit.store.database import Connection

KINDS: Final = ("user", "account")


def write(
    con: Connection, config: Config, contents: Contents, owners: Sequence[Who], folder: Path
) -> tuple[Path, ...]:
    """Writes a page for each of ``owners`` into a folder, for what was there.

    Args:
        con: a store with the period's figures.
        config: the configuration in force.
        contents: the report on the period.
        owners: whose pages.
        folder: where they go.

    Raises:
        UsageError: the log names nobody so.
        OSError: a file cannot be written.
    """
    if not owners:
        return ()
    files = []
    for made in build.build(con, contents, owners):
        file = folder / page.file_name(made.who)
        with drafting(file, alone=True) as draft:
            draft.write_bytes(page.render_html(made).encode())
            privacy.share(draft, with_group=config.output.shared_with_group)
        files.append(file)
    return tuple(files)


def known(attempts: pl.DataFrame, owners: Sequence[Who]) -> None:
    """Refuses owners that no attempt names, before anything is computed.

    Raises:
        UsageError: the log names nobody so.
    """
    for who in owners:
        if not attempts.select((pl.col(who.kind) == who.name).any()).item():
            raise build.unknown(who, attempts[who.kind].n_unique())


@privacy.private()
def from_published(
    config: Config,
    folder: Path,
    owners: Sequence[Who],
    cluster: str | None = None,
    period: str | None = None,
) -> tuple[Path, ...]:
    """Writes pages beside the report of a period, from the published database of a site.

    Args:
        config: the site's.
        folder: that of its configuration.
        owners: whose pages.
        cluster: its name; None: the only one.
        period: as reports name it; None: the last that was computed.

    Raises:
        UsageError: no such database, cluster, period, user or account.
        StoreError: the database cannot be read.
    """
    path = folder / config.output.database
    if not path.is_file():
        raise UsageError(f"{path}: no such database; 'fairaudit run' makes it")
    with closing(database.open_snapshot(path, memory_limit=config.sql.memory_limit)) as con:
        name, of = _computed(con, cluster, period)
        contents = drawing.contents_of(con, config, name, of)
        target = places.of_report(config, folder, name, of.name)
        privacy.shared_folder(target, with_group=config.output.shared_with_group)
        return write(con, config, contents, owners, target)


def _computed(con: Connection, cluster: str | None, period: str | None) -> tuple[str, Period]:
    """The cluster and the period that are meant."""
    names = database.fetch(con, "SELECT cluster FROM clusters ORDER BY ALL")["cluster"].to_list()
    if cluster is None and len(names) != 1:
        raise UsageError(f"choose a cluster (--cluster): {printable(', '.join(names)) or 'none'}")
    name = names[0] if cluster is None else cluster
    found = [
        Period(called, from_time, to_time)
        for called, from_time, to_time, _ in queries.rows(con, "computed", cluster=name)
        if from_time is not None and to_time is not None and period in (None, called)
    ]
    if not found:
        which = "no period" if period is None else f"no period {period!r}"
        raise UsageError(f"cluster {printable(name)!r}: {which} was computed")
    return name, max(found, key=lambda of: (of.to_time, of.from_time))
