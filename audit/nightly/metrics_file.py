"""The latest figures in Prometheus' text format, for the textfile collector of node_exporter.

It names clusters, pools, partitions, QOS and, on request, accounts, but never users: an account
that has the name of a user is left out.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Final, TypeAlias

from audit.files import replace
from audit.progress import printable
from audit.registry.causes import CAUSES
from audit.store import queries
from audit.store.database import Connection

_ENDED: Final = "attempts that ended in the period, with a known wait"
_HELP: Final = {
    "fairaudit_last_run_timestamp_seconds": "Begin of the last run, in epoch seconds.",
    "fairaudit_last_run_failures": "Number of errors of the last run.",
    "fairaudit_period_end_timestamp_seconds": "End of the reported period, in epoch seconds.",
    "fairaudit_newest_record_timestamp_seconds": "Latest instant in the records, in epoch seconds.",
    "fairaudit_ended_jobs": f"Number of {_ENDED}.",
    "fairaudit_wait_seconds": f"Quantiles of waits of {_ENDED}.",
    "fairaudit_wait_distribution_seconds": f"Histogram of waits of {_ENDED}.",
    "fairaudit_account_ended_jobs": f"Number of {_ENDED}, by account.",
    "fairaudit_account_wait_seconds": f"Quantiles of waits of {_ENDED}, by account.",
    "fairaudit_account_wait_distribution_seconds": f"Histogram of waits of {_ENDED}, by account.",
    "fairaudit_wait_share": "Share of all waiting time by cause; the shares of a pool add up to 1.",
    "fairaudit_verdict": "1 for the verdict of the latest report.",
}
"""The metrics, in the order of the file; those without buckets are gauges."""

EDGES_S: Final = (
    *(0, 60, 300, 900, 1_800, 3_600, 2 * 3_600, 4 * 3_600, 8 * 3_600, 86_400, 2 * 86_400),
    *(7 * 86_400,),
)
"""Upper edges of the buckets of waits, in s; the last bucket is open."""

_MOST_SERIES: Final = 10_000
"""Most series of one metric: partitions and QOS are as many as a log names."""


_Row: TypeAlias = tuple[str, Mapping[str, str], float, Mapping[int, int] | None]
"""A metric, its labels, its value, and of a histogram the number of values in each bucket."""


def write(con: Connection, target: Path, now: int, failures: int, *, accounts: bool) -> None:
    """Replace the file by the figures in the store; raises OSError if it cannot be replaced."""
    replace.write(target, text(con, now, failures, accounts=accounts).encode())
    target.chmod(0o644)  # node_exporter runs as another user


def text(con: Connection, now: int, failures: int, *, accounts: bool = False) -> str:
    """Return the content of the file for a run that began at ``now``, epoch s."""
    run: list[_Row] = [
        ("fairaudit_last_run_timestamp_seconds", {}, now, None),
        ("fairaudit_last_run_failures", {}, failures, None),
    ]
    order = list(_HELP)
    causes = [cause.key for cause in CAUSES]
    figures = queries.rows(
        con, "metrics_file", causes=causes, edges=list(EDGES_S), accounts=accounts
    )
    rows = sorted([*run, *figures], key=lambda row: order.index(row[0]))
    return "".join(
        line for name, series in groupby(rows, lambda row: row[0]) for line in _metric(name, series)
    )


def _metric(name: str, series: Iterator[_Row]) -> Iterator[str]:
    rows = list(islice(series, _MOST_SERIES))
    kind = "gauge" if rows[0][3] is None else "histogram"
    yield f"# HELP {name} {_HELP[name]}\n# TYPE {name} {kind}\n"
    for _, labels, value, buckets in rows:
        if buckets is None:
            yield _line(name, labels, value)
            continue
        number = 0
        for edge in EDGES_S:
            number += buckets.get(edge, 0)
            yield _line(f"{name}_bucket", {**labels, "le": str(edge)}, number)
        number = sum(buckets.values())
        yield _line(f"{name}_bucket", {**labels, "le": "+Inf"}, number)
        yield _line(f"{name}_sum", labels, value)
        yield _line(f"{name}_count", labels, number)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    named = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{named and f'{{{named}}}'} {value:.15g}\n"


def _escaped(text: str) -> str:
    """Escape a label's value as Prometheus' text format requires, control characters first."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')
