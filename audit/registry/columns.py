"""The columns that analysts see, and the views and tables that have them.

An entry makes the column of its view with its comment, the column of the table of results below it,
and its line in docs/metrics.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES, LACKS
from audit.registry.measure import AREA, ATTEMPTS, JOBS, NUWT, ONE, SECONDS
from audit.registry.measures import SLOWDOWN, SUMMARY
from audit.registry.passed import PassedWhy
from audit.registry.reasons import HELD_BY

BIGINT, DOUBLE, VARCHAR, BOOLEAN = "BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN"
INSTANT: Final = "INSTANT"
"""BIGINT epoch s in the table, TIMESTAMPTZ in the view."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view; one with a unit is a measure of attempts, users or accounts."""

    key: str
    type: str
    """``BIGINT``, ``DOUBLE``, ``VARCHAR``, ``BOOLEAN`` or ``INSTANT``."""
    meaning: str
    unit: str = ""
    """Empty: the column is part of the key or a property, not a measure."""
    missing: str = ""
    """When it is NULL."""
    named: str = ""
    """Its name in the table, if that differs."""
    default: str = ""
    """Its value in rows that were stored before the column existed; empty: NULL."""

    @property
    def comment(self) -> str:
        """The comment that analysts see."""
        unit = "" if self.unit in (ONE, ATTEMPTS, JOBS) else self.unit
        null = f"NULL {self.missing}" if self.missing else ""
        return "; ".join(text for text in (self.meaning, unit, null) if text)

    @property
    def selected(self) -> str:
        """The expression that the view selects."""
        name = f'"{self.named or self.key}"'
        value = f"coalesce({name}, {self.default})" if self.default else name
        value = f"to_timestamp({name})" if self.type == INSTANT else value
        return f'{value} AS "{self.key}"'


class View(NamedTuple):
    """A view whose columns have entries here."""

    name: str
    source: str
    """The table behind it, with a filter of its rows."""
    comment: str
    columns: tuple[Column, ...]

    @property
    def script(self) -> str:
        """The statements that create the view with all comments."""
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


_NOT_LOGGED: Final = "where the log does not give it"
_NO_SIZE: Final = "where the size is unknown"
_NO_FST: Final = "without a fair start time"
_NO_ACCOUNT: Final = "where waits were not attributed to causes"
_NO_NODES: Final = "where the nodes of the pool are not known"
_UNINTERRUPTED: Final = "where no attempt was preempted, requeued or suspended"
_FEW_SIMILAR: Final = "with fewer than 20 similar jobs of 3 users"
_NONE_JUDGED: Final = "where no attempt has a fair start time that counts"
_NO_PAIRS: Final = (
    "where no job of another user, with a request at least as large, arrived while a job waited"
)
_NONE_DELIVERED: Final = "where no attempt has fst_delivered"

# One entry in two or three lines, so that they can be compared.
# fmt: off
_CLUSTER: Final = Column("cluster", VARCHAR, "name of the cluster")
_POOL: Final = Column("pool", VARCHAR, "name of the pool, a set of partitions that share hardware")
_SCHEDULE: Final = Column("schedule", VARCHAR, "observed, or the name of a simulated schedule")
_PERIOD: Final = Column("period", VARCHAR, "name of the period; all in a one-off audit")
_RUN: Final = Column("run_id", VARCHAR, "run that computed the row; see runs")

