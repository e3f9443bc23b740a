"""``python -m audit`` and the command ``fairaudit``."""

from __future__ import annotations

import atexit
import os
import sys
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
        if ended:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended[0])

    from audit.files import memory

    memory.give_back()
    from audit.cli import app

    try:
        app.main()
    except SystemExit as end:
        if isinstance(end.code, int):
            ended.append(end.code)
        raise


if __name__ == "__main__":
    main()
