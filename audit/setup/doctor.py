"""Checks of an installation and its configuration, with remedies."""

import itertools
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from audit import memory, periods, resources
from audit.analyst import reader
from audit.cluster import declared, fairshare, hardware
from audit.cluster.setting import ClusterSettings
from audit.config import Cluster, Config, places
from audit.config import load as load_config
from audit.errors import AuditError, DeliveryError, OtherVersionError, UsageError, withholding
from audit.files import folders
from audit.formats import dialects
from audit.ingest import people
from audit.mail import transport
from audit.metrics.attempts.reasons import any_of, in_scope
from audit.metrics.slurm.explained import misfits
from audit.model import DESCRIBED, Limit, Pool
from audit.nightly import due, history, sources, stages
from audit.nightly.keeping import archiving
from audit.pipeline.drawing import names as names_of
from audit.pipeline.published import open_published
from audit.report.charts import drawing
from audit.report.contents import Who
from audit.report.render import page
from audit.rules import KINDS, WEEK
from audit.store import database, migrations, queries, snapshots
from audit.words import first_of, plural
from audit.workers import chosen


@dataclass(frozen=True)
class CheckResult:
    """The result of one check."""

    what: str
    ok: bool
    found: str
    remedy: str = ""


Check = tuple[str, Callable[[], str], str]
"""A name, a function that returns a finding or raises, and the remedy."""


def examine(config_path: Path | None, published: Path | None) -> list[CheckResult]:
    """Check the installation, the configuration and, if named, a published database."""
    checks: list[Check] = [
        ("Python", _python, "use Python 3.11 or newer"),
        ("files of the installation", _files, "reinstall fairaudit"),
        ("dialects", lambda: ", ".join(dialects.table()), "reinstall fairaudit"),
        ("database", _database, "make the temporary folder (TMPDIR) writable"),
        ("SQL of analysts", reader.layers, "reinstall fairaudit"),
        ("kernels", _kernels, "in a checkout: make kernels; otherwise reinstall fairaudit"),
        (
            "charts and PDF",
            lambda: f"{page.try_out():,} bytes of PDF",
            "as root: apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 "
            "fonts-dejavu-core",
        ),
        ("pictures in mails", _pictures, ""),
        (
            "configuration",
            lambda: str(config_path) if config_path and load_config(config_path) else "defaults",
            "correct the keys above; config.toml in fairaudit's checkout shows all keys",
        ),
    ]
    if config_path is not None:
        for what, check, remedy in _configured(config_path, published):
            checks.append((what, partial(_unless_outdated, check), remedy))
    if published is not None:
        check = partial(_published, published, config_path)
        checks.append((f"database {published}", check, "audit the logs again"))
    return [_done(*check) for check in checks]


def _done(what: str, check: Callable[[], str], remedy: str) -> CheckResult:
    try:
        return CheckResult(what, True, check())
    except (AuditError, OSError, ImportError) as error:
        return CheckResult(what, False, str(error), remedy)


def _unless_outdated(check: Callable[[], str]) -> str:
    """Return what a check finds, also after an upgrade: then the next run publishes anew."""
    try:
        return check()
    except OtherVersionError:
        return (
            "not compared with the published database: another version made it, or it was changed; "
            "the next 'fairaudit run' publishes it again"
        )


def _python() -> str:
    version = platform.python_version()
    if not transport.breaks_headers():
        return version
    return (
        f"{version}; its email library lets a name add a header to a mail (CVE-2024-6923). "
        "fairaudit refuses to send such a mail; for other programs, use Python 3.11.10, 3.12.5 or "
        "newer, or a patched package of your distribution"
    )


def _files() -> str:
    folders = ("sql/schema", "sql/queries", "sql/checks", "sql/views")
    counts = [f"{len(resources.files(folder, '.sql'))} in {folder}" for folder in folders]
    resources.path("templates/report")
    resources.path("config.toml")
    return ", ".join(counts)


