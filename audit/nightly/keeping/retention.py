"""Removes old data, by [retention] of config.toml.

The store and ``now`` decide alone, so that removing can be repeated. Figures
are never removed.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from audit.config import Retention, places
from audit.config.places import Site
from audit.errors import StoreError, refusals
from audit.files import folders
from audit.nightly.history import History
from audit.store import database, queries
from audit.store.database import Connection

DAY_S: Final = 86_400


def forget(con: Connection, past: History, keep: Retention, now: int) -> None:
    """Remove old entries of the history, and the text of lines that were refused long ago.

    The lines still count: figures depend on their number.
    """
    if keep.runs_days:
        past.forget(now - keep.runs_days * DAY_S)
    if keep.refused_days:
        update = "UPDATE refused SET text = '' WHERE refused_at < ? AND text <> ''"
        database.execute(con, update, [now - keep.refused_days * DAY_S])


def remove_reports(con: Connection, site: Site, now: int) -> list[Path]:
    """Remove the files of reports that are too old or too many; return their folders.

    A folder that holds anything fairaudit did not make stays, with that. A report that was removed
    is only made again if its figures change. Raises StoreError if a file cannot be removed.
    """
    keep = site.config.retention
    if not keep.reports_days and not keep.reports:
        return []
    removed = []
    ended: dict[str, list[tuple[int, str]]] = {}
    for cluster, period, to_time in queries.rows(con, "history_reports"):
        ended.setdefault(cluster, []).append((to_time, period))
    for cluster, periods in ended.items():
        for place, (to_time, period) in enumerate(sorted(periods, reverse=True)):
            old = keep.reports_days and to_time < now - keep.reports_days * DAY_S
            many = keep.reports and place >= keep.reports
            report = site.report(cluster, period)
            if (old or many) and report.is_dir() and not report.is_symlink():
                with refusals(StoreError, report, "cannot be removed", "retention.reports"):
                    _remove(report)
                removed.append(report)
    return removed


_FILES: Final = ("report.html", "report.pdf", *places.OWNER_PAGES, "*.csv", ".*.draft")
"""The files that ``pipeline.drawing`` and ``pipeline.owners`` write into a report's folder."""


def _remove(folder: Path) -> None:
    folders.require(folder)
    for pattern in _FILES:
        for file in folder.glob(pattern):
            file.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def remove_drafts(target: Path) -> None:
    """Remove the drafts of ``target`` that killed processes left."""
    for draft in target.parent.glob(f".{target.name}.*"):
        if process := re.fullmatch(r"\.(\d+)(\.wal)?", draft.name[len(target.name) + 1 :]):
            # PermissionError: a process of another user, which may still write it
            with suppress(PermissionError, OverflowError):
                try:
                    os.kill(int(process[1]), 0)
                except ProcessLookupError:
                    draft.unlink(missing_ok=True)
