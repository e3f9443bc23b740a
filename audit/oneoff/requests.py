"""Amounts that options request for a job: walltimes, numbers, GPUs and memory."""

import re
from typing import Final

import polars as pl

from audit.errors import UsageError
from audit.formats.slurm import fields
from audit.formats.slurm.slurm_conf import seconds

_UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_PARTS: Final = re.compile(r"([0-9]{1,7})(s|min|m|h|d)")
_LONGEST: Final = 10 * 366 * 86_400  # s


def walltime(text: str) -> int:
    """Return the seconds of ``4:00:00``, ``2-00:00:00``, ``90`` (minutes) or ``1h30m``.

    Raises UsageError if it is none of these.
    """
    plain = text.strip().lower()
    if plain and not _PARTS.sub("", plain):
        found: float | None = sum(int(n) * _UNITS[unit] for n, unit in _PARTS.findall(plain))
    else:
        found = seconds(plain)
    if found is None or not 0 < found <= _LONGEST:
        raise UsageError(f"--walltime {text!r}: write 4:00:00, 2-00:00:00, 4h or 90m")
    return int(found)


def whole_number(name: str, text: str | None) -> int | None:
    """Return a number ≥ 1; errors as of ``walltime``."""
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise UsageError(f"--{name} {text!r}: write a whole number, at least 1")
    return int(text)


def typed_gpus(text: str | None) -> tuple[int | None, str | None]:
    """Return the number of GPUs, and their type as attempts have it; errors as of ``walltime``."""
    if text is None:
        return None, None
    kind, _, number = text.lower().rpartition(":")
    if not re.fullmatch(r"[1-9][0-9]{0,5}", number) or not re.fullmatch(r"[^\s:,=]*", kind):
        raise UsageError(f"--gpus {text!r}: write N or TYPE:N, such as a100:2")
    return int(number), f"{kind}:{number}" if kind else None


def memory(text: str | None) -> int | None:
    """Return the bytes of ``64G``; errors as of ``walltime``."""
    if text is None:
        return None
    frame = pl.DataFrame({"mem": [text]}).select(fields.memory(pl.col("mem")).struct.field("bytes"))
    found = frame.item()
    if not isinstance(found, int):
        raise UsageError(f"--mem {text!r}: write an amount such as 64G")
    return found
