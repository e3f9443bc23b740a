"""The process that lays out PDFs, under limits, so that hostile content of a log can only end it.

It is started early (``prepare``), loads its libraries while logs are read, and gets each page
through a pipe. It has no open files and no environment variables that may contain passwords.
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
from audit.config import ReportConfig, in_bytes
from audit.errors import ReportError
from audit.report.render import paper

_PANGO: Final = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core"
# For fonts and the dynamic linker; none of these contains a secret.
_ENVIRONMENT: Final = frozenset(
    {"FONTCONFIG_FILE", "FONTCONFIG_PATH", "HOME", "LD_LIBRARY_PATH", "PATH", "XDG_CACHE_HOME"}
    | {"XDG_DATA_HOME", "XDG_DATA_DIRS", "LANG", "LC_ALL", "DYLD_FALLBACK_LIBRARY_PATH"}
)
_PACKAGES: Final = Path(audit.__file__).parent.parent
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from audit.report.render import paper; paper.serve(int(sys.argv[2]), int(sys.argv[3]))"
)


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Limits of making one PDF."""

    timeout_s: int = 120
    memory_bytes: int = 2 << 30


DEFAULT: Final = SandboxLimits()


def limits(report: ReportConfig) -> SandboxLimits:
    """Return the configured limits."""
    return SandboxLimits(report.pdf_timeout_s, in_bytes(report.pdf_memory_limit))


class _Process:
    """One such process, with its limits."""

    def __init__(self, limits: SandboxLimits) -> None:
        self.limits = limits
        # The package's own folder, in case the program was not started through site-packages.
        paths = [*(str(Path(entry).absolute()) for entry in sys.path), str(_PACKAGES)]
        environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
        # A killed process leaves its temporary files behind. Without space for a folder, WeasyPrint
        # reports that for each PDF.
        self._folder: str | None = None
        with suppress(OSError):
            self._folder = tempfile.mkdtemp(prefix="fairaudit-pdf-")
            environment["TMPDIR"] = self._folder
        program = [sys.executable, "-I", "-c", _PROGRAM, json.dumps(paths)]
        self.process = subprocess.Popen(  # noqa: S603 - fixed arguments only
            [*program, str(limits.memory_bytes), str(limits.timeout_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # so that its children end with it
        )

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a request; empty if the process died or was ended."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError):
            paper.send(stdin, request)
            return paper.receive(stdout)
        return b""

    def kill(self) -> None:
        """Kill the process and its children."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process and its children, and remove its files."""
        self.kill()
        self.process.wait()
        for stream in filter(None, (self.process.stdin, self.process.stdout)):
            with suppress(BrokenPipeError):
                stream.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


_lock = threading.Lock()
_ready: list[_Process] = []


def prepare(limits: SandboxLimits = DEFAULT) -> None:
    """Start the process, which then loads its libraries."""
    with _lock:
        _take(limits)


def _take(limits: SandboxLimits) -> _Process:
    """Return the process for these limits; replace one that is dead or has other limits."""
    if _ready and (_ready[0].limits != limits or _ready[0].process.poll() is not None):
        _ready.pop().end()
    if not _ready:
        _ready.append(_Process(limits))
    return _ready[0]


@atexit.register
def end() -> None:
    """End the process if it runs; the next PDF starts another."""
    while _ready:
        _ready.pop().end()


def lay_out(
    page: str, attachments: list[tuple[str, str, str]], dated: int, limits: SandboxLimits = DEFAULT
) -> bytes:
    """Return the PDF of a page with its attachments; arguments as ``paper.lay_out``.

    Raises:
        ReportError: it could not be made, or not within the limits.
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
            process.kill()

        clock = threading.Timer(limits.timeout_s, stop)
        clock.daemon = True
        clock.start()
        try:
            answer = process.answer(request)
        except BaseException:
            end()  # else the rest of a message would be read as the next one
            raise
        finally:
            clock.cancel()
        if not answer:
            end()
    sign, content = answer[:1], answer[1:]
    if overdue.is_set():
        sign, content = b"-", paper.OUT_OF_TIME.encode()
    if sign == b"+" and content.startswith(b"%PDF-") and b"%%EOF" in content[-64:]:
        return content
    why = {b"+": "the result is not a PDF", b"-": content.decode(errors="replace")}
    raise ReportError(_explained(why.get(sign, "its process died"), limits))


def _explained(why: str, limits: SandboxLimits) -> str:
    otherwise = "make no PDF with --no-pdf (report.pdf = false)"
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
