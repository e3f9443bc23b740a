"""The table of jobs of slurmdbd (`CLUSTER_job_table`), written as CSV or by `mysql --batch`.

Each row is converted to the columns of `sacct -P` and read by the same rules (``records``). The
table has numbers where sacct prints names:

- Users, groups, QOS and reservations are numbers, unless the query adds a column ``user``.
- Trackable resources are pairs, `1=4,2=34000`: 1 CPUs, 2 memory in MiB, 4 nodes, 5 billing. Numbers
  from 1001 on differ between sites (``tres_table``), so GPUs are known only from ``gres_used``.
- States are numbers: a state, and flags above 255. Rows that are marked as deleted are counted.

A record is a line: one whose text contains a line break is refused. Sources: Slurm's
``as_mysql_cluster.c`` (columns) and ``slurm.h`` (states and flags), 17.11 to 25.05. Older tables
have ``cpus_alloc``.
"""

import re
from typing import Final

import polars as pl

from audit.formats import delimited
from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.lines import Block
from audit.formats.sacct.json import tasks_of
from audit.formats.sacct.records import PENDING_TASKS, typed
from audit.formats.shaping import by_distinct, case, hostlist, shaped

_NEEDED: Final = {"id_job", "time_submit", "time_start", "time_end", "state"}
_UNSET: Final = 2**32 - 2  # Slurm's unset; 2**32 - 1 is infinite
_NULLS: Final = ["", "NULL", r"\N"]

STATES: Final = (
    *("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT"),
    *("NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"),
)
"""States by number (enum job_states)."""
_FLAGS: Final = {1 << 10: "REQUEUED", 1 << 13: "RESIZING", 1 << 19: "REVOKED"}
_TRES: Final = {1: "cpu", 2: "mem", 3: "energy", 4: "node", 5: "billing", 6: "fs/disk"}
_TRES_OF_SITE: Final = r"(?:^|,)[0-9]{4,}=[1-9]"

NO_NAMES: Final = "users, groups, QOS and reservations have the numbers of the database"
NO_GPUS: Final = (
    "GPUs are unknown: trackable resources from number 1001 on have no names in the table of jobs"
)


def recognises(head: bytes) -> bool:
    """Return whether a table of jobs begins with ``head``."""
    return _names(head) is not None


def _names(head: bytes) -> tuple[list[str], str] | None:
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].rstrip(b"\r")
    line = first.decode("utf-8", errors="backslashreplace").replace('"', "").replace("`", "")
    for separator in delimited.SEPARATORS:
        names = [name.strip().lower() for name in line.split(separator)]
        if set(names) >= _NEEDED:
            return names, separator
    return None


