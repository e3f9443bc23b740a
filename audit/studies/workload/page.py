"""The page of the study of workloads (``workloads.model``)."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.model import Pool
from audit.report.charts.style import Chart, Spec
from audit.report.text import wording
from audit.studies.drawn import Draws
from audit.studies.page import Cell, Column, Columns, Section, Study, Table
from audit.studies.verdicts import Verdict
from audit.studies.workload import charts as workload_chart
from audit.studies.workload import claims as workload_claims
from audit.studies.workload.charts import PART_NAMES
from audit.studies.workload.claims import Likeness
from audit.workloads import classes, synthetic
from audit.workloads import model as workload_model
from audit.workloads.hyper_exponential import Fit
from audit.workloads.model import Class, Model
from audit.workloads.weekly_clock import PARTS

SOURCE: Final = "[B] H. Bui et al., Fairshare Scheduling – A Case Study."

_DRAWN: Final = 6
"""So many classes have their gaps drawn."""
_TITLES: Final = {
    "size": "Classes by size",
    "group": "Classes by group",
    "clusters": "Classes by k-means",
}
_POINTS: Final = 80


class Modelled(NamedTuple):
    """A pool's model of one technique, and how like its log it is."""

    model: Model
    likeness: Likeness
    verdicts: tuple[Verdict, ...]


class Studied(NamedTuple):
    """A pool, its attempts and its models."""

    pool: Pool
    described: pl.DataFrame
    models: tuple[Modelled, ...]
    """By technique, in their order."""


def study(log: str, pools: Sequence[Studied], draws: Draws) -> Study:
    """The study of a log.

    Args:
        log: the cluster's name.
        pools: its pools; one at least.
        draws: how resamples were drawn; their seed is that of the log that is drawn.
    """
    several = len(pools) > 1
    sections = [
        Section(f"Pool {wording.name(of.pool.name)}: {title}" if several else title, parts)
        for number, of in enumerate(pools, start=1)
        for title, parts in _parts(of, f"{number}-" if several else "", draws.seed)
    ]
    of = pools[0].models[0].model
    return Study(
        key="workload",
        title=f"The workload of {wording.name(log)} as a model",
        lead=_lead(pools[0]),
        sections=(*sections, Section("How to read it", _READ)),
        settings=(
            ("Days", f"{of.days} from {of.first_day.isoformat()}"),
            ("Time zone", of.zone),
            *((f"Pool {wording.name(one.pool.name)}", _pool(one)) for one in pools),
            ("Logs drawn for the comparison", str(workload_claims.DRAWS)),
            draws.intervals("resamples of days"),
            ("Seed", str(draws.seed)),
        ),
        sources=(SOURCE,),
    )


def _pool(of: Studied) -> str:
    left = of.models[0].model.left_out
    return (
        f"{wording.count(of.pool.largest)} {of.pool.resource.value}; "
        f"{wording.plural(left, 'attempt')} left out, not ended or of unknown size"
    )


def _lead(of: Studied) -> str:
    by_size = of.models[0]
    model, likeness = by_size.model, by_size.likeness
    waits = likeness.of_log.wait_mean_s, likeness.mean("wait_mean_s")
    return (
        f"{wording.count(model.attempts)} attempts in {len(model.classes)} classes by size and "
        f"part of the week. {_first_words(by_size.verdicts)} Logs drawn from the model have an "
        f"offered load of {wording.percent(likeness.mean('load'))}, as against "
        f"{wording.percent(likeness.of_log.load)}, and a mean wait of "
        f"{wording.duration(waits[1])}, as against {wording.duration(waits[0])} of the log's "
        "attempts under the same scheduler."
    )


def _first_words(verdicts: Sequence[Verdict]) -> str:
    return " ".join(
        f"{wording.first_upper(verdict.claim)}: {verdict.holds.value}." for verdict in verdicts
    )


def _parts(
    of: Studied, prefix: str, seed: int
) -> list[tuple[str, tuple[str | Table | Chart, ...]]]:
    by_size = of.models[0]
    return [
        ("What [B] concludes of arrivals", (_VERDICTS, _verdicts(of, prefix))),
        *((_TITLES[one.model.by], _technique(of, one, prefix)) for one in of.models),
        (
            "Gaps between arrivals",
            (_GAPS, _curves(of, by_size.model, prefix), *_fits(of, prefix)),
        ),
        (
            "Drawn logs beside the log",
            (_LIKENESS, _likeness(of, prefix), _week(of, by_size.model, prefix, seed)),
        ),
    ]


