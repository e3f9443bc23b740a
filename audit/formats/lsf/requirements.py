"""What a job asked for, as LSF writes it: `select[…] order[…] rusage[mem=4096.00:ngpus=1] span[…]`.

Source: "Resource requirements" in IBM's administration guide of LSF 10.1. Memory is in MB unless it
has a unit (the log does not say what LSF_UNIT_FOR_LIMITS is), and amounts are for each host unless
they say `/task` or `/job`. Of alternatives (`||`) the first counts; compound requirements
(`2*{…}+{…}`) are not taken apart.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

GPUS: Final = ("ngpus_physical", "ngpus", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared")

_USAGE: Final = re.compile(r"\brusage\[([^\]]*)\]")
_AMOUNT: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]*)?) *([KMGTP]?)B?(?:/(host|task|job))?", re.I)
_UNITS: Final = {unit: 1_024**n for n, unit in enumerate("KMGTP", 1)} | {"": 1_024**2}
_MOST: Final = 1 << 50


class Amount(NamedTuple):
    """How much of something, and for each what."""

    value: int
    per: str  # host, task or job


class Asked(NamedTuple):
    """What is known of a request."""

    memory: Amount | None  # bytes
    gpus: Amount | None


NOTHING: Final = Asked(None, None)
NO_GPUS: Final = Amount(0, "job")


@lru_cache(maxsize=1 << 14)
def amounts(text: str, nodes: int, slots: int) -> tuple[int | None, int | None]:
    """Bytes of memory and GPUs that a job with so many nodes and slots asked for."""
    times = {"host": nodes, "task": slots, "job": 1}
    wanted = asked(text)
    return _times(wanted.memory, times), _times(wanted.gpus, times)


@lru_cache(maxsize=1 << 14)
def asked(text: str) -> Asked:
    """Reads one requirement. What is not written as it should be counts as not asked for."""
    if "{" in text:
        return NOTHING
    wanted: dict[str, str] = {}
    for section in _USAGE.findall(text):
        for item in re.split("[:,]", section.split("||")[0]):
            name, _, value = item.partition("=")
            wanted[name.strip()] = value.strip()
    memory = _amount(wanted.get("mem", ""), by_unit=True)
    named = (wanted[name] for name in GPUS if name in wanted)
    gpus = _amount(next(named, ""), by_unit=False)
    return Asked(memory, gpus or NO_GPUS)


def _amount(text: str, *, by_unit: bool) -> Amount | None:
    if not (found := _AMOUNT.fullmatch(text)):
        return None
    value = float(found[1]) * (_UNITS[found[2].upper()] if by_unit else 1)
    return Amount(round(value), (found[3] or "host").lower()) if 0 < value <= _MOST else None


def _times(amount: Amount | None, times: dict[str, int]) -> int | None:
    return None if amount is None else min(amount.value * times[amount.per], _MOST << 10)
