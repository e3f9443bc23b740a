"""``fairaudit when --cpus N``: when a job would start that were submitted now.

It is predicted as a job is at its submission, from what was known then (SPEC §13). Each shape is
submitted alone. Its user, account and partition are features of the prediction; a job of an unknown
user is like nobody's.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import polars as pl

from audit.errors import UsageError
from audit.json_answers import Instant, JsonAnswer
from audit.metrics.attempts import population
from audit.model import ATTEMPTS, RecordKind
from audit.oneoff.explain.explain import charged
from audit.oneoff.requests import memory, typed_gpus, walltime, whole_number
from audit.oneoff.when import in_words, record_of
from audit.pipeline.opening import ClusterLog, Session
from audit.pipeline.published import open_either
from audit.progress import printable
from audit.report import wording
from audit.report.first_page import amounts
from audit.report.sections import predicted
from audit.scenario.predict import predictions
from audit.scenario.predict.calibration import Bounds, Withheld
from audit.scenario.scenario import Scenario
from audit.words import Resource, aligned, kind_of, plural

MOST: Final = 64
"""Largest number of shapes in one question."""
NAMES: Final = ("cpus", "nodes", "gpus", "mem", "walltime", "partition", "user")


class JobShape(NamedTuple):
    """What a job would request, as options give it; None: not given."""

    cpus: str | None = None
    nodes: str | None = None
    gpus: str | None = None
    mem: str | None = None
    walltime: str | None = None
    partition: str | None = None
    user: str | None = None

    @property
    def words(self) -> str:
        """The job in words, such as ``A job of 64 CPUs and 4 h``."""
        requested = [
            f"{self.cpus} CPU{'' if self.cpus == '1' else 's'}" if self.cpus else "",
            plural(int(self.nodes), "node") if self.nodes and self.nodes.isdigit() else "",
            f"{self.gpus} GPU{'' if self.gpus == '1' else 's'}" if self.gpus else "",
            f"{self.mem} of memory" if self.mem else "",
            wording.duration(walltime(self.walltime)) if self.walltime else "",
        ]
        named = [*filter(None, requested)]
        of = f" of {amounts.listed(named) if named else 'any shape'}"
        where = "" if self.partition is None else f" in partition {wording.name(self.partition)}"
        whose = "" if self.user is None else f" of user {wording.name(self.user)}"
        return f"A job{of}{where}{whose}"


@dataclass(frozen=True, kw_only=True)
class ShapeForecast:
    """The prediction for a job of one shape."""

    pool: str
    cpus: int | None
    nodes: int | None
    gpus: int | None
    gpu_types: str | None
    mem_bytes: int | None
    walltime_s: int | None
    partition: str | None
    user: str | None
    p10: Instant | None  # null: no prediction
    p50: Instant | None
    p90: Instant | None
    contested: bool | None  # whether p50 is more than 60 s ahead
    withheld_because: Withheld | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class BeforeAnswer(JsonAnswer):
    """The answer of ``fairaudit when --cpus N --format json``."""

    cluster: str
    zone: str
    as_of: Instant  # the time of the newest records
    shapes: tuple[ShapeForecast, ...]


def shapes(of: JobShape, compare: Sequence[str]) -> list[JobShape]:
    """Return the shape, or the shapes that options ``--compare NAME=VALUE,…`` make of it.

    Raises UsageError if one of them is malformed, or if there are too many shapes.
    """
    values: dict[str, list[str]] = {}
    for text in compare:
        name, equals, each = text.partition("=")
        listed = [value for value in each.split(",") if value]
        if not equals or name not in NAMES or not listed:
            known = ", ".join(NAMES)
            raise UsageError(f"--compare {text!r}: write NAME=VALUE,VALUE; NAME is {known}")
        values.setdefault(name, []).extend(listed)
    made = [
        of._replace(**dict(zip(values, each, strict=True)))
        for each in itertools.product(*values.values())
    ]
    if len(made) > MOST:
        raise UsageError(f"--compare: {len(made):,} shapes; at most {MOST} are compared")
    return made


def before(session: Session, asked: Sequence[JobShape]) -> BeforeAnswer:
    """Return the prediction for each shape, in order.

    Raises:
        UsageError: a shape is malformed, or names an unknown partition.
        AuditError: logs or the database cannot be read, see ``audit.errors``.
    """
    log, on_progress = open_either(session), session.on_progress
    of = log.setting
    asked = [placed(shape, log.described) for shape in asked]
    added = _described(asked, log)
    made: dict[int, ShapeForecast] = {}
    used = [pool for pool in of.pools if (added["pool"] == pool.name).any()]
    for number, pool in enumerate(used):
        on_progress("predicting", number, len(used))
        mine = added.filter(pl.col("pool") == pool.name)
        whole = replace(log, described=pl.concat([log.described, mine], how="diagonal_relaxed"))
        described, ranked = charged(whole, pool, session.folder)
        attempts = described.filter(pl.col("pool") == pool.name)
        scenario = Scenario(attempts, pool, of.now, ranked)
        past, found = predictions.before_submission(scenario, of.zone.key, mine.height)
        record = record_of(scenario, past)
        first = attempts.height - mine.height
        places = mine["line"].to_list()
        for row in found.iter_rows(named=True):
            place = places[row["row"] - first]
            facts = mine.row(row["row"] - first, named=True)
            made[place] = _forecast(asked[place], facts, row, log, record)
    on_progress("predicting", len(used), len(used))
    forecasts = tuple(made[place] for place in range(len(asked)))
    return BeforeAnswer(cluster=of.cluster, zone=of.zone.key, as_of=of.now, shapes=forecasts)


def _forecast(
    shape: JobShape,
    facts: Mapping[str, Any],
    row: Mapping[str, Any],
    log: ClusterLog,
    record: Mapping[bool, str],
) -> ShapeForecast:
    called = f"{shape.words}, submitted now"
    why, sentence = in_words(called, row, log.setting.now, log.setting.zone.key, record)
    same = ("pool", "cpus", "nodes", "gpus", "gpu_types", "mem_bytes", "walltime_s")
    known = {name: facts[name] for name in (*same, "partition", "user")}
    of = {name: row[name] for name in (*Bounds._fields, "contested")}
    return ShapeForecast(**known, **of, withheld_because=why, sentence=sentence)


def placed(shape: JobShape, described: pl.DataFrame) -> JobShape:
    """Return the shape with a partition: the one in which most jobs were submitted lately.

    Raises UsageError if no job was submitted in the partition that it names.
    """
    known = described.drop_nulls("partition")
    names = known["partition"].unique().sort()
    if shape.partition is not None:
        if shape.partition not in names:
            listed = ", ".join(map(printable, names[:20])) or "none"
            of = printable(shape.partition)
            raise UsageError(f"--partition {of}: no job was submitted there; there is: {listed}")
        return shape
    if len(names) < 2:
        return shape._replace(partition=None)
    own = known.filter(pl.col("user") == shape.user) if shape.user else known
    lately = (own if own.height else known).sort("submit_time").tail(1_000)["partition"]
    return shape._replace(partition=lately.mode().sort()[0])


def _described(asked: Sequence[JobShape], log: ClusterLog) -> pl.DataFrame:
    """Return the jobs as described attempts, submitted after all others; ``line`` is the place."""
    of, now = log.setting, log.setting.now + 1
    latest = log.described.sort("submit_time")
    only = latest["partition"].drop_nulls()[-1:]
    rows = []
    for place, shape in enumerate(asked):
        own = latest.filter(pl.col("user") == shape.user) if shape.user else latest.clear()
        gpus, types = typed_gpus(shape.gpus)
        facts = {
            name: own[name][-1] if own.height else None for name in ("account", "group", "qos")
        }
        rows.append(
            {
                **facts,
                "cpus": whole_number("cpus", shape.cpus),
                "nodes": whole_number("node-count", shape.nodes),
                "job_id": f"shape {place}",
                "job_number": None,
                "kind": RecordKind.JOB.value,
                "user": shape.user,
                "partition": shape.partition or (only[0] if len(only) else None),
                "state": "PENDING",
                "submit_time": now,
                "eligible_time": now,
                "walltime_s": None if shape.walltime is None else walltime(shape.walltime),
                "gpus": gpus,
                "gpu_types": types,
                "mem_bytes": memory(shape.mem),
                "tasks": 1,
                "attempt": 1,
                "line": place,
            }
        )
    attempts = pl.DataFrame(rows, schema=ATTEMPTS)
    made = population.describe(attempts, of.pools, of.partition_pool)
    for pool, size in made.select("pool", "size").unique().iter_rows():
        if not size:
            counted = next(one.resource for one in of.pools if one.name == pool)
            flag = "node-count" if counted is Resource.nodes else counted.value
            raise UsageError(f"when: pass --{flag}: pool {printable(pool)} counts {counted}")
    equipped = {*log.described.filter(pl.col("gpus") > 0)["pool"].unique()}
    equipped |= {one.name for one in of.pools if "gpus" in map(kind_of, dict(one.amounts))}
    for pool in made.filter(pl.col("gpus") > 0)["pool"]:
        if pool not in equipped:
            raise UsageError(f"--gpus: pool {printable(pool)} has no GPUs; pass --partition")
    return made


def lines(
    answer: BeforeAnswer, asked: Sequence[JobShape], compared: Sequence[str]
) -> Iterator[str]:
    """Yield the answer in sentences, or as a table if shapes are ``compared`` by these names."""
    if not compared:
        yield from (one.sentence for one in answer.shapes)
        return
    heads = (*compared, "half wait under", "8 of 10 wait")
    rows = [heads]
    for one, shape in zip(answer.shapes, asked, strict=True):
        values = tuple(printable(getattr(shape, name) or "") for name in compared)
        rows.append((*values, *_waits(one, answer.as_of)))
    yield from aligned(rows)


def _waits(one: ShapeForecast, as_of: int) -> tuple[str, str]:
    if one.p10 is None or one.p50 is None or one.p90 is None:
        why = predicted.WHY[Withheld(str(one.withheld_because))]
        return "–", f"no prediction: {why}"
    low, mid, high = (time - as_of - 1 for time in (one.p10, one.p50, one.p90))
    return wording.duration(mid), f"{wording.duration(low)} to {wording.duration(high)}"
