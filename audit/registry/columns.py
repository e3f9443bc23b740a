"""The columns that analysts see, and the views and tables that have them.

An entry makes the column of its view with its comment, the column of the table of results below it,
and its line in docs/metrics.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES, PARTS
from audit.registry.measures import (
    AREA,
    ATTEMPTS,
    JOBS,
    NUWT,
    ONE,
    SECONDS,
    SLOWDOWN,
    SUMMARY,
)

BIGINT, DOUBLE, VARCHAR = "BIGINT", "DOUBLE", "VARCHAR"
INSTANT: Final = "INSTANT"
"""BIGINT epoch s in the table, TIMESTAMPTZ in the view."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view; one with a unit is a measure of attempts, users or accounts."""

    key: str
    type: str
    """``BIGINT``, ``DOUBLE``, ``VARCHAR`` or ``INSTANT``."""
    meaning: str
    unit: str = ""
    """Empty: the column says what the row is about, and measures nothing."""
    missing: str = ""
    """When it is NULL."""
    named: str = ""
    """Its name in the table, where that is another."""

    @property
    def comment(self) -> str:
        """What analysts read beside the column."""
        unit = "" if self.unit in (ONE, ATTEMPTS, JOBS) else self.unit
        null = f"NULL {self.missing}" if self.missing else ""
        return "; ".join(text for text in (self.meaning, unit, null) if text)

    @property
    def selected(self) -> str:
        """What the view selects."""
        name = f'"{self.named or self.key}"'
        value = f"to_timestamp({name})" if self.type == INSTANT else name
        return f'{value} AS "{self.key}"'


class View(NamedTuple):
    """A view whose columns have entries here."""

    name: str
    source: str
    """The table that it shows, and which of its rows."""
    comment: str
    columns: tuple[Column, ...]

    @property
    def script(self) -> str:
        """The statements that make the view with all comments."""
        selected = ",\n    ".join(column.selected for column in self.columns)
        made = f"CREATE OR REPLACE VIEW {self.name} AS\nSELECT\n    {selected}\nFROM {self.source};"
        comments = (
            f'COMMENT ON COLUMN {self.name}."{column.key}" IS {_quoted(column.comment)};'
            for column in self.columns
        )
        view = f"COMMENT ON VIEW {self.name} IS {_quoted(self.comment)};"
        return "\n".join([made, view, *comments])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_NO_SIZE: Final = "where the size is unknown"
_NO_FST: Final = "without a fair start time"
_NO_WAIT: Final = "where no wait was taken apart"
_NO_ACCOUNT: Final = "where no wait was booked to causes"
_NO_FORWARD: Final = "without a forward start"
_NO_DECISION: Final = "where no decision was judged"
_NONE_JUDGED: Final = "where no attempt has a fair start time that counts"
_NO_PAIRS: Final = "where no such job arrived while an attempt waited"
_NONE_FORWARD: Final = "where no attempt has a forward start that counts"

# One entry in two or three lines, so that they can be compared.
# fmt: off
_CLUSTER: Final = Column("cluster", VARCHAR, "name of the cluster")
_POOL: Final = Column("pool", VARCHAR, "set of partitions that share hardware")
_SCHEDULE: Final = Column("schedule", VARCHAR, "observed, or the name of a simulated schedule")
_PERIOD: Final = Column("period", VARCHAR, "name of the period; all for a one-off audit")
_RUN: Final = Column("run_id", VARCHAR, "run that computed the row; see runs")

