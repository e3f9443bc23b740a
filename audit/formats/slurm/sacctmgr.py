"""Slurm's accounts, users and QOS, as printed by ``sacctmgr``.

    sacctmgr -P show assoc format=Cluster,Account,User,Partition,Share,ParentName,\
        GrpTRESMins,GrpJobs,GrpTRES,MaxJobs,MaxTRES,MaxWall
    sacctmgr dump CLUSTER file=FILE
    sacctmgr -P show qos format=Name,Priority,UsageFactor

``show assoc`` may have any columns in any order, with any delimiter. Required are Account, User,
Share and the parents of accounts: ParentName, or ParentID and ID, or LFT and RGT, or Lineage, or
the indentation of ``tree``. The default columns lack them; they suffice for limits where none is
of an account as a whole. A share of ``parent`` is NaN here.
Limits are read from their columns (``LIMITS``), priorities from ``Priority``. Faults are reported
with their lines. Sources: sacctmgr's manual page, Slurm 17.11 to 25.05.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from audit.formats.shaping import short

ROOT: Final = "root"  # the account above all accounts

FORMAT: Final = (
    "Cluster,Account,User,Partition,Share,ParentName,"
    "GrpTRESMins,GrpJobs,GrpTRES,MaxJobs,MaxTRES,MaxWall"
)
"""All columns that are read."""

_PARENT: Final = ("parent", "2147483647")  # spellings of a share of ``parent``, the latter in dumps
_LARGEST_SHARE: Final = 1 << 31
_NAMES: Final = (
    *("grpjobs", "grptres", "maxjobs", "maxtres", "maxwall"),
    *("maxtrespu", "maxjobspu", "maxtrespa", "maxjobspa"),
)
LIMITS: Final = {
    **dict(zip(_NAMES, _NAMES, strict=True)),
    "maxtresperjob": "maxtres",
    "maxtresperuser": "maxtrespu",
    "maxtresperaccount": "maxtrespa",
    "maxjobsperuser": "maxjobspu",
    "maxjobsperaccount": "maxjobspa",
    "maxwalldurationperjob": "maxwall",
}
"""Columns and options with limits (lower case), and the name of each limit."""


class Fault(NamedTuple):
    """An error in a text."""

    line: int  # 1-based; 0: the whole text
    text: str


class Association(NamedTuple):
    """An account below another, or a user below an account."""

    account: str
    user: str | None  # None: the association is the account itself
    partition: str | None  # of a user: the partition whose jobs it is for; None: all others
    parent: str | None
    """Of an account: the account above it; None: root. A user's parent is its account."""
    share: float  # raw shares ≥ 0; NaN: fairshare=parent
    grp_tres_mins: str  # the limit of that name, as text
    cluster: str | None
    line: int
    limits: Mapping[str, str] = {}  # limits that are set, by ``LIMITS``, as text
    priority: int | None = None  # None: that of the account above


class Qos(NamedTuple):
    """A quality of service."""

    name: str
    usage_factor: float  # factor of usage, ≥ 0
    priority: int
    line: int
    limits: Mapping[str, str] = {}  # as of an association
    preempts: tuple[str, ...] = ()  # the QOS whose jobs give way to its own
    preempt_mode: str = ""  # PreemptMode, in lower case; empty: that of the cluster


Row = TypeVar("Row")


class Listed(NamedTuple, Generic[Row]):
    """The rows of a text, and its faults."""

    rows: tuple[Row, ...]
    faults: tuple[Fault, ...]


_Cells = Mapping[str, str]


class SacctmgrTable(NamedTuple):
    """Rows by the names of their columns (lower case, without blanks), with their lines."""

    columns: tuple[str, ...]
    rows: list[tuple[int, _Cells]]
    faults: list[Fault]


