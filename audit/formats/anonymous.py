r"""The head of a log without names, so that it can be shown to others.

Every word is replaced, except those of the schedulers and those that are numbers, dates or units.
So a log that no dialect recognises loses its names too. Equal words get equal replacements
(``name1``, ``name2``, …), and a log that a dialect reads gives the same records, up to their names.

- A word is a run of letters, digits, ``_`` and all characters beyond ASCII. Words joined by ``.``
  or ``-`` are one name unless all of them stay; so is a path, from its first ``/`` on.
- Numbers stay, as do single letters. In fields that hold a name or a user's text, a number is
  replaced as well: columns of sacct, the first columns of Grid Engine, keys of the other dialects.
- The first row of a table stays if it is one of column names, and so do the keys that most
  objects of a JSON table have.
- Control characters that do not separate fields or lines become ``?``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Set
from itertools import chain, repeat
from typing import Final

from audit.errors import DialectError
from audit.formats import dialects, gridengine
from audit.formats.htcondor.records import ATTRIBUTES
from audit.formats.lsf.allocations import GPUS
from audit.formats.pbs.records import KEYS
from audit.formats.sacct import completion, heads, job_table
from audit.formats.sacct.columns import COLUMNS
from audit.formats.slurm.fields import ALWAYS
from audit.formats.table.proposals import propose
from audit.model import WAITING, JobState

_SPELLINGS: Final = """
    Unknown None null NULL true false undefined error by assigned UNLIMITED unlimited infinity
    INFINITE Partition_Limit invalid N REQUEUED RESIZING COMPLETING STAGE_OUT CONFIGURING
    STOPPED REVOKED SIGNALING SUCCESS ERROR SIGNALED NOT_SET batch extern interactive gres mps
    shard license bb Resources Dependency BeginTime JobHeldUser JobHeldAdmin JobArrayTaskLimit
    ReqNodeNotAvail UnavailableNodes PartitionDown PartitionInactive PartitionTimeLimit
    NonZeroExitCode SystemFailure JobLaunchFailure BadConstraints Prolog Cleaning SchedMain
    SchedBackfill SchedSubmit StartRecieved StartReceived NotSet Primary UserJob sbatch srun
    salloc array nice begin hold exclusive wrap meta plugin type openapi db dbv data_parser
    slurm Slurm version major micro minor release errors warnings jobs description source
    comment administrator job system allocation_nodes job_id limits max running tasks task
    task_id association cluster container derived_exit_code status return_code signal id name
    time elapsed eligible submission suspended seconds microseconds limit total exit_code extra
    failed_node flags het job_offset licenses mcs label required CPUs cpus memory memory_per_cpu
    memory_per_node kill_request_user reservation script current reason previous steps count
    range step tres requested average consumed minimum allocated submit_line submit_command
    used_gres wckey wckeys working_directory set infinite number planned restarts accounts stdin
    stdout stderr block std_out_expanded parent segment_size uid gid mod_time deleted
    admin_comment derived_ec job_db_inx job_name id_assoc id_block id_wckey jobname
    resources_used cput mpiprocs ompthreads ppn vnode host arch neednodes exclhost excl shared
    pack scatter free session alt_id requestor _pbs_project_default server owner JOB_FINISH
    JOB_RESIZE EVENT_ADRSV_FINISH rusage span hosts affinity core cores thread socket numa same
    ptile duration decay order ut pg r15m r1m r15s swp tmp any NONE defaultdepartment sge
    unknown h_rt s_rt h_vmem s_vmem mem_free m_mem_free virtual_free m_core slots pe hard soft
    qname hostname classads xml encoding UTF DOCTYPE SYSTEM classad dtd JOB SPAWN EPOCH
    CurrentTime Expr MyType TargetType Machine Job Version Computer Installation Acknowledge
    Information Conversion MaxJobs MaxRecords Preemption UnixStartTime TimeZone TimeZoneString
    StartTime EndTime MaxNodes MaxProcs MaxMemory AllowOveruse MaxQueues Queues Queue
    MaxPartitions Partitions Note Users Groups No Yes UTC GMT apiVersion kueue x k8s io v1beta1
    v1beta2 kind List Workload Event items metadata namespace labels creationTimestamp spec
    active priorityClassName priorityClassRef maximumExecutionTimeSeconds podSets
    podSetAssignments template containers requests resourceUsage resourceRequests resources
    admission clusterQueue queueName flavors conditions lastTransitionTime message evictions
    schedulingStats accumulatedPastExecutionTimeSeconds involvedObject regarding note eventTime
    lastTimestamp deprecatedLastTimestamp Admitted Evicted Finished Requeued QuotaReserved
    Inactive Preempted JobFinished Succeeded True False nvidia amd intel com
