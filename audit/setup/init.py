"""A first config.toml for a site, from its logs and from what Slurm's programs say.

``infer`` finds out what it can and says from what (``Fact``), ``write`` makes the text of it
(``annotated``), ``save`` the file. Nothing is asked here: that is left to the command line.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from audit import config, periods
from audit.cluster import inference
from audit.cluster.inference import Fact
from audit.cluster.setting import latest_instant
from audit.config.toml import value
from audit.errors import DialectError, UsageError
from audit.files import folders
from audit.files.replace import write as replace_file
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Header, Reading
from audit.formats.slurm import scontrol
from audit.ingest.ingest import Progress, take_in
from audit.ingest.logs import Opened, open_logs
from audit.model import Resource
from audit.nightly import sources
from audit.setup import annotated, slurm
from audit.setup.slurm import NO_FILES, SlurmFiles
from audit.store import database, migrations, queries

_UNNAMED = "cluster"
"""What the cluster is called while its name is not known."""

_TARGETS = "To fill in where there are targets, like {{ {0} = 0.6, {1} = 0.4 }}."
_PEAK = "each run takes the peak in use"

_AS_SLURM = {
    "order": "From slurm.conf (PriorityType); weights and factors are those of its files.",
    "backfill": "From slurm.conf (SchedulerType).",
    "limits": "As sacctmgr and scontrol say them (Max…, Grp…, MaxTime).",
    "depth": "From slurm.conf (bf_max_job_test; Slurm's default where it is not there).",
    "interval_s": "From slurm.conf (bf_interval; Slurm's default where it is not there).",
}
"""What to say above the keys of a pool that ``slurm.policy`` fills."""


@dataclass(frozen=True)
class Draft:
    """What is known of a cluster before anybody has looked at it."""

    name: str | None
    """None where neither the user, nor a log, nor the partitions say it."""
    zone: str
    pools: tuple[config.Pool, ...]
    sources: tuple[config.Source, ...]
    usage: config.Usage = field(default_factory=config.Usage)
    facts: tuple[Fact, ...] = ()
    """What was inferred, and from what."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Comments to put above keys, by key path (``clusters.pools[0].capacity``)."""

    def named(self, name: str) -> Draft:
        """The same, of a cluster that the user calls so."""
        return replace(self, name=name)

    @property
    def cluster(self) -> config.Cluster:
        """The cluster as config.toml will have it.

        Raises:
            UsageError: its name is not known, or is no Unicode.
        """
        if not self.name:
            raise UsageError("the cluster's name is not known: name it (--name)")
        _refuse_bytes(self.name)
        return config.Cluster(
            name=self.name,
            zone=self.zone,
            pools=self.pools,
            sources=self.sources,
            usage=self.usage,
        )


def infer(
    logs: Sequence[Path],
    files: SlurmFiles = NO_FILES,
    name: str | None = None,
    zone: str | None = None,
    reading: Reading = PLAIN,
    folder: Path = Path(),
    progress: Progress = lambda what, done, of: None,
) -> Draft:
    """Finds out what logs and Slurm's programs say of a cluster.

    Logs are taken in as an audit would, into a store that is thrown away: what is refused there
    would be refused in every run.

    Args:
        logs: accounting logs, or folders of them; may be none.
        name: what the cluster is called; None lets logs and files say it. Logs that name
            clusters must have records of this one.
        zone: its time zone; None lets the logs say it.
        folder: where config.toml will lie, which its paths are relative to.

    Raises:
        UsageError: a file is missing or of no use, the zone is unknown, or the logs are of several
            clusters or of another one.
        LogError: a log cannot be read, or more of it is refused than may be.
    """
    _refuse_unfit(logs, files, name, zone, reading)
    texts = slurm.texts(files)
    reading = replace(reading, zone=zone)
    by_source = [_source(path, reading, folder) for path in logs]
    opened = [log for _, logs_of_source in by_source for log in logs_of_source]
    headers = [log.header for log in opened]
    seen = _look_into(opened, name, progress) if opened else None
    content = slurm.read(files, texts, name or (seen.cluster if seen else None))
    cluster = _name(name, seen, headers, content)
    facts = [] if cluster is None else [cluster]
    in_zone = _doubted(inference.zone(zone, headers), opened)
    facts.append(in_zone)
    notes = {"clusters.zone": _origin_of_zone(in_zone, zone)}
    if content.listing is not None and files.partitions is not None:
        pools = _pools_of(content.listing, files.partitions, seen, facts, notes)
    else:
        pools = (_whole(seen, headers, facts, notes),)
    pools = _deciding(pools, content, facts, notes)
    usage = _usage(content, folder, facts, notes)
    for source, logs_of_source in by_source:
        dialect = ", ".join(sorted({log.dialect.title for log in logs_of_source}))
        facts.append(Fact(f"logs {source.files}", dialect, "their content"))
    return Draft(
        None if cluster is None else cluster.value,
        in_zone.value,
        pools,
        tuple(source for source, _ in by_source),
        usage,
        tuple(facts),
        notes,
    )