def _database() -> str:
    with migrations.temporary() as con:
        return f"DuckDB {database.fetch(con, 'SELECT version()').item()}"


def _kernels() -> str:
    from audit.metrics.attempts import resource_equality

    resource_equality.resource_equality(pl.DataFrame(schema=DESCRIBED), 0)
    return "compiled"


def _pictures() -> str:
    if drawing.has_png():
        return "resvg draws them"
    return "resvg-py is not installed, so mails have no pictures; to add them: pip install resvg-py"


def _configured(path: Path, published: Path | None) -> Iterator[Check]:
    """Yield the checks of a configuration, unless it cannot be loaded."""
    try:
        config = load_config(path)
    except AuditError:
        return
    folder = path.parent
    site = places.Site(config, folder)
    data = published or site.database
    archive = site.archive_of(data)
    change = "change the permissions named above"
    yield "permissions of config.toml", partial(_own, stages.require_own_config, path), change
    yield (
        "output folders",
        partial(_own, stages.require_own_outputs, site),
        f"{change}, or name other folders in [output]",
    )
    for cluster in config.clusters:
        remedy = "correct clusters.sources, hardware or usage of this cluster"
        yield f"cluster {cluster.name!r}", partial(_cluster, cluster, folder), remedy
    for cluster in config.clusters:
        if any(pool.limits or pool.windows for pool in cluster.pools):
            yield (
                f"limits and windows of {cluster.name!r}",
                partial(_rules, cluster, config, data, archive),
                "correct limits and windows of clusters.pools of this cluster",
            )
    for cluster in config.clusters:
        if cluster.usage.method != "windows":
            yield (
                f"half-life and reset of {cluster.name!r}",
                partial(_decay, cluster, folder, data, archive),
                "correct usage of this cluster",
            )
    yield (
        "memory",
        partial(_memory, config, data, archive),
        "give it more memory, or set retention.archive_months so that fewer jobs are read at once",
    )
    yield "mail", partial(_mail, config, folder), "correct [mail]"
    if config.mail.via != "none" and any(entry.owners for entry in config.recipients):
        yield (
            "users and accounts of recipients",
            partial(_named, config, data, archive),
            "correct users and accounts of [[recipients]]",
        )
    if config.compute.engine == "dask":
        try_out = partial(chosen.tried, config.compute)
        yield "workers", try_out, "correct [compute], or the workers; see docs/service.md"
    examine_archive = partial(archiving.examine_owner, site)
    yield "archive", examine_archive, "choose another folder (output.archive)"
    yield (
        "history of runs",
        partial(history.inspected, site.state),
        "restore the state folder from a backup, or do what the message says",
    )


def _own(require: Callable[..., object], *arguments: object) -> str:
    require(*arguments)
    return "no other user can change this"


def _cluster(cluster: Cluster, folder: Path) -> str:
    setting = ClusterSettings(cluster.name, periods.zone(cluster.zone), (), {}, 0, (), ())
    with withholding(when=bool(cluster.people.hidden)):
        fairshare.decay_method(fairshare.read(cluster.usage, folder, cluster.name), setting)
    parts = []
    if people.filter_of(cluster, folder).hides:
        parts.append("names become pseudonyms")
    elif cluster.people.file is not None:
        parts.append("people.file is valid")
    parts += _nodes(cluster, folder)
    for source in (*cluster.sources, *cluster.evidence):
        if source.command is None:
            count = len(sources.files(source, folder))
            parts.append(f"{plural(count, 'file')} matching {source.files!r}")
            continue
        program = shutil.which(source.command[0])
        if program is None:
            raise AuditError(f"no program {source.command[0]!r} on the PATH ({source.section})")
        try:
            folders.require(folder / program)
        except OSError as error:
            raise AuditError(
                f"{folder / program}: runs as this user, but {error.strerror} ({source.section})"
            ) from error
        parts.append(f"command {program}")
    return "; ".join(parts) or "no sources: there are no logs to read"