def associations(
    text: str, cluster: str | None = None, *, shares: bool = True
) -> Listed[Association]:
    """Read ``sacctmgr show assoc`` or ``dump``, of ``cluster`` or of the only cluster in it.

    Without ``shares``, parents of accounts may be unknown where no limit depends on them.
    """
    rows, faults = _dumped(text) if _DUMP.search(text) else _listed(text, shares)
    named = sorted({row.cluster for row in rows if row.cluster is not None})
    if cluster is not None:
        # an only cluster may have another name elsewhere
        kept = named[0] if cluster not in named and len(named) == 1 else cluster
        rows = [row for row in rows if row.cluster in (kept, None)]
    elif len(named) > 1:
        faults.append(Fault(0, f"associations of several clusters ({', '.join(named)}): name one"))
    if not faults:
        if not rows:
            which = f" of cluster {cluster!r}" if cluster is not None and named else ""
            asked = "is it what 'sacctmgr show assoc' says?"
            faults.append(Fault(0, f"no association{which}: {asked}"))
        elif all(row.user is None and row.account == ROOT for row in rows):
            faults.append(Fault(rows[0].line, "nothing but root: no account and no user below it"))
        faults += _checked(rows)
    return Listed(tuple(rows), tuple(sorted(faults)))


def qualities(text: str) -> Listed[Qos]:
    """Read ``sacctmgr show qos``; never raises for its content."""
    table = read_table(text, "sacctmgr -P show qos format=Name,Priority,UsageFactor")
    faults = table.faults
    known: dict[str, Qos] = {}
    missing = [_TITLES[name] for name in ("name", "usagefactor") if name not in table.columns]
    if table.columns and missing:
        faults = [Fault(1, f"no column {title}") for title in missing]
    for line, row in [] if missing else table.rows:
        name, factor, priority = row["name"], row["usagefactor"], row.get("priority", "")
        try:
            found = Qos(
                name,
                usage_factor=float(factor or 1),
                priority=int(priority or 0),
                line=line,
                limits=_limits(row),
                preempts=tuple(filter(None, row.get("preempt", "").strip().split(","))),
                preempt_mode=row.get("preemptmode", "").strip().lower().removeprefix("cluster"),
            )
            if not 0 <= found.usage_factor < math.inf:
                raise ValueError
        except ValueError:
            wrong = f"QOS {short(name)}: {factor!r}, {priority!r} must be numbers ≥ 0"
            faults.append(Fault(line, wrong))
            continue
        if name in known:
            faults.append(Fault(line, f"QOS {short(name)} is listed more than once"))
        known[name] = found
    if not (known or faults):
        faults.append(Fault(0, "no QOS in it"))
    return Listed(tuple(known.values()), tuple(sorted(faults)))


def tells_limits(text: str) -> bool:
    """Return whether a text contains limits: a dump, or a table with columns for them."""
    return bool(_DUMP.search(text)) or not LIMITS.keys().isdisjoint(read_table(text, "").columns)


# show assoc ----------------------------------------------------------------------------------

_TITLES: Final = {
    "account": "Account",
    "user": "User",
    "share": "Share",
    "name": "Name",
    "usagefactor": "UsageFactor",
}
_ALIASES: Final = {
    "acct": "account",
    **dict.fromkeys(("fairshare", "shares", "rawshares"), "share"),
    **dict.fromkeys(("parname", "parent"), "parentname"),
    "parid": "parentid",
}
_DUMP: Final = re.compile(r"^(?:Cluster|Parent|Account|User) - '", re.MULTILINE)