def _refuse_unfit(
    logs: Sequence[Path],
    files: SlurmFiles,
    name: str | None,
    zone: str | None,
    reading: Reading,
) -> None:
    """Refuses what no config.toml can say."""
    if name == "":
        raise UsageError("--name: a name has at least one letter")
    if zone is not None:
        periods.zone(zone)
    paths = map(str, (*logs, *files.given.values()))
    _refuse_bytes(*paths, *(reading.columns or ()), reading.separator or "")


def _origin_of_zone(zone: Fact, named: str | None) -> str:
    if named or zone.source.endswith(("header", "headers")):
        return f"From {zone.source}."
    return "To check: nothing says it."


def _usage(
    content: slurm.Content, folder: Path, facts: list[Fact], notes: dict[str, str]
) -> config.Usage:
    """How usage is kept, as Slurm's files say; the defaults where there are none."""
    usage = config.Usage()
    if content.files.tell_usage:
        paths = {key: str(_from(folder, path)) for key, path in content.files.given.items()}
        draft = slurm.usage(content, paths)
        usage = draft.usage
        facts += draft.facts
        notes |= {f"clusters.usage.{key}": note for key, note in draft.notes.items()}
    if not usage.has_tree:
        notes["clusters.usage.users"] = _TARGETS.format("ann", "bob")
        notes["clusters.usage.accounts"] = _TARGETS.format("physics", "biology")
    return usage


@dataclass(frozen=True)
class _Seen:
    """What the records of the logs say."""

    attempts: pl.DataFrame
    cluster: str | None
    partitions: tuple[str, ...]


