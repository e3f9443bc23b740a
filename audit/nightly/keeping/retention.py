"""What is kept, and for how long: [retention] of config.toml.

Removing is as repeatable as all else: what goes is worked out from the store and from ``now``.
Figures are never removed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from audit.config import Config, Retention, places
from audit.errors import StoreError
from audit.files import folders
from audit.nightly.history import History
from audit.report.record.page import OWNER_PAGES
from audit.store import database, queries
from audit.store.database import Connection

DAY_S: Final = 86_400


def forget(con: Connection, past: History, keep: Retention, now: int) -> None:
    """Removes old entries of the history, and the text of lines that were refused long ago.

    The lines themselves still count: figures rest on how many there are.
    """
    if keep.runs_days:
        past.forget(now - keep.runs_days * DAY_S)
    if keep.refused_days:
        database.execute(
            con,
            "UPDATE refused SET text = '' WHERE refused_at < ? AND text <> ''",
            [now - keep.refused_days * DAY_S],
        )


def remove_reports(con: Connection, config: Config, folder: Path, now: int) -> list[Path]:
    """Removes the files of reports that are too old or too many; gives their folders.

    Only what fairaudit made goes; a folder with anything else in it stays, with that. What is
    removed is not made again unless its figures change.

    Raises:
        StoreError: a file cannot be removed.
    """
    keep = config.retention
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
            report = places.of_report(config, folder, cluster, period)
            if (old or many) and report.is_dir() and not report.is_symlink():
                _remove(report)
                removed.append(report)
    return removed


_FILES: Final = (*("report.html", "report.pdf", *OWNER_PAGES, "*.csv", ".*.draft"),)
"""What a report's folder may hold, as ``drawing`` and ``owners`` of ``pipeline`` write it."""


def _remove(folder: Path) -> None:
    try:
        folders.require(folder)
        for pattern in _FILES:
            for file in folder.glob(pattern):
                file.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be removed: {error.strerror} (retention.reports)"
        ) from error


def remove_drafts(target: Path) -> None:
    """Removes what publishers of ``target`` left behind that were killed."""
    for draft in target.parent.glob(f".{target.name}.*"):
        if process := re.fullmatch(r"\.(\d+)(\.wal)?", draft.name[len(target.name) + 1 :]):
            try:
                os.kill(int(process[1]), 0)
            except ProcessLookupError:
                draft.unlink(missing_ok=True)
            except (PermissionError, OverflowError):  # of somebody else, so not ours to judge
                continue
