"""When nodes were down, drained or reserved, as Slurm's programs print it.

    sacctmgr -P show event format=Cluster,NodeName,TimeStart,TimeEnd,State
    sacctmgr -P show reservation format=Name,Start,End,NodeNames,TRES
    scontrol show reservation

``sacctmgr show event`` dates a drain from the end of the last job on the node, although no job
starts there from the command on. Events without a node are about slurmctld. Reservations of parts
of nodes are left out, since others can use the rest. Times are in the site's zone. Sources: the
manual pages of sacctmgr and scontrol.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import polars as pl

from audit.formats.instants import instants
from audit.formats.nodes.machine import out_of_service
from audit.formats.slurm.fields import tres_amounts
from audit.formats.slurm.sacctmgr import SacctmgrTable, read_table
from audit.hostlists import expand
from audit.model import Absence

EVENTS: Final = "sacctmgr -P show event format=Cluster,NodeName,TimeStart,TimeEnd,State"
RESERVATIONS: Final = "sacctmgr -P show reservation format=Cluster,Name,Start,End,NodeNames,TRES"
MOST: Final = 1_000_000
"""Maximum number of absences of one node each."""

_POWER: Final = re.compile(r"POWER")  # nodes that are switched off are switched on for jobs
_RESERVATION: Final = re.compile(r"^[ \t]*ReservationName=", re.MULTILINE)
_KEY: Final = re.compile(r"(?<!\S)(StartTime|EndTime|Nodes|TRES)=(\S*)")
_ALIASES: Final = {
    "name": "name",
    **dict.fromkeys(("timestart", "start", "starttime"), "begin"),
    **dict.fromkeys(("timeend", "end", "endtime"), "end"),
    **dict.fromkeys(("nodenames", "nodes", "nodelist", "nodename"), "nodes"),
    "tres": "tres",
    "state": "state",
    "cluster": "cluster",
}


class Absences(NamedTuple):
    """The absences of a text."""

    absences: tuple[Absence, ...] = ()
    problems: tuple[str, ...] = ()


class _Span(NamedTuple):
    nodes: str  # hostlist
    begin: str
    end: str
    why: str
    reservation: str | None = None
    cpus: float | None = None  # that are reserved


def events(text: str, zone: str, cluster: str | None = None) -> Absences:
    """Read ``sacctmgr show event``; of several clusters, the rows of ``cluster``.

    Args:
        zone: an IANA name.
    """
    table = read_table(text, EVENTS)
    problems = [f"line {fault.line}: {fault.text}" for fault in table.faults]
    rows = _rows(table, {"nodes", "begin", "end", "state"}, EVENTS, problems)
    kept = [row for row in _of_cluster(rows, cluster, problems) if row["nodes"].strip()]
    spans = []
    for row in kept:
        why = out_of_service(row["state"])
        if why is None and not _POWER.search(row["state"].upper()):
            why = "down"  # slurmdbd has events for no other states
        if why is not None:
            spans.append(_Span(row["nodes"], row["begin"], row["end"], why))
    return _found(spans, zone, {}, problems)


def reservations(
    text: str, zone: str, cpus: Mapping[str, int], cluster: str | None = None
) -> Absences:
    """Read ``scontrol show reservation`` or ``sacctmgr show reservation``.

    Args:
        zone: an IANA name.
        cpus: those of nodes, to recognise reservations of parts of them.
        cluster: whose rows count, of several clusters.
    """
    problems: list[str] = []
    if _RESERVATION.search(text):
        _, *records = _RESERVATION.split(text)
        rows = [_shown(record) for record in records]
    elif text.strip().lower().startswith("no reservations"):
        return Absences()
    else:
        table = read_table(text, RESERVATIONS)
        problems += [f"line {fault.line}: {fault.text}" for fault in table.faults]
        rows = _rows(table, {"name", "nodes", "begin", "end"}, RESERVATIONS, problems)
        rows = _of_cluster(rows, cluster, problems)
    spans = []
    for row in rows:
        if row["nodes"].strip() not in ("", "(null)"):  # others reserve licences
            reserved = tres_amounts(row.get("tres", "")).get("cpu")
            of = (row["nodes"], row["begin"], row["end"], "reserved", row["name"].strip())
            spans.append(_Span(*of, reserved))
    return _found(spans, zone, cpus, problems)


def instants_of(texts: Iterable[str | None], zone: str) -> list[int | None]:
    """Return times of a zone in epoch s; None where unknown or unreadable."""
    found: list[int | None] = instants(pl.Series(texts, dtype=pl.String), zone).early.to_list()
    return found


def _shown(record: str) -> dict[str, str]:
    values = dict(reversed(_KEY.findall(record)))
    return {
        "name": re.split(r"\s+StartTime=|\n", record, maxsplit=1)[0].strip(),
        "nodes": values.get("Nodes", ""),
        "begin": values.get("StartTime", ""),
        "end": values.get("EndTime", ""),
        "tres": values.get("TRES", ""),
    }


def _rows(
    table: SacctmgrTable, needed: set[str], remedy: str, problems: list[str]
) -> list[dict[str, str]]:
    """Return the rows by the names in ``_ALIASES``; none without the needed columns."""
    named = {name: _ALIASES[name] for name in table.columns if name in _ALIASES}
    if table.columns and not needed <= set(named.values()):
        problems.append(f"columns are missing; let '{remedy}' write it")
        return []
    return [{alias: row[name] for name, alias in named.items()} for _, row in table.rows]


def _of_cluster(
    rows: list[dict[str, str]], cluster: str | None, problems: list[str]
) -> list[dict[str, str]]:
    listed = sorted({row.get("cluster", "") for row in rows} - {""})
    if len(listed) < 2:  # an only cluster may have another name elsewhere
        return rows
    if cluster not in listed:
        problems.append(f"rows of several clusters ({', '.join(listed)}), none of this one")
    return [row for row in rows if row.get("cluster") == cluster]


def _found(spans: list[_Span], zone: str, cpus: Mapping[str, int], problems: list[str]) -> Absences:
    begins = instants(pl.Series([span.begin.strip() for span in spans], dtype=pl.String), zone)
    ends = instants(pl.Series([span.end.strip() for span in spans], dtype=pl.String), zone)
    absences: list[Absence] = []
    unread = parts = 0
    for span, begin, end, wrong in zip(
        spans, begins.early, ends.late, ends.problem.is_not_null(), strict=True
    ):
        nodes = expand(span.nodes.strip())
        if begin is None or wrong or not nodes:
            unread += 1
        elif span.cpus is not None and span.cpus < sum(cpus.get(node, 0) for node in nodes):
            parts += 1
        elif len(absences) + len(nodes) > MOST:
            problems.append(f"more than {MOST:,} times of nodes: the rest is left out")
            break
        elif end is None or end > begin:
            absences += [Absence(node, begin, end, span.why, span.reservation) for node in nodes]
    if unread:
        problems.append(f"{unread:,} rows without a readable time or node are left out")
    if parts:
        problems.append(f"{parts:,} reservations of parts of nodes are left out")
    return Absences(tuple(absences), tuple(problems))
