"""Is fairaudit set up so that it can work here, and if not, what is to be done?"""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from audit import config, periods, resources
from audit.analyst import reader
from audit.cluster import fairshare
from audit.cluster.setting import Setting
from audit.config import places
from audit.errors import AuditError, DeliveryError, UsageError, withholding
from audit.files import folders
from audit.formats import dialects
from audit.ingest import people
from audit.mail import transport
from audit.metrics.attempts.reasons import any_of, in_scope
from audit.model import Limit, Pool
from audit.nightly import sources, stages
from audit.nightly.keeping import archiving
from audit.pipeline import owners
from audit.pipeline.published import open_published
from audit.report.record.page import Who
from audit.report.render import page
from audit.rules import KINDS, WEEK
from audit.store import database, migrations, queries


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    found: str
    remedy: str = ""


Check = tuple[str, Callable[[], str], str]
"""What is looked at, how (the function returns what it found), and the remedy if that fails."""


def examine(config_path: Path | None, published: Path | None) -> list[Finding]:
    """Looks at the installation, the configuration and, where named, a published database.

    Each check really does what a run would do, in a temporary folder.
    """
    checks: list[Check] = [
        ("Python", _python, "use Python 3.11 or newer"),
        ("files of the installation", _files, "reinstall fairaudit"),
        ("dialects", lambda: ", ".join(dialects.table()), "reinstall fairaudit"),
        ("database", _database, "make the temporary folder (TMPDIR) writable"),
        ("SQL of analysts", reader.layers, "reinstall fairaudit"),
        ("kernels", _kernels, "in a checkout: make kernels; else install fairaudit again"),
        (
            "charts and PDF",
            _rendering,
            "as root: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 "
            "fonts-dejavu-core",
        ),
        (
            "configuration",
            lambda: _configuration(config_path),
            "mend the keys named above; config.toml beside fairaudit's README shows all of them",
        ),
    ]
    if config_path is not None:
        checks += _configured(config_path, published)
    if published is not None:
        found = partial(_published, published, config_path)
        checks.append((f"database {published}", found, "audit the logs again"))
    return [_done(*check) for check in checks]


def _done(what: str, check: Callable[[], str], remedy: str) -> Finding:
    try:
        return Finding(what, True, check())
    except (AuditError, OSError, ImportError) as error:
        return Finding(what, False, str(error), remedy)


def _python() -> str:
    return ".".join(str(part) for part in sys.version_info[:3])


def _files() -> str:
    counts = {
        folder: len(resources.files(folder, ".sql"))
        for folder in ("sql/schema", "sql/queries", "sql/checks", "sql/views")
    }
    resources.path("templates/report")
    resources.path("config.toml")
    return ", ".join(f"{count} in {folder}" for folder, count in counts.items())


def _database() -> str:
    with migrations.temporary() as con:
        version = database.fetch(con, "SELECT version() AS version").item()
    return f"DuckDB {version}"


def _kernels() -> str:
    import polars as pl

    from audit.metrics.attempts import resource_equality
    from audit.model import DESCRIBED

    resource_equality.resource_equality(pl.DataFrame(schema=DESCRIBED), 0)
    return "compiled"


def _rendering() -> str:
    return f"{page.try_out():,} bytes of PDF"


def _configuration(path: Path | None) -> str:
    if path is None:
        return "defaults (no --config)"
    config.load(path)
    return str(path)


def _configured(path: Path, published: Path | None) -> Iterator[Check]:
    """Checks of folders, of each cluster, and of mail; none where the configuration is wrong."""
    try:
        settings = config.load(path)
    except AuditError:
        return
    folder = path.parent
    database_path = published or folder / settings.output.database
    archive = places.archive(settings, folder, database_path)
    yield (
        "permissions of config.toml",
        partial(_own_config, path),
        "change the permissions named above",
    )
    yield (
        "permissions of output folders",
        partial(_own_outputs, settings, folder),
        "change the permissions named above, or name other folders in [output]",
    )
    for cluster in settings.clusters:
        yield (
            f"cluster {cluster.name!r}",
            partial(_cluster, cluster, folder),
            "mend clusters.sources or clusters.usage of this cluster",
        )
    for cluster in settings.clusters:
        if any(pool.limits or pool.windows for pool in cluster.pools):
            yield (
                f"limits and windows of {cluster.name!r}",
                partial(_rules, cluster, settings, database_path, archive),
                "mend limits and windows of clusters.pools of this cluster",
            )
    yield "mail", partial(_mail, settings, folder), "mend [mail]"
    if settings.mail.via != "none" and any(entry.owners for entry in settings.recipients):
        yield (
            "users and accounts of recipients",
            partial(_named, settings, database_path, archive),
            "mend users and accounts of [[recipients]]",
        )
    yield (
        "archive",
        partial(archiving.examine_owner, settings, folder),
        "choose another folder (output.archive)",
    )