OF_ATTEMPTS: Final = (
    _CLUSTER, _POOL, _SCHEDULE,
    Column("job_id", VARCHAR, "id of the job in the log"),
    Column("attempt", BIGINT, "number of this execution of the job, from 1"),
    Column("tasks", BIGINT, "number of attempts that the row stands for: waiting or never started "
           "tasks of one array; 1 for all other attempts", default="1"),
    Column("user", VARCHAR, "name of the user", missing=_NOT_LOGGED),
    Column("account", VARCHAR, "account that is charged; in SWF logs the group",
           missing=_NOT_LOGGED),
    Column("group", VARCHAR, "Unix group of the user", missing=_NOT_LOGGED),
    Column("partition", VARCHAR, "partition (queue) of the job", missing=_NOT_LOGGED),
    Column("qos", VARCHAR, "quality of service (QOS) of the job", missing=_NOT_LOGGED),
    Column("state", VARCHAR, "state of the attempt in the log", missing=_NOT_LOGGED),
    Column("reason", VARCHAR, "last reason for pending in the log", missing=_NOT_LOGGED),
    Column("priority", DOUBLE, "priority in the log", missing=_NOT_LOGGED),
    Column("reservation", VARCHAR, "advance reservation in which it ran", missing="without one"),
    Column("size", BIGINT, "amount of the pool's counted resource (cpus, nodes or gpus), "
           "allocated, else requested", missing=_NOT_LOGGED),
    Column("cpus", BIGINT, "CPUs allocated, else requested", missing=_NOT_LOGGED),
    Column("nodes", BIGINT, "nodes allocated, else requested", missing=_NOT_LOGGED),
    Column("gpus", BIGINT, "GPUs of all types allocated, else requested", missing=_NOT_LOGGED),
    Column("gpu_types", VARCHAR, "types of GPUs allocated, else requested, with their numbers: "
           "a100:4,h100:2", missing="where the log gives no type"),
    Column("any_gpu_type", BOOLEAN, "whether it requested GPUs, but no type", missing="where the "
           "log does not give the request, or it requested no GPUs"),
    Column("mem_bytes", BIGINT, "memory allocated, else requested; bytes", missing=_NOT_LOGGED),
    Column("req_cpus", BIGINT, "CPUs requested", missing=_NOT_LOGGED),
    Column("req_mem_bytes", BIGINT, "memory requested; bytes",
           missing=_NOT_LOGGED),
    Column("beyond_work", DOUBLE, "CPU time allocated beyond its request: max(cpus − req_cpus, "
           "0) · occupancy", "CPU·s", "where no attempt was allocated more than it requested"),
    Column("beyond_request", VARCHAR, "reason for beyond_work: memory, whole (nodes), cores or "
           "unknown", missing="where beyond_work is 0 or NULL"),
    Column("charge", DOUBLE, "usage that its account is charged for it: penalty · occupancy",
           "penalty·s"),
    Column("beyond_charge", DOUBLE, "part of charge that it would save if it were charged for its "
           "requested CPUs and memory", "penalty·s", "where no attempt was allocated more than it "
           "requested"),
    Column("constraints", VARCHAR, "node features that it requires, as Slurm writes them",
           missing="without any"),
    Column("required_nodes", VARCHAR, "nodes that it requested by name, as a hostlist",
           missing="without any"),
    Column("array_throttle", BIGINT, "maximum number of tasks of its array that may run at one "
           "time (%N)", missing="without a throttle, or where the log does not give it"),
    Column("nice", BIGINT, "amount by which its user lowered its priority (--nice)",
           missing=_NOT_LOGGED),
    Column("node_list", VARCHAR, "nodes on which it ran, as a hostlist", missing=_NOT_LOGGED),
    Column("node_amounts", VARCHAR, "amounts on each node of node_list, in its order, such as "
           "cpus=4(x3),8 gpus=1(x4)", missing=_NOT_LOGGED),
    Column("submit_time", INSTANT, "when the job was submitted"),
    Column("arrival_time", INSTANT, "when the job arrived in the queue: the earlier of its start "
           "and of its eligible (else submit) time"),
    Column("start_time", INSTANT, "when the attempt started", missing="where it never started, is "
           "pending, or the log does not give it"),
    Column("end_time", INSTANT, "when the attempt ended or, if it never started, left the queue",
           missing="while it runs or waits"),
    Column("wait_s", BIGINT, "wait: start − arrival", SECONDS, "where start or arrival is unknown"),
    *(Column(cause.column, DOUBLE, f"part of the wait that passed {cause.meanwhile}",
             SECONDS, _NO_ACCOUNT) for cause in CAUSES),
    *(Column(lack.column, DOUBLE, f"part of cause_nodes_s in which single nodes lacked "
             f"{lack.words}", SECONDS, _NO_NODES) for lack in LACKS),
    Column("cause_rule_free_s", DOUBLE, "part of cause_rule_s in which enough was free",
           SECONDS, _NO_ACCOUNT),
    Column("released_own_s", DOUBLE, "cause_unexplained_s if it started within 60 s after another "
           "job of its user ended, else 0: consistent with a limit or a dependency, without "
           "proving one", SECONDS, _NO_ACCOUNT),
    Column("preemptible_s", DOUBLE, "part of the wait in which enough was free only if the "
           "resources of the jobs that it may preempt count as free", SECONDS, "where it may "
           "preempt no job"),
    Column("rule", VARCHAR, "limit or closed hours that delayed it longest; see the view rules",
           missing="where none delayed it"),
    Column("held_by", VARCHAR, f"kind of the hold that delayed it longest: {', '.join(HELD_BY)}",
           missing="where cause_held_s is 0 or NULL"),
    Column("unstartable_from", INSTANT, "when it could have started for an hour in all, even after "
           "all waiting jobs of other users", missing="never"),
    Column("similar_wait_s", BIGINT, "median wait of similar jobs: jobs of other users in the same "
           "partition, QOS, width class and walltime class, at about the same time", SECONDS,
           _FEW_SIMILAR),
    Column("similar_p95_s", BIGINT, "95th percentile of the waits of similar jobs", SECONDS,
           _FEW_SIMILAR),
    Column("fst_delivered", INSTANT, "fair start time on delivered capacity: when it would have "
           "started without later arrivals", missing="if not computed"),
    Column("fst_delivered_status", VARCHAR, "status of fst_delivered; see docs/metrics.md",
           missing="if not computed"),
    Column("fst_rule", VARCHAR, "scheduling rule behind fst_delivered; `kept order`: the order in "
           "which jobs started", missing="without fst_delivered"),
    Column("miss_delivered_s", BIGINT, "max(start − fst_delivered, 0): delay by later arrivals",
           SECONDS, _NO_FST),
    Column("miss_cautious_s", BIGINT, "the smaller of miss_delivered_s and the delay by later "
           "arrivals if jobs that a later job of their user overtook count as held", SECONDS,
           _NO_FST),
    Column("occupancy_s", BIGINT, "time for which it occupied its resources: end − start", SECONDS,
           "where start or end is unknown"),
    Column("runtime_s", BIGINT, "time for which it ran: occupancy − suspended", SECONDS,
           "where start or end is unknown"),
    Column("suspended_s", BIGINT, "time for which it was suspended", SECONDS, _NOT_LOGGED),
    Column("lost_work", DOUBLE, "size · occupancy if it ended PREEMPTED or was requeued, else 0: "
           "an upper bound of the lost work", AREA, _UNINTERRUPTED),
    Column("freed_for", VARCHAR, "ids of other jobs that started on one of its nodes within 60 s "
           "of its end, if it ended PREEMPTED or was requeued", missing="without any"),
    Column("walltime_s", BIGINT, "requested walltime; s", missing="where it is unknown or "
           "unlimited"),
    Column("bounded_slowdown", DOUBLE, f"bounded slowdown: {SLOWDOWN}, τ = metrics.tau_s; ≥ 1",
           ONE),
    Column("fair_slowdown", DOUBLE, "bounded slowdown with a fair start time as start: "
           "fst_delivered on the observed schedule, fst_strict on simulated ones; ≥ 1", ONE,
           _NO_FST),
    Column("width_class", VARCHAR, "class of size: 1, 2, 3-4, 5-8, …, 65-128, >128",
           missing=_NO_SIZE),
    Column("overtaken_by", BIGINT, "number of attempts that arrived later and started earlier",
           ATTEMPTS),
    Column("overtook", BIGINT, "number of attempts that arrived earlier and started later",
           ATTEMPTS),
    Column("re_deserved", DOUBLE, "resource equality: resource time that an equal share would have "
           "given it, ∫ size · used / active dt, weighted by metrics.resource_equality_weights",
           AREA, _NO_SIZE),
    Column("re_consumed", DOUBLE, "resource equality: resource time that it used, occupancy · size",
           AREA, _NO_SIZE),
    Column("re_unfairness", DOUBLE, "resource equality: re_deserved − re_consumed; > 0 where it "
           "received less than an equal share", AREA, _NO_SIZE),
    Column("fst_strict", INSTANT, "strict fair start time: when it would have started under the "
           "modelled policy without later arrivals", missing="if not computed"),
    Column("fst_relaxed", INSTANT, "relaxed fair start time: as fst_strict, but after all jobs "
           "that waited when it arrived had started", missing="if not computed"),
    Column("fst_status", VARCHAR, "status of fst_strict and fst_relaxed; see docs/metrics.md",
           missing="if not computed"),
    Column("fst_weight", BIGINT, "weight of the attempt in figures of strict and relaxed fair "
           "start times; 1 unless they were sampled", missing="where it is not in the sample, or "
           "has not ended"),
    Column("miss_strict_s", BIGINT, "delay against fst_strict: max(start − fst_strict, 0)", SECONDS,
           _NO_FST),
    Column("miss_relaxed_s", BIGINT, "delay against fst_relaxed: max(start − fst_relaxed, 0)",
           SECONDS, _NO_FST),
    _RUN,
)
"""Columns of ``job_fairness``; its comment names the attempts whose measures are known."""

