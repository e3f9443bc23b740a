"""A page as Debian's headless Firefox sees it, spoken to in WebDriver BiDi over a WebSocket."""

import base64
import json
import re
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from websockets.sync.client import connect

PROGRAM = Path("/usr/bin/firefox-esr")
_FLAGS = ("--headless", "--no-remote", "--remote-debugging-port", "0", "--profile")


class Page:
    """One open page."""

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [PROGRAM, *_FLAGS, self._profile.name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if address := re.search(r"ws://\S+", line):
                break
        else:
            raise AssertionError("Firefox ended without an address")
        self._open = ExitStack()
        self._socket = self._open.enter_context(
            connect(f"{address[0]}/session", max_size=None, proxy=None)
        )
        self._last = 0
        self.call("session.new", capabilities={})
        self._context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()
        self._process.terminate()
        self._process.communicate(timeout=20)
        self._profile.cleanup()

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Sends one command, and skips the events that come before its answer."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv())).get("id") != self._last:
            pass
        assert answer["type"] == "success", answer
        result: dict[str, Any] = answer["result"]
        return result

    def show(self, file: Path, width: int, height: int = 900) -> None:
        """Loads ``file`` in a window of this size."""
        window = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self._context, viewport=window)
        self.call(
            "browsingContext.navigate", context=self._context, url=file.as_uri(), wait="complete"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression or promise that gives a text, number or truth."""
        answer = self.call(
            "script.evaluate",
            expression=expression,
            target={"context": self._context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    def picture(self) -> bytes:
        """The whole page as PNG."""
        answer = self.call(
            "browsingContext.captureScreenshot", context=self._context, origin="document"
        )
        return base64.b64decode(answer["data"])