"""


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


KEPT: Final = _words(
    _SPELLINGS,
    *(column.name for column in COLUMNS),
    "usage wallclock maxrss submit_cmd_line department",
    *(
        *KEYS,
        *ATTRIBUTES,
        *GPUS,
        *gridengine.COLUMNS,
        *completion.KEYS,
        *ALWAYS,
        *WAITING,
        *JobState,
        *job_table.READ,
        *job_table.STATES,
    ),
)
"""The words that stay."""

_W: Final = r"(?:[\w\u0080-\U0010ffff]|\\u[0-9a-fA-F]{4})"
_DATE: Final = (
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +"
    r"\d{1,2} \d\d:\d\d:\d\d(?: [A-Z]{3,5}){0,2} \d{4}"
)
_ZONE: Final = r"(?<=TimeZoneString: )[A-Za-z_]+(?:/[A-Za-z_-]+)*"
_PATH: Final = rf"(?<![\w\])<*]|\\)(?:~|\.\.?)?/(?={_W})(?:{_W}|[./@+%~-])*"
_TOKENS: Final = re.compile(
    rf"(?P<kept>{_DATE}|{_ZONE})|(?P<path>{_PATH})|(?P<number>\d+\.(?=\w*[^\W\d]))?"
    rf"(?P<name>{_W}+(?:[.-]+{_W}+)*)"
)
_ESCAPES: Final = {
    b"{": re.compile(r'\\["\\/bfnrt]'),
    b"[": re.compile(r'\\["\\/bfnrt]'),
    b"<": re.compile("&(?:lt|gt|amp|quot|apos);"),
}
"""Escaped characters that stay, by the first byte of a log (JSON, XML)."""
_NUMBER: Final = re.compile(
    r"[0-9]+(?:[KMGTPEZkmgtpez]?i?[bBw]?[cn]?|[eE][0-9]*|[TZ][0-9]*|_[0-9]*)|0x[0-9a-fA-F]+"
    r"|v[0-9]+|dbv[0-9]+"
)
_JOINED: Final = re.compile(r"[.-]+")
_VALUE: Final = re.compile(r'(?:^|[,;|\t])[-+.:\dTZ" ]*(?=[,;|\t]|$)|[{}<>]')
"""A number, a time, or nothing between separators, or an object: such a row has no column names."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1d\x7f-\x9f]")

_NAMED: Final = _words(
    "user account group partition qos reservation cluster jobname comment admincomment "
    "systemcomment workdir container extra stdout stderr stdin wckey mcslabel"
)
"""Columns of sacct in which numbers are names too."""
_KEYED: Final = re.compile(
    r"(?im)(?<![\w.])(?P<key>\"?(?:(?:user|group)(?:id)?|account|project|queue|qname|job_?name"
    r"|name|comment|owner|acctgroup|accountinggroup|projectname|cmd|args|arguments|iwd"
    r"|jobbatchname|jobdescription|working_directory|partition|qos|wckey)\"?"
    r"(?: = |=|\s*:\s*(?=\")))"
    r"(?P<value>\"(?:[^\"\\\n]|\\.)*\"|[^\s\",;|]*)"
)
"""Keys whose values are names or users' texts."""
_GRID_ENGINE: Final = 5  # its first columns: queue, host, group, user, job name


_KEY: Final = re.compile(r'"([^"\\\n]+)"\s*:')