def read_table(text: str, remedy: str) -> SacctmgrTable:
    """Read a table with a header row; ``remedy`` is the command that writes one."""
    lines = [(n, line.rstrip("\r")) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        return SacctmgrTable((), [], [Fault(0, f"empty; let '{remedy}' write it")])
    first, header = lines[0]
    header = header.removeprefix("\ufeff")
    between = re.match(r"[A-Za-z][A-Za-z ]*?\s*([^A-Za-z \t]+)", header)
    if between is None or set(header) <= {"-", " "}:
        return SacctmgrTable(
            (), [], [Fault(first, f"no header row with a delimiter: use '{remedy}'")]
        )
    separator = between[1]
    trailing = separator if header.endswith(separator) else ""
    titles = header.removesuffix(trailing).split(separator)
    plain = (title.replace(" ", "").lower() for title in titles)
    names = tuple(_ALIASES.get(name, name) for name in plain)
    faults: list[Fault] = []
    rows: list[tuple[int, _Cells]] = []
    for number, line in lines[1:]:
        cells = line.removesuffix(trailing).split(separator)
        if len(cells) == len(names):  # of columns that repeat, the first
            rows.append((number, dict(zip(reversed(names), reversed(cells), strict=True))))
        else:
            wrong = f"{len(cells)} fields where the header row has {len(names)}"
            faults.append(Fault(number, wrong))
    return SacctmgrTable(names, rows, faults)


def _listed(text: str, shares: bool) -> tuple[list[Association], list[Fault]]:
    remedy = f"sacctmgr -P show assoc format={FORMAT}"
    table = read_table(text, remedy)
    faults = table.faults
    missing = [_TITLES[name] for name in ("account", "user", "share") if name not in table.columns]
    if not table.columns:
        return [], faults
    if missing:
        return [], [Fault(1, f"no column {', '.join(missing)}; let '{remedy}' write it")]
    parent_of = _parents(table)
    if parent_of is None and not shares and not any(map(_limits_accounts_below, table.rows)):
        parent_of = _below_root
    if parent_of is None:
        text = f"the columns do not tell the parents of accounts: let '{remedy}' write it"
        return [], [*faults, Fault(1, text)]
    rows = []
    for line, row in table.rows:
        account, user = row["account"].strip(), row["user"].strip() or None
        above_all = user is None and account == ROOT  # sshare prints no share for it
        share = _share(row["share"] or ("1" if above_all else ""))
        parent = None if user else parent_of(line, row)
        if not account:
            faults.append(Fault(line, "an association without account"))
        elif share is None:
            faults.append(Fault(line, f"share {short(row['share'])}: a number ≥ 0, or 'parent'"))
        elif parent is None and not user and not above_all:
            faults.append(Fault(line, f"account {short(account)}: its parent is not there"))
        else:
            association = Association(
                account=account,
                user=user,
                partition=row.get("partition", "").strip() or None if user else None,
                parent=parent,
                share=share,
                grp_tres_mins=row.get("grptresmins", ""),
                cluster=row.get("cluster", "").strip() or None,
                line=line,
                limits=_limits(row),
                priority=_priority(row),
            )
            rows.append(association)
    return rows, faults


def _limits_accounts_below(numbered: tuple[int, _Cells]) -> bool:
    _, row = numbered
    of_account = not row["user"].strip() and row["account"].strip() != ROOT
    return of_account and not _limits(row).keys().isdisjoint(("grpjobs", "grptres"))


def _below_root(line: int, row: _Cells) -> str:
    return ROOT


def _limits(cells: _Cells) -> dict[str, str]:
    texts = {name: text.strip() for name, text in cells.items() if name in LIMITS}
    return {LIMITS[name]: text for name, text in texts.items() if text}


def _priority(cells: _Cells) -> int | None:
    text = cells.get("priority", "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,10}", text) else None


_ParentOf = Callable[[int, _Cells], str | None]


def _parents(table: SacctmgrTable) -> _ParentOf | None:
    """Return what gives the parent of an account's row; None where it is unknown."""
    names = set(table.columns)
    accounts = [(line, row) for line, row in table.rows if not row["user"].strip()]
    rows = [row for _, row in accounts]
    if "parentname" in names:
        return lambda line, row: row["parentname"].strip() or None
    if {"parentid", "id"} <= names:
        by_id = {_at(row, "id"): row["account"].strip() for row in rows}
        return lambda line, row: by_id.get(_at(row, "parentid"))
    if "lineage" in names and all(row["lineage"].strip() for row in rows):
        # `/physics/theory/` is below physics, `/physics/` below root
        return lambda line, row: [ROOT, *row["lineage"].strip("/ ").split("/")][-2]
    whole = re.compile(r" *[0-9]{1,18} *")
    if {"lft", "rgt"} <= names and all(
        whole.fullmatch(row[name]) for row in rows for name in ("lft", "rgt")
    ):
        accounts.sort(key=lambda pair: (pair[1].get("cluster", ""), int(pair[1]["lft"])))
        return _nested(accounts, _encloses)
    if any(row["account"].startswith(" ") for row in rows):
        return _nested(accounts, lambda above, row: _indent(above) < _indent(row))
    alone = all(row["account"].strip() == ROOT for row in rows)
    return (lambda line, row: None) if alone else None


def _at(row: _Cells, name: str) -> tuple[str, str]:
    return row.get("cluster", "").strip(), row[name].strip()


def _encloses(above: _Cells, row: _Cells) -> bool:
    same = above.get("cluster", "") == row.get("cluster", "")
    return same and int(above["rgt"]) >= int(row["rgt"])


def _indent(row: _Cells) -> int:
    return len(row["account"]) - len(row["account"].lstrip(" "))


def _nested(
    accounts: Sequence[tuple[int, _Cells]], holds: Callable[[_Cells, _Cells], bool]
) -> _ParentOf:
    parents: dict[int, str] = {}
    above: list[_Cells] = []
    for line, row in accounts:
        while above and not holds(above[-1], row):
            above.pop()
        if above:
            parents[line] = above[-1]["account"].strip()
        above.append(row)
    return lambda line, row: parents.get(line)


def _share(text: str) -> float | None:
    plain = text.strip().lower()
    if plain in _PARENT:
        return math.nan
    valid = re.fullmatch(r"[0-9]{1,10}", plain) and int(plain) <= _LARGEST_SHARE
    return float(plain) if valid else None


# dump ----------------------------------------------------------------------------------------

_RECORD: Final = re.compile(r"(Cluster|Parent|Account|User) - '([^']*)'(.*)")
_OPTION: Final = re.compile(r":([A-Za-z]+)=('[^']*'|[^:']*)")


def _dumped(text: str) -> tuple[list[Association], list[Fault]]:
    rows: list[Association] = []
    faults: list[Fault] = []
    cluster: str | None = None
    parent = ROOT
    for number, line in enumerate(text.split("\n"), 1):
        plain = line.strip()
        if not plain or plain.startswith("#"):
            continue
        match = _RECORD.fullmatch(plain)
        if match is None:
            faults.append(Fault(number, f"{short(plain)} is not a line of 'sacctmgr dump'"))
            continue
        kind, name, rest = match.groups()
        if kind == "Parent":
            parent = name
            continue
        options = {option.lower(): value.strip("'") for option, value in _OPTION.findall(rest)}
        share = _share(options.get("fairshare", "1") or "1")
        if share is None:
            shown = short(options["fairshare"])
            faults.append(Fault(number, f"Fairshare={shown}: a number ≥ 0, or 'parent'"))
            continue
        if kind == "Cluster":
            cluster, parent = name, ROOT
        account, user, partition, above = {
            "Cluster": (ROOT, None, None, None),
            "Account": (name, None, None, parent),
            "User": (parent, name, options.get("partition") or None, None),
        }[kind]
        association = Association(
            account=account,
            user=user,
            partition=partition,
            parent=above,
            share=share,
            grp_tres_mins=options.get("grptresmins", ""),
            cluster=cluster,
            line=number,
            limits=_limits(options),
            priority=_priority(options),
        )
        rows.append(association)
    return rows, faults


# both ----------------------------------------------------------------------------------------


_LIST_ALL: Final = "let sacctmgr show those of all users and accounts, not of some"


def _checked(rows: Sequence[Association]) -> Iterator[Fault]:
    parents = {row.account: row.parent for row in rows if row.user is None} | {ROOT: None}
    seen: set[tuple[str, str | None, str | None]] = set()
    for row in rows:
        key = row.account, row.user, row.partition
        if key in seen:
            what = f"user {short(row.user)} of account" if row.user is not None else "account"
            yield Fault(row.line, f"{what} {short(row.account)} is listed more than once")
        seen.add(key)
    for row in rows:
        account = f"account {short(row.account)}"
        if row.account not in parents:
            yield Fault(row.line, f"{account} is not among the associations: {_LIST_ALL}")
        elif row.user is None and row.parent is not None and row.parent not in parents:
            above = f"its parent {short(row.parent)} is not among the associations"
            yield Fault(row.line, f"{account}: {above}")
        if row.user is None and _is_circular(row.account, parents):
            yield Fault(row.line, f"{account} is above itself")


def _is_circular(account: str, parents: Mapping[str, str | None]) -> bool:
    at = parents.get(account)
    for _ in parents:
        if at is None or at == account:
            return at == account
        at = parents.get(at)
    return False
