"""Slurm's accounts, users and qualities of service, as ``sacctmgr`` prints them.

    sacctmgr -P show assoc format=Cluster,Account,User,Partition,Share,ParentName,\
        GrpTRESMins,GrpJobs,GrpTRES,MaxJobs,MaxTRES,MaxWall
    sacctmgr dump CLUSTER file=FILE
    sacctmgr -P show qos format=Name,Priority,UsageFactor

Limits are read where they are among the columns (``LIMITS``), see ``formats.slurm.limits``.

Of ``show assoc`` any columns in any order are read, with any delimiter; needed are Account, User,
Share and what tells each account's parent: ParentName, or ParentID and ID, or LFT and RGT, or
Lineage, or the indentation that ``tree`` prints. (The default columns tell none of these.) A share
of ``parent`` (2147483647 in dumps) is NaN here. Every fault is kept with its line; nothing is
guessed. Sources: sacctmgr's manual page, Slurm 17.11 to 25.05.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

ROOT: Final = "root"
"""The account above all accounts."""

PARENT: Final = 2_147_483_647
"""How dumps write a share of ``parent``."""

FORMAT: Final = (
    "Cluster,Account,User,Partition,Share,ParentName,"
    "GrpTRESMins,GrpJobs,GrpTRES,MaxJobs,MaxTRES,MaxWall"
)
"""Columns that hold all that is read here."""

LARGEST_SHARE: Final = 1 << 31
LIMITS: Final = {
    **{name: name for name in ("grpjobs", "grptres", "maxjobs", "maxtres", "maxwall")},
    **{name: name for name in ("maxtrespu", "maxjobspu", "maxtrespa", "maxjobspa")},
    "maxtresperjob": "maxtres",
    "maxtresperuser": "maxtrespu",
    "maxtresperaccount": "maxtrespa",
    "maxjobsperuser": "maxjobspu",
    "maxjobsperaccount": "maxjobspa",
    "maxwalldurationperjob": "maxwall",
}
"""Columns and options with limits (lower case), and one name for each limit."""
_SHOWN: Final = 60


class Fault(NamedTuple):
    """What is wrong in a text."""

    line: int
    """1-based; 0: the text as a whole."""
    text: str


class Association(NamedTuple):
    """An account below another, or a user below an account."""

    account: str
    user: str | None
    """None: the association is the account's own."""
    partition: str | None
    """Of a user: the one partition whose jobs it is for; None: all others."""
    parent: str | None
    """Of an account: the account above it; None: root. A user's parent is its account."""
    share: float
    """Raw shares ≥ 0; NaN: fairshare=parent."""
    grp_tres_mins: str
    """The limit of that name, as it is written."""
    cluster: str | None
    line: int
    limits: Mapping[str, str] = {}
    """Limits that are set, by ``LIMITS``, as they are written."""


class Associations(NamedTuple):
    """What a text says, and what is wrong with it."""

    rows: tuple[Association, ...]
    faults: tuple[Fault, ...]


class Qos(NamedTuple):
    """A quality of service."""

    name: str
    usage_factor: float
    """What usage is multiplied by, ≥ 0."""
    priority: int
    line: int
    limits: Mapping[str, str] = {}
    """As of an association."""


class QosList(NamedTuple):
    """What a text says, and what is wrong with it."""

    rows: tuple[Qos, ...]
    faults: tuple[Fault, ...]


class _Table(NamedTuple):
    """Rows by the name of their columns (lower case, without blanks), with their lines."""

    columns: tuple[str, ...]
    rows: list[tuple[int, dict[str, str]]]
    faults: list[Fault]