def _own_config(path: Path) -> str:
    stages.require_own_config(path)
    return "no other user can change it"


def _own_outputs(settings: config.Config, folder: Path) -> str:
    stages.require_own_outputs(settings, folder)
    return "no other user can change them"


def _cluster(cluster: config.Cluster, folder: Path) -> str:
    setting = Setting(cluster.name, periods.zone(cluster.zone), (), {}, 0, (), ())
    with withholding(when=bool(cluster.people.hidden)):
        fairshare.decay_method(fairshare.read(cluster.usage, folder, cluster.name), setting)
    parts = []
    if people.filter_of(cluster, folder).hides:
        parts.append("names become pseudonyms")
    elif cluster.people.file is not None:
        parts.append("people.file is in order")
    for source in cluster.sources:
        if source.command is None:
            count = len(sources.files(source, folder))
            parts.append(f"{count} files match {source.files!r}")
        elif (program := shutil.which(source.command[0], path=None)) is None:
            raise AuditError(f"no program {source.command[0]!r} on the PATH (clusters.sources)")
        else:
            _own_program(folder / program)
            parts.append(f"command {program}")
    return "; ".join(parts) or "no sources: nothing to read"


def _own_program(program: Path) -> None:
    try:
        folders.require(program)
    except OSError as error:
        raise AuditError(
            f"{program}: runs as this user, but {error.strerror} (clusters.sources)"
        ) from error


def _mail(settings: config.Config, folder: Path) -> str:
    """Goes as far as a mail could be handed over; sends none."""
    mail = settings.mail
    if mail.via == "none":
        return "none is sent (mail.via)"
    if why := transport.post(mail, folder, hides=settings.hides()).reach():
        raise DeliveryError(why.said)
    return f"outbox {mail.outbox}" if mail.via == "outbox" else f"{mail.host} would take it"


def _named(settings: config.Config, path: Path, archive: Path | None) -> str:
    """Whom recipients want to hear of and no log names: a slip, or somebody without a job yet."""
    if not path.is_file():
        return "nothing is published yet to find them in"
    with closing(database.open_snapshot(path, archive=archive)) as con:
        known = {one.name: owners.names(con, one.name) for one in settings.clusters}
    unknown = []
    for number, entry in enumerate(settings.recipients):
        of = [names for name, names in known.items() if name in (entry.clusters or known)]
        for who in itertools.starmap(Who, entry.owners):
            if not any(who in names for names in of):
                near = next(filter(None, (names.nearest(who) for names in of)), None)
                hint = f"; did you mean {near}?" if near else ""
                unknown.append(f"recipients[{number}].{who.kind}s: {who.name}{hint}")
    return f"no log names {', '.join(unknown)}" if unknown else "logs name all of them"


def _published(path: Path, site: Path | None) -> str:
    archive = None
    with suppress(AuditError):  # of the configuration, which another finding tells
        archive = None if site is None else places.archive(config.load(site), site.parent, path)
    con = database.open_snapshot(path, archive=archive)
    try:
        failed = queries.failed_checks(con)
        if failed:
            raise AuditError(f"fails: {', '.join(failed)}")
        attempts = database.fetch(con, "SELECT count(*) FROM all_results").item()
    finally:
        con.close()
    return f"{attempts:,} attempts, every check passes"


