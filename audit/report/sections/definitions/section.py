"""The meaning of each figure of a report, and the same figures in other tools.

Texts are in ``templates/report/definitions/definitions.txt``; their fields in braces, and the rows
of their small examples, are computed here by the code that computes the figures. Those under the
default metrics are in ``examples.json`` beside it. Most examples are about the same four attempts
in a pool of four CPUs. In the text, indented lines continue the line before.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit import resources
from audit.config import Metrics
from audit.metrics import dominant_share
from audit.metrics.attempts import performance, similar, users
from audit.metrics.attempts.account import account
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import overall, resource_equality
from audit.metrics.fairshare.penalty import Hardware, of_fractions, relative_penalty
from audit.metrics.fairshare.usage import Windows, usage
from audit.metrics.pairs import LEAD_S, Log, paired
from audit.metrics.passed import tested
from audit.model import ATTEMPTS, Period, Pool, RecordKind, Resource
from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.contents import PoolPart
from audit.report.figures import records
from audit.report.sections.definitions.record import Definition, Elsewhere, Example
from audit.report.source import ReportSection, SectionSource

Jobs = Sequence[tuple[int, str, int, int, int, int]]
"""Job, user, CPUs, submit, start and end."""

# Anna's second job is backfilled past Ben's wide one.
JOBS: Final[Jobs] = (
    (1, "anna", 3, 0, 0, 100),
    (2, "ben", 4, 10, 100, 200),
    (3, "anna", 1, 20, 20, 80),
    (4, "ben", 1, 30, 200, 260),
)
# The same, but Anna's second job runs so long that Ben's wide one has to wait for it.
DELAYED: Final[Jobs] = (
    (1, "anna", 3, 0, 0, 100),
    (2, "ben", 4, 10, 150, 250),
    (3, "anna", 1, 20, 20, 150),
    (4, "ben", 1, 30, 250, 300),
)
# Ben's job waits while Anna's, which requests as much and arrives later, starts first.
PASSED: Final[Jobs] = (
    (1, "ben", 2, 0, 900, 1_000),
    (2, "anna", 2, 100, 300, 400),
    (3, "cleo", 4, 200, 1_000, 1_100),
    (4, "dora", 1, 250, 350, 400),
)


def log_of(rows: Jobs) -> pl.DataFrame:
    """Return the attempts of an example, with the columns of ``model.ATTEMPTS``."""
    names = ("job_number", "user", "cpus", "submit_time", "start_time", "end_time")
    jobs = pl.DataFrame(rows, names, orient="row").with_columns(
        cluster=pl.lit("example"),
        kind=pl.lit(RecordKind.JOB.value),
        state=pl.lit("COMPLETED"),
        attempt=1,
        line="job_number",
        job_id=pl.col("job_number").cast(pl.String),
    )
    missing = [name for name in ATTEMPTS if name not in jobs.columns]
    return jobs.with_columns(**dict.fromkeys(missing)).select(
        pl.col(name).cast(dtype) for name, dtype in ATTEMPTS.items()
    )


_DEFAULT: Final = Metrics()
_POOL: Final = Pool("example", Resource.cpus, 4)
_END: Final = 260
_WINDOW_S: Final = 100


class _Computed(NamedTuple):
    """What a definition's text lacks: the rows of its example, and its fields."""

    rows: pl.DataFrame
    fields: Mapping[str, object] = {}


_Shown: TypeAlias = tuple[Sequence[Sequence[str]], Mapping[str, object]]
"""The same, the rows as they are shown."""


EXAMPLES: Final = "templates/report/definitions/examples.json"
"""``examples`` under the default metrics: to compute them takes as long as a fifth of a page."""


@cache
def definitions(metrics: Metrics = _DEFAULT) -> tuple[Definition, ...]:
    """Return the definitions under the metrics in force, in the order of the report."""
    usual = metrics == _DEFAULT
    shown = json.loads(resources.path(EXAMPLES).read_text("utf-8")) if usual else examples(metrics)
    return tuple(_definition(*of, *shown[of[0]]) for of in _texts())