def associations(text: str, cluster: str | None = None) -> Associations:
    """Reads ``sacctmgr show assoc`` or ``sacctmgr dump``; never raises for what it holds.

    Args:
        text: what sacctmgr printed.
        cluster: whose associations; None takes those of the only cluster that the text names.
    """
    if _DUMP.search(text):
        rows, faults = _dumped(text)
    else:
        rows, faults = _listed(text)
    named = sorted({row.cluster for row in rows if row.cluster is not None})
    if cluster is not None:
        # one that goes by another name elsewhere is still the only one
        kept = cluster if cluster in named else named[0] if len(named) == 1 else cluster
        rows = [row for row in rows if row.cluster in (kept, None)]
    elif len(named) > 1:
        faults.append(Fault(0, f"associations of several clusters ({', '.join(named)}): name one"))
    if not faults:
        if not rows:
            which = f" of cluster {cluster!r}" if cluster is not None and named else ""
            faults.append(
                Fault(0, f"no association{which}: is it what 'sacctmgr show assoc' says?")
            )
        elif all(row.user is None and row.account == ROOT for row in rows):
            faults.append(Fault(rows[0].line, "nothing but root: no account and no user below it"))
        faults += _checked(rows)
    return Associations(tuple(rows), tuple(sorted(faults)))


def qualities(text: str) -> QosList:
    """Reads ``sacctmgr show qos``; never raises for what it holds."""
    table = _table(text, "sacctmgr -P show qos format=Name,Priority,UsageFactor")
    faults = table.faults
    known: dict[str, Qos] = {}
    missing = [name for name in ("name", "usagefactor") if name not in table.columns]
    if table.columns and missing:
        faults = [Fault(1, f"no column {_TITLES[name]}") for name in missing]
    for line, row in [] if missing else table.rows:
        try:
            factor = float(row["usagefactor"] or 1.0)
            priority = int(row.get("priority") or 0)
            if not (factor >= 0.0 and math.isfinite(factor)):
                raise ValueError
        except ValueError:
            shown = f"{row['usagefactor']!r}, {row.get('priority', '')!r}"
            faults.append(Fault(line, f"QOS {_short(row['name'])}: {shown} are no numbers ≥ 0"))
            continue
        if row["name"] in known:
            faults.append(Fault(line, f"QOS {_short(row['name'])} stands there more than once"))
        known[row["name"]] = Qos(row["name"], factor, priority, line, _limits(row))
    if not (known or faults):
        faults.append(Fault(0, "no QOS in it"))
    return QosList(tuple(known.values()), tuple(sorted(faults)))


def tells_limits(text: str) -> bool:
    """Whether a text says what is limited: a dump does, a table where it has columns for it."""
    return bool(_DUMP.search(text)) or not LIMITS.keys().isdisjoint(_table(text, "").columns)


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
    "fairshare": "share",
    "shares": "share",
    "rawshares": "share",
    "parname": "parentname",
    "parent": "parentname",
    "parid": "parentid",
}
_DUMP: Final = re.compile(r"^(?:Cluster|Parent|Account|User) - '", re.MULTILINE)


