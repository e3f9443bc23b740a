"""``python -m audit`` and the command ``fairaudit``."""

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> NoReturn:
    """Run the command, then end the process without freeing its memory.

    Garbage collection at exit would take half a second after an audit. Files are closed, threads
    have ended and exit handlers have run by then.
    """
    _open_missing()
    ended: list[int] = []

    @atexit.register
    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the disk is full, or the reader is gone
                stream.flush()
        if ended:
            os._exit(ended[0])

    from audit.files import caches, privacy

    # Most frames and matrices are small: idle threads would spin for longer than these take.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    privacy.keep_private()
    caches.give_back()
    caches.spill_privately()
    from audit.cli import app

    try:
        app.main()
    except SystemExit as end:
        if isinstance(end.code, int):
            ended.append(end.code)
        raise
    except Exception:  # a defect: libraries would add output below its traceback
        ended.append(4)  # 1 would mean that a figure exceeds a threshold
        raise


def _open_missing() -> None:
    """Connect standard streams that are closed to the null device.

    The first files that this process opens would have their numbers, and get their output.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
