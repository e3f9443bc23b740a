"""Kueue's workloads, as `kubectl get workloads,events --all-namespaces -o json` prints them.

Each admission of a workload is an attempt. A workload has the conditions of now only:

- The last admission is exact: Admitted to Finished. It waited since it was created, or requeued.
- Of earlier ones, only the total length is known (``accumulatedPastExecutionTimeSeconds``), unless
  the log has their events (QuotaReserved or Admitted, EvictedDueTo…), which clusters keep for an
  hour; or unless the only eviction is still in force.
- Resources are those of the admission, else of the request: ``resourceRequests``, or what the
  containers of all pods request. The type of a GPU is its flavor.
- Kubernetes knows no users: a label may hold one (``config.table``, `--map user=LABEL`).

Sources: Kueue's ``apis/kueue/v1beta2/workload_types.go``, ``pkg/workload``, and the quantities of
Kubernetes (``apimachinery/pkg/api/resource``).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from math import ceil
from typing import Any, Final, NamedTuple

import polars as pl

from audit.config.table import Mapped, TableMapping, of_json
from audit.errors import DialectError
from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.elements import BlockElements, decode, holdable, starts_of
from audit.formats.instants import LATEST
from audit.formats.lines import Block
from audit.formats.shaping import LARGEST, ends_early, faulted
from audit.model import RECORDS, RecordKind, RefusalCode

_API: Final = re.compile(rb'"apiVersion"\s*:\s*"kueue\.x-k8s\.io/')
_KIND: Final = re.compile(rb'"kind"\s*:\s*"Workload"')
_ITEMS: Final = re.compile(rb'"items"\s*:\s*\[[ \t\r]*\n([ \t]*)\{')
_MOST: Final = 12 << 20  # bytes of a block: events of a workload may stand anywhere in it
_QUANTITY: Final = re.compile(
    r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?"
)
_SUFFIXES: Final = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
    **{unit: Fraction(1000 ** (power + 2)) for power, unit in enumerate("MGTPE")},
    **{f"{unit}i": Fraction(1024 ** (power + 1)) for power, unit in enumerate("KMGTPE")},
}
_WAITED: Final = re.compile(r"wait time since queued was ([0-9]+)s")
_EVICTED: Final = "EvictedDueTo"
_MOST_BYTES: Final = 1 << 62
EARLIER: Final = (
    "of admissions before the last one, only their total length is known (their events are not in "
    "the same file): they count in usage only"
)
ELSEWHERE: Final = "events of workloads that the file does not have: put both into one file"

_COLUMNS: Final = (
    *("job_id", "kind", "user", "account", "partition", "qos", "state", "reason", "gpu_types"),
    *("group", "reservation", "cluster", "submit_time", "eligible_time", "start_time", "end_time"),
    *("occupancy_s", "walltime_s", "cpus", "gpus", "mem_bytes", "priority"),
)
_SCHEMA: Final = {name: RECORDS[name] for name in _COLUMNS} | {"remark": pl.String}
_LABELLED: Final = ("user", "account", "group", "partition", "qos", "reservation", "cluster")


class _Event(NamedTuple):
    """An event of a workload."""

    at: int  # epoch s
    reason: str
    note: str


def recognises(head: bytes) -> bool:
    """Return whether kubectl's output about workloads begins with ``head``."""
    return head.lstrip().startswith(b"{") and bool(_API.search(head) and _KIND.search(head))


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Return how items begin, and the labels that are fields; DialectError for other mappings."""
    items = _ITEMS.search(head)
    entries = {"indent": items[1].decode() if items else ""}
    mapping = reading.table
    if mapping is not None:
        bare = {
            name for name, of in mapping.fields.items() if of == Mapped(column=of.column or "-")
        }
        if odd := [name for name in mapping.fields if name not in bare.intersection(_LABELLED)]:
            names = ", ".join(_LABELLED)
            raise DialectError(f"{odd[0]}: labels of Kueue's workloads can be {names}, unchanged")
        entries["table"] = mapping.as_json
    return Header(zone=reading.zone, entries=entries)


def _mark(header: Header) -> bytes:
    return f"\n{header.entries['indent']}{{".encode()


def whole(data: bytes, header: Header) -> int:
    """Return 0 up to a size, as events may follow their workloads; else the last item's place."""
    return max(data.rfind(_mark(header)), 0) if len(data) > _MOST else 0