def examples(metrics: Metrics) -> dict[str, _Shown]:
    """Return rows and fields of each definition, computed under these metrics."""
    tau_s = metrics.tau_s
    described = performance.overtakes(describe(log_of(JOBS), [_POOL], tau_s=tau_s))
    weighted = resource_equality(described, _END, metrics.resource_equality_weights)
    attempts = weighted.sort("job_number")
    entities = users.by_entity(attempts, "user")
    slowdown = {"tau_s": tau_s, "slowdown": _mean(attempts, "bounded_slowdown")}
    preempted = {"attempt": [1, 2], "state": ["PREEMPTED", "COMPLETED"]}
    computed = {
        "wait": _Computed(attempts, {"wait": _mean(attempts, "wait_s")}),
        "bounded-slowdown": _Computed(attempts, slowdown),
        "why": _why(attempts),
        "passed": _passed(),
        "similar": _similar(),
        "overtaking": _Computed(attempts),
        "resource-equality": _resource_equality(attempts, metrics),
        "delay": _delay(tau_s),
        "fair-start": _fair_start(tau_s),
        "nuwt": _nuwt(entities, metrics.keep_single_job_users),
        "dominant-share": _Computed(
            dominant_share.beside(entities, "user", attempts, _POOL, (0, _END), _END)[0]
        ),
        "preemption": _Computed(
            pl.DataFrame({**preempted, "occupancy_s": [100, 300], "lost": [400, 0]})
        ),
        "utilization": _machine(attempts),
        "penalty": _penalties(),
        "decayed-usage": _decayed(attempts),
    }
    return {key: _shown(text["columns"], computed[key]) for key, _, text in _texts()}


@cache
def _texts() -> tuple[tuple[str, str, dict[str, str]], ...]:
    """Return key, term and texts of each definition, with their fields in braces."""
    file = resources.path("templates/report/definitions/definitions.txt")
    found = []
    for block in re.sub(r"\n    ", " ", file.read_text(encoding="utf-8")).strip().split("\n\n"):
        head, *lines = block.split("\n")
        key, _, term = head.removeprefix("## ").partition(": ")
        found.append((key, term, dict(line.split(": ", 1) for line in lines)))
    return tuple(found)


def _shown(columns: str, computed: _Computed) -> _Shown:
    _, names = _columns(columns.format_map(computed.fields))
    rows = [[*map(_cell, row)] for row in computed.rows.select(names).iter_rows()]
    return rows, computed.fields


