"""Where a run writes its files."""

import base64
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit.config import Config

OWNER_PAGES: Final = ("user-*.html", "account-*.html")
"""Patterns of the pages of users and accounts."""

OWNER_CARDS: Final = "user-*.json"
"""Pattern of the cards of users, beside their pages."""

_LONGEST: Final = 80
_DIGEST_BYTES: Final = 16
_PLAIN: Final = re.compile(rf"[a-z0-9_][a-z0-9_.-]{{0,{_LONGEST - 1}}}(?<!\.)")
_RESERVED: Final = re.compile(
    r"index\.html"  # is in the same folder as those of clusters
    r"|(con|prn|aux|nul|com\d|lpt\d)(\..*)?"  # devices on Windows shares
    r"|.*-[a-z2-7]{26}"  # names that are not plain become this
)


@dataclass(frozen=True)
class Site:
    """A configuration and the folder of its file."""

    config: Config
    folder: Path
    """Paths in the configuration are relative to this folder."""

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
    def index(self) -> Path:
        """The index page of the reports."""
        return self.reports / "index.html"

    @property
    def lacks_index(self) -> bool:
        """Whether there are reports, but no index page."""
        return not self.index.exists() and any(self.reports.glob("*/*/report.html"))

    @property
    def metrics_file(self) -> Path | None:
        """The file of metrics for monitors, if there is one."""
        name = self.config.service.metrics_file
        return None if name is None else self.folder / name

    @property
    def archive(self) -> Path:
        """The folder of the archive."""
        return self.folder / self.config.output.archive

    @property
    def shared(self) -> bool:
        """Whether the group may read what is published."""
        return self.config.output.shared_with_group

    def report(self, cluster: str, period: str) -> Path:
        """Return the folder of a report: CLUSTER/PERIOD below ``output.reports``."""
        return self.reports / file_name(cluster) / period

    def cluster_archive(self, cluster: str) -> str:
        """Return the folder of a cluster's archive, relative to that of the published database."""
        return f"{os.path.relpath(self.archive, self.database.parent)}/{file_name(cluster)}"

    def archive_of(self, database: Path) -> Path | None:
        """Return the configured archive if this is the published database, else None.

        The archive of any other database is beside it and has the default name.
        """
        same = os.path.abspath(database) == os.path.abspath(self.database)  # noqa: PTH100
        return self.archive if same else None


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
