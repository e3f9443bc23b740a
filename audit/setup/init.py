"""A first config.toml for a site, from its logs and the output of Slurm's programs.

``infer`` finds values and their sources (``Fact``), ``write`` makes the text of the file from the
shipped config.toml, ``save`` writes it. Its layout is parsed: blank lines
separate sections, comments precede their key, and keys without a default are commented out.
"""

import glob
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from audit import config, periods, resources
from audit.cluster import declared, inference, slurm_files
from audit.cluster.declared import NodeFiles
from audit.cluster.inference import OF_RECORDS, Fact
from audit.cluster.slurm_files import NO_FILES, SlurmContent, SlurmFiles
from audit.config.table import presets
from audit.config.toml import escaped, value
from audit.errors import DialectError, UsageError, refusals
from audit.files import folders
from audit.files.replace import write as replace_file
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Header, Reading
from audit.formats.table.proposals import propose
from audit.ingest.ingest import take_in
from audit.ingest.logs import Opened, inspect, logs_in, open_logs
from audit.progress import OnProgress, silent
from audit.setup import slurm
from audit.setup.pools import SeenInLogs, inferred, of_nodes, of_partitions
from audit.store import database, migrations, queries

_TARGETS: Final = "To fill in if there are targets, such as {{ {0} = 0.6, {1} = 0.4 }}."
_AS_SLURM: Final = {
    "order": "From slurm.conf (PriorityType); weights and factors are those of its files.",
    "backfill": "From slurm.conf (SchedulerType).",
    "limits": "From sacctmgr and scontrol (Max…, Grp…, MaxTime).",
    "preemption": "From slurm.conf (PreemptType, PreemptMode), scontrol and sacctmgr.",
    "depth": "From slurm.conf (bf_max_job_test; Slurm's default if it is not set).",
    "interval_s": "From slurm.conf (bf_interval; Slurm's default if it is not set).",
    "placement": "From slurm.conf (SelectTypeParameters).",
    "exclusive_nodes": "From slurm.conf (SelectType).",
    "resolution_s": "From slurm.conf (bf_resolution; Slurm's default if it is not set).",
    "batch_delay_s": "From slurm.conf (batch_sched_delay; Slurm's default if it is not set).",
}
"""Comments on the keys of a pool that ``slurm.policy`` fills."""

_OF_CLUSTER: Final = ("zone", "pools", "sources", "evidence", "usage", "hardware")
WIDTH: Final = 100  # maximum length of a line, where possible

_SECTION = re.compile(r"(\[+)([\w.]+)\]+")
_KEY = re.compile(r"(?:# )?(\w+) = .*")


