"""The full tables of users and accounts, as CSV files that a report carries along."""

import csv
import io
from dataclasses import dataclass
from typing import Final

from audit.report import wording
from audit.report.contents import Contents, Entities, PoolPart

# A spreadsheet takes a cell that begins so for a formula, and would run what a user named a job.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class File:
    """A file inside the report."""

    name: str
    what: str
    text: str


def files(contents: Contents) -> dict[str, tuple[File, ...]]:
    """The files of each pool, by its name."""
    several = len(contents.pools) > 1
    return {
        pool.name: tuple(
            File(
                f"{of.kind}s{f'-{number}' if several else ''}.csv",
                f"{of.kind}s{f' of pool {wording.name(pool.name)}' if several else ''}",
                table(pool, of),
            )
            for of in (pool.users, pool.accounts)
            if of.rows
        )
        for number, pool in enumerate(contents.pools, start=1)
    }


def table(pool: PoolPart, of: Entities) -> str:
    """All users, or accounts, of a pool as CSV (RFC 4180), with numbers in full precision."""
    unit = wording.resource(pool.resource).lower()
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        [
            of.kind,
            "attempts",
            "jobs",
            "tuwt_s",
            f"tusa_{unit}_s",
            "nuwt",
            "re_unfairness_net",
            "re_unfairness_positive",
            "never_started",
            "gave_up_wait_s",
        ]
    )
    for row in of.rows:
        writer.writerow(
            [
                cell(row.name),
                row.attempts,
                row.jobs,
                row.tuwt_s,
                row.tusa,
                row.nuwt,
                row.re_unfairness_net,
                row.re_unfairness_positive,
                row.never_started,
                row.gave_up_wait_s,
            ]
        )
    return out.getvalue()


def cell(text: str | None) -> str:
    """A text as a cell that no spreadsheet runs."""
    if text is None:
        return ""
    return f"'{text}" if text.startswith(_FORMULA) else text