def header(head: bytes, reading: Reading) -> Header:
    """Return the columns and their separator."""
    names, separator = _names(head) or ([], ",")
    entries = {"columns": ",".join(names), "separator": separator}
    problems = () if "user" in names else (NO_NAMES,)
    return Header(reading.zone, {}, entries, problems)


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines."""
    names, separator = header.entries["columns"].split(","), header.entries["separator"]
    found = delimited.rows(block, names, separator, _NULLS)
    rows = found.texts.match_to_schema(_COLUMNS, missing_columns="insert", extra_columns="ignore")
    deleted = (rows["deleted"] == "1").fill_null(value=False)
    records = _records(rows.filter(~deleted))
    return shaped(block, found.origin, [records, found.odd], steps=int(deleted.sum()), by_line=True)


def _records(rows: pl.DataFrame) -> pl.DataFrame:
    """Convert rows to the columns of sacct, and these to records."""
    tres = {name: by_distinct(rows[of], _tres) for name, of in _LISTED.items()}
    texts = rows.select(
        "number",
        _positive(PENDING_TASKS).alias(PENDING_TASKS),
        JobID=_job_id(),
        User=pl.coalesce("user", "id_user"),
        Account="account",
        Group="id_group",
        Partition="partition",
        QOS="id_qos",
        State=_state(),
        Priority=_known("priority"),
        Reservation=_positive("id_resv"),
        Submit=_positive("time_submit"),
        Eligible=_positive("time_eligible"),
        Start=_positive("time_start"),
        End=_positive("time_end"),
        Suspended=_duration("time_suspended"),
        TimelimitRaw=_positive("timelimit"),
        AllocCPUS="cpus_alloc",
        AllocNodes="nodes_alloc",
        NodeList=hostlist(pl.col("nodelist")),
        ReqCPUS="cpus_req",
        ReqMem=pl.format("{}Mn", _positive("mem_req", most=2**64)),
        AllocGRES=pl.coalesce("gres_alloc", "gres_used"),
        ReqGRES="gres_req",
        Constraints="constraints",
        SubmitLine=_submit_line(),
    )
    texts = texts.with_columns(tres[name]["named"].alias(name) for name in tres)
    found = typed(texts, "UTC")
    of_site = tres["AllocTRES"]["of_site"].fill_null(value=False)
    unknown = of_site & (found["gpus"] == 0).fill_null(value=False)
    return found.with_columns(
        gpus=pl.when(~pl.lit(unknown)).then("gpus"),
        remarks=pl.when(pl.lit(unknown))
        .then(pl.concat_list("remarks", pl.lit(NO_GPUS)))
        .otherwise("remarks"),
    )


_LISTED: Final = {"AllocTRES": "tres_alloc", "ReqTRES": "tres_req"}
READ: Final = (
    *("id_job", "id_array_job", "id_array_task", "array_task_str", "array_max_tasks"),
    PENDING_TASKS,
    *("het_job_id", "het_job_offset"),
    *("pack_job_id", "pack_job_offset", "user", "id_user", "account", "id_group", "partition"),
    *("id_qos", "state", "priority", "id_resv", "time_submit", "time_eligible", "time_start"),
    *("time_end", "time_suspended", "timelimit", "nodes_alloc", "nodelist", "cpus_req", "mem_req"),
    "cpus_alloc",  # until 14.11, which has no tres_alloc
    *("gres_alloc", "gres_used", "gres_req", "constraints", "tres_alloc", "tres_req"),
    "submit_line",
)
"""The columns that are read."""
_COLUMNS: Final = pl.Schema({"number": pl.Int64, **dict.fromkeys(("deleted", *READ), pl.String)})


def _known(name: str) -> pl.Expr:
    """Return a number as text, null where it is unset or infinite."""
    return pl.when(pl.col(name).cast(pl.UInt64, strict=False) < _UNSET).then(name)


def _positive(name: str, most: int = _UNSET) -> pl.Expr:
    """Return a number as text, null where it is 0, unset or infinite; others are refused later."""
    number = pl.col(name).cast(pl.UInt64, strict=False)
    unset = (number == 0) | (number.is_between(_UNSET, _UNSET + 1) if most == _UNSET else False)
    return pl.when(~unset.fill_null(value=False)).then(name)


def _duration(name: str) -> pl.Expr:
    """Return seconds as `MM:SS`; null for an instant, which a job that is suspended now has."""
    seconds = pl.col(name).cast(pl.Int64, strict=False)
    rest = (seconds % 60).cast(pl.String).str.zfill(2)
    return pl.when(seconds < 10**9).then(pl.format("{}:{}", seconds // 60, rest))


def _job_id() -> pl.Expr:
    array, task = _positive("id_array_job"), _known("id_array_task")
    het = pl.coalesce(_positive("het_job_id"), _positive("pack_job_id"))
    offset = pl.coalesce(_known("het_job_offset"), _known("pack_job_offset"))
    tasks = pl.col("array_task_str").map_elements(lambda text: tasks_of(text, {}), pl.String)
    most = pl.when(~tasks.str.contains("%", literal=True)).then(_positive("array_max_tasks"))
    tasks = pl.coalesce(pl.format("{}%{}", tasks, most), tasks)
    return case(
        (array.is_not_null() & task.is_not_null(), pl.format("{}_{}", array, task)),
        (array.is_not_null() & tasks.is_not_null(), pl.format("{}_[{}]", array, tasks)),
        (het.is_not_null() & offset.is_not_null(), pl.format("{}+{}", het, offset)),
        otherwise=pl.col("id_job"),
    )


def _submit_line() -> pl.Expr:
    """Return the call of sbatch (from 21.08 on), with the throttle that its array has."""
    line, most = pl.col("submit_line"), _positive("array_max_tasks")
    return pl.coalesce(pl.format("sbatch --array=0%{} {}", most, line.fill_null("")), line)


def _state() -> pl.Expr:
    """Return the name of a state; a flag takes precedence, as in `sacct -P`."""
    number = pl.col("state").cast(pl.Int64, strict=False)
    base = (number % 256).replace_strict(
        dict(enumerate(STATES)), default=None, return_dtype=pl.String
    )
    flags = ((number // bit % 2 == 1, name) for bit, name in _FLAGS.items())
    return case(*flags, otherwise=pl.coalesce(base, "state"))


def _tres(texts: pl.Series) -> pl.DataFrame:
    """Return `1=4,2=34000` as `cpu=4,mem=34000M`, and whether it has resources of the site."""
    named = []
    for text in texts:
        pairs = (re.fullmatch(r"([0-9]+)=([0-9]+)", item) for item in text.split(","))
        known = [(_TRES.get(int(pair[1])), pair[2]) for pair in pairs if pair]
        parts = [f"{name}={amount}{'M' * (name == 'mem')}" for name, amount in known if name]
        named.append(",".join(parts) if known or not text else text)
    return pl.DataFrame(
        {"named": pl.Series(named, dtype=pl.String), "of_site": texts.str.contains(_TRES_OF_SITE)}
    )


_TITLE: Final = "slurmdbd's table of jobs (job_table)"
DIALECT: Final = Dialect("job-table", _TITLE, recognises, header, parse, scheduler="Slurm")