def parse(block: Block, header: Header) -> Parsed:
    """Read the items of one document or several."""
    found, data, mark = BlockElements(block), block.data, _mark(header)
    starts = [at + len(mark) - 1 for at in starts_of(data, mark)]
    if data.startswith(b"{") and not header.entries["indent"]:
        starts = [0, *starts]
    mapping = of_json(header.entries["table"]) if "table" in header.entries else None
    workloads: list[tuple[int, int, Mapping[str, Any]]] = []
    events: dict[tuple[str, str], list[_Event]] = {}
    for at, end in zip(starts, [*starts[1:], len(data)], strict=True):
        try:
            document, _ = decode(data[at:end].decode("utf-8", errors="surrogateescape"))
        except (ValueError, RecursionError) as error:
            cut = end == len(data)
            code = RefusalCode.CUT if cut else RefusalCode.SHAPE
            found.refuse(at, end, f"is not JSON: {error}", code)
            continue
        for item in _items(document):
            if item.get("kind") == "Workload":
                workloads.append((at, end, item))
            elif item.get("kind") == "Event":
                try:
                    _note(item, events)
                except (ValueError, OverflowError) as error:
                    why = f"is not an event of a workload: {error}"
                    found.refuse(at, end, why[:200], RefusalCode.VALUE)
    rows: list[dict[str, Any]] = []
    for at, end, item in workloads:
        try:
            made = [*_Workload(item, mapping, events).records()]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            why = f"is not a workload: {type(error).__name__} {error}"
            found.refuse(at, end, why[:200], RefusalCode.VALUE)
            continue
        for row in made:
            found.take(at, end, ())
            rows.append(row)
    frame = pl.DataFrame(rows, _SCHEMA).insert_column(0, found.texts(())["number"])
    doubts = pl.concat_list(pl.col("remark")).list.drop_nulls()
    order = faulted([ends_early("Admitted, Finished")])
    parsed = found.parsed(frame.with_columns(remarks=doubts, **order), 0)
    known = {_name_of(item.get("metadata")) for _, _, item in workloads}
    elsewhere = sum(len(of) for name, of in events.items() if name not in known)
    return (
        replace(parsed, remarks={**parsed.remarks, ELSEWHERE: elsewhere}) if elsewhere else parsed
    )


def _items(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the items of a list that one line holds; the document itself where it is none."""
    items = document.get("items")
    for item in items if isinstance(items, list) else [document]:
        if isinstance(item, Mapping):
            yield item


def _note(item: Mapping[str, Any], events: dict[tuple[str, str], list[_Event]]) -> None:
    """Add an event of a workload; events.k8s.io and core events have other keys."""
    of = item.get("regarding") or item.get("involvedObject")
    at = next(
        filter(None, map(item.get, ("eventTime", "deprecatedLastTimestamp", "lastTimestamp"))), None
    )
    if isinstance(of, Mapping) and of.get("kind") == "Workload" and at is not None:
        note = str(item.get("note") or item.get("message") or "")
        events.setdefault(_name_of(of), []).append(
            _Event(_instant(at), str(item.get("reason")), note)
        )


def _name_of(workload: Any) -> tuple[str, str]:
    """Return the namespace and the name of a workload; empty where it lacks them."""
    named = workload if isinstance(workload, Mapping) else {}
    return str(named.get("namespace") or ""), str(named.get("name") or "")


def _instant(text: Any) -> int:
    moment = datetime.fromisoformat(str(text))
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no zone")
    return int(moment.timestamp())


def _whole(value: Any) -> int:
    """Return a whole number, such as a length in s; ValueError if it is too large for one."""
    number = int(value)
    if abs(number) > LATEST:
        raise ValueError(f"{str(value)[:40]} is too large")
    return number


def quantity(text: Any) -> Fraction:
    """Return an amount as Kubernetes writes it: `8`, `500m`, `64Gi`; ValueError if it is none."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{str(text)[:40]!r} is not a quantity")
    number, suffix = match.groups()
    if suffix and suffix not in _SUFFIXES:
        if abs(int(suffix[1:])) > 30:
            raise ValueError(f"{str(text)[:40]!r} is not a quantity")
        return Fraction(number + suffix)
    return Fraction(number) * (_SUFFIXES[suffix] if suffix else 1)


