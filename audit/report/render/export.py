"""The full tables of users and accounts as CSV files inside a report."""

import csv
import io
from collections.abc import Iterable
from typing import Final, NamedTuple

from audit.report import wording
from audit.report.contents import Contents, PoolPart
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.who.record import Entities
from audit.spreadsheets import cell


class File(NamedTuple):
    """A file inside the report."""

    name: str
    what: str
    text: str


def files(contents: Contents) -> dict[str, tuple[File, ...]]:
    """Return the files of each pool, by its name."""
    made = {}
    for number, pool in enumerate(contents.pools, start=1):
        end, where = "", ""
        if len(contents.pools) > 1:
            end, where = f"-{number}", f" of pool {wording.name(pool.name)}"
        of_pool = [
            File(f"{of.kind}s{end}.csv", f"{of.kind}s{where}", table(pool, of))
            for of in (pool.users, pool.accounts)
            if of.rows
        ]
        if of_pool and pool.has_fair_starts:
            name = f"model-fidelity{end}.csv"
            of_pool.append(File(name, f"figures of model fidelity{where}", fidelity(pool)))
        made[pool.name] = tuple(of_pool)
    return made


def table(pool: PoolPart, of: Entities, *, own: bool = False) -> str:
    """Return all users, or accounts, of a pool as CSV, with numbers in full precision.

    ``own`` leaves out columns that depend on the attempts of other users.
    """
    fields = [name for name in _FIELDS if not (own and name in _OTHERS)]
    unit = wording.resource(pool.resource).lower()
    names = [f"tusa_{unit}_s" if name == "tusa" else name for name in fields]
    head, rows = (
        [of.kind, *names],
        [[cell(row.name), *(getattr(row, name) for name in fields)] for row in of.rows],
    )
    if not own:
        head += ["fst_attempts", *_MISSED]
        for cells, row in zip(rows, of.rows, strict=True):
            cells.append(row.missed.attempts if row.missed else 0)
            cells += [getattr(row.missed, name, None) for name in _MISSED]
    return as_csv([head, *rows])


def as_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV (RFC 4180)."""
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


_FIELDS: Final = (
    *("attempts", "jobs", "tuwt_s", "tusa", "nuwt", "re_unfairness_net", "re_unfairness_positive"),
    *("never_started", "gave_up_wait_s", "stretch", "share_deficit"),
)
"""Fields of ``Entity``."""
_OTHERS: Final = ("re_unfairness_net", "re_unfairness_positive", "share_deficit")
"""Those that depend on the attempts of other users."""
_MISSED: Final = (
    *("miss_delivered_s", "miss_cautious_s", "missed_delivered", "preference_delivered_mean"),
    *("miss_strict_s", "miss_relaxed_s"),
)
"""Fields of ``Missed``."""


def fidelity(pool: PoolPart) -> str:
    """Return the figures that qualify those of fair start times, as CSV."""
    of = pool[FairStart].fidelity
    policy = (cell(of.order), cell(of.backfill), None) if of else (None, None, None)
    figures = (*(of.figures if of else ()), pool.figure("over_capacity_time"))
    rows = [[*policy, cell(figure.metric), figure.value, figure.unit] for figure in figures]
    for order, backfill, own_peak, agreement in of.rules if of else ():
        rows.append([cell(order), cell(backfill), own_peak, "agreement", agreement, "1"])
    return as_csv([["order", "backfill", "own_peak", "metric", "value", "unit"], *rows])
