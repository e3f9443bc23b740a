"""Hosts, fairshare groups and resource requirements in LSF's records: see ``reader``."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from audit.formats.shaping import LARGEST
from audit.hostlists import amounts_text, listed

GPUS: Final = ("ngpus_physical", "ngpus", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared")

_RUSAGE: Final = re.compile(r"\brusage\[([^\]]*)\]")
_AFFINITY: Final = re.compile(
    r"\baffinity\[ *core *(?:\( *([0-9]{1,6})[^:\]]*?\))? *(?:\* *([0-9]{1,6}))? *[:\]]"
)
_MOST_CORES: Final = 1 << 16  # of a slot
_SPAN: Final = re.compile(r"\bspan\[ *(?:(hosts) *= *1|ptile *= *([1-9][0-9]{0,5})) *\]")
_AMOUNT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]*)?) *([KMGTP]?)B?(?:/(host|task|job))?", re.I)
_UNITS: Final = {unit: 1_024**n for n, unit in enumerate("KMGTP", 1)} | {"": 1_024**2}
_MOST: Final = 1 << 50  # largest amount per host, task or job


class LsfAllocation(NamedTuple):
    """What a job was allocated, and where; 0 and None where unknown."""

    slots: int
    nodes: int
    node_list: str | None
    node_amounts: str | None


PLACE: Final = LsfAllocation._fields[2:]


@lru_cache(maxsize=1 << 12)
def allocation(hosts: str, cores: int = 1) -> LsfAllocation:
    """Return the allocation on a list of hosts, each once per slot, or as `16*hostA`.

    ``cores`` is the number of CPUs of each slot.
    """
    held: Counter[str] = Counter()
    for host, listed_times in Counter(hosts.split(" ")).items():
        times, mark, name = host.strip('"').partition("*")
        if not mark:
            times, name = "1", times
        if name:
            each = int(times) if times.isdecimal() and len(times) < 10 else 1
            held[name] += listed_times * each
    slots, nodes = list(held.values()), listed(held)
    cpus = [number * cores for number in slots]
    amounts = amounts_text({"cpus": cpus}) if nodes and len(slots) > 1 else None
    return LsfAllocation(min(sum(slots), LARGEST), len(slots), nodes, amounts)


@lru_cache(maxsize=1 << 14)
def group_of(charged: str | None, user: str | None) -> str | None:
    """Return the fairshare group in the charged account, such as `/eng/ana`."""
    steps = [step for step in (charged or "").split("/") if step]
    if steps and steps[-1] == user:
        steps.pop()
    return "/".join(steps) or None


@lru_cache(maxsize=1 << 14)
def cores_of(text: str | None) -> int | None:
    """Return the CPUs of each slot by the affinity of a requirement; 1 without one.

    `affinity[core(7,same=socket)*2]` binds each slot to 14 cores. None if slots are bound to other
    units (threads, sockets, NUMA nodes), whose number of cores is unknown, or in another form.
    """
    if text is None or "affinity[" not in text:
        return 1
    found = _AFFINITY.search(text.split("||")[0])
    if found is None or "{" in text:
        return None
    cores = int(found[1] or 1) * int(found[2] or 1)
    return cores if 0 < cores <= _MOST_CORES else None


def hosts_of(text: str | None, slots: int) -> int | None:
    """Return on how many hosts a job that never started was to run, by `span[…]`; None: unknown."""
    if slots == 1:
        return 1
    found = _SPAN.search(text or "")
    if found is None:
        return None
    return 1 if found[1] else -(-slots // int(found[2]))


@lru_cache(maxsize=1 << 14)
def requested(text: str | None, nodes: int | None, slots: int) -> tuple[int | None, int | None]:
    """Return the bytes of memory and the GPUs that a job of this size requested.

    Malformed parts count as not requested. Amounts per host are unknown if ``nodes`` is.
    """
    if text is None or "{" in text:
        return None, None
    items: dict[str, str] = {}
    for section in _RUSAGE.findall(text):
        for item in re.split("[:,]", section.split("||")[0]):
            name, _, value = item.partition("=")
            items[name.strip()] = value.strip()
    times = {"host": nodes, "task": slots, "job": 1}
    gpus = next((items[name] for name in GPUS if name in items), "")
    return _amount(items.get("mem", ""), times, _UNITS), _amount(gpus, times, {}, none=0)


def _amount(
    text: str, times: Mapping[str, int | None], units: Mapping[str, int], none: int | None = None
) -> int | None:
    """Return an amount of a job; ``none`` if the text is not one above 0."""
    found = _AMOUNT.fullmatch(text)
    each = float(found[1]) * units.get(found[2].upper(), 1) if found else 0
    if found is None or not 0 < each <= _MOST:
        return none
    number = times[(found[3] or "host").lower()]
    return None if number is None else min(round(each) * number, _MOST << 10)
