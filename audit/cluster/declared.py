"""Declarations of a site about its nodes and limits: config.toml, and files of scheduler programs.

Node shapes come from ``scontrol show node``, ``sinfo`` or ``pbsnodes``. The times in which nodes
were out of service come from ``sacctmgr show event`` and the node's own record, and reservations
from ``sacctmgr show reservation`` or ``scontrol show reservation``.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeVar

import polars as pl
from pydantic import TypeAdapter

from audit import config
from audit.cluster.fairshare import slurm_settings, text
from audit.cluster.inference import NOTHING
from audit.errors import AuditError, ConfigError, UsageError
from audit.formats.nodes import absences
from audit.formats.nodes.machine import Drain, NodeListing, out_of_service
from audit.formats.nodes.read import read as read_nodes
from audit.formats.pbs import qmgr
from audit.model import Absence, Declared, Limit
from audit.words import plural

_SHOWN: Final = 5  # maximum number of problems of a file that are listed
_EARLIER: Final = (
    "{} may have begun earlier: sacctmgr dates a drain from the end of the last job on the node, "
    "not from the command, which slurmctld.log has (--ctld-log)"
)
_NO_EVENT: Final = 1 << 60  # as ``Absence.before``, where a node's record has no event
_ADAPTER: Final = TypeAdapter(Declared)
T = TypeVar("T")


@dataclass(frozen=True)
class NodeFiles:
    """Files that describe nodes."""

    nodes: Path | None = None  # ``scontrol show node``, ``sinfo`` or ``pbsnodes``
    events: Path | None = None  # ``sacctmgr show event``
    reservations: Path | None = None
    """``sacctmgr show reservation`` or ``scontrol show reservation``."""
    qmgr: Path | None = None  # ``qmgr -c 'print server'``

    @property
    def given(self) -> dict[str, Path]:
        """The files that were given, by their keys in ``[clusters.hardware]``."""
        paths = {key.name: getattr(self, key.name) for key in fields(self)}
        return {key: path for key, path in paths.items() if path is not None}


NO_FILES: Final = NodeFiles()


def configured(cluster: config.Cluster, folder: Path) -> Declared:
    """Return what the files of ``[clusters.hardware]`` say; raises ConfigError as ``read``.

    Tables of pools are not part of it. Reservations have no names if these are pseudonyms in logs.
    """
    given = cluster.hardware.model_dump(exclude_none=True)
    files = NodeFiles(**{key: folder / name for key, name in given.items()})
    where = f"clusters.hardware.{{}} of cluster {cluster.name!r}"
    found = read(files, cluster.zone, cluster.name, where, ConfigError)
    if found.nodes or any(pool.nodes for pool in cluster.pools):
        found = found._replace(counts_memory=_counts_memory(cluster.usage, folder))
    if "reservation" in cluster.people.hidden:
        nameless = tuple(one._replace(reservation=None) for one in found.absences)
        return found._replace(absences=nameless)
    return found


def _counts_memory(usage: config.UsageConfig, folder: Path) -> bool | None:
    """Return what SelectTypeParameters says; faults of slurm.conf are those of ``Fairshare``."""
    if usage.slurm_conf is None:
        return None
    try:
        conf, _ = slurm_settings(text(folder / usage.slurm_conf))
    except OSError:
        return None
    return conf.counts_memory if conf.select_parameters else None


def read(
    files: NodeFiles,
    zone: str,
    cluster: str | None,
    where: str = "--{}",
    error: type[AuditError] = UsageError,
) -> Declared:
    """Return the content of the files; what single lines lack is a caution.

    Args:
        zone: time zone of the files, an IANA name.
        cluster: its rows count in files about several.
        where: what asks for a file, with ``{}`` for its key.
        error: raised if a file cannot be read or has nothing of use.
    """
    if not files.given:
        return NOTHING
    problems: list[str] = []

    def content(key: str, reader: Callable[[str], T]) -> T | None:
        """Return the content of a file, and note its problems; None without the file."""
        path = files.given.get(key)
        if path is None:
            return None
        try:
            found = reader(text(path))
        except OSError as fault:
            why = f"{path}: {fault.strerror or fault} ({where.format(key)})"
            raise error(why) from fault
        wrong: tuple[str, ...] = found.problems  # type: ignore[attr-defined]
        problems.extend(f"{path.name}: {problem}" for problem in wrong[:_SHOWN])
        if len(wrong) > _SHOWN:
            problems.append(f"{path.name}: and {len(wrong) - _SHOWN:,} more")
        return found

    listing = content("nodes", read_nodes) or NodeListing()
    if files.nodes is not None and not listing.nodes:
        raise error(f"{files.nodes}: {listing.problems[0]} ({where.format('nodes')})")
    cpus = {node.name: dict(node.amounts).get("cpus", 0) for node in listing.nodes}
    nothing = absences.Absences()
    down = content("events", lambda text: absences.events(text, zone, cluster)) or nothing
    reserved = (
        content("reservations", lambda text: absences.reservations(text, zone, cpus, cluster))
        or nothing
    )
    out, cautions = _drained(down.absences, listing.drains, zone)
    pbs = content("qmgr", qmgr.limits) or qmgr.QmgrLimits((), ())
    absent = (*out, *reserved.absences)
    return Declared(listing.nodes, absent, (*problems, *cautions), limits=pbs.limits)


def _drained(
    events: Sequence[Absence], drains: Sequence[Drain], zone: str
) -> tuple[tuple[Absence, ...], Iterator[str]]:
    """Return events with the commands that nodes' own records date, and what remains unknown.

    The record of a node is about its latest drain only, and precedes its event by up to the length
    of the jobs that ran then. The event dates a failure: the record may be of a drain
    that has ended.
    """
    since = absences.instants_of([drain.since for drain in drains], zone)
    known = {
        drain.node: (drain, begin)
        for drain, begin in zip(drains, since, strict=True)
        if begin is not None
    }
    latest: dict[str, int] = {}
    for number, event in enumerate(events):
        other = latest.get(event.node)
        if other is None or events[other].begin <= event.begin:
            latest[event.node] = number
    found, dated = list(events), set()
    for node, (drain, begin) in known.items():
        number = latest.get(node, -1)
        if number < 0 or events[number].end is not None:
            found.append(Absence(node, begin, None, drain.why, before=_NO_EVENT))
            continue
        event = events[number]
        dated.add(number)
        if event.why == "drained" and begin < event.begin:
            found[number] = event._replace(begin=begin, before=event.begin)

    def cautions() -> Iterator[str]:
        early = sum(one.why == "drained" for k, one in enumerate(events) if k not in dated)
        if early:
            yield _EARLIER.format(plural(early, "drain"))
        undated = sum(drain.node not in known and drain.node not in latest for drain in drains)
        if undated:
            yield f"no file says when {plural(undated, 'node')} went out of service"

    return tuple(found), cautions()


def dated(declared: Declared, said: pl.DataFrame) -> Declared:
    """Return what is declared, with drains and failures from the instants that schedulers logged.

    A drain begins with the last command before its event that is later than the event before. Nodes
    without any event are out of service as the scheduler says, if they are declared.

    Args:
        said: columns of ``model.EVIDENCE``, about nodes, ascending.
    """
    if said.is_empty():
        return declared
    found, begun = [], 0
    logged: dict[str, list[tuple[int, str | None]]] = {}
    for node, instant, state in said.select("node", "instant", "state").iter_rows():
        logged.setdefault(node, []).append((instant, out_of_service(state or "")))
    listed = {one.node for one in declared.absences if one.why != "reserved"}
    ended: dict[str, int] = {}
    for one in sorted(declared.absences, key=lambda absence: absence.begin):
        begin = one.begin
        if one.why != "reserved":
            since = ended.get(one.node, 0)
            begin = min(_spell(logged.get(one.node, ()), one.why, since, begin), begin)
            ended[one.node] = one.end or begin
        begun += begin < one.begin
        before = None if begin < one.begin else one.before
        found.append(one._replace(begin=begin, before=before))
    shapes = {node.name for node in declared.nodes}
    for node in sorted(logged.keys() & shapes - listed):
        found += _spells(node, logged[node])
    cautions = [text for text in declared.cautions if not text.endswith(_EARLIER.partition("}")[2])]
    undated = sum(one.why == "drained" for one in declared.absences) - begun
    if undated > 0 and len(cautions) < len(declared.cautions):
        cautions.append(_EARLIER.format(plural(undated, "drain")))
    return declared._replace(absences=tuple(found), cautions=tuple(cautions))


def _spell(logged: Iterable[tuple[int, str | None]], why: str, since: int, until: int) -> int:
    """Return when the spell of a state begins that lasts at ``until``; it began after ``since``."""
    begin, before = until, None
    for instant, state in logged:
        if since <= instant <= until:
            if state == why and before != why:
                begin = instant
            before = state
    return begin if before == why else until


def _spells(node: str, logged: Iterable[tuple[int, str | None]]) -> Iterator[Absence]:
    begin, why = 0, None
    for instant, state in logged:
        if state != why:
            if why is not None and instant > begin:
                yield Absence(node, begin, instant, why)
            begin, why = instant, state
    if why is not None:
        yield Absence(node, begin, None, why)


def stored(declared: Declared) -> dict[str, Any]:
    """Return what is declared as JSON, with equal nodes together."""
    grouped = []
    for of, nodes in groupby(declared.nodes, key=lambda node: node[1:]):
        grouped.append([[node.name for node in nodes], *of])
    spans = []
    for span, each in groupby(declared.absences, key=lambda absence: absence[1:]):
        spans.append([[absence.node for absence in each], *span])
    found: dict[str, Any] = {"nodes": grouped, "absences": spans, "cautions": declared.cautions}
    if declared.counts_memory is not None:  # runs before this key was added have none
        found["counts_memory"] = declared.counts_memory
    if declared.limits:
        found["limits"] = [limit.model_dump(mode="json") for limit in declared.limits]
        found["limits_of"] = declared.limits_of
    return found


def restored(kept: Mapping[str, Any]) -> Declared:
    """Return what ``stored`` returned; raises ValueError if another version did."""
    if not kept:
        return NOTHING
    listed = [
        [[name, *of] for names, *of in kept[key] for name in names] for key in ("nodes", "absences")
    ]
    limits = tuple(Limit.model_validate_json(json.dumps(one)) for one in kept.get("limits", ()))
    found = [*listed, kept["cautions"], kept.get("counts_memory"), (), kept.get("limits_of", "pbs")]
    return _ADAPTER.validate_python(found)._replace(limits=limits)
