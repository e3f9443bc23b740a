"""The latest figures in Prometheus' text format, for the textfile collector of node_exporter.

It names clusters, pools, partitions and QOS, and never users or accounts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Final

from audit.files import replace
from audit.progress import printable
from audit.registry.causes import CAUSES
from audit.store import queries
from audit.store.database import Connection

_HELP: Final = {
    "fairaudit_last_run_timestamp_seconds": "When the last run began.",
    "fairaudit_last_run_failures": "Errors of the last run.",
    "fairaudit_period_end_timestamp_seconds": "End of the period that the figures below are of.",
    "fairaudit_newest_record_timestamp_seconds": "Latest instant in the accounting records.",
    "fairaudit_ended_jobs": "Attempts that ended in the period, with a known wait.",
    "fairaudit_wait_seconds": "Quantiles of their waits.",
    "fairaudit_wait_share": "Share of all waiting by cause; the causes of a pool add up to 1.",
    "fairaudit_verdict": "1 for the verdict of the report.",
}
"""The metrics, in the order of the file; all are gauges."""

_MOST_SERIES: Final = 10_000
"""Most series of one metric: partitions and QOS are as many as a log names."""


def write(con: Connection, target: Path, now: int, failures: int) -> None:
    """Replace the file by the figures in the store; raises OSError if it cannot be replaced."""
    replace.write(target, text(con, now, failures).encode())
    target.chmod(0o644)  # node_exporter runs as another user


def text(con: Connection, now: int, failures: int) -> str:
    """Return the content of the file for a run that began at ``now``, epoch s."""
    run: list[tuple[str, Mapping[str, str], float]] = [
        ("fairaudit_last_run_timestamp_seconds", {}, now),
        ("fairaudit_last_run_failures", {}, failures),
    ]
    order = list(_HELP)
    causes = [cause.key for cause in CAUSES]
    rows = [*run, *queries.rows(con, "metrics_file", causes=causes)]
    rows.sort(key=lambda row: order.index(row[0]))
    return "".join(
        line for name, series in groupby(rows, lambda row: row[0]) for line in _metric(name, series)
    )


def _metric(name: str, series: Iterator[tuple[str, Mapping[str, str], float]]) -> Iterator[str]:
    yield f"# HELP {name} {_HELP[name]}\n# TYPE {name} gauge\n"
    for number, (_, labels, value) in enumerate(series):
        if number == _MOST_SERIES:
            return
        named = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{named and f'{{{named}}}'} {value:.15g}\n"


def _escaped(text: str) -> str:
    """Escape a label's value as Prometheus' text format requires, control characters first."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
