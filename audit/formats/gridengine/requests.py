"""What a job asked for, as Grid Engine writes it into the column `category`.

Such as `-l h_rt=36000,m_mem_free=1.000G,gpu=1 -pe threads 16`. Source: complex(5), sge_types(5)
and `sge_build_job_category` of the sources.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

MEMORY: Final = ("m_mem_free", "h_vmem", "mem_free", "virtual_free", "h_rss", "s_vmem")
"""Requests for memory, each for one slot; the first that is there counts."""
GPUS: Final = ("gpu", "gpus", "ngpus", "ngpu", "num_gpus", "cuda")
"""What sites call GPUs, none of which Grid Engine defines; asked for by the whole job."""
WALLTIME: Final = ("h_rt", "s_rt")

_HARD: Final = re.compile(r"(?<!-soft )(?:(?<= )|^)-l ([^ ]+)")
_DURATION: Final = re.compile(r"(?:([0-9]{0,9}):([0-9]{0,9}):)?([0-9]{1,12})(?:\.[0-9]+)?")
_AMOUNT: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)([kKmMgGtT]?)")
_UNITS: Final = {"": 1, **{unit: 1_000**n for n, unit in enumerate("kmgt", 1)}}
_UNITS.update({unit: 1_024**n for n, unit in enumerate("KMGT", 1)})
_MOST: Final = 1 << 50
"""Bytes beyond which a request is no limit (`INFINITY`, or the largest number there is)."""
_LONGEST: Final = 1 << 33


class Asked(NamedTuple):
    """What is known of a request."""

    walltime_s: int | None
    slot_bytes: int | None  # memory for each slot
    gpus: int  # for the whole job


@lru_cache(maxsize=1 << 14)
def asked(category: str) -> Asked:
    """Reads one category. What is not written as it should be counts as not asked for."""
    wanted: dict[str, str] = {}
    for part in _HARD.findall(category):
        for item in part.split(","):
            name, _, value = item.partition("=")
            wanted[name] = value
    walltime = next((_seconds(wanted[name]) for name in WALLTIME if name in wanted), None)
    memory = next((_bytes(wanted[name]) for name in MEMORY if name in wanted), None)
    gpus = next((_bytes(wanted[name]) for name in GPUS if name in wanted), None)
    return Asked(walltime, memory, gpus if gpus is not None and gpus < 1 << 20 else 0)


def _seconds(text: str) -> int | None:
    """Seconds, or hours, minutes and seconds; None where there is no limit."""
    if not (found := _DURATION.fullmatch(text)):
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    length = hours * 3_600 + minutes * 60 + seconds
    return length if 0 < length <= _LONGEST else None


def _bytes(text: str) -> int | None:
    """A number with a unit: small letters count in thousands, large ones in 1,024."""
    if not (found := _AMOUNT.fullmatch(text)):
        return None
    amount = float(found[1]) * _UNITS[found[2]]
    return round(amount) if amount <= _MOST else None