def _verdicts(of: Studied, prefix: str) -> Table:
    return Table(
        f"{prefix}verdicts",
        "Does it hold on this log?",
        (
            Column("Conclusion", "claim", "text"),
            Column("Classes by", "by", "text"),
            Column("Holds", "holds", "text"),
            Column("Because", "because", "text"),
            Column("In", "source", "text"),
        ),
        tuple(
            (one.claim, modelled.model.by, one.holds.value, one.because, one.source)
            for modelled in of.models
            for one in modelled.verdicts
        ),
    )


# --- classes -------------------------------------------------------------------------------------


def _technique(of: Studied, one: Modelled, prefix: str) -> tuple[str | Table | Chart, ...]:
    said = {
        "size": "Width classes, in powers of two.",
        "group": _grouping(of),
        "clusters": (
            "k-means over the logarithms of size and occupancy; c1 has used most. The number of "
            "clusters is that of the greatest mean silhouette, unless it was asked for."
        ),
    }[one.model.by]
    return (
        f"{said} The model is the file {file_name(one.model, prefix)}.",
        _bars(one.model, prefix),
        _summary(one.model, prefix),
        _classes(one.model, prefix),
    )


def file_name(model: Model, prefix: str = "") -> str:
    """The name of a model's file.

    Args:
        model: of a pool.
        prefix: number of the pool and a hyphen, where there are several.
    """
    return f"workload-{prefix}{model.by}.toml"


def _grouping(of: Studied) -> str:
    column = classes.grouping(of.described.filter(pl.col("pool") == of.pool.name))
    told = {"group": "Unix group", "account": "account", "user": "user"}[column]
    why = {
        "group": "",
        "account": " The log tells no groups apart.",
        "user": " The log tells neither groups nor accounts apart.",
    }[column]
    return (
        f"By {told}.{why} Who has less than a twentieth of the attempts and of the use is among "
        f"the {classes.OTHERS}."
    )


def _labels(model: Model) -> dict[str, str]:
    """How each class is called on the page, in order."""
    found = list(dict.fromkeys(of.label for of in model.classes))
    shown = (wording.width(label) if model.by == "size" else label for label in found)
    return dict(zip(found, wording.told_apart(wording.name(one, 24) for one in shown), strict=True))


def _bars(model: Model, prefix: str) -> Chart:
    labels = _labels(model)
    rows: list[Spec] = [
        {
            "of": labels[of.label],
            "part": PART_NAMES[of.part],
            "place": PARTS.index(of.part),
            "attempts": of.attempts,
        }
        for of in model.classes
    ]
    most = max(labels, key=lambda label: _attempts(model, label))
    peak = sum(of.attempts for of in model.classes if of.part == "peak") / model.attempts
    alt = (
        f"Stacked bar chart. Attempts of {wording.plural(len(labels), 'class')} by {model.by}, "
        f"divided by part of the week. Most: {labels[most]} with "
        f"{wording.count(_attempts(model, most))}. {wording.percent(peak)} of all arrive in peak "
        "hours."
    ).replace("classs", "classes")
    key = f"{prefix}classes_{model.by}".replace("-", "_")
    title = f"Attempts by {_NOUNS[model.by]} and part of the week"
    return workload_chart.by_class(key, title, alt, rows, list(labels.values()))


_PARTS: Final = {"peak": "peak", "off_peak": "off-peak", "weekend": "weekend"}
_NOUNS: Final = {"size": "size", "group": "group", "clusters": "cluster"}


def _attempts(model: Model, label: str) -> int:
    return sum(of.attempts for of in model.classes if of.label == label)


def _summary(model: Model, prefix: str) -> Table:
    """[B] tables 2 and 3."""
    rows: list[tuple[Cell, ...]] = []
    for label, shown in _labels(model).items():
        own = [of for of in model.classes if of.label == label]
        many = sum(of.attempts for of in own)
        size = sum(of.attempts * of.mean_size for of in own) / many
        occupancy = sum(of.attempts * of.mean_occupancy_s for of in own) / many
        rows.append(
            (shown, many, many / model.attempts, size, occupancy, sum(of.used for of in own))
        )
    return Table(
        f"{prefix}{model.by}",
        f"The classes by {_NOUNS[model.by]}",
        (
            Column("Class", "class", "text"),
            Column("Attempts", "attempts", "count"),
            Column("Of all", "share", "percent"),
            Column("Mean size", "mean_size"),
            Column("Mean runtime", "mean_occupancy_s", "duration"),
            Column("Of the use", "used", "percent"),
        ),
        tuple(rows),
        note="As [B] tables 2 and 3. Runtime is from start to end; use is size × runtime.",
    )


