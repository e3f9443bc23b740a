"""Where a run puts what it makes."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path
from typing import Final

from audit.config import Config

OWNER_PAGES: Final = ("user-*.html", "account-*.html")
"""Names of the pages of users and accounts."""

_LONGEST: Final = 80
_DIGEST_BYTES: Final = 16
_PLAIN: Final = re.compile(rf"[a-z0-9_][a-z0-9_.-]{{0,{_LONGEST - 1}}}(?<!\.)")
_RESERVED: Final = re.compile(
    r"index\.html"  # beside the folders of clusters
    r"|(con|prn|aux|nul|com\d|lpt\d)(\..*)?"  # devices, on a share of Windows
    r"|.*-[a-z2-7]{26}"  # what names that are not plain become
)


def of_report(config: Config, folder: Path, cluster: str, period: str) -> Path:
    """The folder of one report: CLUSTER/PERIOD below ``output.reports``."""
    return folder / config.output.reports / file_name(cluster) / period


def published_folder(config: Config, folder: Path) -> Path:
    """The folder of the published database; names of files in the archive are relative to it."""
    return (folder / config.output.database).parent


def archive_root(config: Config, folder: Path) -> str:
    """The folder of the archive, relative to that of the published database."""
    return os.path.relpath(folder / config.output.archive, published_folder(config, folder))


def archive(config: Config, folder: Path, database: Path) -> Path | None:
    """The archive of a database: as configured if it is the one that the configuration publishes.

    None: another database, whose archive is beside it under the name that is the default.
    """
    if os.path.abspath(database) != os.path.abspath(folder / config.output.database):  # noqa: PTH100
        return None
    return folder / config.output.archive


def of_archive(config: Config, folder: Path, cluster: str) -> str:
    """The folder of a cluster's archive, relative to that of the published database."""
    return f"{archive_root(config, folder)}/{file_name(cluster)}"


def file_name(name: str) -> str:
    """The name of a file or folder for a name that may hold anything.

    No two names share one, even on a file system that ignores case or normalises Unicode. A plain
    name, of lower-case ASCII letters, digits and ``_.-``, stays as it is. Any other one becomes a
    readable form of it and 128 bits of its SHA-256; no plain name ends like that.

    Returns:
        At most 107 characters of ``a-z0-9_.-``; the first is no ``.`` or ``-``.
    """
    if _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:_DIGEST_BYTES]
    ending = base64.b32encode(digest).decode().rstrip("=").lower()
    readable = re.sub(r"[^a-z0-9_.-]", "_", name.lower()).lstrip(".-")[:_LONGEST]
    return f"{readable or '_'}-{ending}"
