"""Where a cluster's logs come from: files by pattern, and what commands print."""

from __future__ import annotations

import glob
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit import config
from audit.errors import SourceError


def files(source: config.Source, folder: Path) -> list[Path]:
    """The files of a source, sorted by path; those of a folder, where it names one.

    Args:
        source: one with ``files``.
        folder: what a relative pattern is relative to.
    """
    assert source.files is not None  # its callers ask first
    pattern = str(folder / source.files)
    if Path(pattern).is_dir():
        pattern = str(Path(pattern) / "*")
    found = (Path(name) for name in glob.glob(pattern, recursive=True))  # noqa: PTH207 - absolute
    return sorted(path for path in found if path.is_file())


@contextmanager
def printed(source: config.Source, folder: Path, spool: Path) -> Iterator[Path]:
    """Runs the command of a source, without a shell, and gives the file with what it printed.

    Args:
        source: one with a ``command``.
        folder: where it runs.
        spool: the file to write; gone when the block ends.

    Raises:
        SourceError: it cannot be started, fails, or takes too long.
    """
    assert source.command is not None  # its callers ask first
    shown = source.command[0]  # no more: among its arguments may be what nobody is to read
    spool.parent.mkdir(parents=True, exist_ok=True)
    try:
        with spool.open("wb") as out:
            done = subprocess.run(  # noqa: S603 - what the site's own configuration says
                source.command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=source.timeout_s,
                check=False,
            )
        if done.returncode:
            said = done.stderr.decode("utf-8", errors="backslashreplace").strip()[-500:]
            raise SourceError(f"command {shown!r} failed with exit code {done.returncode}: {said}")
        yield spool
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            f"command {shown!r} took longer than {source.timeout_s} s (clusters.sources.timeout_s)"
        ) from error
    except OSError as error:
        raise SourceError(f"command {shown!r} cannot be run: {error.strerror}") from error
    finally:
        spool.unlink(missing_ok=True)
