"""Slurm's `sacct --json` (21.08 to 25.11): documents, each with an array of jobs.

Each job is converted to the columns of `sacct -P` and read by the same rules (``records``), so both
give the same attempts. Steps are counted.

A document is never held as a whole. All its jobs begin alike, with ``{`` and the same first key,
which no text within can contain (its quotes are escaped); between two such places is one job. So
damage costs one job, and blocks may be cut before any job. A document that ends early loses what
was cut, and is reported, unless the cut is directly after a job: blocks end there too.

Numbers are plain until 22.05; from 23.02 they are objects where they may be unset or infinite, or
null, by version and request (``--json=v0.0.42+complex``). In 21.08 ``time/start`` holds the time of
eligibility, and in 22.05 ``reservation/name`` a meaningless number.

Sources: Slurm's plugins ``openapi/dbv0.0.36`` to ``.38`` and ``data_parser/v0.0.39`` to ``.44``.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.elements import BlockElements, Row, Words, decode, holdable, starts_of
from audit.formats.lines import Block
from audit.formats.sacct.records import BATCH, PENDING_TASKS, typed
from audit.model import RefusalCode

_UNSET: Final = frozenset((2**32 - 1, 2**32 - 2, 2**64 - 1, 2**64 - 2))
"""Slurm's infinite and unset, in 32 and 64 bits."""

_FLAGS: Final = (
    # in the order in which `sacct -P` prints one of them instead of the state
    *("COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED"),
    *("REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"),
)
_LONGEST_MASK: Final = 1 << 20
"""Digits of a bit mask of array tasks; Slurm's MaxArraySize is at most 4,000,001."""

_FEW_TASKS: Final = 10
"""Tasks at equal distances are written by their step where they span more than this."""
_JOBS: Final = re.compile(rb'"jobs"\s*:\s*\[')
_DOCUMENT: Final = re.compile(rb'\s*\{\s*(?:"(?:jobs|meta|errors|warnings)"|$)')
_FIRST: Final = re.compile(rb'\s*(\{\s*"[^"\\]*")')
_RELEASE: Final = re.compile(rb'"release"\s*:\s*"([^"\\]*)"')
_OF_SACCT: Final = re.compile(rb'"allocation_nodes"|openapi\\?/db|"accounting_storage"\s*:\s*"[^"]')
_OF_SQUEUE: Final = b'"accrue_time"'
_NOTHING: Final = "Nothing found"
"""sacct's error for a window without jobs (ESLURM_REST_EMPTY_RESULT)."""

_BETWEEN: Final = re.compile(rb"[\s,]*")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_WORDS: Final = Words(
    before="the document ends before a job",
    within="the document ends within this job",
    other="is not a job of a JSON document",
)


def recognises(head: bytes) -> bool:
    """Return whether a document of sacct's begins with ``head``."""
    if not head.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        return False
    return bool(_JOBS.search(head) and _OF_SACCT.search(head)) and _OF_SQUEUE not in head


def header(head: bytes, reading: Reading) -> Header:
    """Return the beginning of jobs (entry ``begins``), and Slurm's release if it precedes them."""
    entries = {"begins": b'{"account"'}
    if jobs := _JOBS.search(head):
        if first := _FIRST.match(head, jobs.end()):
            entries["begins"] = first[1]
        if release := _RELEASE.search(head, 0, jobs.start()):
            entries["release"] = release[1]
    texts = {key: text.decode("utf-8", "backslashreplace") for key, text in entries.items()}
    return Header(zone=reading.zone, entries=texts)


def needed(entries: Mapping[str, str]) -> dict[str, str]:
    """Return the beginning of jobs."""
    return {"begins": entries["begins"]}


def whole(data: bytes, header: Header) -> int:
    """Return the length of ``data`` up to the last job's beginning, without the comma before it."""
    begins = header.entries["begins"].encode()
    at = len(data)
    while (at := data.rfind(begins, 0, at)) > 0:
        if _is_element(data, at):
            return len(data[:at].rstrip().removesuffix(b","))
    return 0


