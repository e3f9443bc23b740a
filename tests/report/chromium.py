"""A page as Debian's headless Chromium sees it, spoken to through a pipe.

No driver is needed: Chromium takes commands of its DevTools protocol on file descriptor 3 and
answers on 4, as JSON texts that end in a zero byte.
"""

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

PROGRAM = Path("/usr/bin/chromium")
PATIENCE_S = 120

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


def _moved(end: int) -> int:
    moved = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return moved


@dataclass
class Page:
    """One open page, and everything that it asked for or complained about."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        # Moved out of the way of the two numbers that Chromium looks for, which bash gives them.
        to_child, from_child = (_moved(end) for end in (to_child, from_child))
        command = [str(PROGRAM), *_FLAGS, f"--user-data-dir={self._profile.name}"]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{to_child} 4>&{from_child}', "bash", *command],
            pass_fds=(to_child, from_child),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": self._profile.name},  # where it leaves a folder
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(10)
        self._profile.cleanup()

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Sends one command, and notes all events that come before its answer."""
        self._last += 1
        message: dict[str, object] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        command = json.dumps(message).encode() + b"\0"
        while command:  # a pipe takes a part where a signal comes between
            command = command[os.write(self._out, command) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def show(self, file: Path, width: int, height: int = 900) -> None:
        """Loads ``file`` in a window of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self.call("Page.navigate", url=file.as_uri())
        here = f"location.href === {json.dumps(file.as_uri())}"  # and not what was there before
        self._until(f"{here} && document.readyState === 'complete'")

    def theme(self, name: str) -> None:
        """The reader's screen is ``light`` or ``dark``."""
        scheme = {"name": "prefers-color-scheme", "value": name}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])

    def _until(self, expression: str) -> None:
        for _ in range(200):
            if self.evaluate(expression):
                return
            time.sleep(0.1)
        raise AssertionError(f"never true: {expression}; complaints: {self.complaints}")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression or promise in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self) -> bytes:
        """The whole page as PNG."""
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            assert select.select([self._in], [], [], PATIENCE_S)[0], "Chromium says nothing"
            read = os.read(self._in, 1 << 16)
            assert read, "Chromium ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        event: dict[str, Any] = json.loads(message)
        self._note(event.get("method", ""), event.get("params", {}))
        return event

    def _note(self, method: str, said: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(said["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.complaints.append(str(said["args"]))


needed = pytest.mark.skipif(
    not PROGRAM.exists(), reason=f"PAGE NOT TESTED: no {PROGRAM}; apt-get install chromium"
)
"""Mark of tests that look at a page."""


def check_study(page: Path, charts: int) -> None:
    """Shows a study's page wide and as on a phone: all charts are there, and nothing is fetched."""
    with Page() as seen:
        for width in (1200, 400):
            seen.show(page, width)
            assert seen.complaints == []
            assert all(asked.startswith(("data:", page.as_uri())) for asked in seen.requests)
            assert seen.evaluate("document.documentElement.scrollWidth") == width
            assert seen.evaluate("document.querySelectorAll('.chart svg').length") == charts
            captions = "[...document.querySelectorAll('caption')]"
            right = "caption.getBoundingClientRect().right"
            assert seen.evaluate(f"{captions}.every(caption => {right} <= innerWidth)")
