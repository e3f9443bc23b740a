"""The lines and columns of ``sshare -alP``, and how they are written."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from audit import spreadsheets
from audit.formats.slurm.sacctmgr import Association
from audit.metrics.fairshare.trees import Floats, Tree
from audit.metrics.slurm.shares import Shares, printed
from audit.progress import printable
from audit.words import Algorithm

COLUMNS: Final = (
    *("Account", "User", "RawShares", "NormShares", "RawUsage", "NormUsage", "EffectvUsage"),
    *("FairShare", "LevelFS", "GrpTRESMins", "TRESRunMins"),
)
"""Those of ``sshare -alP``; classic fairshare has no LevelFS."""


class Row(NamedTuple):
    """One line of ``sshare``."""

    depth: int
    account: str
    user: str
    partition: str
    raw_shares: str
    norm_shares: float
    raw_usage: float
    norm_usage: float
    effective_usage: float
    fairshare: float
    level_fs: float
    grp_tres_mins: str
    tres_run_mins: str


@dataclass(frozen=True)
class Outcome:
    """What would have been printed, and what has to be said about it."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    facts: tuple[str, ...]
    """What was used, in words."""
    warnings: tuple[str, ...]


def columns(algorithm: Algorithm, *, by_partition: bool = False) -> tuple[str, ...]:
    """The columns of ``sshare -alP``, or with partitions of ``sshare -alPm``."""
    fair_tree = algorithm is Algorithm.fair_tree
    names = tuple(name for name in COLUMNS if fair_tree or name != "LevelFS")
    return (*names[:2], "Partition", *names[2:]) if by_partition else names


def rows(
    tree: Tree,
    associations: Sequence[Association],
    raw_usage: Floats,
    shares: Shares,
    resources: Sequence[str],
    run_minutes: Floats,
) -> tuple[Row, ...]:
    """A line for each node, in the order of ``sshare``.

    Args:
        tree: what ``associations`` are.
        run_minutes: a row per resource, a column per node.
    """
    limits = {(row.account, row.user, row.partition): row.grp_tres_mins for row in associations}
    depth = [0] * len(tree.names)
    lines = []
    for node in printed(tree):
        name, parent, share = tree.names[node], int(tree.parents[node]), tree.shares[node]
        if parent >= 0:
            depth[node] = depth[parent] + 1
        is_user = tree.kinds[node] == "user"
        account, user = (tree.names[parent], name) if is_user else (name, None)
        minutes = zip(resources, run_minutes[:, node], strict=True)
        lines.append(
            Row(
                depth[node],
                account,
                user or "",
                tree.partitions[node] or "",
                "" if parent < 0 else "parent" if math.isnan(share) else f"{share:g}",
                float(shares.norm_shares[node]),
                float(raw_usage[node]),
                float(shares.norm_usage[node]),
                float(shares.effective_usage[node]),
                float(shares.fairshare[node]),
                float(shares.level_fs[node]),
                limits.get((account, user, tree.partitions[node]), ""),
                ",".join(f"{resource}={int(amount)}" for resource, amount in minutes),
            )
        )
    return tuple(lines)


def psv(outcome: Outcome) -> str:
    """As ``sshare -alP`` prints it; what would break a line or a field in a name is escaped."""
    lines = [outcome.columns, *(_cells(row, outcome.columns) for row in outcome.rows)]
    return "".join("|".join(map(_one_field, line)) + "\n" for line in lines)


def comma_separated(outcome: Outcome) -> str:
    """RFC 4180 with LF; its cells are those of ``audit.spreadsheets``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(outcome.columns)
    for row in outcome.rows:
        cells = _cells(row, outcome.columns)
        writer.writerow(map(spreadsheets.cell, cells))
    return out.getvalue()


def _cells(row: Row, columns: Sequence[str]) -> list[str]:
    by_name = {
        "Account": " " * row.depth + row.account,
        "User": row.user,
        "Partition": row.partition,
        "RawShares": row.raw_shares,
        "NormShares": _six(row.norm_shares),
        "RawUsage": str(int(row.raw_usage)),
        "NormUsage": _six(row.norm_usage),
        "EffectvUsage": _six(row.effective_usage),
        "FairShare": _six(row.fairshare),
        "LevelFS": _six(row.level_fs),
        "GrpTRESMins": row.grp_tres_mins,
        "TRESRunMins": row.tres_run_mins,
    }
    return [by_name[name] for name in columns]


def _six(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6f}"


def _one_field(text: str) -> str:
    escaped = printable(text).replace("\n", "\\n")
    return escaped.replace("|", "\\x7c")
