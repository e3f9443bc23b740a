"""Starts the process that reads a published database (``audit.analyst.confined``).

SQL may take over that process: it gets no environment, no file but the database, and no descriptor
but this socket. Its output is written to the user's stdout here.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import audit
from audit.analyst.messages import DEFECT, DONE, FAILED, HEADER, REQUEST, receive
from audit.errors import AuditError

PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from audit.analyst import confined; confined.serve(int(sys.argv[2]))"
)
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH",)  # Python may need it to start
LONGEST_S: Final = 60
"""Maximum seconds of a check of the restrictions."""

_ready: "list[Process]" = []


class EndedError(AuditError):
    """The process is gone, or was ended because it took too long."""

    def __init__(self, why: str, *, overdue: bool = False, signal_number: int = 0) -> None:
        super().__init__(why)
        self.overdue = overdue
        self.signal_number = signal_number


class FailedError(AuditError):
    """The process refused a request; ``kind`` is the name of its error's class."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Process:
    """A process that reads a database."""

    def __init__(self) -> None:
        home = str(Path(audit.__file__).parent.parent)
        paths = [*(str(Path(entry).absolute()) for entry in sys.path), home]
        self._peer, theirs = socket.socketpair()
        with theirs:
            channel = theirs.fileno()
            self._process = subprocess.Popen(  # noqa: S603 - a fixed command
                [sys.executable, "-I", "-c", PROGRAM, json.dumps(paths), str(channel)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(channel,),
                cwd="/",
                env={name: value for name, value in os.environ.items() if name in _ENVIRONMENT},
                start_new_session=True,  # Ctrl-C reaches only this process, which ends the other
            )

    def ask(
        self,
        request: dict[str, Any],
        timeout_s: float,
        descriptors: tuple[int, ...] = (),
        out: Callable[[bytes], object] = lambda _: None,
    ) -> Any:
        """Send a request, pass its output to ``out``, and return the answer.

        Raises:
            FailedError: the request was refused.
            EndedError: the process is gone.
        """
        end = time.monotonic() + timeout_s
        try:
            self._send(json.dumps(request).encode(), descriptors, timeout_s)
            while True:
                kind, content = self._next(end)
                if kind == DONE:
                    return json.loads(content)
                if kind == FAILED:
                    raise FailedError(*json.loads(content))
                if kind == DEFECT:
                    raise RuntimeError(content.decode())
                out(content)
        except FailedError:
            raise
        except BaseException:  # the rest of its answer would be taken for the next one
            self.end()
            raise

    def _send(self, content: bytes, descriptors: tuple[int, ...], timeout_s: float) -> None:
        message = HEADER.pack(REQUEST, len(content)) + content
        try:
            self._peer.settimeout(timeout_s)
            if descriptors:
                socket.send_fds(self._peer, [message[:1]], descriptors)
                message = message[1:]
            self._peer.sendall(message)
        except OSError as error:
            raise self._ended() from error

    def _next(self, end: float) -> tuple[bytes, bytes]:
        """Return kind and content of the next message, which must come before ``end``."""
        try:
            self._peer.settimeout(max(0.001, end - time.monotonic()))
            message = receive(self._peer)
        except TimeoutError:
            raise EndedError("it took too long", overdue=True) from None
        except OSError:
            message = None
        if message is None:
            raise self._ended()
        return message[:2]

    def _ended(self) -> EndedError:
        self.end()
        status = self._process.returncode
        return EndedError(f"its process ended ({status})", signal_number=max(0, -status))

    def end(self) -> None:
        """End the process, but keep the status of one that has ended."""
        try:
            self._process.wait(0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._peer.close()


def layers() -> str:
    """Return the restrictions on analysts' SQL that hold here, as the process finds them.

    Raises AuditError if the process does not work.
    """
    process = Process()
    try:
        found = process.ask({"do": "layers"}, LONGEST_S)
    finally:
        process.end()
    landlock = f"Landlock {found['landlock']}"
    return ", ".join(
        [
            "syntax tree checked" if found["parse"] else "SYNTAX TREE NOT CHECKED",
            landlock if found["landlock"] else "no Landlock in this kernel",
            "no network" if found["offline"] else "no network namespace",
            "files are read-only" if found["writes_nothing"] else "FILES CAN BE WRITTEN",
        ]
    )


def taken() -> Process:
    """Return the prepared process, or a new one."""
    return _ready.pop() if _ready else Process()


def prepare() -> None:
    """Start a process that loads its libraries in the background."""
    if not _ready:
        _ready.append(Process())


@atexit.register
def end() -> None:
    """End a prepared process that was not used."""
    while _ready:
        _ready.pop().end()
