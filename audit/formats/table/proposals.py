"""A mapping proposed for a table with unknown names, to be confirmed by the user.

Names alone prove nothing: two public data sets call their walltime alike, one in minutes and one in
seconds. So a field is proposed by its name, and kept only if the first rows prove it:

- times: Submit ≤ Eligible ≤ Start ≤ End in nearly all rows
- elapsed: end − start, which also proves its unit
- walltime's unit: jobs that ended in TIMEOUT ran as long as their walltime

Comments ask for the zone, for the unit of memory, and whether ids may repeat.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.config.table import FACTORS, MEMORY, NULLS, TIMES, in_toml, presets
from audit.config.toml import value
from audit.formats import delimited
from audit.formats.instants import instants
from audit.formats.lines import Block

_NAMES: Final[Mapping[str, str]] = {
    "job_id": "jobid job jid idjob jobnumber localjobid primaryjobid cobaltjobid jobidraw taskid "
    "id name",
    "user": "user userid username localuserid uid usr owner usernamegenid hasheduserid iduser",
    "account": "account project projectname projectnamegenid projectid allocation acct",
    "group": "group groupid gid idgroup hashedusergroupid",
    "partition": "partition queue queuename vc cluster pool",
    "qos": "qos priorityclass",
    "state": "state jobstate status jobstatus exitstate podphase",
    "submit_time": "submittime submit submitted submittedtime submissiontime timesubmit "
    "creationtime jobsubmittime queuedtimestamp qtime adt queuedtime submitts",
    "eligible_time": "eligibletime eligible timeeligible",
    "start_time": "starttime start started timestart begintime starttimestamp scheduledtime sdt "
    "startts leased",
    "end_time": "endtime end ended finishtime timeend finished endtimestamp deletiontime edt endts "
    "completiontime",
    "walltime": "walltime timelimit timelimitraw wallclocklimit wallclockreq walltimereq "
    "walltimeseconds requestedtime reqtime elpl wallreq",
    "elapsed": "elapsed runtime duration elapsedtime runtimeseconds wallduration wallclockused "
    "elapsedraw",
    "cpus": "cpus ncpus numcpus cpunum cores numcores numcoresalloc coresused ncores processors "
    "procs allocatedcpus numprocessors cnumat",
    "nodes": "nodes nnodes numnodes nodenum nodecount numnodesalloc nodesused nodesalloc nnuma",
    "gpus": "gpus ngpus numgpus gpunum numgpu numgpusalloc",
    "req_cpus": "reqcpus numcoresreq coresrequested cpusreq cnumr",
    "mem_bytes": "mem memory memalloc memorymib memgb memoryused mempernode",
    "priority": "priority prio pri",
}
"""Names of each field in known tables, in lower case, without other characters."""

_SAMPLE: Final = 1 << 18  # bytes of a log that are examined
_FEW: Final = 3
_NEARLY: Final = 0.98
_IN_ORDER: Final = (
    *(("submit_time", "eligible_time"), ("submit_time", "start_time")),
    *(("eligible_time", "start_time"), ("start_time", "end_time")),
)
_ENDED_BY_LIMIT: Final = r"(?i)^time.?(?:out|limit)"
_WITHIN: Final = (0.97, 1.25)  # runtime over walltime of jobs that ended in TIMEOUT

_MOST_STATES: Final = 12
_MEANINGS: Final = (
    (r"complete.*|success.*|succe+ded|pass(?:ed)?|done|finished|ok", "COMPLETED"),
    (r"time.?out|time.?limit", "TIMEOUT"),
    (r"fail.*|error.*|node.?fail.*", "FAILED"),
    (r"cancel.*|kill.*|abort.*|delet.*", "CANCELLED"),
    (r"out.?of.?memory|oom.*", "OUT_OF_MEMORY"),
    (r"preempt.*|evict.*", "PREEMPTED"),
    (r"run.*", "RUNNING"),
    (r"pend.*|queue.*|wait.*", "PENDING"),
)
"""The usual meaning of words for a state."""


def _meaning(text: str) -> str | None:
    matching = (of for way, of in _MEANINGS if re.fullmatch(way, text.lower()))
    return next(matching, None)


class ProposedTable(NamedTuple):
    """A mapping as TOML, or a preset whose columns a table has."""

    text: str
    preset: str | None = None

    @property
    def message(self) -> str:
        """The kind of table and the remedy, in words for the user."""
        if self.preset is not None:
            return (
                f"a table with the columns of {presets()[self.preset].title}: if it is that, pass "
                f"--table {self.preset}"
            )
        return (
            "a table with unknown columns, which needs a mapping (docs/tables.md). "
            "'fairaudit init LOG --table ./table.toml' writes this proposal; check it, and pass "
            f"--table ./table.toml:\n\n{self.text}"
        )

    @property
    def written(self) -> str:
        """The mapping as TOML."""
        if self.preset is None:
            return self.text
        return f"# The columns are those of the preset {self.preset!r}.\n" + in_toml(self.preset)


def propose(head: bytes) -> ProposedTable | None:
    """Return a mapping for the table that begins with ``head``; None if it is no table of jobs."""
    head = head[:_SAMPLE]
    tables = {name: of for name, of in presets().items() if not of.adds}
    if re.match(rb"\s*[\[{]", head):
        keys = {key.decode() for key in re.findall(rb'"(\w+)"\s*:', head)}
        ways = [
            (name, {part for way in of.columns for part in way.split(".")})
            for name, of in tables.items()
        ]
        return next((ProposedTable("", name) for name, way in ways if way <= keys), None)
    line, _, rest = head.lstrip(b"\n").partition(b"\n")
    found = delimited.names_row(line)
    if found is None:
        return None
    names, separator = found
    for preset, mapping in tables.items():
        if set(mapping.columns) <= set(names):
            return ProposedTable("", preset)
    whole = rest[: rest.rfind(b"\n") + 1] or rest + b"\n"
    rows = delimited.rows(Block(whole, 1, 2), names, separator, NULLS).texts
    if rows.height < _FEW:
        return None
    named = _by_name(names)
    if "job_id" not in named or not {*named} & {*TIMES}:
        return None
    return ProposedTable("\n".join(_Proposal(rows, named).lines()) + "\n")


def _by_name(names: Sequence[str]) -> dict[str, str]:
    """Return the column of each field whose name is known; the better known name first."""
    plain = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in reversed(names)}
    found: dict[str, str] = {}
    for field, known in _NAMES.items():
        column = next((plain[one] for one in known.split() if one in plain), None)
        if column is not None and column not in found.values():
            found[field] = column
    return found


class _Proposal:
    def __init__(self, rows: pl.DataFrame, named: Mapping[str, str]) -> None:
        self.rows = rows
        self.named = named
        self.local = False
        self.times = {
            field: read
            for field in TIMES
            if field in named and (read := self._instants(rows[named[field]])) is not None
        }
        self.ran = self._apart("start_time", "end_time")

    def _instants(self, texts: pl.Series) -> pl.Series | None:
        read = instants(texts, "UTC")
        known = texts.is_not_null()
        if int((known & read.problem.is_not_null()).sum()) > (1 - _NEARLY) * int(known.sum()):
            return None
        self.local |= bool(texts.str.contains(r":[0-9]{2}(?:\.[0-9]+)?$").any())
        return read.early

    def _apart(self, first: str, last: str) -> pl.Series | None:
        if first not in self.times or last not in self.times:
            return None
        return self.times[last] - self.times[first]

    def lines(self) -> Iterator[str]:
        """Yield the mapping as TOML, with what must be asked in comments."""
        yield "# Proposed from the names of the columns and the first rows: check every line."
        if self.local:
            yield "# Times name no zone. In which zone are they?"
            yield '# zone = "Europe/Berlin"'
        ids = self.rows[self.named["job_id"]]
        if ids.drop_nulls().is_duplicated().any():
            yield "# Ids repeat. What is a row: an execution, a run, or a task (docs/tables.md)?"
            yield '# one = "run"'
        for field, column in self.named.items():
            yield from self._field(field, column)

    def _field(self, field: str, column: str) -> Iterator[str]:
        key = value(column)
        if field in TIMES:
            wrong = self._misplaced(field)
            if field not in self.times:
                wrong = "most of its values are not times"
            if wrong:
                yield f"# {field} = {key} # not proven: {wrong}"
            else:
                yield f"{field} = {key}"
        elif field == "elapsed":
            unit = self._unit_of_elapsed(column)
            if unit is not None:
                yield f'# elapsed = {{ column = {key}, unit = "{unit}" }} # equals end − start'
            else:
                yield f"# elapsed = {{ column = {key}, unit = ? }} # it is not end − start"
        elif field == "walltime":
            unit = self._unit_of_walltime(column)
            proven = f'walltime = {{ column = {key}, unit = "{unit}" }}'
            asked = f"# walltime = {{ column = {key}, unit = ? }} # in which unit: s, min, h?"
            yield asked if unit is None else proven
        elif field in MEMORY:
            yield f"# {field} = {{ column = {key}, unit = ? }} # in which unit: B, MB, MiB, GiB?"
        elif field == "state":
            yield from self._states(column)
        else:
            yield f"{field} = {key}"

    def _states(self, column: str) -> Iterator[str]:
        """Yield the state, and what its values seem to mean if they are no names of states."""
        given = self.rows[column].drop_nulls().unique().sort().to_list()
        meant = {text: _meaning(text) for text in given[: _MOST_STATES + 1]}
        if len(given) > _MOST_STATES or all(text.upper() == of for text, of in meant.items()):
            yield f"state = {value(column)}"
            return
        known = {text: of for text, of in meant.items() if of is not None}
        if known:
            yield f"state = {value({'column': column, 'values': known})}"
        if unknown := [text for text, of in meant.items() if of is None]:
            listed = ", ".join(map(value, unknown))
            yield f"# What do these values of {value(column)} mean: {listed}?"

    def _misplaced(self, field: str) -> str:
        for first, last in _IN_ORDER:
            if field not in (first, last):
                continue
            apart = self._apart(first, last)
            if apart is not None and int((apart < 0).sum()) > (1 - _NEARLY) * apart.count():
                return f"{first} is often after {last}"
        return ""

    def _unit_of_elapsed(self, column: str) -> str | None:
        if self.ran is None:
            return None
        spent = self.rows[column].cast(pl.Float64, strict=False)
        for unit in ("s", "min", "h", "ms"):
            known = (spent * FACTORS[unit] - self.ran).abs() <= max(FACTORS[unit] / 2, 1)
            if known.count() and known.sum() >= _NEARLY * known.count():
                return unit
        return None

    def _unit_of_walltime(self, column: str) -> str | None:
        """Return the unit in which jobs that ended in TIMEOUT ran as long as their walltime."""
        if self.ran is None or "state" not in self.named:
            return None
        cut = self.rows[self.named["state"]].str.contains(_ENDED_BY_LIMIT)
        limit = self.rows[column].cast(pl.Float64, strict=False)
        for unit in ("s", "min", "h"):
            share = (self.ran / (limit * FACTORS[unit])).filter(cut.fill_null(value=False))
            share = share.filter(share.is_finite())
            fits = share.is_between(*_WITHIN)
            if len(share) >= _FEW and fits.sum() >= 0.9 * len(share):
                return unit
        return None