class Pseudonyms:
    """The replacements of names, the same for equal names."""

    def __init__(self, escapes: re.Pattern[str] | None, kept: Set[str] = KEPT) -> None:
        self._escapes = escapes  # characters that separate words, and stay
        self._kept = kept
        self._given: dict[str, str] = {}

    def replaced(self, text: str, *, numbers: bool = False) -> str:
        """Return a text with its names replaced; with ``numbers``, numbers are names too."""
        at, found = 0, []
        for escape in self._escapes.finditer(text) if self._escapes else ():
            found += [self._words(text[at : escape.start()], numbers), escape[0]]
            at = escape.end()
        return "".join((*found, self._words(text[at:], numbers)))

    def _words(self, text: str, numbers: bool) -> str:
        return _TOKENS.sub(lambda token: self._token(token, numbers), text)

    def _token(self, token: re.Match[str], numbers: bool) -> str:
        if token["kept"] is not None:
            return token["kept"]
        if token["path"] is not None:
            return "/" + self._name(token["path"])
        number, name = token["number"] or "", token["name"]
        if len(name) == 1 and name.isascii() and name.isalpha():
            return number + name
        if numbers and name not in self._kept:
            return self._name(number + name)
        stays = all(part in self._kept or _NUMBER.fullmatch(part) for part in _JOINED.split(name))
        return number + (name if stays else self._name(name))

    def _name(self, text: str) -> str:
        return self._given.setdefault(text, f"name{len(self._given) + 1}")


def without_names(head: bytes) -> str:
    r"""Return whole lines of a log of any dialect, or of none, with their names replaced.

    ``head`` is UTF-8, with ``\n`` as line break; bytes that are not UTF-8 are part of names.
    """
    text = _CONTROL.sub("?", head.decode("utf-8", errors="replace"))
    try:
        dialect = dialects.detect(head, "").name
    except DialectError:
        dialect = ""
    kept, words = "", KEPT
    if not dialect and propose(head) is not None:
        if not _VALUE.search(text.partition("\n")[0]):
            kept, _, text = text.partition("\n")  # column names of a table
            kept += "\n"
        keys = Counter(_KEY.findall(text))
        usual = max(keys.values(), default=0) / 2
        words |= _words(*(key for key, number in keys.items() if number > usual))
    names = Pseudonyms(_ESCAPES.get(head.lstrip()[:1]), words)
    lines = _LINES.get(dialect, _of_keys)
    return "".join((kept, *lines(text, names)))


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _of_keys(text: str, names: Pseudonyms, values: re.Pattern[str] = _KEYED) -> Iterator[str]:
    """Replace names; in each ``value`` that a pattern finds, numbers are names too."""
    at = 0
    for found in values.finditer(text):
        yield names.replaced(text[at : found.start("value")])
        yield names.replaced(found["value"], numbers=True)
        at = found.end("value")
    yield names.replaced(text[at:])


def _of_sacct(text: str, names: Pseudonyms) -> Iterator[str]:
    """Replace names in columns; the header row stays. The log of completions has keys."""
    lines = _lines(text)
    row = heads.find([heads.TextLine(at, line.rstrip("\r\n")) for at, line in enumerate(lines)])
    if row is None:
        yield from _of_keys(text, names)
        return
    separator = row.layout.separator
    named = [name.lower() in _NAMED for name in row.layout.names]
    for at, line in enumerate(lines):
        if at == row.row.number:
            yield line
            continue
        fields = line.split(separator)
        whole = len(fields) in (len(named), len(named) + row.layout.trailing)
        pairs = zip(fields, chain(named if whole else [], repeat(False)), strict=False)
        yield separator.join(names.replaced(field, numbers=flag) for field, flag in pairs)


def _of_grid_engine(text: str, names: Pseudonyms) -> Iterator[str]:
    for line in _lines(text):
        if line.startswith("{"):  # an object of JSON
            yield from _of_keys(line, names)
            continue
        fields = line.split(":")
        first = len(fields) > _GRID_ENGINE
        yield ":".join(
            names.replaced(field, numbers=first and at < _GRID_ENGINE)
            for at, field in enumerate(fields)
        )


def _of_lsf(text: str, names: Pseudonyms) -> Iterator[str]:
    """Replace names; a number in quotes is a name, unless it is the version."""
    return _of_keys(text, names, re.compile(r'(?<=[0-9" ] )"(?P<value>[0-9]+)"'))


_LINES: Final[dict[str, Callable[[str, Pseudonyms], Iterator[str]]]] = {
    "sacct": _of_sacct,
    "gridengine": _of_grid_engine,
    "lsf": _of_lsf,
}
