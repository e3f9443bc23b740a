"""What ``fairaudit sshare`` was asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from audit.errors import UsageError
from audit.formats.dialects import PLAIN, Reading
from audit.words import Algorithm


@dataclass(frozen=True)
class Request:
    """Which jobs, settings and instant; None lets the configuration or Slurm decide."""

    sacct: Sequence[Path] = ()
    """What sacct printed; none: jobs come from the database that ``config`` publishes."""
    associations: Path | None = None
    qos: Path | None = None
    partitions: Path | None = None
    slurm_conf: Path | None = None
    as_of: str | None = None
    half_life: str | None = None
    algorithm: Algorithm | None = None
    phase: str | None = None
    sample: Path | None = None
    sample_time: str | None = None
    cluster: str | None = None
    zone: str | None = None
    reading: Reading = PLAIN
    by_partition: bool = False
    """Whether a column Partition is added (``sshare -m``)."""


def instant(text: str, zone: ZoneInfo, flag: str) -> int:
    """An instant as the user writes it: epoch seconds, a day, or ``2026-10-25T12:00[:00]``.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(r"[0-9]{1,10}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{flag} {text!r}: write it as 2026-10-25, 2026-10-25T12:00:00 or epoch seconds"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return int(moment.timestamp())


def text_of(path: Path) -> str:
    """A file that the user named; bytes that are no UTF-8 are escaped.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