OF_ENTITIES: Final = (
    _CLUSTER, _POOL, _SCHEDULE, _PERIOD,
    Column("entity", VARCHAR, "{kind}", missing="if it is not in the log"),
    Column("jobs", BIGINT, "jobs with an attempt that started and ended in the period", JOBS),
    Column("attempts", BIGINT, "attempts that started and ended in the period", ATTEMPTS),
    Column("never_started", BIGINT, "attempts that left the queue in the period without starting",
           ATTEMPTS),
    Column("gave_up_wait_s", BIGINT, "total wait of the attempts that never started", SECONDS),
    Column("tuwt_s", BIGINT, "total wait (TUWT)", SECONDS),
    Column("tusa", DOUBLE, "total runtime · size (TUSA)", AREA),
    Column("nuwt", DOUBLE, "normalized wait (NUWT): tuwt_s / tusa", NUWT, "where tusa is 0"),
    Column("miss_strict_s", BIGINT, "total delay of the attempts against fst_strict", SECONDS,
           _NONE_JUDGED),
    Column("miss_relaxed_s", BIGINT, "total delay of the attempts against fst_relaxed", SECONDS,
           _NONE_JUDGED),
    Column("missed_strict", BIGINT, "attempts that started later than fst_strict by more than "
           "metrics.tolerance_s", ATTEMPTS, _NONE_JUDGED),
    Column("missed_relaxed", BIGINT, "attempts that started later than fst_relaxed by more than "
           "metrics.tolerance_s", ATTEMPTS, _NONE_JUDGED),
    Column("miss_delivered_s", BIGINT, "total delay by later arrivals: sum of miss_delivered_s",
           SECONDS, _NONE_DELIVERED),
    Column("miss_cautious_s", BIGINT, "total delay by later arrivals, cautious reading: sum of "
           "miss_cautious_s", SECONDS, _NONE_DELIVERED),
    Column("missed_delivered", BIGINT, "attempts that started later than fst_delivered by more "
           "than metrics.tolerance_s", ATTEMPTS, _NONE_DELIVERED),
    Column("re_unfairness_positive", DOUBLE, "total shortfall against equal shares: sum of "
           "max(re_unfairness, 0)", AREA, "where no size is known"),
    Column("re_unfairness_net", DOUBLE, "shortfall less surplus against equal shares: sum of "
           "re_unfairness", AREA, "where no size is known"),
    *(Column(cause.column, DOUBLE, f"total wait of its attempts that started and ended, "
             f"as far as it passed {cause.meanwhile}", SECONDS, _NO_ACCOUNT) for cause in CAUSES),
    Column("wait_median", BIGINT, "median wait of its attempts", SECONDS, "where no wait is known"),
    Column("similar_wait_median", BIGINT, "median, over its attempts, of the median wait of "
           "similar jobs; for an account, of similar jobs of other accounts", SECONDS,
           "where no attempt has similar jobs"),
    Column("excess_wait_s", BIGINT, "sum of max(0, wait − median wait of similar jobs) over the "
           "attempts that have similar jobs", SECONDS, "where no attempt has similar jobs"),
    Column("passed_share", DOUBLE, "weighted share of the later jobs of other users, with requests "
           "at least as large, that started more than 60 s before its attempts", ONE, _NO_PAIRS),
    Column("passed_expected", DOUBLE, "value of passed_share that is expected from similar jobs of "
           "others", ONE, _NO_PAIRS),
    Column("passed_s", BIGINT, "total time that its attempts waited after the first later job of "
           "others, with a request at least as large, had started", SECONDS, _NO_PAIRS),
    Column("passed_named", BOOLEAN, "whether it is named as passed over by later jobs", ONE,
           "if the test is not possible, or the log has only one user"),
    Column("passed_why", VARCHAR, "why it is not named, or cannot be tested: "
           f"{', '.join(PassedWhy)}", ONE, "where it is named, or nothing was compared"),
    Column("preempted", BIGINT, "attempts that ended PREEMPTED or were requeued", ATTEMPTS,
           _UNINTERRUPTED),
    Column("lost_work", DOUBLE, "total size · occupancy of attempts that ended PREEMPTED or were "
           "requeued: an upper bound of the lost work", AREA, _UNINTERRUPTED),
    Column("suspended_s", BIGINT, "total time for which attempts were suspended", SECONDS,
           _UNINTERRUPTED),
    Column("share_deficit", DOUBLE, "deficit against dominant-resource fairness: ∫ max(0, fair − "
           "used) of dominant shares over the time that the log covers, as time of the whole pool",
           SECONDS, "if it is not in the log"),
    Column("stretch", DOUBLE, "stretch: total response (end − arrival) / total occupancy; ≥ 1", ONE,
           "where the occupancy is 0"),
    Column("array_concurrency", DOUBLE, "mean number of tasks of an array that ran at one time: "
           "total occupancy / total (last end − first start) of arrays", "tasks", "without arrays"),
    _RUN,
)
"""Columns of ``user_fairness`` and ``account_fairness``."""

