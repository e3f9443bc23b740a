"""The sources of a cluster's logs: files by pattern, and the output of commands.

A command may be run for one window of time after another. Windows have fixed edges, so a command
prints the same text for a window unless its records changed. A window is requested again until no
record of it can be late.
"""

import glob
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from itertools import dropwhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from audit import config, periods
from audit.config import places
from audit.errors import SourceError

_DAY_S: Final = 86_400

# No variable that may hold a secret, or that changes what sacct prints (SLURM_TIME_FORMAT, …).
_ENVIRONMENT: Final = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SLURM_CONF"}
)
_SHOWN: Final = 500  # bytes at the end of a command's error output that are shown
_WATCH_S: Final = 0.2  # seconds between two checks of a running command


class SourceWindow(NamedTuple):
    """A half-open span of whole days in a zone, for which a command is run."""

    day: date  # the first
    from_time: int  # epoch s
    to_time: int  # epoch s


def origin(cluster: config.Cluster, number: int) -> str:
    """Return the name of a cluster's source in the store."""
    return cluster.sources[number].files or f"{places.file_name(cluster.name)}-{number}.log"


def begins(cluster: config.Cluster) -> dict[str, int]:
    """Return when the sources of a cluster begin that say so, epoch s, by name in the store."""
    zone = periods.zone(cluster.zone)
    return {
        origin(cluster, number): periods.day_start(source.since, zone)
        for number, source in enumerate(cluster.sources)
        if source.since is not None
    }


def files(source: config.OriginConfig, folder: Path) -> list[Path]:
    """Return the files that match a source's pattern, sorted; if it names a folder, those in it.

    FIFOs, sockets and broken links are included, because a log is expected there. So are folders,
    unless the pattern matches any name, and folders below ``**`` that cannot be entered. Raises
    OSError if the pattern's own folder may not be searched.
    """
    assert source.files is not None  # callers check
    pattern = str(folder / source.files)
    if Path(pattern).is_dir():
        pattern = str(Path(pattern) / "*")
    paths = map(Path, {*_matching(pattern)})
    any_name = Path(pattern).name in {"*", "**"}
    return sorted(p for p in paths if not (any_name and p.is_dir() and _can_enter(p)))


def _matching(pattern: str) -> Iterator[str]:
    """Yield what matches, as ``glob`` does; for ``**``, each folder is entered once.

    Links to folders may form circles, in which ``glob`` would never end.
    """
    parts = Path(pattern).parts
    if "**" not in parts:
        yield from glob.iglob(pattern)  # noqa: PTH207 - absolute
        return
    at = parts.index("**")
    after = [*dropwhile("**".__eq__, parts[at:])] or ["*"]
    for top in glob.iglob(str(Path(*parts[:at]))):  # noqa: PTH207 - absolute
        for folder, can_enter in _folders(Path(top)):
            if can_enter:
                yield from _matching(str(Path(glob.escape(str(folder)), *after)))
            else:
                yield str(folder)


def _folders(top: Path) -> Iterator[tuple[Path, bool]]:
    """Yield a folder and those below it that are not hidden, and whether each can be entered."""
    entered: set[tuple[int, int]] = set()
    found, links = [top], list[Path]()
    while found or links:
        folder = (found or links).pop()
        if not _can_enter(folder):
            yield folder, False
            continue
        try:
            look, inner = folder.stat(), sorted(folder.iterdir())
        except OSError:  # it was removed
            continue
        if (look.st_dev, look.st_ino) in entered:
            continue
        entered.add((look.st_dev, look.st_ino))
        yield folder, True
        for path in inner:
            if path.is_dir() and not path.name.startswith("."):
                (links if path.is_symlink() else found).append(path)


def _can_enter(folder: Path) -> bool:
    """Return whether a folder may be listed, and is no link that only another user made."""
    is_of_others = folder.is_symlink() and folder.lstat().st_uid not in {0, os.geteuid()}
    return not is_of_others and os.access(folder, os.R_OK | os.X_OK)


def windows(source: config.SourceConfig, zone: str, now: int) -> list[SourceWindow]:
    """Return the windows of a source that begin before ``now``, the earliest first."""
    assert source.since is not None  # config requires it
    in_zone = periods.zone(zone)
    listed = []
    day = source.since
    while (start := periods.day_start(day, in_zone)) < now:
        after = day + timedelta(days=source.window_days)
        listed.append(SourceWindow(day, start, periods.day_start(after, in_zone)))
        day = after
    return listed


def due(
    source: config.SourceConfig, zone: str, now: int, pulled: Mapping[tuple[int, int], int]
) -> list[SourceWindow]:
    """Return the windows that were never pulled, or last pulled when records could still arrive.

    ``pulled`` has the epoch second at which each window, by its edges, was last pulled completely.
    One after ``now`` is of a clock that was ahead, and does not count.
    """
    late = source.overlap_days * _DAY_S
    known = {edges: at for edges, at in pulled.items() if at <= now}
    return [
        window
        for window in windows(source, zone, now)
        if known.get((window.from_time, window.to_time), 0) < window.to_time + late
    ]


