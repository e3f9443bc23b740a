"""A published database, asked in a process of its own (``audit.analyst.confined``).

That process may be whatever SQL makes of it: it gets no environment, no file but the database, and
no descriptor but this socket. What it sends is written to the user's stdout here.
"""

from __future__ import annotations

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
"""What the process runs."""

_ENVIRONMENT: Final = ("LD_LIBRARY_PATH",)
"""What a Python that lies elsewhere may need to start."""

LONGEST_S: Final = 60
"""Seconds that the process may take to say what holds."""

_ready: list[Process] = []


class EndedError(AuditError):
    """The process is gone, or was ended because it took too long."""

    def __init__(self, why: str, *, overdue: bool = False, signal_number: int = 0) -> None:
        super().__init__(why)
        self.overdue = overdue
        self.signal_number = signal_number


class FailedError(AuditError):
    """The process could not do what was asked."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        """The name of the class of the error there."""


class Process:
    """One such process."""

    def __init__(self) -> None:
        home = str(Path(audit.__file__).parent.parent)
        paths = [*(str(Path(entry).absolute()) for entry in sys.path), home]
        self._peer, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own words only
                [
                    *(sys.executable, "-I", "-c", PROGRAM),
                    *(json.dumps(paths), str(theirs.fileno())),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                env={name: value for name, value in os.environ.items() if name in _ENVIRONMENT},
                start_new_session=True,  # Ctrl-C is for this process, which then ends that one
            )

    def ask(
        self,
        request: dict[str, Any],
        timeout_s: float,
        descriptors: tuple[int, ...] = (),
        out: Callable[[bytes], object] = lambda _: None,
    ) -> Any:
        """Have something done; gives the answer.

        Raises:
            FailedError: it could not be done.
            EndedError: the process is gone, now if not before.
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
        except BaseException:  # what is left of its answer would be taken for the next one's
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
        """The next message; waits for it until ``end``."""
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
        """End the process."""
        try:
            self._process.wait(0)  # which was ended by another has told by what
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._peer.close()


def layers() -> str:
    """What keeps analysts' SQL within its database here, as the process itself finds it.

    Raises:
        AuditError: the process does not work.
    """
    process = Process()
    try:
        held = process.ask({"do": "layers"}, LONGEST_S)
    finally:
        process.end()
    return ", ".join(
        [
            "syntax tree checked" if held["parse"] else "SYNTAX TREE NOT CHECKED",
            f"Landlock {held['landlock']}" if held["landlock"] else "no Landlock in this kernel",
            "no network" if held["offline"] else "no network namespace",
            "no byte is written" if held["writes_nothing"] else "FILES CAN BE WRITTEN",
        ]
    )


def taken() -> Process:
    """The process that was prepared, or a new one."""
    return _ready.pop() if _ready else Process()


def prepare() -> None:
    """Start a process, which loads its libraries while this one goes on."""
    if not _ready:
        _ready.append(Process())


@atexit.register
def end() -> None:
    """End the process that was prepared and not used."""
    while _ready:
        _ready.pop().end()