class _Workload:
    """A workload, and what is known of its admissions."""

    def __init__(
        self,
        item: Mapping[str, Any],
        mapping: TableMapping | None,
        events: Mapping[tuple[str, str], Sequence[_Event]],
    ) -> None:
        self.meta, self.spec = item["metadata"], item.get("spec") or {}
        self.status = item.get("status") or {}
        self.mapping = mapping
        self.submit = _instant(self.meta["creationTimestamp"])
        self.conditions = {of["type"]: of for of in self.status.get("conditions") or ()}
        self.name = _name_of(self.meta)
        if not all(self.name):
            raise ValueError("metadata gives no namespace or no name")
        self.events = sorted(events.get(self.name, ()))

    def when(self, kind: str) -> int | None:
        """Return since when a condition holds; None: it does not."""
        of = self.conditions.get(kind)
        if of is None or of.get("status") != "True":
            return None
        return _instant(of["lastTransitionTime"])

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a record of each admission that is known, and of the waiting now."""
        past = _whole(self.status.get("accumulatedPastExecutionTimeSeconds") or 0)
        common = {**self._common(), **self._amounts()}
        told = [*self._told()]
        yield from ({**common, **run} for run in told)
        evicted = self.when("Evicted")
        evictions = (self.status.get("schedulingStats") or {}).get("evictions") or ()
        reasons = [(str(of.get("reason")), int(of.get("count") or 0)) for of in evictions]
        only = sum(number for _, number in reasons) == 1
        if past and evicted is not None and only and not told:
            state = _state_of(reasons)
            times = {"start_time": evicted - past, "end_time": evicted}
            yield {**common, **times, "state": state, "kind": RecordKind.RUN.value}
        elif past:
            known = sum(run["end_time"] - run["start_time"] for run in told)
            yield {
                **common,
                "kind": RecordKind.PAST.value,
                "occupancy_s": past,
                "state": _state_of(reasons),
                "remark": EARLIER if known + len(told) < past else None,
            }
        again = self.when("Requeued") if past or told or evicted is not None else None
        yield {**common, "kind": RecordKind.RUN.value, "eligible_time": again, **self._now()}

    def _now(self) -> dict[str, Any]:
        start, end = self.when("Admitted"), self.when("Finished")
        if end is not None:
            said = self.conditions["Finished"]
            good = said.get("reason") == "Succeeded"
            if said.get("reason") == "JobFinished":  # before 0.7, the message says how
                good = "success" in str(said.get("message"))
            state = "COMPLETED" if good else "FAILED"
            ran = {"start_time": start, "end_time": end}
            return {**ran, "state": state if start is not None else "CANCELLED"}
        if start is not None:
            return {"start_time": start, "state": "RUNNING"}
        reason = (self.conditions.get("QuotaReserved") or {}).get("reason")
        if self.spec.get("active") is False:
            reason = "Inactive"
        return {"state": "PENDING", "reason": None if reason is None else holdable(str(reason))}

    def _told(self) -> Iterator[dict[str, Any]]:
        """Yield the admissions whose begin and end are events."""
        start = arrival = None
        for at, reason, note in self.events:
            if reason == "QuotaReserved":
                waited = _WAITED.search(note)
                start, arrival = at, at - int(waited[1]) if waited else None
            elif reason == "Admitted":
                start = at
            elif reason.startswith(_EVICTED) and start is not None:
                state = _state_of([(reason.removeprefix(_EVICTED), 1)])
                times = {"eligible_time": arrival, "start_time": start, "end_time": at}
                yield {**times, "state": state, "kind": RecordKind.RUN.value}
                start = arrival = None

    def _common(self) -> dict[str, Any]:
        labels = self.meta.get("labels") or {}
        of = self.mapping.fields if self.mapping else {}
        named = {name: labels.get(field.column or "") for name, field in of.items()}
        limit = self.spec.get("maximumExecutionTimeSeconds")
        priority, of_class = self.spec.get("priority"), self.spec.get("priorityClassRef") or {}
        queue = (self.status.get("admission") or {}).get("clusterQueue")
        texts = {
            "account": self.name[0],
            "partition": queue,
            "qos": of_class.get("name") or self.spec.get("priorityClassName"),
            **named,
        }
        return {
            "job_id": holdable("/".join(self.name)),
            "submit_time": self.submit,
            "walltime_s": None if limit is None else _whole(limit),
            "priority": None if priority is None else float(_whole(priority)),
            **{name: None if text is None else holdable(str(text)) for name, text in texts.items()},
        }

    def _amounts(self) -> dict[str, Any]:
        total: dict[str, Fraction] = {}
        kinds: dict[str, Fraction] = {}
        for resources, flavors in self._resources():
            for name, amount in resources.items():
                total[name] = total.get(name, Fraction()) + amount
                if name.endswith("/gpu") and name in flavors:
                    kind = re.sub(r"[\s:,=]", "_", holdable(str(flavors[name])).lower())
                    kinds[kind] = kinds.get(kind, Fraction()) + amount
        of_gpus = (of for name, of in total.items() if name.endswith("/gpu"))
        gpus = sum(of_gpus, Fraction()) if total else None
        typed = ",".join(f"{kind}:{ceil(of)}" for kind, of in sorted(kinds.items()) if of > 0)
        return {
            "cpus": _within(total.get("cpu"), LARGEST),
            "gpus": _within(gpus, LARGEST),
            "mem_bytes": _within(total.get("memory"), _MOST_BYTES),
            "gpu_types": typed or None,
        }

    def _resources(self) -> Iterator[tuple[Mapping[str, Fraction], Mapping[str, Any]]]:
        admission = self.status.get("admission") or {}
        if assigned := admission.get("podSetAssignments"):
            for of in assigned:
                yield _quantities(of.get("resourceUsage")), of.get("flavors") or {}
        elif requested := self.status.get("resourceRequests"):
            for of in requested:
                yield _quantities(of.get("resources")), {}
        else:
            for of in self.spec.get("podSets") or ():
                pods, template = of.get("count", 1), of.get("template") or {}
                for container in (template.get("spec") or {}).get("containers") or ():
                    asked = container.get("resources") or {}
                    each = _quantities(asked.get("limits")) | _quantities(asked.get("requests"))
                    yield {name: pods * amount for name, amount in each.items()}, {}


def _quantities(resources: Any) -> dict[str, Fraction]:
    return {name: quantity(text) for name, text in (resources or {}).items()}


def _within(amount: Fraction | None, most: int) -> int | None:
    return None if amount is None or amount > most else ceil(amount)


def _state_of(reasons: Sequence[tuple[str, int]]) -> str:
    """Return the state of admissions that were evicted for these reasons."""
    counted = {reason for reason, number in reasons if number}
    return "PREEMPTED" if counted == {"Preempted"} else "REQUEUED"


DIALECT: Final = Dialect(
    "kueue",
    "Kueue's workloads (kubectl -o json)",
    recognises,
    header,
    parse,
    whole,
    block_bytes=1 << 24,
    scheduler="Kueue",
    takes_mapping=True,
)
