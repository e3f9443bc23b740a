"""The rows and columns of ``sshare -alP``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from audit import spreadsheets
from audit.formats.slurm.sacctmgr import Association
from audit.metrics.fairshare.trees import Floats, Tree
from audit.metrics.slurm.shares import Shares, printed
from audit.progress import printable
from audit.words import Algorithm


class Row(NamedTuple):
    """One row of ``sshare``."""

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


def _six(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6f}"


_COLUMNS: Final[dict[str, Callable[[Row], str]]] = {
    "Account": lambda row: " " * row.depth + row.account,
    "User": lambda row: row.user,
    "Partition": lambda row: row.partition,
    "RawShares": lambda row: row.raw_shares,
    "NormShares": lambda row: _six(row.norm_shares),
    "RawUsage": lambda row: str(int(row.raw_usage)),
    "NormUsage": lambda row: _six(row.norm_usage),
    "EffectvUsage": lambda row: _six(row.effective_usage),
    "FairShare": lambda row: _six(row.fairshare),
    "LevelFS": lambda row: _six(row.level_fs),
    "GrpTRESMins": lambda row: row.grp_tres_mins,
    "TRESRunMins": lambda row: row.tres_run_mins,
}


@dataclass(frozen=True)
class Outcome:
    """The output of ``sshare``."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    facts: tuple[str, ...]
    """The settings that were used."""
    warnings: tuple[str, ...]

    def cells(self) -> list[list[str]]:
        """Return the header and the rows as texts."""
        rows = ([_COLUMNS[name](row) for name in self.columns] for row in self.rows)
        return [list(self.columns), *rows]


def columns(algorithm: Algorithm, *, by_partition: bool = False) -> tuple[str, ...]:
    """Return the columns of ``sshare -alP``, or with partitions of ``sshare -alPm``."""
    hidden = set() if algorithm is Algorithm.fair_tree else {"LevelFS"}
    hidden |= set() if by_partition else {"Partition"}
    return tuple(name for name in _COLUMNS if name not in hidden)


def rows(
    tree: Tree,
    associations: Sequence[Association],
    raw_usage: Floats,
    shares: Shares,
    resources: Sequence[str],
    run_minutes: Floats,
) -> tuple[Row, ...]:
    """Return a row for each node, in the order of ``sshare``.

    ``raw_usage`` and ``shares`` are by node; ``run_minutes`` has a row for each of ``resources``
    (TRESRunMins) and a column for each node.
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
    """Return the output of ``sshare -alP``; characters that break lines or fields are escaped."""

    def field(text: str) -> str:
        return printable(text).replace("\n", "\\n").replace("|", "\\x7c")

    return "".join("|".join(map(field, line)) + "\n" for line in outcome.cells())


def comma_separated(outcome: Outcome) -> str:
    """Return RFC 4180 with LF, with the cells of ``audit.spreadsheets``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(map(spreadsheets.cell, line) for line in outcome.cells())
    return out.getvalue()
