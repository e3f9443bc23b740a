"""The full tables of users and accounts, as CSV files that a report carries along."""

import csv
import io
from dataclasses import dataclass
from typing import Final

from audit.report.record.page import Contents
from audit.report.record.pool import Entities, PoolPart
from audit.report.text import wording
from audit.spreadsheets import cell


@dataclass(frozen=True, slots=True)
class File:
    """A file inside the report."""

    name: str
    what: str
    text: str


def files(contents: Contents) -> dict[str, tuple[File, ...]]:
    """The files of each pool, by its name."""
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
    """All users, or accounts, of a pool as CSV (RFC 4180), with numbers in full precision.

    Args:
        pool: the pool.
        of: its users or accounts.
        own: whether to leave out columns that rest on the attempts of anybody else.
    """
    unit = wording.resource(pool.resource).lower()
    names = {"tusa": f"tusa_{unit}_s"}
    fields = [name for name in _FIELDS if not (own and name in _OTHERS)]
    missed = () if own else _MISSED
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        [
            of.kind,
            *(names.get(name, name) for name in fields),
            *(("fst_attempts", *missed) if missed else ()),
        ]
    )
    for row in of.rows:
        of_fair = (row.missed.attempts if row.missed else 0,) if missed else ()
        writer.writerow(
            [
                cell(row.name),
                *(getattr(row, name) for name in fields),
                *of_fair,
                *(getattr(row.missed, name) if row.missed else None for name in missed),
            ]
        )
    return out.getvalue()


_FIELDS: Final = (
    *("attempts", "jobs", "tuwt_s", "tusa", "nuwt", "re_unfairness_net", "re_unfairness_positive"),
    *("never_started", "gave_up_wait_s"),
)
"""Fields of ``contents.Entity``."""
_OTHERS: Final = ("re_unfairness_net", "re_unfairness_positive")
"""Those that rest on the attempts of others, too."""
_MISSED: Final = (
    *("miss_strict_s", "miss_relaxed_s", "missed_strict", "missed_relaxed"),
    *("preferred_strict_share", "preference_strict_mean"),
)
"""Fields of ``contents.Missed``."""


def fidelity(pool: PoolPart) -> str:
    """What must stand beside every figure of fair start times, as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["order", "backfill", "metric", "value", "unit"])
    told = pool.fair_start.fidelity
    policy = (cell(told.order), cell(told.backfill)) if told else (None, None)
    for figure in (*(told.figures if told else ()), pool.figure("over_capacity_time")):
        writer.writerow([*policy, cell(figure.metric), figure.value, figure.unit])
    return out.getvalue()