OF_ATTEMPTS: Final = (
    _CLUSTER, _POOL, _SCHEDULE,
    Column("job_id", VARCHAR, "job as the log names it"),
    Column("attempt", BIGINT, "1, 2, …: executions of the job in order"),
    Column("user", VARCHAR, "owner; NULL where the log names none"),
    Column("account", VARCHAR, "account charged; in SWF the group"),
    Column("group", VARCHAR, "Unix group"),
    Column("partition", VARCHAR, "partition (queue) in which it was"),
    Column("qos", VARCHAR, "quality of service"),
    Column("state", VARCHAR, "state as the log says it"),
    Column("reason", VARCHAR, "why it was pending, where the log says so"),
    Column("priority", DOUBLE, "recorded priority"),
    Column("reservation", VARCHAR, "advance reservation it ran in"),
    Column("size", BIGINT, "amount of the pool's counted resource"),
    Column("cpus", BIGINT, "CPUs allocated, else requested"),
    Column("nodes", BIGINT, "nodes allocated, else requested"),
    Column("gpus", BIGINT, "GPUs allocated, else requested"),
    Column("mem_bytes", BIGINT, "memory allocated, else requested; bytes"),
    Column("submit_time", INSTANT, "when it was submitted"),
    Column("arrival_time", INSTANT, "min(eligible if known else submit, start)"),
    Column("start_time", INSTANT, "when it started"),
    Column("end_time", INSTANT, "when it ended; where it never started, when it left the queue"),
    Column("wait_s", BIGINT, "start − arrival", SECONDS),
    *(Column(cause.column, DOUBLE, f"part of the wait in which {cause.clause}", SECONDS,
             _NO_ACCOUNT) for cause in CAUSES),
    Column("cause_rule_free_s", DOUBLE, "part of cause_rule_s in which it would have fitted",
           SECONDS, _NO_ACCOUNT),
    Column("rule", VARCHAR, "limit or closed hours that forbade it longest; see rules",
           missing="where none did"),
    Column("held_by", VARCHAR, "what held it: begin, dependency, hold, array, licence",
           missing="where cause_held_s is 0 or NULL"),
    *(Column(part.column, DOUBLE if part.divided else BIGINT, f"anatomy of the wait: s in which "
             f"{part.clause}", SECONDS, _NO_WAIT) for part in PARTS),
    Column("peer_wait_s", DOUBLE, "mean over its peer users of their mean wait", SECONDS,
           "with fewer than 20 peers of 3 users"),
    Column("peer_contested_s", DOUBLE, "the same of their contested wait (claimed, held by earlier "
           "and later arrivals, cycle and unexplained)", SECONDS, "with fewer than 20 peers of 3 "
           "users, or where waits are booked to no cause"),
    Column("ready_time", INSTANT, "the first instant of its wait at which the modelled policy "
           "would have started it", missing="unforeseen, or not judged"),
    Column("decision", VARCHAR, "whether the modelled policy would have started it when the site "
           "did: on_time, late, unforeseen (never before its start), over_capacity", ONE,
           _NO_DECISION),
    Column("kept_s", BIGINT, "part of wait_room_s in which the modelled policy kept the room for "
           "others", SECONDS, _NO_DECISION),
    Column("idle_s", BIGINT, "part of wait_room_s in which the modelled policy would have started "
           "it", SECONDS, _NO_DECISION),
    Column("idle_because", VARCHAR, "the first that holds of idle_s: limit, window, unexplained",
           ONE, "where idle_s is 0 or NULL"),
    Column("start_modelled", INSTANT, "when the modelled policy would have started it from its "
           "snapshot, with all later arrivals", missing="never, or not computed"),
    Column("overtaken_s", BIGINT, "start_modelled − fst_strict: what later arrivals cost it under "
           "the modelled policy, < 0 gained it", SECONDS, _NO_FORWARD),
    Column("overtaken_own_s", BIGINT, "part of overtaken_s by later arrivals of its own user",
           SECONDS, _NO_FORWARD),
    Column("unmodelled_s", BIGINT, "start − start_modelled: what the modelled policy does not "
           "explain, < 0 it started earlier", SECONDS, _NO_FORWARD),
    Column("occupancy_s", BIGINT, "end − start", SECONDS),
    Column("runtime_s", BIGINT, "occupancy − suspended", SECONDS),
    Column("walltime_s", BIGINT, "limit asked for; s, NULL unknown or unlimited"),
    Column("bounded_slowdown", DOUBLE, f"{SLOWDOWN}, τ = metrics.tau_s; ≥ 1", ONE),
    Column("fair_slowdown", DOUBLE, "bounded slowdown with the strict fair start time as start; "
           "≥ 1", ONE, _NO_FST),
    Column("width_class", VARCHAR, "class of size: 1, 2, 3-4, 5-8, … 65-128, >128"),
    Column("overtaken_by", BIGINT, "attempts that arrived later and started earlier", ATTEMPTS),
    Column("overtook", BIGINT, "attempts that arrived earlier and started later", ATTEMPTS),
    Column("re_deserved", DOUBLE, "resource equality: ∫ size · used / active, as by "
           "metrics.resource_equality_weights", AREA, _NO_SIZE),
    Column("re_consumed", DOUBLE, "resource equality: occupancy · size", AREA, _NO_SIZE),
    Column("re_unfairness", DOUBLE, "re_deserved − re_consumed, > 0 treated unfairly", AREA,
           _NO_SIZE),
    Column("fst_strict", INSTANT, "strict fair start time", missing="until computed"),
    Column("fst_relaxed", INSTANT, "relaxed fair start time", missing="until computed"),
    Column("fst_status", VARCHAR, "status of the fair start times", missing="until computed"),
    Column("fst_weight", BIGINT, "how many attempts it stands for in figures of fair start times, "
           "1 where all were computed", missing="where not sampled, or not ended"),
    Column("miss_strict_s", BIGINT, "max(start − fst_strict, 0)", SECONDS, _NO_FST),
    Column("miss_relaxed_s", BIGINT, "max(start − fst_relaxed, 0)", SECONDS, _NO_FST),
    _RUN,
)
"""Of the view ``job_fairness``; what it measures is NULL unless the attempt started and ended."""

