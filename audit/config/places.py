"""Where a run puts what it makes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from audit.config import Config

_LONGEST: Final = 80


def of_report(config: Config, folder: Path, cluster: str, period: str) -> Path:
    """The folder of one report: CLUSTER/PERIOD below ``output.reports``."""
    return folder / config.output.reports / file_name(cluster) / period


def published_folder(config: Config, folder: Path) -> Path:
    """The folder of the published database; names of files in the archive are relative to it."""
    return (folder / config.output.database).parent


def archive(config: Config, folder: Path, database: Path) -> Path | None:
    """The archive of a database: as configured if it is the one that the configuration publishes.

    None: another database, whose archive is beside it under the name that is the default.
    """
    if os.path.abspath(database) != os.path.abspath(folder / config.output.database):  # noqa: PTH100
        return None
    return folder / config.output.archive


def of_archive(config: Config, folder: Path, cluster: str) -> str:
    """The folder of a cluster's archive, relative to that of the published database."""
    place = folder / config.output.archive / file_name(cluster)
    return os.path.relpath(place, published_folder(config, folder))


def file_name(name: str) -> str:
    """A file's name for a cluster's, which may hold anything; no two have the same.

    Ordinary names stay as they are. Of others, what might lead elsewhere or cannot be written
    becomes ``_``, and a part of their hash tells them apart.
    """
    kept = "".join(
        char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in name
    ).lstrip(".-")[:_LONGEST]
    if kept == name and kept:
        return kept
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{kept}-{digest}" if kept else digest