def parse(block: Block, header: Header) -> Parsed:
    """Read a stretch of one document or several."""
    walk = _Walk(block, header.entries["begins"].encode())
    walk.run()
    return walk.found.parsed(typed(walk.found.texts(list(COLUMNS)), "UTC"), walk.steps)


def _is_element(data: bytes, at: int) -> bool:
    return not data[max(at - 200, 0) : at].rstrip().endswith(b":")


class _Walk:
    def __init__(self, block: Block, begins: bytes) -> None:
        self.found = BlockElements(block)
        self.data = block.data
        self.steps = 0
        self._first = block.byte_offset == 0
        self._starts = [at for at in starts_of(self.data, begins) if _is_element(self.data, at)]

    def run(self) -> None:
        """Go through the block once."""
        at = len(_BYTE_ORDER_MARK) if self.data.startswith(_BYTE_ORDER_MARK) else 0
        inside = not (self._first or _DOCUMENT.match(self.data))
        while at < len(self.data):
            if inside:
                at = self.found.walk(at, self._starts, _BETWEEN, self._rows, _WORDS)
            else:
                at = self._outside(at)
            inside = not inside

    def _rows(self, job: Any) -> list[Row]:
        row = tuple(None if text is None else holdable(text) for text in columns_of(job))
        steps = job.get("steps")
        self.steps += len(steps) if isinstance(steps, list) else 0
        return [row]

    def _outside(self, at: int) -> int:
        """Check the text outside arrays of jobs; return the beginning of the next array."""
        jobs = _JOBS.search(self.data, at)
        next_job = bisect_right(self._starts, at)
        stop = jobs.end() if jobs else [*self._starts, len(self.data)][next_job]
        text = self.data[at:stop].decode("utf-8", errors="surrogateescape")
        begun = '{"jobs": [' if text.startswith("]") else ""
        closing = "]}" * (jobs is not None)
        try:
            document, length = decode(begun + text + ("" if begun else closing))
            self._errors(document, at, stop)
            rest = text[length - len(begun) :].strip() if begun else ""
            if rest:
                self._errors(decode(rest + closing)[0], at, stop)
        except (ValueError, RecursionError):
            if text.strip():
                cut = stop == len(self.data)
                what = "ends before it is closed" if cut else "cannot be read around its jobs"
                code = RefusalCode.CUT if cut else RefusalCode.SHAPE
                self.found.refuse(at, stop, f"the document {what}", code)
        return stop

    def _errors(self, document: Any, at: int, end: int) -> None:
        """Refuse the errors that sacct reports: jobs may be missing."""
        errors = document.get("errors") if isinstance(document, dict) else None
        for error in errors if isinstance(errors, list) else ():
            if _NOTHING not in str(error):
                texts = error if isinstance(error, dict) else {}
                text = texts.get("description") or texts.get("error") or error
                shown = holdable(str(text)[:200])
                reason = f"sacct reports an error, jobs may be missing: {shown}"
                self.found.refuse(at, end, reason, RefusalCode.SHAPE)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)[:40]
    return text.encode("utf-8", errors="backslashreplace").decode()


def _number(value: Any) -> str | None:
    """Return a number in any form as a text; others unchanged, to be refused."""
    if type(value) is int:
        return None if value in _UNSET else str(value)
    if value is None or (isinstance(value, str) and value in {"", "Infinity"}):
        return None
    if isinstance(value, dict):
        known = value.get("set", True) and not value.get("infinite", False)
        return _number(value.get("number")) if known else None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return str(int(value)) if value.is_integer() else str(value)
    return value if isinstance(value, str) else _shown(value)


def _time(value: Any) -> str | None:
    return None if value == 0 else (text if (text := _number(value)) != "0" else None)


def _start(time: Mapping[str, Any]) -> str | None:
    """Return the start; computed from the end where eligibility is in its place (21.08)."""
    start, end, elapsed = _time(time.get("start")), _time(time.get("end")), time.get("elapsed")
    if start is None or start != _time(time.get("eligible")) or end is None or elapsed is None:
        return start
    try:
        spent = int(_number(elapsed) or "") + int(_number(time.get("suspended")) or 0)
        return str(int(end) - spent) if int(end) - int(start) > spent >= 0 else start
    except ValueError:
        return start