def identify(source: config.SourceConfig, zone: str) -> str:
    """Return the id of a command in the store: part of a hash, which reveals none of its words."""
    text = json.dumps([source.command, zone])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def words(
    source: config.OriginConfig,
    zone: str,
    window: SourceWindow | None = None,
    now: int | None = None,
) -> list[str]:
    """Return the words of a source's command with the edges of a window filled in.

    Nothing after ``now`` (epoch s) is requested. Without a window, the words stay as they are.
    """
    assert source.command is not None  # callers check
    filled = list(source.command)
    if window is None:
        return filled
    last = window.to_time if now is None else min(window.to_time, now)
    for name, edge in (("from", window.from_time), ("to", last)):
        written = f"{datetime.fromtimestamp(edge, periods.zone(zone)):%Y-%m-%dT%H:%M:%S}"
        values = {f"{{{name}}}": written, f"{{{name}_epoch}}": str(edge)}
        for placeholder, value in values.items():
            filled = [word.replace(placeholder, value) for word in filled]
    return filled


@contextmanager
def printed(
    source: config.OriginConfig,
    folder: Path,
    spool: Path,
    zone: str = "UTC",
    window: SourceWindow | None = None,
    now: int | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Iterator[Path]:
    """Run a source's command in ``folder``, without a shell; yield the file with its output.

    The command sees few variables of the environment, and the cluster's zone as its own. Its
    process group is killed at the time limit, or if ``watch``, which is called often, raises.

    Args:
        spool: the file to write; it is removed when the block ends.
        window, now: as of ``words``.

    Raises SourceError if the command cannot be started, fails, or takes too long, or if the system
    does not know the zone.
    """
    command = words(source, zone, window, now)
    # its other words may hold a secret
    shown = f"command {command[0]!r}" + (f" for {window.day}" if window else "")
    try:
        try:
            environment = minimal_environment(source.environment, zone)
            code, text = output(command, folder, environment, spool, source.timeout_s, watch)
        except subprocess.TimeoutExpired as error:
            limit = f"{source.timeout_s} s ({source.section}.timeout_s)"
            raise SourceError(f"{shown} took longer than {limit}") from error
        except (OSError, ValueError) as error:  # ValueError: a NUL in a word
            why = error.strerror if isinstance(error, OSError) else error
            raise SourceError(f"{shown} cannot be run: {why}") from error
        if code:
            remedy = f"; run it by hand to see what it says ({source.section})"
            said = f": {text}" if text.strip() else f", and printed no error{remedy}"
            raise SourceError(f"{shown} failed with {ending(code)}", said, remedy)
        yield spool
    finally:
        spool.unlink(missing_ok=True)


def output(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    spool: Path,
    timeout_s: int,
    watch: Callable[[], None] = lambda: None,
) -> tuple[int, str]:
    """Run a command in ``folder``, without a shell, and write its output to ``spool``.

    Its process group is killed at the time limit, or if ``watch``, which is called often, raises.

    Returns:
        Its exit code, or minus the number of the signal that ended it, and the end of its error
        output.

    Raises:
        OSError: the command cannot be started, or the file cannot be written.
        ValueError: a word of the command contains a NUL.
        subprocess.TimeoutExpired: the command took too long.
    """
    how = {"args": command, "cwd": folder, "env": environment}
    spool.parent.mkdir(parents=True, exist_ok=True)
    with spool.open("wb") as out, tempfile.TemporaryFile() as complaints:
        with _running(**how, stdout=out, stderr=complaints) as process:
            code = _wait(process, timeout_s, watch)
        complaints.seek(max(complaints.seek(0, os.SEEK_END) - _SHOWN, 0))
        return code, complaints.read().decode("utf-8", errors="backslashreplace").strip()


def ending(code: int) -> str:
    """Return how a process ended, from the code of ``output``."""
    return f"exit code {code}" if code > 0 else f"signal {-code}"


def minimal_environment(names: Iterable[str], zone: str) -> dict[str, str]:
    """Return the few variables that a command sees, these among them, and the zone as ``TZ``.

    Raises SourceError if the system does not know the zone.
    """
    if zone != "UTC" and not any((Path(place) / zone).is_file() for place in zoneinfo.TZPATH):
        raise SourceError(
            f"the system does not know the time zone {zone}, so commands would print times of "
            "another zone: install its zones (Debian: apt-get install tzdata)"
        )
    known = _ENVIRONMENT.union(names)
    return {"TZ": zone} | {name: text for name, text in os.environ.items() if name in known}


@contextmanager
def _running(**how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a new process group, which is killed if the block ends first."""
    process = subprocess.Popen(stdin=subprocess.DEVNULL, start_new_session=True, **how)
    try:
        yield process
    finally:
        if process.returncode is None:  # until it is waited for, its number is not given again
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(process: subprocess.Popen[bytes], timeout_s: int, watch: Callable[[], None]) -> int:
    """Return the exit code of a process, or minus the number of the signal that ended it."""
    deadline = time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        try:
            return process.wait(max(0, min(left, _WATCH_S)))
        except subprocess.TimeoutExpired:
            if left <= 0:
                raise
            watch()
