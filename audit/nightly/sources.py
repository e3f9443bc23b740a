"""Where a cluster's logs come from: files by pattern, and what commands print.

A command may be asked for one window of time after another. Windows have fixed edges, so one that
is asked for again prints what it did, unless something in it changed; and they are asked for again
until their end lies far enough back that no record of theirs can be late.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
import zoneinfo
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import IO, Final, NamedTuple

from audit import config, periods
from audit.errors import SourceError

_DAY_S: Final = 86_400

# Nothing in which a secret would stand, nor what changes how sacct prints (SLURM_TIME_FORMAT, …).
_ENVIRONMENT: Final = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SLURM_CONF"}
)
_SAID: Final = 500
"""Of what a command complained, so many bytes at the end are told."""
_WATCH_S: Final = 0.2
"""A command that is running is looked at so often."""


class Window(NamedTuple):
    """A span of time that a command is asked for, half-open; whole days of a zone."""

    day: date
    """Its first."""
    from_time: int  # epoch s
    to_time: int  # epoch s


def files(source: config.Source, folder: Path) -> list[Path]:
    """The files of a source, sorted by path; those of a folder, where it names one.

    What is no file is among them where a log should be: a FIFO, a socket, a link to nothing.
    Folders are, unless the pattern takes any name: it means the files beside them.

    Args:
        folder: what a relative pattern is relative to.
    """
    assert source.files is not None  # its callers ask first
    pattern = str(folder / source.files)
    if Path(pattern).is_dir():
        pattern = str(Path(pattern) / "*")
    paths = (Path(name) for name in glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute
    any_name = Path(pattern).name in {"*", "**"}
    return sorted(path for path in paths if not (any_name and path.is_dir()))


def windows(source: config.Source, zone: str, now: int) -> list[Window]:
    """The windows of a source up to now, the earliest first; the last one may end later."""
    assert source.since is not None  # config sees to it
    in_zone = periods.zone(zone)
    listed = []
    day = source.since
    while (start := periods.day_start(day, in_zone)) < now:
        after = day + timedelta(days=source.window_days)
        listed.append(Window(day, start, periods.day_start(after, in_zone)))
        day = after
    return listed


def due(
    source: config.Source, zone: str, now: int, pulled: Mapping[tuple[int, int], int]
) -> list[Window]:
    """The windows to ask for: those never pulled, or last pulled when records could still come.

    Args:
        pulled: when windows were last pulled whole (epoch s), by their edges.
    """
    late = source.overlap_days * _DAY_S
    return [
        window
        for window in windows(source, zone, now)
        if pulled.get((window.from_time, window.to_time), 0) < window.to_time + late
    ]


def identify(source: config.Source, zone: str) -> str:
    """What the store calls a command: another one is asked for all windows anew.

    A part of its hash, so that no word of it is kept.
    """
    words = json.dumps([source.command, zone])
    return hashlib.sha256(words.encode(errors="surrogatepass")).hexdigest()[:16]


def words(
    source: config.Source, zone: str, window: Window | None = None, now: int | None = None
) -> list[str]:
    """The words of a source's command, with a window in the place of what stands for it.

    Args:
        window: what it is asked for; None leaves the words as they are.
        now: epoch s; nothing later is asked for.
    """
    assert source.command is not None  # its callers ask first
    if window is None:
        return list(source.command)
    last = window.to_time if now is None else min(window.to_time, now)
    edges = {"from": window.from_time, "to": last}
    in_zone = periods.zone(zone)
    filled = list(source.command)
    for name, edge in edges.items():
        written = datetime.fromtimestamp(edge, tz=in_zone).strftime("%Y-%m-%dT%H:%M:%S")
        filled = [
            word.replace(f"{{{name}}}", written).replace(f"{{{name}_epoch}}", str(edge))
            for word in filled
        ]
    return filled


@contextmanager
def printed(
    source: config.Source,
    folder: Path,
    spool: Path,
    zone: str = "UTC",
    window: Window | None = None,
    now: int | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Iterator[Path]:
    """Runs the command of a source, without a shell, and gives the file with what it printed.

    It sees little of the environment, and the cluster's zone as its own, so that the times it
    prints are of that zone. When it takes too long, or the run is stopped, its whole process group
    is ended.

    Args:
        folder: where it runs.
        spool: the file to write; gone when the block ends.
        window: what it is asked for, where it is ``in_windows``.
        now: epoch s; nothing later is asked for.
        watch: called often while it runs; what it raises ends the command.

    Raises:
        SourceError: it cannot be started, fails, or takes too long; or the system does not know
            the zone.
    """
    command = words(source, zone, window, now)
    # no more of its words: among them may be what nobody is to read
    shown = f"command {command[0]!r}" + (f" for {window.day}" if window else "")
    environment = _environment(source, zone)
    try:
        try:
            spool.parent.mkdir(parents=True, exist_ok=True)
            with spool.open("wb") as out, tempfile.TemporaryFile() as complaints:
                with _running(command, folder, environment, out, complaints) as process:
                    code = _wait(process, source.timeout_s, watch)
                complaint = _end_of(complaints)
        except subprocess.TimeoutExpired as error:
            raise SourceError(
                f"{shown} took longer than {source.timeout_s} s (clusters.sources.timeout_s)"
            ) from error
        except OSError as error:
            raise SourceError(f"{shown} cannot be run: {error.strerror}") from error
        except ValueError as error:  # a NUL among its words
            raise SourceError(f"{shown} cannot be run: {error}") from error
        if code:
            how = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise SourceError(
                f"{shown} failed with {how}",
                f": {complaint}",
                "; run it by hand to see what it says (clusters.sources)",
            )
        yield spool
    finally:
        spool.unlink(missing_ok=True)


def _environment(source: config.Source, zone: str) -> dict[str, str]:
    """What a command sees."""
    if zone != "UTC" and not any((Path(place) / zone).is_file() for place in zoneinfo.TZPATH):
        raise SourceError(
            f"the system does not know the time zone {zone}, so commands would print times of "
            "another: install its zones (Debian: apt-get install tzdata)"
        )
    known = _ENVIRONMENT.union(source.environment)
    return {"TZ": zone} | {name: text for name, text in os.environ.items() if name in known}


@contextmanager
def _running(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    out: IO[bytes],
    complaints: IO[bytes],
) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process group of its own, which ends with the block if it has not yet."""
    process = subprocess.Popen(  # noqa: S603 - what the site's own configuration says
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=complaints,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:  # until it is waited for, its number is nobody else's
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(process: subprocess.Popen[bytes], timeout_s: int, watch: Callable[[], None]) -> int:
    """The exit code of a process, or minus the number of the signal that ended it."""
    deadline = time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        try:
            return process.wait(max(0, min(left, _WATCH_S)))
        except subprocess.TimeoutExpired:
            if left <= 0:
                raise
            watch()


def _end_of(complaints: IO[bytes]) -> str:
    size = complaints.seek(0, os.SEEK_END)
    complaints.seek(max(size - _SAID, 0))
    return complaints.read().decode("utf-8", errors="backslashreplace").strip()