@dataclass(frozen=True)
class Draft:
    """Values for a cluster."""

    name: str | None  # None if neither the user, nor a log, nor a file names it
    zone: str
    pools: tuple[config.PoolConfig, ...]
    sources: tuple[config.SourceConfig, ...]
    usage: config.UsageConfig = field(default_factory=config.UsageConfig)
    hardware: config.HardwareConfig = field(default_factory=config.HardwareConfig)
    facts: tuple[Fact, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    """Comments by key path (``clusters.pools[0].capacity``)."""
    evidence: tuple[config.EvidenceConfig, ...] = ()

    @property
    def cluster(self) -> config.Cluster:
        """The cluster of config.toml; raises UsageError if its name is unknown or not Unicode."""
        if not self.name:
            raise UsageError("the cluster's name is unknown: give it with --name")
        _refuse_bytes(self.name)
        kept = {name: getattr(self, name) for name in _OF_CLUSTER}
        return config.Cluster(name=self.name, **kept)


def infer(
    logs: Sequence[Path],
    files: SlurmFiles = NO_FILES,
    name: str | None = None,
    zone: str | None = None,
    reading: Reading = PLAIN,
    folder: Path = Path(),
    on_progress: OnProgress = silent,
    machines: NodeFiles = declared.NO_FILES,
) -> Draft:
    """Return the values in logs and the output of Slurm's programs.

    Args:
        logs: accounting logs, or folders of them; may be empty. They are read as in an audit.
        name: name of the cluster; default: from logs and files. Logs that name clusters must have
            records of this one.
        zone: its time zone; default: from the logs.
        folder: the folder of config.toml, to which its paths are relative.
        machines: files that describe nodes.

    Raises:
        UsageError: a file is missing or unusable, the zone is unknown, or the logs belong to
            several clusters, or to another cluster.
        LogError: a log cannot be read, or too many of its records are refused.
    """
    if name == "":
        raise UsageError("--name: must not be empty")
    periods.zone("UTC" if zone is None else zone)
    paths = map(str, (*logs, *files.given.values(), *machines.given.values()))
    _refuse_bytes(*paths, *(reading.columns or ()), reading.separator or "")
    texts = slurm_files.texts(files)
    reading = replace(reading, zone=zone)
    by_source = [_source(path, reading, folder) for path in logs]
    opened = [log for _, logs_of_source in by_source for log in logs_of_source]
    headers = [log.header for log in opened]
    seen = _look_into(opened, name, on_progress) if opened else None
    content = slurm_files.read(files, texts, name or (seen.cluster if seen else None))
    cluster = _name(name, seen, headers, content)
    in_zone = _doubted(inference.zone(zone, headers), opened)
    facts = [fact for fact in (cluster, in_zone) if fact]
    notes = {"clusters.zone": _origin(in_zone, asked=zone is not None)}
    found = declared.read(machines, in_zone.value, name or (cluster.value if cluster else None))
    facts += [Fact("nodes", "partly read", "their files", why) for why in found.cautions]
    if content.listing is not None and files.partitions is not None:
        pools = of_partitions(content.listing, files.partitions, seen, facts, notes)
    elif found.nodes:
        pools = of_nodes(found.nodes, seen, facts, notes)
    else:
        pools = inferred(seen, headers, facts, notes)
    pools = _deciding(pools, content, facts, notes)
    usage = _usage(content, folder, facts, notes)
    for source, logs_of_source in by_source:
        dialect = ", ".join(sorted({log.dialect.title for log in logs_of_source}))
        facts.append(Fact(f"logs {source.files}", dialect, "their content"))
    named = None if cluster is None else cluster.value
    all_sources = tuple(source for source, _ in by_source)
    shapes = {key: str(_from(folder, path)) for key, path in machines.given.items()}
    described = (all_sources, usage, config.HardwareConfig(**shapes))
    return Draft(named, in_zone.value, pools, *described, tuple(facts), notes)


def _origin(zone: Fact, *, asked: bool) -> str:
    known = asked or zone.source.endswith(("header", "headers", "columns"))
    return f"From {zone.source}." if known else "To check: the logs do not name it."


def _usage(
    content: SlurmContent, folder: Path, facts: list[Fact], notes: dict[str, str]
) -> config.UsageConfig:
    usage = config.UsageConfig()
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


def _refuse_bytes(*texts: str) -> None:
    """Refuse arguments that are not UTF-8, which config.toml cannot hold."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError(f"{text!a}: not UTF-8, as config.toml must be: rename it") from error


def _source(path: Path, reading: Reading, folder: Path) -> tuple[config.SourceConfig, list[Opened]]:
    """Return a source for config.toml, and the logs that it has now."""
    pattern = glob.escape(str(_from(folder, path)))
    files = [path]
    if path.is_dir():
        pattern += "/*"
        files = logs_in(path)
    opened = open_logs(files, None, reading)
    least = _least(reading, opened)
    columns, separator = least.columns, least.separator
    dialect = None if columns is None and separator is None else opened[0].dialect.name
    source = config.SourceConfig(
        files=pattern, dialect=dialect, columns=columns, separator=separator, table=reading.table
    )
    return source, opened


def _from(folder: Path, path: Path) -> Path:
    """Return a path relative to a folder, or unchanged if it is absolute or the folder is here."""
    here = folder.resolve()
    if path.is_absolute() or here == Path().resolve():
        return path
    return Path(os.path.relpath(path.parent.resolve() / path.name, here))


def _least(reading: Reading, logs: Sequence[Opened]) -> Reading:
    """Return ``reading`` without values that the logs contain."""

    def is_enough(less: Reading, log: Opened) -> bool:
        head = log.source.head
        try:
            dialect = dialects.detect(head, log.where, less)
            header = dialect.header(head, less)
        except DialectError:
            return False
        return dialect is log.dialect and header.entries == log.header.entries

    for less in (
        replace(reading, columns=None, separator=None),
        replace(reading, columns=None),
        replace(reading, separator=None),
    ):
        if all(is_enough(less, log) for log in logs):
            return less
    return reading


def _look_into(logs: Sequence[Opened], name: str | None, on_progress: OnProgress) -> SeenInLogs:
    cluster = name or "cluster"
    limit = config.Ingest().refused_limit
    with migrations.temporary() as con:
        try:
            taken = take_in(con, cluster, logs, called=name, limit=limit, on_progress=on_progress)
        except UsageError as error:
            raise UsageError(f"{error} (--name)") from error
        query = "SELECT DISTINCT log_cluster AS name FROM inputs WHERE name IS NOT NULL ORDER BY 1"
        named = database.fetch(con, query)["name"].to_list()
        attempts = queries.run(con, "attempts", cluster=cluster, since=None, until=None)
    if len(named) > 1:
        several = ", ".join(named)
        raise UsageError(f"the logs belong to several clusters ({several}): choose one (--name)")
    if attempts.is_empty() and any(log.elsewhere for log in taken):
        raise UsageError(
            f"--name {name!r}: the logs have no record of this cluster, so a run would read none; "
            "without --name the cluster gets the name in the logs"
        )
    listed = attempts["partition"].drop_nulls().unique().to_list()
    partitions = {part for text in listed for part in text.split(",") if part}
    return SeenInLogs(attempts, named[0] if named else None, tuple(sorted(partitions)))


def _name(
    name: str | None, seen: SeenInLogs | None, headers: Sequence[Header], content: SlurmContent
) -> Fact | None:
    computers = {header.entries.get("Computer", "").strip() for header in headers} - {""}
    if name is not None:
        return Fact("cluster", name, "--name")
    if seen is not None and seen.cluster:
        return Fact("cluster", seen.cluster, OF_RECORDS)
    if content.cluster is not None:
        return content.cluster
    if len(computers) == 1:
        return Fact("cluster", computers.pop(), "the log's header")
    servers = {header.server for header in headers if header.server is not None}
    return Fact("cluster", servers.pop(), OF_RECORDS) if len(servers) == 1 else None


def _doubted(zone: Fact, logs: Sequence[Opened]) -> Fact:
    """Return the time zone, with a warning if local times were read in an assumed zone."""
    local = [log for log in logs if "zone" in log.header.entries and log.header.zone is None]
    if zone.warning or not local:
        return zone
    warning = f"the logs do not name their time zone: {zone.value} is assumed (--zone)"
    return replace(zone, warning=warning)


def _deciding(
    pools: Sequence[config.PoolConfig],
    content: SlurmContent,
    facts: list[Fact],
    notes: dict[str, str],
) -> tuple[config.PoolConfig, ...]:
    policy = slurm.policy(content, facts)
    limits = slurm.limits(content, pools, facts)
    preemption = slurm.preemption(content, pools, facts)
    allocation = slurm.allocation(content, facts)
    if content.conf is not None and not content.conf.counts_memory:
        pools = [slurm.without_memory(pool) for pool in pools]
    made = []
    for index, pool in enumerate(pools):
        rules = {"limits": limits[index], "preemption": preemption[index]}
        of_pool = policy | allocation | {key: found for key, found in rules.items() if found}
        notes |= {f"clusters.pools[{index}].{key}": _AS_SLURM[key] for key in of_pool}
        made.append(pool.model_copy(update=of_pool))
    return tuple(made)


def with_table(draft: Draft, name: str | None, folder: Path) -> Draft:
    """Return a draft whose sources name their mapping, instead of containing it."""
    if name is None:
        return draft
    given = name if name in presets() else str(_from(folder, Path(name)))
    given = given if name in presets() or "/" in given else f"./{given}"
    named = (source.model_copy(update={"table": given}) for source in draft.sources)
    return replace(draft, sources=tuple(named))


def write_table(path: Path, logs: Sequence[Path]) -> None:
    """Write the mapping that is proposed for a log with unknown columns.

    Raises UsageError as ``refuse_existing``, or if nothing can be proposed.
    """
    refuse_existing(path)
    if not logs:
        raise UsageError(f"--table {path}: no such file; name a log for which to propose it")
    (first, *_) = logs_in(logs[0]) if logs[0].is_dir() else [logs[0]]
    proposed = propose(inspect(first).head)
    if proposed is None:
        where = folders.readable(first)
        raise UsageError(
            f"{where}: no mapping can be proposed: its first lines name no job id and no time; "
            "write one by hand (docs/tables.md)"
        )
    save(path, proposed.written)


def write(draft: Draft) -> str:
    """Return the text of a config.toml with the cluster of a draft; errors as ``Draft.cluster``."""
    return annotated(draft.cluster, draft.notes)


def refuse_existing(path: Path, *, force: bool = False) -> None:
    """Raise UsageError if the file exists (unless ``force``), or its folder does not."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name the file to write")
    if not force and os.path.lexists(path):
        raise UsageError(f"{path}: already exists; --force replaces it, --output names another")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent}: no such folder")
    folders.require(path.parent)