def _columns(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the titles and the names of columns, written ``Job <job_id> | User <user>``."""
    yield from zip(*(item.rstrip(">").split(" <") for item in text.split(" | ")), strict=True)


def _definition(
    key: str,
    term: str,
    texts: Mapping[str, str],
    rows: Sequence[Sequence[str]],
    fields: Mapping[str, object],
) -> Definition:
    text = {name: of.format_map(fields) for name, of in texts.items()}
    titles, _ = _columns(text["columns"])
    example = Example(text["caption"], titles, tuple(map(tuple, rows)), text.get("result", ""))
    return Definition(key, term, text["meaning"], text.get("formula", ""), text["source"], example)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return wording.count(value)
    return wording.number(value) if isinstance(value, float) else str(value)


def _mean(frame: pl.DataFrame, column: str) -> str:
    return wording.number(float(frame.select(pl.col(column).cast(pl.Float64).mean()).item()))


def _why(attempts: pl.DataFrame) -> _Computed:
    booked = account(attempts, _POOL, _END, log_begin=0).attempts.sort("job_number")
    present = (f"{of.heading} (s) <{of.column}>" for of in CAUSES if booked[of.column].sum())
    causes = " + ".join(cause.key for cause in CAUSES)
    return _Computed(booked, {"causes": causes, "present": " | ".join(present)})


def _passed() -> _Computed:
    end = max(row[-1] for row in PASSED)
    described = describe(log_of(PASSED), [_POOL])
    log = Log.of(described, _POOL, Period("all", 0, end + 1), ZoneInfo("UTC"))
    compared = paired(log, "user").attempts
    shown = (
        described.with_row_index("row")
        .join(compared.drop("user"), on="row", how="left")
        .sort("job_number")
    )
    fields = {
        "lead_s": LEAD_S,
        "least_excess": f"{tested.LEAST_EXCESS:.2f}",
        "least_of_waiting": f"{100 * tested.LEAST_OF_WAITING:g}",
        "least_per_job": wording.duration(tested.LEAST_PER_JOB_S),
    }
    return _Computed(shown.with_columns(pl.col("pairs", "lost", "passed_s").fill_null(0)), fields)


def _similar() -> _Computed:
    """Five users request the same at the same time; the last waits longer than the others."""
    waits = {"anna": 60, "ben": 120, "cleo": 90, "dora": 90, "emil": 600}
    rows = [
        (10 * number + job, user, 1, 100 * job, 100 * job + wait, 100 * job + wait + 50)
        for number, (user, wait) in enumerate(waits.items())
        for job in range(1, 8)
    ]
    pool, end = _POOL._replace(capacity=100), max(row[-1] for row in rows)
    accounted = account(describe(log_of(rows), [pool]), pool, end).attempts
    shown = similar.similar_waits(accounted, [Period("all", 0, end)]).group_by("user")
    both = ("wait_s", reference := similar.REFERENCE["user"])
    more = similar.excess(reference).sum().alias("excess_wait_s")
    sums = shown.agg(pl.len().alias("attempts"), pl.col(both).median(), more)
    least = {"least_similar": similar.LEAST_SIMILAR, "least_users": similar.LEAST_ENTITIES}
    return _Computed(sums.sort("user"), least)


def _resource_equality(attempts: pl.DataFrame, metrics: Metrics) -> _Computed:
    total = float(attempts["re_unfairness"].sum())
    fields = {
        "part": "used / number of active attempts",
        "how": "equally",
        "cancels": "they need not cancel out, because no job gets what a narrow one cannot use",
        "queued": " Attempts that never started count as waiting until they left the queue."
        if metrics.count_never_started
        else "",
        "where": "§2 (RAQFM) and §3.2",
        "overall": wording.number(overall(attempts)),
        # hides errors of rounding
        "shortfalls": wording.number(0.0 if abs(total) < 1e-9 else total),
    }
    if metrics.resource_equality_weights == "size":
        fields |= {
            "part": "size · used / active",
            "how": "in proportion to their size",
            "cancels": "over all attempts of a pool, the two cancel out",
            "where": "§3.2",
        }
    return _Computed(attempts, fields)


def _delay(tau_s: int) -> _Computed:
    # Imported late: these modules load compiled code.
    from audit.scenario.delivered.agreement import agreement, rule_of
    from audit.scenario.delivered.fair_starts import delivered_starts
    from audit.scenario.scenario import Scenario

    scenario = Scenario(describe(log_of(PASSED), [_POOL], tau_s=tau_s), _POOL, 1_100)
    known = rule_of(scenario, agreement(scenario))
    made = delivered_starts(scenario, known, tau_s=tau_s).sort("job_number")
    lost = wording.count(made["miss_delivered_s"][0])
    return _Computed(made, {"known": wording.rough_percent(KNOWN), "tau_s": tau_s, "lost": lost})


def _fair_start(tau_s: int) -> _Computed:
    # Imported late: these modules load compiled code.
    from audit.scenario.fair_start import fair_start_times
    from audit.scenario.scenario import Scenario

    described = describe(log_of(DELAYED), [_POOL], tau_s=tau_s)
    made = fair_start_times(Scenario(described, _POOL, _END), tau_s=tau_s).sort("job_number")
    early_s = made.filter(job_id="3").select(pl.col("fst_strict") - pl.col("start_time")).item()
    means = {kind: _mean(made, f"miss_{kind}_s") for kind in ("strict", "relaxed")}
    return _Computed(made, {"early": wording.count(early_s), **means})


def _nuwt(entities: pl.DataFrame, keep_single: bool) -> _Computed:
    spread = users.dispersion(entities, keep_single)
    single = "" if keep_single else "with fewer than two started jobs and users "
    names = ("uwt", "median", "pooled", "deviation", "f")
    figures = {name: wording.number(getattr(spread, name)) for name in names}
    return _Computed(entities, {"single": single, **figures})


def _machine(attempts: pl.DataFrame) -> _Computed:
    did = performance.activity(attempts, _POOL.capacity, [0, _END], _END)
    rows = {
        "Utilization": wording.percent(performance.utilization(did)),
        "Loss of capacity": wording.percent(performance.loss_of_capacity(did)),
        "Mean queue (CPUs)": wording.number(performance.queued_mean(did)),
    }
    return _Computed(pl.DataFrame({"figure": [*rows], "value": [*rows.values()]}), {"end": _END})


def _penalties() -> _Computed:
    """The costs of some requests; the first is the example of [M] §1."""
    requests = {
        "A tenth of the CPUs, all of the memory": 1.0,
        "A tenth of both": 0.1,
        "A tenth of the CPUs alone": 0.0,
    }
    held = {"cpus": np.full(3, 0.1), "mem_bytes": np.array([*requests.values()])}
    costs = {name: of_fractions(name, held) for name in ("cpu", "max", "sum", "root")}
    return _Computed(pl.DataFrame({"attempt": [*requests], **costs}))


def _decayed(attempts: pl.DataFrame) -> _Computed:
    available = {"cpus": float(_POOL.capacity)}
    charged = relative_penalty(attempts, "cpu", Hardware(available=available)).charged
    method = Windows(interval_s=_WINDOW_S, depth=3, decay=0.5)
    used = usage(charged, "user", method, [_END], _END)
    one = Windows(interval_s=_WINDOW_S, depth=1, decay=1.0)
    ends = [_END - age * _WINDOW_S for age in range(3)]
    windows = usage(charged, "user", one, ends[::-1], _END).usage.tolist()[::-1]
    columns = {str(age): of for age, of in enumerate(windows)} | {"usage": used.usage[0].tolist()}
    rows = {name: [wording.number(cell, 4) for cell in of] for name, of in columns.items()}
    fraction = list(map(wording.percent, used.fraction[0].tolist()))
    fields = {"end": _END, "window": _WINDOW_S, "decay": f"{method.decay:g}"}
    return _Computed(
        pl.DataFrame({"user": [*map(str, used.entities)], **rows, "fraction": fraction}),
        fields | {"all_usage": wording.number(used.total.tolist()[0], 5)},
    )


def read(source: SectionSource) -> dict[str, Elsewhere]:
    """Return the figures of ``sacct``, ``sreport`` and XDMoD for each pool with any start."""
    rows = source.rows("definitions/elsewhere")
    return dict(zip(rows["pool"], records(Elsewhere, rows), strict=True))


class Row(NamedTuple):
    """A figure in another tool and in this report, in words."""

    figure: str
    tool: str
    there: str
    here: str
    differs: str


def counted_elsewhere(pool: PoolPart) -> tuple[Row, ...]:
    """Return how figures of other tools differ on the same log; empty if nothing ended.

    Their definitions are those of sacct(1), sreport(1) and Open XDMoD's statistic *Wait Hours: Per
    Job*.
    """
    return tuple(_elsewhere(pool)) if pool.attempts else ()


def _elsewhere(pool: PoolPart) -> Iterator[Row]:
    if (other := pool[Elsewhere]) == Elsewhere():  # nothing started
        return
    wait, used = pool.figure("wait_mean").value, pool.figure("consumed").value
    unit = wording.first_upper(f"{wording.resource(pool.resource)}-hours")
    last = pool.attempts - other.repeated
    for figure, tool, there, here, form in (
        (
            *("Mean wait", "sacct: Start − Submit of the same attempts"),
            *(other.wait_from_submission_s, wait, wording.duration),
        ),
        (
            *("Mean wait", "XDMoD: from submission, for jobs that started in the period"),
            *(other.wait_of_started_s, wait, wording.duration),
        ),
        (unit, "XDMoD: usage inside the period", other.held, used, wording.hours),
        (
            *(unit, "sreport: the same without suspended time"),
            *(other.held_running, used, wording.hours),
        ),
        ("Attempts", "sacct without --duplicates", last, pool.attempts, wording.count),
    ):
        yield Row(figure, tool, form(there), form(here), _differs(there, here))


def _differs(there: float | None, here: float | None) -> str:
    if there is None or here is None:
        return "not known"
    if there == here:
        return "the same"
    side = "more there" if there > here else "less there"
    return f"{wording.rough_percent(abs(there - here) / abs(here))} {side}" if here else side


SECTION: Final = ReportSection("definitions", Elsewhere, read, filters=(counted_elsewhere,))
