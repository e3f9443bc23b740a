"""The page of ``fairaudit fit-policy``: how a site schedules, inferred from its log."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.attempts.fidelity import KNOWN
from audit.model import Policy, Pool
from audit.oneoff.fit_policy import limits
from audit.pipeline.shown import ShownByLog
from audit.report import wording
from audit.report.study.page import Columns, Section, Study, Table, TableColumn, by_pool, table
from audit.rule_text import rule_text
from audit.scenario.windows.search import FoundWindows, InferredWindow


class PoolFit(NamedTuple):
    """The result for a pool."""

    pool: Pool  # as it was assumed at first
    stated: Policy | None  # None: its policy is not configured
    policy: Policy | None  # of the known rule; None: there is none
    compared: pl.DataFrame  # of ``agreement``
    shown: ShownByLog  # the limits and chains of the log
    windows: FoundWindows
    interval_s: int | None  # at whose multiples jobs start; None: there is none


def study(log: str, found: Sequence[PoolFit]) -> Study:
    """Return the page of a log."""
    return Study(
        key="fit-policy",
        title="How the site decides",
        lead=" ".join(_lead(one, several=len(found) > 1) for one in found),
        sections=(
            *by_pool([(one.pool.name, _sections(one)) for one in found]),
            Section("How to read it", _READ),
        ),
        settings=(
            ("Log", wording.name(log)),
            *(
                (f"Configured of pool {wording.name(one.pool.name)}", one.stated.name)
                for one in found
                if one.stated is not None
            ),
        ),
    )


def candidate(row: Mapping[str, Any]) -> str:
    """Return the name of a candidate, by its row of ``agreement``."""
    return f"{row['policy']}, own peak" if row["own_peak"] else str(row["policy"])


def _lead(found: PoolFit, *, several: bool) -> str:
    begin = f"Pool {wording.name(found.pool.name)}: " if several else ""
    best = found.compared.drop_nulls("agreement").sort(
        "agreement", descending=True, maintain_order=True
    )
    if best.is_empty():
        return f"{begin}No start of the log can be compared with a policy."
    first = best.row(0, named=True)
    agrees = f"agrees with {wording.percent(first['agreement'])} of the starts"
    required = f"{wording.percent(KNOWN)} are required"
    pool = found.windows.pool
    rest = (
        f"In force are {wording.plural(len(pool.limits), 'limit')} and "
        f"{wording.plural(len(pool.windows), 'window')}."
    )
    if found.policy is None:
        return (
            f"{begin}No policy is known: the best candidate, {candidate(first)}, {agrees}, and "
            f"{required}. {rest}"
        )
    return f"{begin}The policy is {candidate(first)}, which {agrees} ({required}). {rest}"


def _sections(found: PoolFit) -> tuple[Section, ...]:
    return (
        Section("Agreement with the observed starts", (_AGREES, _agreement(found.compared))),
        Section("Limits and holds", limits.of_pool(found.shown, found.interval_s)),
        Section("Windows", _windows(found.windows)),
    )


# --- candidates ----------------------------------------------------------------------------------

_AGREES: Final = (
    "At each instant with starts at which jobs remain waiting, each candidate decides which of the "
    "waiting jobs start. Agreement is the number of jobs that both the candidate and the site "
    "start, divided by the number that the site starts or the candidate wrongly starts. Only jobs "
    "that waited for more than a minute count. “Own peak” means that no user runs more jobs at a "
    f"time than that user ever did. From {wording.percent(KNOWN)} on, the best candidate is the "
    "known policy."
)


def _agreement(compared: pl.DataFrame) -> Table:
    columns: Columns[dict[str, Any]] = (
        TableColumn("Policy", "candidate", "text", candidate),
        TableColumn("Agreement", "agreement", "percent", lambda row: row["agreement"]),
        TableColumn("Started by both", "common", "count", lambda row: row["common"]),
        TableColumn("Started by the site", "observed", "count", lambda row: row["observed"]),
        TableColumn("Started by the candidate alone", "wrong", "count", lambda row: row["wrong"]),
        TableColumn("Instants with starts", "instants", "count", lambda row: row["instants"]),
        TableColumn("Instants compared", "judged", "count", lambda row: row["judged"]),
        TableColumn("Jobs examined per pass", "plan_depth", "count", lambda row: row["plan_depth"]),
    )
    ranked = compared.sort("agreement", descending=True, nulls_last=True, maintain_order=True)
    note = "Of many instants, evenly spaced ones are compared."
    rows = ranked.to_dicts()
    return table("agreement", "Candidates", columns, rows, note, shown=len(rows))


# --- windows -------------------------------------------------------------------------------------

_FOUND: Final = (
    "Windows are listed in the order in which they were found; each is judged with those above it "
    "in force. “Jobs kept waiting” counts the occasions on which the window alone kept a job "
    "waiting; “starts that break it” counts the starts that it forbids. The share of such starts "
    "has an upper limit (95 %); beside it is the share that is expected without the window."
)
_FAILED: Final = "The best candidates for windows, with the first condition that fails."


def _windows(found: FoundWindows) -> tuple[str | Table, ...]:
    first = f"Windows were not searched: {found.skipped}." if found.skipped else _FOUND
    return (
        first,
        _table("windows", "Windows of the site", found.accepted, found.pool),
        _FAILED,
        _table("failed-windows", "Windows that failed", found.failed, found.pool, failed=True),
    )


def _table(
    key: str, caption: str, rows: Sequence[InferredWindow], pool: Pool, *, failed: bool = False
) -> Table:
    columns: Columns[InferredWindow] = (
        TableColumn("Window", "window", "text", partial(_text, pool=pool)),
        TableColumn("Jobs kept waiting", "withheld", "count", lambda row: row.found.withheld),
        TableColumn("Starts", "starts", "count", lambda row: row.starts),
        TableColumn("Starts that break it", "breaks", "count", lambda row: row.found.breaks),
        TableColumn(
            "Share that breaks it, at most", "bound", "percent", lambda row: row.found.bound
        ),
        TableColumn("Expected share", "by_chance", "percent", lambda row: row.found.by_chance),
        TableColumn("Failed condition", "fails", "text", lambda row: row.found.fails),
    )
    return table(key, caption, columns if failed else columns[:-1], rows)


def _text(one: InferredWindow, pool: Pool) -> str:
    return wording.first_upper(rule_text(one.window, pool.resource.value, one.zone))


_READ: Final = (
    "fairaudit searches the whole log for limits, at which jobs stop although enough is free, and "
    "then for windows, with the limits in force. Rules may apply on some days only. The candidates "
    "are then compared with the observed starts, with all rules in force.",
    "The result describes the log, not the site's configuration. A rule that never delays a job "
    "cannot be found, and an inferred rule may have another reason.",
)