def _nodes(cluster: Cluster, folder: Path) -> Iterator[str]:
    """Yield how many nodes are declared, where, and what is wrong with the files."""
    found = declared.configured(cluster, folder)
    if found.nodes:
        yield f"{plural(len(found.nodes), 'node')} from {found.nodes[0].source}"
    for pool in cluster.pools:
        if nodes := hardware.tables(pool):
            yield f"{plural(len(nodes), 'node')} of pool {pool.name!r} from {nodes[0].source}"
    if found.absences:
        yield f"{plural(len(found.absences), 'time')} of nodes out of service"
    yield from found.cautions


def _decay(cluster: Cluster, folder: Path, path: Path, archive: Path | None) -> str:
    """Compare half-life, reset and the longest walltime; a site may have reasons for a misfit."""
    longest = None
    if path.is_file():
        sql = "SELECT max(walltime_s) FROM all_results WHERE cluster = $cluster"
        with closing(snapshots.open_snapshot(path, archive=archive)) as con:
            ((longest,),) = database.rows(con, sql, {"cluster": cluster.name})
    with withholding(when=bool(cluster.people.hidden)):
        usage = fairshare.read(cluster.usage, folder, cluster.name)
    if usage.chosen.method == "slurm":
        settings = usage.half_life_s, usage.reset, usage.period_s
    else:
        settings = usage.chosen.half_life_days * fairshare.DAY_S, "none", 0
    found = misfits(*settings, longest)
    return "; ".join(found) or "they fit together, also with the longest walltime of the logs"


def _memory(config: Config, path: Path, archive: Path | None) -> str:
    """Compare the memory for the largest cluster with what this process may use."""
    attempts = 0
    if path.is_file():
        with closing(snapshots.open_snapshot(path, archive=archive)) as con:
            counts = database.rows(con, "SELECT count(*) FROM all_results GROUP BY cluster")
        attempts = max((count for (count,) in counts), default=0)
    at_once = min(attempts, due.AT_ONCE) if config.retention.archive_months else attempts
    need, have = memory.needed(at_once), memory.available()
    text = f"{need / 1e9:,.1f} GB for {at_once:,} attempts at once; {have / 1e9:,.1f} GB available"
    if need > have:
        raise AuditError(text)
    return text


def _mail(config: Config, folder: Path) -> str:
    """Check everything about mail except sending one."""
    mail = config.mail
    if mail.via == "none":
        return "none is sent (mail.via)"
    if why := transport.post(mail, folder, hides=config.hides()).reach():
        raise DeliveryError(why.said)
    return f"outbox {mail.outbox}" if mail.via == "outbox" else f"{mail.host} accepts mail"


def _named(config: Config, path: Path, archive: Path | None) -> str:
    """Look for users and accounts of recipients in the logs; missing ones may be typos or new."""
    if not path.is_file():
        return "nothing is published yet"
    with closing(snapshots.open_snapshot(path, archive=archive)) as con:
        known = {one.name: names_of(con, one.name) for one in config.clusters}
    unknown = []
    for number, entry in enumerate(config.recipients):
        of = [names for name, names in known.items() if name in (entry.clusters or known)]
        for who in itertools.starmap(Who, entry.owners):
            if not any(who in names for names in of):
                near = next(filter(None, (names.nearest(who) for names in of)), None)
                hint = f"; did you mean {near}?" if near else ""
                unknown.append(f"recipients[{number}].{who.kind}s: {who.name}{hint}")
    return f"no log names {', '.join(unknown)}" if unknown else "the logs contain all of them"


def _published(path: Path, site: Path | None) -> str:
    archive = None
    with suppress(AuditError):  # the configuration has a separate check
        archive = site and places.Site(load_config(site), site.parent).archive_of(path)
    with closing(snapshots.open_snapshot(path, archive=archive)) as con:
        if failed := queries.failed_checks(con):
            raise AuditError(f"failed checks: {', '.join(failed)}")
        attempts = database.fetch(con, "SELECT count(*) FROM all_results").item()
    return f"{attempts:,} attempts, every check passes"


