"""``fairaudit report --user U``: pages of users and accounts from a site's published database."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from audit.config import Config, places
from audit.errors import UsageError, unpublished
from audit.files import privacy
from audit.model import Period
from audit.pipeline import drawing
from audit.progress import printable
from audit.report.contents import Who
from audit.store import database, queries, snapshots
from audit.store.database import Connection


def from_published(
    config: Config,
    folder: Path,
    whose: Sequence[Who],
    cluster: str | None = None,
    period: str | None = None,
) -> tuple[Path, ...]:
    """Write pages into the folder of a period's report, and return their paths.

    ``cluster`` may be left out if there is only one; ``period`` defaults to the latest.

    Raises:
        UsageError: no such database, cluster, period, user or account.
        StoreError: the database cannot be read.
    """
    site = places.Site(config, folder)
    path = site.database
    if not path.is_file():
        raise unpublished(path)
    memory_limit = config.sql.memory_limit
    opened = snapshots.open_snapshot(path, memory_limit=memory_limit, archive=site.archive)
    with closing(opened) as con:
        name, of = _computed(con, cluster, period)
        drawing.names(con, name).require(whose)
        contents = drawing.contents_of(con, config, name, of)
        target = site.report(name, of.name)
        privacy.shared_folder(target, with_group=config.output.shared_with_group)
        linked = (target / drawing.HTML).is_file()
        return drawing.write(con, config, contents, whose, target, linked=linked)


def _computed(con: Connection, cluster: str | None, period: str | None) -> tuple[str, Period]:
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
    ((latest,),) = queries.rows(con, "latest_instant", cluster=name)
    over = [of for of in found if of.to_time <= latest]  # a month that goes on has few figures
    return name, max(over or found, key=lambda of: (of.to_time, of.from_time))
