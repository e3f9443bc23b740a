"""Where a run puts what it makes."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Site:
    """A configuration, and the folder of config.toml, which its paths are relative to."""

    config: Config
    folder: Path

    @property
    def state(self) -> Path:
        """The folder of the store."""
        return self.folder / self.config.output.state

    @property
    def database(self) -> Path:
        """The published database; names of files in the archive are relative to its folder."""
        return self.folder / self.config.output.database

    @property
    def reports(self) -> Path:
        """The folder of the reports."""
        return self.folder / self.config.output.reports

    @property
    def archive(self) -> Path:
        """The folder of the archive."""
        return self.folder / self.config.output.archive

    @property
    def shared(self) -> bool:
        """Whether the group may read what is published."""
        return self.config.output.shared_with_group

    def report(self, cluster: str, period: str) -> Path:
        """The folder of one report: CLUSTER/PERIOD below ``output.reports``."""
        return self.reports / file_name(cluster) / period

    def cluster_archive(self, cluster: str) -> str:
        """The folder of a cluster's archive, relative to that of the published database."""
        return f"{os.path.relpath(self.archive, self.database.parent)}/{file_name(cluster)}"

    def archive_of(self, database: Path) -> Path | None:
        """The archive of the published database; None for another one, which has its own beside it.

        That archive has the name that is the default.
        """
        same = os.path.abspath(database) == os.path.abspath(self.database)  # noqa: PTH100
        return self.archive if same else None


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