def _refuse_bytes(*texts: str) -> None:
    """Arguments are bytes to the system; those that are no text no config.toml can hold."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{text!a}: not UTF-8, as all of config.toml must be: rename it"
            ) from error


def _source(path: Path, reading: Reading, folder: Path) -> tuple[config.Source, list[Opened]]:
    """A source of config.toml, and the logs that it has now."""
    pattern = glob.escape(str(_from(folder, path)))
    files = [path]
    if path.is_dir():
        pattern += "/*"
        files = sources.files(config.Source(files=pattern), folder)
        if not files:
            raise UsageError(f"{path}: no file in this folder; name a log")
    opened = open_logs(files, None, reading)
    bare = _least(reading, opened)
    declared = bare.columns is not None or bare.separator is not None
    source = config.Source(
        files=pattern,
        dialect=opened[0].dialect.name if declared else None,
        columns=bare.columns,
        separator=bare.separator,
    )
    return source, opened


def _from(folder: Path, path: Path) -> Path:
    """A path as seen from a folder; as it was given where that is the same."""
    here = folder.resolve()
    if path.is_absolute() or here == Path().resolve():
        return path
    return Path(os.path.relpath(path.parent.resolve() / path.name, here))


def _least(reading: Reading, logs: Sequence[Opened]) -> Reading:
    """What must be said of logs: the configuration need not repeat what they say themselves."""
    for less in (
        replace(reading, columns=None, separator=None),
        replace(reading, columns=None),
        replace(reading, separator=None),
    ):
        if all(_is_enough(less, log) for log in logs):
            return less
    return reading


def _is_enough(reading: Reading, log: Opened) -> bool:
    """Whether a log is read the same when no more than this is said of it."""
    head = log.source.head
    try:
        dialect = dialects.detect(head, log.where, reading)
        return (
            dialect is log.dialect and dialect.header(head, reading).entries == log.header.entries
        )
    except DialectError:
        return False


def _look_into(logs: Sequence[Opened], name: str | None, progress: Progress) -> _Seen:
    cluster = name or _UNNAMED
    with migrations.temporary() as con:
        try:
            limit = config.Ingest().refused_limit
            taken = take_in(con, cluster, logs, called=name, limit=limit, progress=progress)
        except UsageError as error:
            raise UsageError(f"{error} (--name)") from error
        named = database.fetch(
            con,
            "SELECT DISTINCT log_cluster FROM inputs WHERE log_cluster IS NOT NULL ORDER BY 1",
        )["log_cluster"].to_list()
        attempts = queries.run(con, "attempts", cluster=cluster, since=None, until=None)
    if len(named) > 1:
        raise UsageError(f"the logs are of several clusters ({', '.join(named)}): choose (--name)")
    if attempts.is_empty() and any(log.elsewhere for log in taken):
        raise UsageError(
            f"--name {name!r}: the logs have no record of a cluster of this name, so a run would "
            "leave all of them out; without --name it is called as they call it"
        )
    listed = attempts["partition"].drop_nulls().unique().to_list()
    partitions = {part for text in listed for part in text.split(",") if part}
    return _Seen(attempts, named[0] if named else None, tuple(sorted(partitions)))


def _name(
    asked: str | None,
    seen: _Seen | None,
    headers: Sequence[Header],
    content: slurm.Content,
) -> Fact | None:
    what = "cluster"
    if asked is not None:
        return Fact(what, asked, "--name")
    if seen is not None and seen.cluster:
        return Fact(what, seen.cluster, "the log's records")
    if content.cluster is not None:
        return content.cluster
    computers = {header.entries.get("Computer", "").strip() for header in headers} - {""}
    if len(computers) == 1:
        return Fact(what, computers.pop(), "the log's header")
    return None


def _doubted(zone: Fact, logs: Sequence[Opened]) -> Fact:
    """The time zone; with a warning where local times were read in a zone that nobody named."""
    local = [log for log in logs if "zone" in log.header.entries and log.header.zone is None]
    if zone.warning or not local:
        return zone
    return replace(
        zone,
        warning=f"the logs do not say which time zone their times are of: {zone.value} is taken; "
        "name the cluster's with --zone",
    )


def _pools_of(
    listing: scontrol.Listing,
    path: Path,
    seen: _Seen | None,
    facts: list[Fact],
    notes: dict[str, str],
) -> tuple[config.Pool, ...]:
    """The pools of partitions that share nodes."""
    source = f"scontrol ({path.name})"
    groups = scontrol.shared(listing.partitions)
    pools = []
    for index, group in enumerate(groups):
        amounts = scontrol.capacity(group)
        name = _pool_name(group, alone=len(groups) == 1)
        partitions = tuple(sorted(partition.name for partition in group))
        exclusive = "nodes" in amounts and all(partition.exclusive for partition in group)
        if exclusive:
            notes[f"clusters.pools[{index}].exclusive_nodes"] = (
                f"From {path.name} (OverSubscribe=EXCLUSIVE)."
            )
        pools.append(
            config.Pool(
                name=name,
                partitions=partitions,
                capacity=config.Amounts(**amounts),
                exclusive_nodes=exclusive,
            )
        )
        listed = ", ".join(f"{amount:,} {resource}" for resource, amount in amounts.items())
        facts.append(Fact(f"pool {name!r}", f"{', '.join(partitions)}: {listed or '?'}", source))
        notes[f"clusters.pools[{index}].capacity"] = (
            f"From {source}."
            if "cpus" in amounts
            else f"To fill in, like {{ cpus = 512 }}: {source} does not say it, and {_PEAK}."
        )
    facts += [Fact("partitions", str(path), source, problem) for problem in listing.problems]
    empty = [partition.name for partition in listing.partitions if not partition.nodes]
    if empty:
        facts.append(Fact("partitions without nodes", ", ".join(empty), source))
    in_pools = {partition for pool in pools for partition in pool.partitions}
    strays = [
        partition for partition in (seen.partitions if seen else ()) if partition not in in_pools
    ]
    if strays:
        listed = ", ".join(strays)
        facts.append(
            Fact(
                "partitions in no pool",
                listed,
                "the log",
                f"the log has partitions that {path.name} gives no nodes: {listed}; add each to "
                "the pool whose hardware it has, or runs put them into one of their own",
            )
        )
        notes["clusters.pools[0].partitions"] = f"To add, from the log: {value(tuple(strays))}"
    return tuple(pools) or (config.Pool(name=inference.POOL),)


def _deciding(
    pools: Sequence[config.Pool], content: slurm.Content, facts: list[Fact], notes: dict[str, str]
) -> tuple[config.Pool, ...]:
    """The pools with the policy and the limits that Slurm's files tell of."""
    policy = slurm.policy(content, facts)
    limits = slurm.limits(content, pools, facts)
    decided = []
    for index, pool in enumerate(pools):
        keys = [*policy, *(["limits"] if limits[index] else [])]
        notes |= {f"clusters.pools[{index}].{key}": _AS_SLURM[key] for key in keys}
        decided.append(pool.model_copy(update=policy | {"limits": limits[index]}))
    return tuple(decided)


