"""The process that lays out PDFs, under limits: what a log holds may upset it, but nothing else.

It is started early (``prepare``), loads its libraries while logs are read, and is handed each page
through a pipe. It sees neither the environment, where passwords may stand, nor any open file.
"""

import atexit
import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import audit
from audit.config import Report, in_bytes
from audit.errors import ReportError
from audit.report.render import paper

_PANGO: Final = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core"
# What fonts and the dynamic linker look at; nothing in which a secret would stand.
_ENVIRONMENT: Final = frozenset(
    {"FONTCONFIG_FILE", "FONTCONFIG_PATH", "HOME", "LD_LIBRARY_PATH", "PATH", "XDG_CACHE_HOME"}
    | {"XDG_DATA_HOME", "XDG_DATA_DIRS", "LANG", "LC_ALL", "DYLD_FALLBACK_LIBRARY_PATH"}
)
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from audit.report.render import paper; paper.serve(int(sys.argv[2]), int(sys.argv[3]))"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a PDF may take."""

    timeout_s: int = 120
    memory_bytes: int = 2 << 30


DEFAULT: Final = Limits()


def limits(report: Report) -> Limits:
    """Those of a configuration."""
    return Limits(report.pdf_timeout_s, in_bytes(report.pdf_memory_limit))


class _Process:
    """One such process, with the limits it was started with."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # The package's own folder for a program that was not started through site-packages.
        paths = [str(Path(entry).absolute()) for entry in sys.path]
        home = str(Path(audit.__file__).parent.parent)
        environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
        self._folder = _own_folder()
        if self._folder is not None:
            environment["TMPDIR"] = self._folder
        self.process = subprocess.Popen(  # noqa: S603 - our own words only
            [
                *(sys.executable, "-I", "-c", _PROGRAM),
                json.dumps([*paths, home]),
                str(limits.memory_bytes),
                str(limits.timeout_s),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # so that its children end with it
        )

    def ask(self, request: bytes) -> bytes:
        """The answer to a request; nothing where the process died or was ended by the clock."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError):
            paper.send(stdin, request)
            return paper.receive(stdout)
        return b""

    def end(self) -> None:
        """Ends it, and what it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _own_folder() -> str | None:
    """Where its temporary files lie, which who is killed leaves; None: there is no place for any.

    Of that WeasyPrint complains itself, when it is asked for a PDF.
    """
    try:
        return tempfile.mkdtemp(prefix="fairaudit-pdf-")
    except OSError:
        return None


_lock = threading.Lock()
_ready: list[_Process] = []


def prepare(limits: Limits = DEFAULT) -> None:
    """Starts the process, which then loads its libraries."""
    with _lock:
        _take(limits)


def _take(limits: Limits) -> _Process:
    """The process for these limits; one that is dead, or has others, is replaced."""
    if _ready and (_ready[0].limits != limits or _ready[0].process.poll() is not None):
        _ready.pop().end()
    if not _ready:
        _ready.append(_Process(limits))
    return _ready[0]


@atexit.register
def end() -> None:
    """Ends the process, where there is one; the next PDF starts another."""
    while _ready:
        _ready.pop().end()


def lay_out(
    page: str, attachments: list[tuple[str, str, str]], dated: int, limits: Limits = DEFAULT
) -> bytes:
    """The PDF of a page, with its attachments; arguments as ``paper.lay_out``.

    Raises:
        ReportError: it could not be made within the limits, or not at all; it says why.
    """
    identifier = base64.b64encode(hashlib.sha256(page.encode()).digest()[:16]).decode()
    request = json.dumps(
        {"page": page, "attachments": attachments, "dated": dated, "identifier": identifier}
    ).encode()
    with _lock:
        process = _take(limits)
        overdue = threading.Event()

        def stop() -> None:
            overdue.set()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.process.pid, signal.SIGKILL)

        clock = threading.Timer(limits.timeout_s, stop)
        clock.daemon = True
        clock.start()
        try:
            answer = process.ask(request)
        except BaseException:
            end()  # half a message would be taken for the next one's
            raise
        finally:
            clock.cancel()
        if not answer:
            end()
    if overdue.is_set():
        answer = b"-" + paper.OUT_OF_TIME.encode()
    return _pdf(answer, limits)


def _pdf(answer: bytes, limits: Limits) -> bytes:
    sign, content = answer[:1], answer[1:]
    if sign == b"+" and content.startswith(b"%PDF-") and b"%%EOF" in content[-64:]:
        return content
    why = content.decode(errors="replace") if sign == b"-" else "its process died"
    if sign == b"+":
        why = "what was made is no PDF"
    raise ReportError(_explained(why, limits))


def _explained(why: str, limits: Limits) -> str:
    otherwise = "leave the PDF out with --no-pdf (report.pdf = false)"
    if why.startswith(paper.MISSING):
        return (
            f"the PDF cannot be laid out: {why.removeprefix(paper.MISSING)}. Install the libraries "
            f"it needs (on Debian: apt-get install {_PANGO}), or {otherwise}"
        )
    if why == paper.OUT_OF_TIME:
        return (
            f"the PDF was not made within {limits.timeout_s} s: raise report.pdf_timeout_s, lower "
            f"report.rows, or {otherwise}"
        )
    if why == paper.OUT_OF_MEMORY:
        return (
            f"the PDF needs more memory than {limits.memory_bytes >> 20} MiB: raise "
            f"report.pdf_memory_limit, lower report.rows, or {otherwise}"
        )
    return (
        f"the PDF could not be made: {why}. If it ran out of memory, raise "
        f"report.pdf_memory_limit; or {otherwise}"
    )