def save(path: Path, text: str, *, force: bool = False) -> None:
    """Write a configuration, whole or not at all; raises UsageError as ``refuse_existing``."""
    refuse_existing(path, force=force)
    with refusals(UsageError, path, "cannot be written"):
        replace_file(path, text.encode())


def annotated(cluster: config.Cluster, notes: Mapping[str, str] | None = None) -> str:
    """Return the text of a config.toml with this cluster; other examples are commented out.

    ``notes`` are further comments by key path (``clusters.pools[0].capacity``).
    """
    shipped = resources.path("config.toml").read_text(encoding="utf-8")
    paragraphs = [list(lines) for filled, lines in groupby(shipped.split("\n"), bool) if filled]
    parts = [_section(lines, cluster, notes or {}) for lines in paragraphs]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _section(lines: list[str], cluster: config.Cluster, notes: Mapping[str, str]) -> list[str]:
    heads = [index for index, line in enumerate(lines) if _SECTION.fullmatch(line)]
    if not heads:
        return lines
    (head,) = heads
    match = _SECTION.fullmatch(lines[head])
    assert match is not None
    brackets, path = match.groups()
    top, *rest = path.split(".")
    if top != "clusters":
        return lines if brackets == "[" else _commented(lines)  # an example
    content: Any = cluster
    for name in rest:
        content = getattr(content, name)
    above, title, below = lines[:head], lines[head], lines[head + 1 :]
    if isinstance(content, BaseModel):
        return [*above, title, *_keys(below, content, path, notes)]
    if not content:
        return _commented(lines)
    filled = above
    for index, entry in enumerate(content):
        keys = _keys(below, entry, f"{path}[{index}]", notes, explained=not index)
        filled += [*([""] if index else []), title, *keys]
    return filled


