"""A mapping proposed for a table with unknown names, to be confirmed by the user.

Names alone prove nothing: two public data sets call their walltime alike, one in minutes and one in
seconds. So a field is proposed by its name, and kept only if the first rows prove it:

- times: Submit ≤ Eligible ≤ Start ≤ End in nearly all rows; epoch milliseconds by their size
- elapsed: end − start, which also proves its unit; wait: start − submit
- walltime's unit: jobs that ended in TIMEOUT ran as long as their walltime. A walltime that is
  end − start in nearly all rows is none

Durations such as `04:00:00` need no proof. Comments ask for the zone, for the origin of times that
count from about 0, for the unit of memory, and whether ids may repeat.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.config.table import CLOCK, DURATIONS, FACTORS, MEMORY, NULLS, TIMES, in_toml, presets
from audit.config.toml import value
from audit.formats import delimited
from audit.formats.lines import UNQUOTED, Block
from audit.formats.shaping import clock
from audit.formats.table import objects
from audit.formats.table.values import moments

_NAMES: Final[Mapping[str, str]] = {
    "job_id": "jobid job jid idjob jobnumber localjobid primaryjobid cobaltjobid jobidraw taskid "
    "globaljobid clusterid recordid id name",
    "user": "user userid username localuserid uid usr owner jobuser jobowner submituser "
    "usernamegenid hasheduserid userhash iduser",
    "account": "account project projectname projectnamegenid projectid allocation acct bank "
    "accounthash pi",
    "group": "group groupid gid idgroup hashedusergroupid",
    "partition": "partition queue queuename queuenumber class vc cluster pool",
    "qos": "qos priorityclass",
    "state": "state jobstate status jobstatus finalstate exitstate podphase",
    "submit_time": "submittime submit submitted submittedtime submissiontime timesubmit tsubmit "
    "creationtime creationtimestamp jobsubmittime queuedtimestamp subtime ctime qtime adt submitts "
    "submitdate qdate arrivaltime createdat queuedtime",
    "eligible_time": "eligibletime eligible timeeligible etime",
    "start_time": "starttime start started timestart startingtime trun begintime starttimestamp "
    "scheduledtime sdt startts startdate jobstartdate dispatchtime stime leased",
    "end_time": "endtime end ended finishtime timeend finished stoptime endtimestamp deletiontime "
    "edt endts enddate tinactive completiontime completiondate",
    "walltime": "walltime timelimit timelimitraw wallclocklimit wallclockreq walltimereq "
    "walltimeseconds requestedtime reqtime requestedwalltime resourcewalltime elpl wallreq",
    "elapsed": "elapsed runtime duration elapsedtime runtimeseconds wallduration wallclockused "
    "walltimeused usedwalltime executiontime elapsedraw",
    "wait": "waittime wait waitingtime queuetime queuewait queuedtime",
    "cpus": "cpus ncpus numcpus cpunum numcores numcoresalloc coresused ncores processors "
    "processorsused procs allocatedcpus allocatedprocessors numberofallocatedprocessors "
    "numprocessors cnumat nbresources numhwthreads cores processorsreq coresreq "
    "requestednumberprocessors requestednumberofprocessors requestednumberofresources res "
    "cpurequest requestcpus",
    "nodes": "nodes nnodes numnodes nodenum nodecount nodect numnodesalloc nodesused nodesalloc "
    "nnuma nodesreq noderequested nodesrequested",
    "gpus": "gpus ngpus numgpus gpunum numgpu numgpusalloc numacc gpusreq gpusrequested gpurequest",
    "req_cpus": "reqcpus numcoresreq coresrequested cpusreq cnumr processorsreq coresreq "
    "requestednumberprocessors requestednumberofprocessors",
    "mem_bytes": "mem memory memalloc memorymib memgb memoryused mempernode memreq memoryreq",
    "priority": "priority prio pri",
    "node_list": "nodelist hostlist",
}
"""Names of each field in known tables, in lower case, without other characters."""

_SAMPLE: Final = 1 << 18  # bytes of a log that are examined
_FEW: Final = 3
_NEARLY: Final = 0.98
_IN_ORDER: Final = (
    *(("submit_time", "eligible_time"), ("submit_time", "start_time")),
    *(("eligible_time", "start_time"), ("start_time", "end_time")),
)
_HOURS: Final = r"^(?:([0-9]+)[-:])?([0-9]+):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?$"
_NO_ZONE: Final = r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?$"
_BEYOND: Final = {"us": 3.2e14, "ms": 3.2e11}  # epoch times above it have this unit
_YEARS_S: Final = 10 * 365 * 86_400
"""Times that count from 1970 lie beyond it, and no job waits or runs so long."""
_NOT_TIMES: Final = (
    "most of its values are not times: write them as 2026-01-31 12:00:00, or in seconds since 1970"
)
_WITHIN: Final = (0.97, 1.25)  # runtime over walltime of jobs that ended in TIMEOUT

_MOST_STATES: Final = 12
_MEANINGS: Final = (
    (r".*time.?out.*|.*time.?limit.*|.*walltime.*", "TIMEOUT"),
    (r".*out.?of.?memory.*|oom.*", "OUT_OF_MEMORY"),
    (r".*fail.*|.*error.*", "FAILED"),
    (r"cancel.*|.*kill.*|abort.*|delet.*", "CANCELLED"),
    (r"complete.*|success.*|succe+ded|pass(?:ed)?|done|finished|ok", "COMPLETED"),
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
        preset = next((name for name, way in ways if way <= keys), None)
        if preset is not None:
            return ProposedTable("", preset)
        records, texts = objects.sample(head)
        return _proposed(pl.DataFrame(texts), "", [f"records = {value(records)}"] * bool(records))
    line, _, rest = head.lstrip(b"\n").partition(b"\n")
    whole = rest[: rest.rfind(b"\n") + 1] or rest + b"\n"
    found = delimited.names_row(line) or _between_blanks(line, whole)
    if found is None:
        return None
    names, separator = found
    for preset, mapping in tables.items():
        if set(mapping.columns) <= set(names):
            return ProposedTable("", preset)
    rows = delimited.rows(Block(whole, 1, 2), names, separator, NULLS).texts
    return _proposed(rows, separator)


def _between_blanks(line: bytes, rows: bytes) -> tuple[list[str], str] | None:
    """Return the names and the separator of a table whose columns are separated by one blank."""
    names = line.decode("utf-8", "backslashreplace").split(" ")
    alike = all(row.count(b" ") == len(names) - 1 for row in rows.splitlines())
    good = alike and len(names) > _FEW and all(map(str.isidentifier, names))
    return (names, " ") if good and len(set(names)) == len(names) else None


def _proposed(
    rows: pl.DataFrame, separator: str, first: Sequence[str] = ()
) -> ProposedTable | None:
    """Return a mapping of the columns of ``rows``; None if they are not of jobs."""
    named = by_name(rows.columns)
    calls = (name for name in rows.columns if _plain(name) == "jobname")
    if "job_id" not in named and (name := next(calls, None)) and rows[name].is_unique().all():
        named = {"job_id": name, **named}
    times = {*named} & {*TIMES}
    if rows.height < _FEW or len(times) < (1 if "job_id" in named else 2):
        return None
    lines = [*_Proposal(rows, named).lines(), *first]
    if separator == " ":
        lines.insert(1, "# One blank separates the columns: pass --separator ' ' too.")
    if "job_id" not in named:
        lines.append("# job_id = ? # no column has the name of one, and a table needs job ids")
        if separator not in ("", UNQUOTED):
            awk = f"""awk '{{ print (NR > 1 ? NR - 1 : "job_id") {value(separator)} $0 }}' LOG"""
            lines.append(f"# This numbers the rows: {awk}")
    return ProposedTable("\n".join(lines) + "\n")


def by_name(names: Sequence[str]) -> dict[str, str]:
    """Return the column of each field whose name is known; the better known name first.

    What is in brackets, and the path of a key of JSON, are no part of a name.
    """
    plain: dict[str, str] = {}
    for name in reversed(names):
        plain[_plain(re.sub(r"\(.*?\)|.*\.", "", name))] = name
    plain |= {_plain(name): name for name in reversed(names)}
    found: dict[str, str] = {}
    for field, known in _NAMES.items():
        columns = (plain[one] for one in known.split() if one in plain)
        column = next((one for one in columns if one not in found.values()), None)
        if column is not None:
            found[field] = column
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


class _Proposal:
    def __init__(self, rows: pl.DataFrame, named: Mapping[str, str]) -> None:
        self.rows = rows
        self.named = named
        self.local = False
        self.units: dict[str, str] = {}  # of times that are not in seconds
        self.times = {
            field: read
            for field in TIMES
            if field in named and (read := self._instants(field)) is not None
        }
        self.ran = self._apart("start_time", "end_time")
        self.waited = self._apart("submit_time", "start_time")

    def _instants(self, field: str) -> pl.Series | None:
        texts = self.rows[self.named[field]]
        known = texts.is_not_null()
        numbers = texts.cast(pl.Float64, strict=False)
        middle = numbers.median()
        if isinstance(middle, float) and middle > min(_BEYOND.values()):
            unit = next(unit for unit, least in _BEYOND.items() if middle > least)
            self.units[field] = unit
            texts = (numbers * FACTORS[unit]).floor().cast(pl.Int64, strict=False).cast(pl.String)
        read = moments(texts, "UTC")
        bad = known & (read.problem.is_not_null() | texts.is_null())
        if int(bad.sum()) > (1 - _NEARLY) * int(known.sum()):
            return None
        self.local |= bool(texts.str.contains(_NO_ZONE).any())
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
        if any(_latest(read) < _YEARS_S for read in self.times.values()):
            yield "# Times do not count from 1970. From which instant do they?"
            yield '# origin = "2020-01-01"'
        if "job_id" in self.named:
            ids = self.rows[self.named["job_id"]]
            if ids.drop_nulls().is_duplicated().any():
                yield (
                    "# Ids repeat. What is a row: an execution, a run, or a task (docs/tables.md)?"
                )
                yield '# one = "run"'
        for field, column in self.named.items():
            yield from self._field(field, column)
        if not {*self.named} & {"cpus", "nodes", "gpus"}:
            yield "# cpus = ? # no column has the name of an amount: sizes are unknown"

    def _field(self, field: str, column: str) -> Iterator[str]:
        key = value(column)
        if field in TIMES:
            wrong = self._misplaced(field)
            unit = self.units.get(field)
            of = key if unit is None else f'{{ column = {key}, unit = "{unit}" }}'
            if field not in self.times:
                wrong = _NOT_TIMES
            if wrong:
                yield f"# {field} = {of} # not proven: {wrong}"
            else:
                yield f"{field} = {of}"
        elif field in DURATIONS:
            yield self._duration(field, column)
        elif field in MEMORY:
            yield f"# {field} = {{ column = {key}, unit = ? }} # in which unit: B, MB, MiB, GiB?"
        elif field == "state":
            yield from self._states(column)
        elif field == "partition" and self._is_wait(column):
            yield f'# wait = {{ column = {key}, unit = "s" }} # equals start − submit'
        else:
            yield f"{field} = {key}"

    def _duration(self, field: str, column: str) -> str:
        took = self.waited if field == "wait" else self.ran
        apart = "start − submit" if field == "wait" else "end − start"
        texts = self.rows[column].drop_nulls()
        hours = bool(len(texts)) and bool(texts.str.contains(_HOURS).all())
        same = None
        if took is not None:
            units = (CLOCK,) if hours else ("s", "min", "h", "ms")
            same = next((unit for unit in units if self._equals(column, unit, took)), None)
        unit = same or (CLOCK if hours else None)
        if field == "walltime" and same is None and not hours:
            unit = self._unit_of_walltime(column)
        shown = "?" if unit is None else f'"{unit}"'
        line = f"{field} = {{ column = {value(column)}, unit = {shown} }}"
        if field == "walltime" and same:
            return f"# {line} # not proven: it equals {apart}, as no limit does"
        if same:
            return f"# {line} # equals {apart}"
        if field != "walltime" and took is not None:
            return f"# {line} # it is not {apart}"
        return line if unit else f"# {line} # in which unit: s, min, h?"

    def _is_wait(self, column: str) -> bool:
        """Return whether a column called queue holds the time in the queue."""
        return self.waited is not None and self._equals(column, "s", self.waited)

    def _seconds(self, column: str, unit: str) -> pl.Series:
        if unit == CLOCK:
            return self.rows.select(clock(pl.col(column), _HOURS)).to_series()
        return self.rows[column].cast(pl.Float64, strict=False) * FACTORS[unit]

    def _equals(self, column: str, unit: str, took: pl.Series) -> bool:
        most = max(FACTORS.get(unit, 1) / 2, 1)
        known = (self._seconds(column, unit) - took).abs() <= most
        return bool(known.count()) and bool(known.sum() >= _NEARLY * known.count())

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
            few = (1 - _NEARLY) * (0 if apart is None else apart.count())
            if apart is not None and int((apart < 0).sum()) > few:
                return f"{first} is often after {last}"
            if apart is not None and field == first and int((apart > _YEARS_S).sum()) > few:
                return f"{first} is often years before {last}"
        return ""

    def _unit_of_walltime(self, column: str) -> str | None:
        """Return the unit in which jobs that ended in TIMEOUT ran as long as their walltime."""
        if self.ran is None or "state" not in self.named:
            return None
        states = self.rows[self.named["state"]]
        cut = states.is_in([of for of in states.unique().drop_nulls() if _meaning(of) == "TIMEOUT"])
        limit = self.rows[column].cast(pl.Float64, strict=False)
        for unit in ("s", "min", "h"):
            share = (self.ran / (limit * FACTORS[unit])).filter(cut.fill_null(value=False))
            share = share.filter(share.is_finite())
            fits = share.is_between(*_WITHIN)
            if len(share) >= _FEW and fits.sum() >= 0.9 * len(share):
                return unit
        return None


def _latest(times: pl.Series) -> float:
    latest = times.max()
    return latest if isinstance(latest, int) else float("inf")