def _table(text: str, remedy: str) -> _Table:
    lines = [(n, line.rstrip("\r")) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        return _Table((), [], [Fault(0, f"empty; let '{remedy}' write it")])
    first, header = lines[0]
    header = header.removeprefix("\ufeff")
    between = re.match(r"[A-Za-z][A-Za-z ]*?\s*([^A-Za-z \t]+)", header)
    if between is None or set(header) <= {"-", " "}:
        return _Table((), [], [Fault(first, f"no header row with a delimiter: use '{remedy}'")])
    separator = between[1]
    trailing = header.endswith(separator)
    titles = header.removesuffix(separator).split(separator)
    names = tuple(_named(title) for title in titles)
    faults = []
    rows = []
    for number, line in lines[1:]:
        cells = (line.removesuffix(separator) if trailing else line).split(separator)
        if len(cells) != len(names):
            faults.append(
                Fault(number, f"{len(cells)} fields where the header row has {len(names)}")
            )
            continue
        # the first of columns that repeat
        rows.append((number, dict(zip(reversed(names), reversed(cells), strict=True))))
    return _Table(names, rows, faults)


def _named(title: str) -> str:
    plain = title.replace(" ", "").lower()
    return _ALIASES.get(plain, plain)


def _listed(text: str) -> tuple[list[Association], list[Fault]]:
    remedy = f"sacctmgr -P show assoc format={FORMAT}"
    table = _table(text, remedy)
    faults = table.faults
    missing = [name for name in ("account", "user", "share") if name not in table.columns]
    if table.columns and missing:
        listed = ", ".join(_TITLES[name] for name in missing)
        faults = [Fault(1, f"no column {listed}; let '{remedy}' write it")]
    if missing or not table.columns:
        return [], faults
    rows = []
    parent_of = _parents(table)
    if parent_of is None:
        text = f"the columns do not tell the parents of accounts: let '{remedy}' write it"
        return [], [*faults, Fault(1, text)]
    for line, row in table.rows:
        account, user = row["account"].strip(), row["user"].strip() or None
        above_all = user is None and account == ROOT  # sshare prints no share of its own
        share = _share(row["share"] or ("1" if above_all else ""))
        if not account:
            faults.append(Fault(line, "an association without account"))
            continue
        if share is None:
            faults.append(Fault(line, f"share {_short(row['share'])}: a number ≥ 0, or 'parent'"))
            continue
        parent = None
        if user is None:
            parent = parent_of(line, row)
            if parent is None and not above_all:
                faults.append(Fault(line, f"account {_short(account)}: its parent is not there"))
                continue
        rows.append(
            Association(
                account,
                user,
                row.get("partition", "").strip() or None if user else None,
                parent,
                share,
                row.get("grptresmins", ""),
                row.get("cluster", "").strip() or None,
                line,
                _limits(row),
            )
        )
    return rows, faults


def _limits(cells: Mapping[str, str]) -> dict[str, str]:
    """The limits that a row or a line sets."""
    return {
        LIMITS[name]: text.strip()
        for name, text in cells.items()
        if name in LIMITS and text.strip()
    }


_ParentOf = Callable[[int, Mapping[str, str]], str | None]


def _parents(table: _Table) -> _ParentOf | None:
    """What tells the parent of an account's row; None where nothing does."""
    names = set(table.columns)
    accounts = [(line, row) for line, row in table.rows if not row["user"].strip()]
    parent_of: _ParentOf | None = None
    if "parentname" in names:
        parent_of = _by_name
    elif {"parentid", "id"} <= names:
        by_id = {_at(row, row["id"]): row["account"].strip() for _, row in accounts}
        parent_of = lambda line, row: by_id.get(_at(row, row["parentid"]))  # noqa: E731
    elif "lineage" in names and all(row["lineage"].strip() for _, row in accounts):
        parent_of = _by_lineage
    elif {"lft", "rgt"} <= names and all(_whole(row, "lft", "rgt") for _, row in accounts):
        parent_of = _enclosing(accounts)
    elif any(row["account"].startswith(" ") for _, row in accounts):
        parent_of = _indented(accounts)
    elif all(row["account"].strip() == ROOT for _, row in accounts):
        parent_of = lambda line, row: None  # noqa: E731 - nothing is below root
    return parent_of


def _by_name(line: int, row: Mapping[str, str]) -> str | None:
    return row["parentname"].strip() or None


def _by_lineage(line: int, row: Mapping[str, str]) -> str | None:
    """`/physics/theory/` is below physics, `/physics/` below root."""
    return [ROOT, *row["lineage"].strip("/ ").split("/")][-2]


def _at(row: Mapping[str, str], name: str) -> tuple[str, str]:
    return row.get("cluster", "").strip(), name.strip()


def _whole(row: Mapping[str, str], *names: str) -> bool:
    return all(re.fullmatch(r" *[0-9]{1,18} *", row[name]) for name in names)


def _enclosing(accounts: Sequence[tuple[int, Mapping[str, str]]]) -> _ParentOf:
    """The parent is the narrowest account around it in the nested sets of LFT and RGT."""
    accounts_by_line: dict[int, str] = {}
    around: list[tuple[str, int, str]] = []
    for line, row in sorted(accounts, key=lambda a: (a[1].get("cluster", ""), int(a[1]["lft"]))):
        cluster, right = row.get("cluster", ""), int(row["rgt"])
        while around and (around[-1][0] != cluster or around[-1][1] < right):
            around.pop()
        if around:
            accounts_by_line[line] = around[-1][2]
        around.append((cluster, right, row["account"].strip()))
    return lambda line, row: accounts_by_line.get(line)


def _indented(accounts: Sequence[tuple[int, Mapping[str, str]]]) -> _ParentOf:
    """The parent is the last account before it that is indented less."""
    accounts_by_line: dict[int, str] = {}
    above: list[tuple[int, str]] = []
    for line, row in accounts:
        name = row["account"]
        depth = len(name) - len(name.lstrip(" "))
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            accounts_by_line[line] = above[-1][1]
        above.append((depth, name.strip()))
    return lambda line, row: accounts_by_line.get(line)


def _share(text: str) -> float | None:
    """A number of shares, NaN for ``parent``; None where it is neither."""
    plain = text.strip().lower()
    if plain in ("parent", str(PARENT)):
        return math.nan
    if not re.fullmatch(r"[0-9]{1,10}", plain) or int(plain) > LARGEST_SHARE:
        return None
    return float(plain)


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
            faults.append(Fault(number, f"{_short(plain)} is no line of 'sacctmgr dump'"))
            continue
        kind, name, rest = match.groups()
        if kind == "Parent":
            parent = name
            continue
        options = dict(_options(rest))
        share = _share(options.get("fairshare", "1") or "1")
        if share is None:
            shown = _short(options["fairshare"])
            faults.append(Fault(number, f"Fairshare={shown}: a number ≥ 0, or 'parent'"))
            continue
        limit, limits = options.get("grptresmins", ""), _limits(options)
        if kind == "Cluster":
            cluster, parent = name, ROOT
            rows.append(Association(ROOT, None, None, None, share, limit, cluster, number, limits))
        elif kind == "Account":
            rows.append(
                Association(name, None, None, parent, share, limit, cluster, number, limits)
            )
        else:
            partition = options.get("partition") or None
            rows.append(
                Association(parent, name, partition, None, share, limit, cluster, number, limits)
            )
    return rows, faults


def _options(text: str) -> Iterator[tuple[str, str]]:
    for name, value in _OPTION.findall(text):
        yield name.lower(), value.strip("'")


# both ----------------------------------------------------------------------------------------


def _checked(rows: Sequence[Association]) -> Iterator[Fault]:
    """What keeps associations from being a tree."""
    parents: dict[str, str | None] = {ROOT: None}
    seen: set[tuple[str, str | None, str | None]] = set()
    for row in rows:
        key = row.account, row.user, row.partition
        if key in seen:
            what = f"user {_short(row.user)} of account" if row.user is not None else "account"
            yield Fault(row.line, f"{what} {_short(row.account)} stands there more than once")
        seen.add(key)
        if row.user is None and row.account != ROOT:
            parents[row.account] = row.parent
    for row in rows:
        if row.account not in parents:
            yield Fault(row.line, f"account {_short(row.account)} is not among the associations")
        elif row.user is None and row.parent is not None and row.parent not in parents:
            yield Fault(
                row.line,
                f"account {_short(row.account)}: its parent {_short(row.parent)} is not among the "
                "associations",
            )
    for row in rows:
        if row.user is None and _is_circular(row.account, parents):
            yield Fault(row.line, f"account {_short(row.account)} is above itself")


def _is_circular(account: str, parents: Mapping[str, str | None]) -> bool:
    at = parents.get(account)
    for _ in parents:
        if at is None:
            return False
        if at == account:
            return True
        at = parents.get(at)
    return False


def _short(text: str | None) -> str:
    """A name as an error shows it."""
    known = text or ""
    return repr(known if len(known) <= _SHOWN else f"{known[:_SHOWN]}…")