def _classes(model: Model, prefix: str) -> Table:
    labels = _labels(model)
    rows: list[tuple[Cell, ...]] = [
        (
            labels[of.label],
            _PARTS[of.part],
            of.attempts,
            of.rate,
            of.mean_size,
            of.mean_occupancy_s,
            of.used,
            of.with_walltime,
            of.foresight,
        )
        for of in model.classes
    ]
    return Table(
        f"{prefix}{model.by}-parts",
        f"The classes by {_NOUNS[model.by]}, in each part of the week",
        (
            Column("Class", "class", "text"),
            Column("Part", "part", "text"),
            Column("Attempts", "attempts", "count"),
            Column("Arrivals per hour", "rate_per_h"),
            Column("Mean size", "mean_size"),
            Column("Mean runtime", "mean_occupancy_s", "duration"),
            Column("Of the use", "used", "percent"),
            Column("With walltime", "with_walltime", "percent"),
            Column("Walltime ~ runtime", "foresight"),
        ),
        tuple(rows),
        note="Arrivals per hour of that part of the week. The last: Spearman's rank correlation.",
    )


# --- fits ----------------------------------------------------------------------------------------


def _fits(of: Studied, prefix: str) -> tuple[Table, Table]:
    """The gaps of classes by size for the page; all fits for the file."""
    rows: list[tuple[Cell, ...]] = []
    for modelled in of.models:
        labels = _labels(modelled.model)
        for one in modelled.model.classes:
            key = (f"{labels[one.label]}, {_PARTS[one.part]}", modelled.model.by)
            rows += [
                (*key, what, one.attempts, *_fit(fit), fit.gain)
                for what, fit in (("gaps", one.gaps), ("runtimes", one.occupancies))
            ]
    return (
        Table(
            f"{prefix}gaps",
            "Gaps between arrivals of the classes by size",
            (Column("Class", "class", "text"), Column("Gaps", "values", "count"), *_FIT),
            tuple((row[0], *row[3:-1]) for row in rows if row[1:3] == ("size", "gaps")),
            note=(
                "p is the share of the short phase; both means are the same where it is an "
                "exponential distribution. Without a p-value: too few values, not fitted."
            ),
        ),
        Table(
            f"{prefix}fits",
            "All fits",
            (
                Column("Class", "class", "text"),
                Column("By", "by", "text"),
                Column("Of", "of", "text"),
                Column("Values", "values", "count"),
                *_FIT,
                Column("Log-likelihood gain", "gain"),
            ),
            tuple(rows),
            shown=0,
        ),
    )


def _fit(fit: Fit) -> tuple[Cell, ...]:
    """Cells of the columns ``_FIT``."""
    law = fit.distribution
    shape = (law.share, law.short_s, law.long_s, law.variation)
    return (*shape, fit.distance, fit.exponential_distance, fit.p_value)


_FIT: Final[Columns[Any]] = (
    Column("p", "p"),
    Column("Short mean", "short_s", "duration"),
    Column("Long mean", "long_s", "duration"),
    Column("Variation", "variation"),
    Column("Distance", "distance"),
    Column("Exponential", "exponential_distance"),
    Column("p-value", "p_value"),
)


def _curves(of: Studied, model: Model, prefix: str) -> Chart:
    labels = _labels(model)
    chosen = sorted(workload_claims.fitted(model), key=lambda one: -one.attempts)[:_DRAWN]
    placed = workload_model.place(of.described, of.pool, ZoneInfo(model.zone), model.by, 0)
    rows: list[Spec] = []
    panels = []
    for one in chosen:
        panel = f"{labels[one.label]}, {PART_NAMES[one.part]}"
        panels.append(panel)
        rows += _curve(workload_model.of_class(placed, one.label, one.part), one, panel)
    worst = max(chosen, key=lambda one: one.gaps.distance, default=None)
    said = (
        f"The greatest distance from the fit is {worst.gaps.distance:.2f}, of {labels[worst.label]}"
        f" in {PART_NAMES[worst.part]}."
        if worst
        else "No class has enough arrivals."
    )
    title = "Gaps between arrivals, at most so long"
    alt = (
        f"Line charts, one for each of the {len(chosen)} classes by size with most arrivals: the "
        f"share of gaps up to a length, of the log and of two fitted distributions. {said}"
    )
    return workload_chart.gaps(f"{prefix}gaps".replace("-", "_"), title, alt, rows, panels)