def _pool_name(group: Sequence[scontrol.Partition], *, alone: bool) -> str:
    if len(group) == 1:
        return group[0].name
    if alone:
        return inference.POOL
    return max(group, key=lambda part: (len(part.nodes), part.total.get("cpus", 0))).name


def _whole(
    seen: _Seen | None, headers: Sequence[Header], facts: list[Fact], notes: dict[str, str]
) -> config.Pool:
    """The one pool of a cluster whose hardware nobody described; of all its partitions."""
    path = "clusters.pools[0]"
    if seen is None:
        notes[f"{path}.capacity"] = f"To fill in, like {{ cpus = 512 }}: without, {_PEAK}."
        return config.Pool(name=inference.POOL)
    if seen.partitions:
        facts.append(Fact("partitions", ", ".join(seen.partitions), "the log"))
        notes[f"{path}.partitions"] = f"Seen in the log: {value(seen.partitions)}"
    present = [kind for kind in Resource if not seen.attempts[kind].drop_nulls().is_empty()]
    resource = present[0] if present else Resource.cpus
    claimed = max((header.capacity.get(resource, 0) for header in headers), default=0)
    what = f"capacity of pool {inference.POOL!r}"
    amounts: dict[str, int] = {}
    if not claimed or not present:
        note = f"Left out, as the log's header does not say it: {_PEAK}."
        facts.append(Fact(what, "the peak in use", "default: the log's header names none"))
    else:
        now = latest_instant(seen.attempts) or 0
        pool, fact = inference.pool(seen.attempts, headers, resource, None, now)
        if fact.warning is None:
            note = f"From {fact.source}."
            amounts = {resource.value: pool.capacity}
        else:
            why = f"the log refutes its header's {claimed:,} {resource}"
            note = f"Left out, as {why}: {_PEAK}."
            fact = replace(fact, warning=f"{why}, as up to {pool.capacity:,} were in use: {_PEAK}")
        facts.append(fact)
    notes[f"{path}.capacity"] = note
    return config.Pool(name=inference.POOL, resource=resource, capacity=config.Amounts(**amounts))


def write(draft: Draft) -> str:
    """The text of a config.toml with the cluster of a draft; see ``annotated.text``.

    Raises:
        UsageError: the cluster's name is not known, or is no Unicode.
    """
    return annotated.text(draft.cluster, draft.notes)


def refuse_existing(path: Path, *, force: bool = False) -> None:
    """Checks that a file may be written.

    Raises:
        UsageError: there is one already, and it may not be replaced; or there is no such folder.
    """
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name the file to write (--output)")
    if not force and os.path.lexists(path):
        raise UsageError(f"{path}: exists already; --force replaces it, --output names another")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder (--output)")
    folders.require(path.parent)


def save(path: Path, text: str, *, force: bool = False) -> None:
    """Writes a configuration, whole or not at all.

    Raises:
        UsageError: as ``refuse_existing``, or the file cannot be written.
    """
    refuse_existing(path, force=force)
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error