def pseudonyms(
    settings: config.Config, folder: Path, cluster: str | None, asked: Sequence[tuple[str, str]]
) -> list[tuple[str, str, str]]:
    """Columns and names, and what they become.

    Args:
        cluster: by whose key; None takes the only cluster that has one.

    Raises:
        UsageError: nothing is asked, no cluster has a key, or several have; a column keeps names.
        ConfigError: the key cannot be read.
    """
    keyed = [of for of in settings.clusters if of.people.hidden and cluster in (None, of.name)]
    if len(keyed) != 1:
        listed = ", ".join(of.name for of in keyed) or "none"
        raise UsageError(f"pseudonym: clusters with people.key_file: {listed}; choose (--cluster)")
    (of,) = keyed
    if not asked:
        raise UsageError("pseudonym: whose? --user NAME, --account NAME")
    if kept := sorted({column for column, _ in asked} - set(of.people.hidden)):
        raise UsageError(f"pseudonym: names of each {kept[0]} are kept (people.pseudonyms)")
    people_filter = people.filter_of(of, folder)
    return [(column, name, people_filter.pseudonym(column, name)) for column, name in asked]


_SHOWN: Final = 10
"""So many names of one kind are listed."""


def _rules(
    cluster: config.Cluster, settings: config.Config, published: Path, archive: Path | None = None
) -> str:
    """What there is, and which names no log has.

    Args:
        cluster: whose limits and windows; its pools must have some.
        settings: the configuration that has it.
        published: the database to compare with; it need not be there yet.
        archive: as in ``database.open_snapshot``.
    """
    pools = cluster.pools
    has = f"{sum(len(pool.limits) for pool in pools):,} limits"
    has += f", {sum(len(pool.windows) for pool in pools):,} windows"
    if not published.is_file():
        return f"{has}; no database to compare their names with yet"
    try:
        log = open_published(published, settings, cluster.name, archive=archive)
    except UsageError:
        return f"{has}; {published} has no cluster {cluster.name!r} yet"
    found = list(_impossible(log.described, log.setting.pools))
    if found:
        raise AuditError("; ".join(found))
    unknown = list(_unknown(log.described, log.setting.pools))
    return "; ".join([has, *unknown]) if unknown else f"{has}; the logs have every name"


def _unknown(described: pl.DataFrame, pools: tuple[Pool, ...]) -> Iterator[str]:
    """Names that occur in no log, by kind."""
    scopes = [rule for pool in pools for rule in (*pool.limits, *pool.windows)]
    for kind in KINDS:
        named = {name for scope in scopes for name in getattr(scope, kind) or ()}
        if kind == "qos":
            named |= {name for pool in pools for limit in pool.limits for name in limit.exempt_qos}
        missing = sorted(named - {*described[kind].unique().to_list()})
        if missing:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            yield f"no log has {kind} {', '.join(map(repr, missing[:_SHOWN]))}{more}"


def _impossible(described: pl.DataFrame, pools: tuple[Pool, ...]) -> Iterator[str]:
    """Rules that nothing in the logs could have kept."""
    ran = described.filter(pl.col("start_time").is_not_null())
    for pool in pools:
        held = ran.filter(pl.col("pool") == pool.name).rename({"occupancy_s": "occupancy"})
        for number, limit in enumerate(pool.limits, 1):
            least = _least(held, limit)
            if least is not None and least > limit.most:
                yield (
                    f"limit {number} of pool {pool.name!r}: at most {limit.most:,} "
                    f"{limit.resource or 'jobs'}, and no job that it is about asked for less than "
                    f"{least:,}"
                )
        for number, window in enumerate(pool.windows, 1):
            if len(window.hours) == WEEK:
                yield f"window {number} of pool {pool.name!r} is closed at all hours"


def _least(held: pl.DataFrame, limit: Limit) -> int | None:
    """The least that any that a limit holds asked for; None: it holds none.

    One that keeps out who asks for too much, or for too long, is meant to hold all of them.
    """
    bounds = (limit.walltime_above_s, limit.size_above, limit.size_up_to)
    if limit.most == 0 and any(bound is not None for bound in bounds):
        return None
    bound = in_scope(held, limit) & ~any_of(held["qos"], limit.exempt_qos)
    if not bound.any():
        return None
    if limit.resource is None:
        return 1
    least = held.filter(pl.Series(bound))[limit.resource].min()
    return least if isinstance(least, int) else None