def _curve(attempts: pl.DataFrame, one: Class, panel: str) -> list[Spec]:
    seconds = np.sort(attempts["gap_s"].to_numpy())
    at = np.unique(np.round(np.geomspace(1, max(float(seconds[-1]), 2.0), _POINTS)))
    mean = one.gaps.distribution.mean_s
    # a whole number of seconds in the log stands for half a second more and less
    curves = {
        "log": np.searchsorted(seconds, at, side="right") / len(seconds),
        "hyper-exponential": one.gaps.distribution.cdf(at + 0.5),
        "exponential": 1 - np.exp(-(at + 0.5) / mean),
    }
    return [
        {"of": panel, "curve": curve, "seconds": float(x), "share": round(float(y), 4)}
        for curve, shares in curves.items()
        for x, y in zip(at, shares, strict=True)
    ]


# --- likeness ------------------------------------------------------------------------------------

_TRAITS: Final = (
    ("attempts", "Attempts"),
    ("mean_size", "Mean size"),
    ("mean_occupancy_s", "Mean runtime, s"),
    ("mean_walltime_s", "Mean walltime, s"),
    ("load", "Offered load"),
    ("peak", "Share arriving in peak hours"),
    ("gap_variation", "Variation of gaps"),
    ("day_dispersion", "Dispersion of days"),
    ("wait_mean_s", "Mean wait, s"),
    ("wait_median_s", "Median wait, s"),
)


def _likeness(of: Studied, prefix: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, title in _TRAITS:
        row: list[Cell] = [title, getattr(of.models[0].likeness.of_log, name)]
        for one in of.models:
            values = [value for value in one.likeness.values(name) if value is not None]
            row += [one.likeness.mean(name), min(values, default=None), max(values, default=None)]
        rows.append(tuple(row))
    columns: list[Column[Any]] = [Column("Figure", "trait", "text"), Column("Log", "log")]
    for one in of.models:
        by = one.model.by
        columns += [
            Column(f"By {by}: mean", f"{by}_mean"),
            Column("least", f"{by}_least"),
            Column("greatest", f"{by}_greatest"),
        ]
    return Table(
        f"{prefix}likeness",
        f"The log, and {workload_claims.DRAWS} logs drawn from each model",
        tuple(columns),
        tuple(rows),
        note="Waits are those of fcfs with EASY backfilling, for the log as for what was drawn.",
    )


def _week(of: Studied, model: Model, prefix: str, seed: int) -> Chart:
    own = workload_model.population(of.described, of.pool)
    log = workload_claims.week(own["arrival_time"], model)
    drawn = workload_claims.week(synthetic.draw(model, seed)["arrival_time"], model)
    rows: list[Spec] = [
        {"of": name, "hour": hour, "arrivals": round(float(value), 4)}
        for name, values in (("log", log), ("drawn", drawn))
        for hour, value in enumerate(values)
    ]
    title = "Arrivals in each hour of the week"
    top = int(np.argmax(log))
    alt = (
        f"Line chart. {title}, of the log and of one drawn from the model by size. The log's "
        f"greatest is {log[top]:.1f} per hour, {wording.plural(top % 24, 'hour')} into "
        f"{_DAY_NAMES[top // 24]}; the drawn log has steps where peak hours begin and end."
    )
    return workload_chart.week(f"{prefix}week".replace("-", "_"), title, alt, rows)


_DAY_NAMES: Final = (
    *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
)

# --- texts ---------------------------------------------------------------------------------------

_VERDICTS: Final = (
    "[B] takes gaps between arrivals as hyper-exponential, after B. Lu. That is two statements: "
    "that this fits better than the exponential distribution, and that it fits well. A test of fit "
    "alone refuses any simple law once there are thousands of values; so it stands beside, and "
    "what decides is how far the distributions are apart."
)
_GAPS: Final = (
    "The clock of a part of the week stands still outside it, so nights and weekends make no gaps. "
    "Below are the classes by size with most arrivals, then all fits of all classes."
)
_LIKENESS: Final = (
    "Models are judged by what they make. A model that keeps sizes, runtimes and rates may still "
    "make queues that are too short: its classes arrive independently, while real users come in "
    "sessions, and busy weeks are busy for all. The dispersion of days shows that, and so do waits."
)
_READ: Final = (
    "Peak hours are Monday to Friday, 8 to 17, on the clock of the cluster's zone; [B]'s off-peak "
    "hours are the others of these days.",
    "Distance is the greatest difference of two cumulative distributions (Kolmogorov–Smirnov). The "
    "p-value is the share of samples of the fitted distribution, fitted anew, that lie further "
    "from their fit than the log's from its own; its least value is 0.01.",
    "Variation is the standard deviation by the mean; it is 1 for an exponential distribution. The "
    "dispersion of days is the variance of the number of arrivals in a day by its mean: 1 where "
    "arrivals are independent of each other (Poisson).",
    "A synthetic log is made of a model's file: fairaudit experiment synthetic MODEL.toml LOG.swf.",
)