_VALUE: Final = Column(
    "value", DOUBLE, "value of the figure, in unit", missing="where it is undefined"
)


def _of_summary() -> tuple[Column, ...]:
    dimensions = dict.fromkeys(name for one in SUMMARY.values() for name in one.dimensions)
    return (
        _CLUSTER, _POOL, _SCHEDULE, _PERIOD,
        Column("metric", VARCHAR, "name of the measure; see docs/metrics.md"),
        Column("dimension", VARCHAR, f"property that divides attempts: {', '.join(dimensions)}"),
        Column("dimension_value", VARCHAR, "value of the dimension", missing="with dimension all"),
        _VALUE,
        Column("lower", DOUBLE, "lower end of the 95 % interval of value",
               missing="without an interval"),
        Column("upper", DOUBLE, "upper end of the 95 % interval of value",
               missing="without an interval"),
        Column("unit", VARCHAR, "unit of value, lower and upper"),
        Column("attempts", BIGINT, "number of attempts behind the figure",
               missing="where it is not a figure of attempts"),
        _RUN,
    )


_OF_FIDELITY: Final = (
    _CLUSTER, _POOL, _PERIOD,
    Column("order", VARCHAR, "queue order of the compared rule or of the modelled policy; kept: "
           "the order of the observed starts"),
    Column("backfill", VARCHAR, "backfilling of that rule or policy"),
    Column("own_peak", BOOLEAN, "whether the rule lets no user run more jobs than ever ran at one "
           "time", missing="where the figure is of the modelled policy"),
    Column("metric", VARCHAR, "name of the measure; see docs/metrics.md"),
    _VALUE,
    Column("unit", VARCHAR, "unit of value"),
    _RUN,
)
# fmt: on