KEPT_WITH_ATTEMPTS: Final = (
    Column("fst_basis", BIGINT, "what the fair start times rest on: they stay while it does"),
    Column("forward_basis", BIGINT, "the same of start_modelled"),
)
"""Columns of ``job_result`` that analysts do not see."""

OF_ENTITIES: Final = (
    _CLUSTER, _POOL, _SCHEDULE, _PERIOD,
    Column("entity", VARCHAR, "{kind}", missing="where the log names none"),
    Column("jobs", BIGINT, "jobs with an attempt that started and ended in the period", JOBS),
    Column("attempts", BIGINT, "attempts that started and ended in the period", ATTEMPTS),
    Column("never_started", BIGINT, "attempts that left the queue without starting", ATTEMPTS),
    Column("gave_up_wait_s", BIGINT, "total time those waited", SECONDS),
    Column("tuwt_s", BIGINT, "total wait (TUWT)", SECONDS),
    Column("tusa", DOUBLE, "total runtime · size (TUSA)", AREA),
    Column("nuwt", DOUBLE, "tuwt_s / tusa", NUWT, "where tusa is 0"),
    Column("miss_strict_s", BIGINT, "total miss of the strict fair start time", SECONDS,
           _NONE_JUDGED),
    Column("miss_relaxed_s", BIGINT, "total miss of the relaxed fair start time", SECONDS,
           _NONE_JUDGED),
    Column("missed_strict", BIGINT, "attempts that missed the strict fair start time by more "
           "than metrics.tolerance_s", ATTEMPTS, _NONE_JUDGED),
    Column("missed_relaxed", BIGINT, "attempts that missed the relaxed fair start time by more "
           "than metrics.tolerance_s", ATTEMPTS, _NONE_JUDGED),
    Column("re_unfairness_positive", DOUBLE, "sum of max(re_unfairness, 0) over attempts whose "
           "size is known", AREA, "where no size is known"),
    Column("re_unfairness_net", DOUBLE, "sum of re_unfairness over attempts whose size is known",
           AREA, "where no size is known"),
    *(Column(cause.column, DOUBLE, f"total of the parts of waits in which {cause.clause}", SECONDS,
             _NO_ACCOUNT) for cause in CAUSES),
    *(Column(part.column, DOUBLE if part.divided else BIGINT, f"anatomy of waits: total s in which "
             f"{part.clause}", SECONDS, _NO_WAIT) for part in PARTS),
    Column("peer_ratio", DOUBLE, "total wait / total peer_wait_s of the attempts that have peers",
           ONE, "where none has peers or these did not wait"),
    Column("excess_wait_s", DOUBLE, "sum of wait − peer_wait_s over the attempts that have peers",
           SECONDS, "where none has peers"),
    Column("contested_ratio", DOUBLE, "total contested wait / total peer_contested_s of the "
           "attempts that have peers", ONE, "where none has peers or these did not wait"),
    Column("contested_excess_s", DOUBLE, "sum of contested wait − peer_contested_s over the "
           "attempts that have peers", SECONDS, "where none has peers"),
    Column("passed_share", DOUBLE, "weighted share of later jobs of others, which asked for at "
           "least as much, that started more than 60 s earlier", ONE, _NO_PAIRS),
    Column("passed_expected", DOUBLE, "the same share expected of others' similar jobs", ONE,
           _NO_PAIRS),
    Column("passed_s", BIGINT, "total time from the first start of such a job to the attempt's own",
           SECONDS, _NO_PAIRS),
    Column("overtaken_s", BIGINT, "total of what later arrivals cost under the modelled policy",
           SECONDS, _NONE_FORWARD),
    Column("unmodelled_s", BIGINT, "total of what the modelled policy does not explain", SECONDS,
           _NONE_FORWARD),
    _RUN,
)
"""Of the views ``user_fairness`` and ``account_fairness``."""

