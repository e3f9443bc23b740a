"""Where a run writes its files."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path
from typing import Final

from audit.config import Config

OWNER_PAGES: Final = ("user-*.html", "account-*.html")
"""Patterns of the pages of users and accounts."""

_LONGEST: Final = 80
_DIGEST_BYTES: Final = 16
_PLAIN: Final = re.compile(rf"[a-z0-9_][a-z0-9_.-]{{0,{_LONGEST - 1}}}(?<!\.)")
_RESERVED: Final = re.compile(
    r"index\.html"  # is in the same folder as those of clusters
    r"|(con|prn|aux|nul|com\d|lpt\d)(\..*)?"  # devices on Windows shares
    r"|.*-[a-z2-7]{26}"  # names that are not plain become this
)


def of_report(config: Config, folder: Path, cluster: str, period: str) -> Path:
    """Return the folder of a report: CLUSTER/PERIOD below ``output.reports``."""
    return folder / config.output.reports / file_name(cluster) / period


def published_folder(config: Config, folder: Path) -> Path:
    """Return the folder of the published database, to which names in the archive are relative."""
    return (folder / config.output.database).parent


def archive(config: Config, folder: Path, database: Path) -> Path | None:
    """Return the configured archive if this is the published database.

    None: any other database, whose archive is beside it and has the default name.
    """
    if os.path.abspath(database) != os.path.abspath(folder / config.output.database):  # noqa: PTH100
        return None
    return folder / config.output.archive


def of_archive(config: Config, folder: Path, cluster: str) -> str:
    """Return the folder of a cluster's archive, relative to that of the published database."""
    root = os.path.relpath(folder / config.output.archive, published_folder(config, folder))
    return f"{root}/{file_name(cluster)}"


def file_name(name: str) -> str:
    """Return the name of a file or folder for any name.

    Different names give different results, even on file systems that ignore case or normalise
    Unicode. A plain name (lower-case ASCII letters, digits and ``_.-``) stays the same; any other
    becomes a readable form of it and 128 bits of its SHA-256. Results have at most 107 characters
    ``a-z0-9_.-`` and do not begin with ``.`` or ``-``.
    """
    if _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:_DIGEST_BYTES]
    ending = base64.b32encode(digest).decode().rstrip("=").lower()
    readable = re.sub(r"[^a-z0-9_.-]", "_", name.lower()).lstrip(".-")[:_LONGEST]
    return f"{readable or '_'}-{ending}"