def _of_kind(kind: str) -> View:
    """Return the view of users or accounts, whose columns differ in one name."""
    columns = tuple(
        replace(column, key=kind, meaning=f"name of the {kind}", named=column.key)
        if column.key == "entity"
        else column
        for column in OF_ENTITIES
    )
    source = f"entity_result\nWHERE entity_kind = '{kind}'"
    comment = f"Waits and fairness of each {kind} in a period."
    return View(f"{kind}_fairness", source, comment, columns)


def views() -> tuple[View, ...]:
    """Return the views whose columns are declared here; the others are in sql/views."""
    return (
        View(
            "job_fairness",
            "all_results",
            "One row for each attempt and schedule. Measures are NULL unless the attempt started "
            "and ended, except that an attempt that runs has its wait, and that an attempt that "
            "runs, waits or never started has causes of its wait and waits of similar jobs. An "
            "attempt without a start never started, is pending, or has an unknown start.",
            OF_ATTEMPTS,
        ),
        _of_kind("user"),
        _of_kind("account"),
        View(
            "summary",
            "summary_result",
            "One figure of a period in each row, of all attempts (dimension all) or for one value "
            "of a dimension.",
            _of_summary(),
        ),
        View(
            "fidelity",
            "fidelity_result",
            "How well scheduling rules agree with the observed starts, how well a replay under the "
            "modelled policy reproduces them, and what the account of waits rests on.",
            _OF_FIDELITY,
        ),
    )


def tables() -> Mapping[str, Mapping[str, str]]:
    """Return the columns of result tables by name, with their SQL types.

    The scripts of sql/schema create these tables with their keys; opening a store adds the columns.
    """
    return {
        table: {column.key: BIGINT if column.type == INSTANT else column.type for column in columns}
        for table, columns in (("job_result", OF_ATTEMPTS), ("entity_result", OF_ENTITIES))
    }