def _keys(
    lines: Sequence[str],
    section: BaseModel,
    path: str,
    notes: Mapping[str, str],
    *,
    explained: bool = True,
) -> Iterator[str]:
    """Yield the lines of a section; without explanations, only those with values.

    Keys that are commented out in the shipped file remain so unless they have another value.
    """
    fields = type(section).model_fields
    comment: list[str] = []
    rest = iter(lines)
    for line in rest:
        match = _KEY.fullmatch(line)
        if match is None or match[1] not in fields:
            comment.append(line)
            continue
        key, shown = match[1], [line]
        while shown[0].endswith("[") and shown[-1] not in ("]", "# ]"):  # a list on several lines
            shown.append(next(rest))
        if explained:
            yield from comment
        comment = []
        yield from _note(notes.get(f"{path}.{key}", ""))
        chosen = getattr(section, key)
        default = fields[key].get_default(call_default_factory=True)
        if chosen is not None and not (line.startswith("#") and chosen == default):
            yield from _entry(key, chosen)
        elif explained:
            yield from _commented(shown)


def _entry(key: str, chosen: Any) -> list[str]:
    line = f"{key} = {value(chosen)}"
    if isinstance(chosen, tuple) and len(line) > WIDTH:
        return [f"{key} = [", *(f"    {value(item)}," for item in chosen), "]"]
    return [line]


def _note(note: str) -> list[str]:
    plain = "".join(letter if letter.isprintable() else escaped(letter) for letter in note)
    wrapper = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent = wrapper.subsequent_indent = "# "
    return wrapper.wrap(plain)


def _commented(lines: Sequence[str]) -> list[str]:
    return [line if line.startswith("#") else f"# {line}" for line in lines]