_VALUE: Final = Column("value", DOUBLE, "the figure, in unit")


def _of_summary() -> tuple[Column, ...]:
    dimensions = dict.fromkeys(name for one in SUMMARY.values() for name in one.dimensions)
    return (
        _CLUSTER, _POOL, _SCHEDULE, _PERIOD,
        Column("metric", VARCHAR, "what is measured; docs/metrics.md"),
        Column("dimension", VARCHAR, f"what the figure is of: {', '.join(dimensions)}"),
        Column("dimension_value", VARCHAR, "value of the dimension"),
        _VALUE,
        Column("lower", DOUBLE, "lower end of its 95 % interval, where one is defined"),
        Column("upper", DOUBLE, "upper end of its 95 % interval"),
        Column("unit", VARCHAR, "unit of value, lower and upper"),
        Column("attempts", BIGINT, "attempts behind the figure"),
        _RUN,
    )


_OF_FIDELITY: Final = (
    _CLUSTER, _POOL, _PERIOD,
    Column("order", VARCHAR, "queue order of the model"),
    Column("backfill", VARCHAR, "backfilling of the model"),
    Column("metric", VARCHAR, "what is compared; docs/metrics.md"),
    _VALUE,
    Column("unit", VARCHAR, "unit of value"),
    _RUN,
)
# fmt: on


def _of_kind(kind: str) -> View:
    """Users, or accounts: the same columns but for the name of one."""
    columns = tuple(
        replace(column, key=kind, meaning=kind, named=column.key)
        if column.key == "entity"
        else column
        for column in OF_ENTITIES
    )
    source = f"entity_result\nWHERE entity_kind = '{kind}'"
    return View(f"{kind}_fairness", source, f"How each {kind} fared in a period.", columns)


def views() -> tuple[View, ...]:
    """The views whose columns have entries; the others are in sql/views."""
    return (
        View(
            "job_fairness",
            "all_results",
            "One row per attempt of a job and schedule. Start and end known: a subject of every "
            "metric; start NULL: never started, pending, or start unknown.",
            OF_ATTEMPTS,
        ),
        _of_kind("user"),
        _of_kind("account"),
        View(
            "summary",
            "summary_result",
            "One figure of a period per row, overall (dimension all) or for one value of a "
            "dimension.",
            _of_summary(),
        ),
        View(
            "fidelity",
            "fidelity_result",
            "How well a replay under the modelled policy reproduces the observed starts; empty "
            "until fair start times are computed.",
            _OF_FIDELITY,
        ),
    )


def tables() -> Mapping[str, Mapping[str, str]]:
    """The columns of tables of results by name, each with its SQL type.

    The scripts of sql/schema make these tables, with what names a row; a store that lacks one of
    these columns gets it.
    """
    return {
        table: {column.key: BIGINT if column.type == INSTANT else column.type for column in columns}
        for table, columns in (
            ("job_result", (*OF_ATTEMPTS, *KEPT_WITH_ATTEMPTS)),
            ("entity_result", OF_ENTITIES),
        )
    }