def _name(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else _shown(value)


def _reservation(value: Any) -> str | None:
    return None if isinstance(value, int) else _name(value)


def _state(value: Any) -> str | None:
    if not isinstance(value, list):
        return _name(value)
    return next((flag for flag in _FLAGS if flag in value), _name(value[0] if value else None))


def _duration(value: Any) -> str | None:
    seconds = _number(value)
    if seconds is None or not seconds.isdecimal() or len(seconds) > 12:
        return seconds
    minutes, second = divmod(int(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}"


def _tres(items: Any) -> str | None:
    """Return `cpu=4,mem=8192M,gres/gpu:a100=2`; None where it is empty."""
    if not items:
        return None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return _shown(items)
    texts = []
    for item in items:
        count, kind, name = _number(item.get("count")), item.get("type"), item.get("name")
        if count is not None and not count.startswith("-"):  # energy may be unknown
            unit = "M" if kind == "mem" and count.isdecimal() else ""
            texts.append(f"{kind}/{name}={count}" if name else f"{kind}={count}{unit}")
    return ",".join(texts) or None


def _batch(job: Mapping[str, Any]) -> str | None:
    """Return the resources of the batch step of a job on two nodes."""
    steps = job.get("steps")
    if not isinstance(steps, list) or _number(job.get("allocation_nodes")) != "2":
        return None
    for step in steps:
        names = step.get("step") if isinstance(step, dict) else None
        if isinstance(names, dict) and names.get("name") == "batch":
            tres = step.get("tres")
            return _tres(tres.get("allocated")) if isinstance(tres, dict) else None
    return None


def _memory(required: Mapping[str, Any]) -> str | None:
    """Return the requested memory; until 22.05 it is unknown whether per CPU or per node."""
    for name, suffix in (("memory_per_cpu", "Mc"), ("memory_per_node", "Mn")):
        if (amount := _number(required.get(name))) is not None:
            return f"{amount}{suffix}"
    return None


def _reason(state: Mapping[str, Any]) -> str | None:
    return _name(state.get("reason", state.get("previous")))


def _submit_line(job: Mapping[str, Any]) -> str | None:
    """Return the call of sbatch (from 23.02 on), with the throttle that its array has."""
    line, most = _name(job.get("submit_line")), _throttle(job.get("array"))
    return line if most is None else f"sbatch --array=0%{most} {line or ''}"


def _throttle(array: Any) -> str | None:
    """Return how many tasks of an array may run at one time."""
    try:
        most = _number(array["limits"]["max"]["running"]["tasks"])
    except (KeyError, TypeError):
        most = None
    return None if most == "0" else most


def _job_id(job: dict[str, Any]) -> str | None:
    array, het = job.get("array"), job.get("het")
    if isinstance(array, dict) and (number := _number(array.get("job_id"))) not in (None, "0"):
        task = array.get("task")
        if task and isinstance(task, str):
            return f"{number}_[{tasks_of(task, array)}]"
        if (single := _number(array.get("task_id"))) is not None:
            return f"{number}_{single}"
    het = het if isinstance(het, dict) else {}
    number, offset = _number(het.get("job_id")), _number(het.get("job_offset"))
    if number not in (None, "0") and offset is not None:
        return f"{number}+{offset}"
    return _number(job["job_id"])


def _pending(job: dict[str, Any]) -> str | None:
    """Return how many tasks of an array wait."""
    array = job.get("array")
    places = (job, array if isinstance(array, dict) else {})
    return next((text for of in places if (text := _number(of.get(PENDING_TASKS)))), None)


def tasks_of(task: str, array: dict[str, Any]) -> str:
    """Return the waiting tasks of an array as sacct prints them: `0xc` is `2-3`."""
    task = task.removeprefix("[").removesuffix("]")
    if re.fullmatch(r"0x[0-9A-Fa-f]+", task) is None or len(task) > _LONGEST_MASK:
        return task
    bits = f"{int(task, 16):b}"[::-1]
    runs = [(run.start(), run.end() - 1) for run in re.finditer("1+", bits)]
    steps = {later - run for (run, _), (later, _) in pairwise(runs)}
    alone = all(first == last for first, last in runs)
    if alone and len(steps) == 1 and runs[-1][1] - runs[0][0] > _FEW_TASKS:
        text = f"{runs[0][0]}-{runs[-1][1]}:{steps.pop()}"
    else:
        text = ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
    most = _throttle(array)
    return text if most is None else f"{text}%{most}"


_Places = tuple[tuple[str | None, str | None], ...]

COLUMNS: Final[dict[str, tuple[Callable[[Any], str | None], _Places]]] = {
    # sacct's column: converter, places of its value: object (None: the job), key (None: all)
    "JobID": (_job_id, ((None, None),)),  # `array` (task: ranges or a bit mask), `het`, `job_id`
    PENDING_TASKS: (_pending, ((None, None),)),
    "Cluster": (_name, ((None, "cluster"), ("association", "cluster"))),
    "User": (_name, ((None, "user"), ("association", "user"))),
    "Account": (_name, ((None, "account"), ("association", "account"))),
    "Group": (_name, ((None, "group"),)),
    "Partition": (_name, ((None, "partition"),)),
    "QOS": (_name, ((None, "qos"),)),
    "State": (_state, (("state", "current"),)),  # a state, or a list of one and its flags
    "Reason": (_reason, (("state", None),)),
    "Priority": (_number, ((None, "priority"),)),
    "Reservation": (_reservation, (("reservation", "name"),)),
    "Submit": (_time, (("time", "submission"),)),  # of all times 0 and null are unknown
    "Eligible": (_time, (("time", "eligible"),)),
    "Start": (_start, (("time", None),)),
    "End": (_time, (("time", "end"),)),
    "ElapsedRaw": (_number, (("time", "elapsed"),)),
    "Suspended": (_duration, (("time", "suspended"),)),
    "TimelimitRaw": (_number, (("time", "limit"),)),  # minutes
    "AllocTRES": (_tres, (("tres", "allocated"),)),  # memory in MiB
    BATCH: (_batch, ((None, None),)),
    "ReqTRES": (_tres, (("tres", "requested"),)),
    "AllocNodes": (_number, ((None, "allocation_nodes"),)),
    "Constraints": (_name, ((None, "constraints"),)),
    "SubmitLine": (_submit_line, ((None, None),)),
    "NodeList": (_name, ((None, "nodes"),)),
    "ReqCPUS": (_number, (("required", "CPUs"),)),
    "ReqMem": (_memory, (("required", None),)),
}
"""The columns that are read of a job; of several places the first with a value."""

_PARTS: Final = ("time", "state", "association", "tres", "required", "reservation")


def columns_of(job: Any) -> Row:
    """Return the texts of ``COLUMNS``, None where unknown; raise ValueError if it is not a job."""
    if not isinstance(job, dict) or "job_id" not in job:
        raise ValueError(f"field job_id is missing: {_shown(job)}")
    parts: dict[str | None, dict[str, Any]] = {None: job}
    for name in _PARTS:
        part = parts[name] = {} if job.get(name) is None else job[name]
        if not isinstance(part, dict):
            raise ValueError(f"field {name}: {_shown(part)} is not an object")
    row: list[str | None] = []
    for convert, places in COLUMNS.values():
        for part_name, key in places:
            of = parts[part_name]
            if (text := convert(of if key is None else of.get(key))) is not None:
                break
        row.append(text)
    return tuple(row)


_TITLE: Final = "Slurm's sacct (--json)"
DIALECT: Final = Dialect(
    "sacct-json",
    _TITLE,
    recognises,
    header,
    parse,
    whole,
    names_clusters=True,
    needed=needed,
    scheduler="Slurm",
)
