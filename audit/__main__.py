"""``python -m audit`` and the command ``fairaudit``."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command, and ends without taking apart what the process holds.

    Python would look through all of it for garbage, three times, and give it back piece by piece:
    half a second after an audit. All that matters is done by then: files are closed, threads have
    ended, and what others registered to be done at the end has been, which is in reverse order.
    """
    ended: list[int] = []

    @atexit.register
    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # a full disk, or nobody who reads
                stream.flush()
        if ended:
            os._exit(ended[0])

    from audit.files import caches, privacy

    privacy.keep_private()
    caches.give_back()
    from audit.cli import app

    try:
        app.main()
    except SystemExit as end:
        if isinstance(end.code, int):
            ended.append(end.code)
        raise
    except Exception:  # a defect: libraries would add below its traceback what they still held
        ended.append(1)
        raise


if __name__ == "__main__":
    main()