def pseudonyms(
    config: Config, folder: Path, cluster: str | None, names: Sequence[tuple[str, str]]
) -> list[tuple[str, str, str]]:
    """Return columns, names and their pseudonyms; without a cluster, under the only key.

    Raises UsageError if there are no names, not exactly one key, or a column without pseudonyms.
    """
    keyed = [of for of in config.clusters if of.people.hidden and cluster in (None, of.name)]
    if not keyed:
        where = "no cluster has" if cluster is None else f"cluster {cluster!r} does not have"
        raise UsageError(f"pseudonym: {where} people.key_file")
    if len(keyed) > 1:
        listed = ", ".join(of.name for of in keyed)
        raise UsageError(f"pseudonym: clusters with people.key_file: {listed}; choose (--cluster)")
    (of,) = keyed
    if not names:
        raise UsageError("pseudonym: give names with --user NAME or --account NAME")
    if kept := sorted({column for column, _ in names} - set(of.people.hidden)):
        raise UsageError(f"pseudonym: names of each {kept[0]} are kept (people.pseudonyms)")
    people_filter = people.filter_of(of, folder)
    return [(column, name, people_filter.pseudonym(column, name)) for column, name in names]


def _rules(cluster: Cluster, config: Config, published: Path, archive: Path | None) -> str:
    """Count a cluster's limits and windows, and look for their names in the published logs."""
    limits, windows = (
        sum(len(getattr(pool, key)) for pool in cluster.pools) for key in ("limits", "windows")
    )
    has = f"{limits:,} limits, {windows:,} windows"
    if not published.is_file():
        return f"{has}; no database yet to compare names with"
    try:
        log = open_published(published, config, cluster.name, archive=archive)
    except UsageError:
        return f"{has}; {published} has no cluster {cluster.name!r} yet"
    if found := list(_impossible(log.described, log.setting.pools)):
        raise AuditError("; ".join(found))
    unknown = list(_unknown(log.described, log.setting.pools))
    return "; ".join([has, *(unknown or ["the logs have every name"])])


def _unknown(described: pl.DataFrame, pools: tuple[Pool, ...]) -> Iterator[str]:
    scopes = [rule for pool in pools for rule in (*pool.limits, *pool.windows)]
    for kind in KINDS:
        named = {name for scope in scopes for name in getattr(scope, kind) or ()}
        if kind == "qos":
            named |= {name for pool in pools for limit in pool.limits for name in limit.exempt_qos}
        if missing := sorted(named - set(described[kind].unique().to_list())):
            yield f"no log has {kind} {first_of(list(map(repr, missing)))}"


def _impossible(described: pl.DataFrame, pools: tuple[Pool, ...]) -> Iterator[str]:
    ran = described.filter(pl.col("start_time").is_not_null())
    for pool in pools:
        jobs = ran.filter(pl.col("pool") == pool.name).rename({"occupancy_s": "occupancy"})
        for number, limit in enumerate(pool.limits, 1):
            least = _least(jobs, limit)
            if least is not None and least > limit.most:
                yield (
                    f"limit {number} of pool {pool.name!r}: at most {limit.most:,} "
                    f"{limit.resource or 'jobs'}, but no job in its scope requested less than "
                    f"{least:,}"
                )
        for number, window in enumerate(pool.windows, 1):
            if len(window.hours) == WEEK:
                yield f"window {number} of pool {pool.name!r} is closed at all hours"


def _least(jobs: pl.DataFrame, limit: Limit) -> int | None:
    """Return the smallest request in a limit's scope; None: no job, or it excludes all."""
    bounds = (limit.walltime_above_s, limit.size_above, limit.size_up_to)
    if limit.most == 0 and any(bound is not None for bound in bounds):
        return None
    bound = in_scope(jobs, limit) & ~any_of(jobs["qos"], limit.exempt_qos)
    if not bound.any():
        return None
    if limit.resource is None:
        return 1
    least = jobs.filter(pl.Series(bound))[limit.resource].min()
    return least if isinstance(least, int) else None
