"""The page of the study of workloads (``workloads.model``)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics.draws import Draws
from audit.metrics.verdicts import Verdict
from audit.model import Pool
from audit.report.charts.style import Chart
from audit.report.study.charts import Values
from audit.report.study.page import (
    Cell,
    Column,
    Columns,
    Section,
    Study,
    Table,
    by_pool,
    pool_prefix,
    table,
    verdict_table,
)
from audit.report.text import wording
from audit.studies.workload import charts
from audit.studies.workload.charts import PART_NAMES
from audit.studies.workload.compute import (
    DRAWN_LOGS,
    Likeness,
    Summary,
    fitted,
    gap_distributions,
    summaries,
    week,
)
from audit.workloads import classes, synthetic
from audit.workloads.hyper_exponential import Fit
from audit.workloads.model import Class, Model, place, population
from audit.workloads.weekly_clock import PARTS

SOURCE: Final = "[B] H. Bui et al., Fairshare Scheduling – A Case Study."

_DRAWN: Final = 6
"""So many classes have their gaps drawn."""
_TITLES: Final = {
    "size": "Classes by size",
    "group": "Classes by group",
    "clusters": "Classes by k-means",
}
_NOUNS: Final = {"size": "size", "group": "group", "clusters": "cluster"}
_PARTS: Final = {"peak": "peak", "off_peak": "off-peak", "weekend": "weekend"}


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
    sections = by_pool(
        [
            (studied.pool.name, _sections(studied, pool_prefix(number, len(pools)), draws.seed))
            for number, studied in enumerate(pools)
        ]
    )
    first_model = pools[0].models[0].model
    return Study(
        key="workload",
        title=f"The workload of {wording.name(log)} as a model",
        lead=_lead(pools[0]),
        sections=(*sections, Section("How to read it", _READ)),
        settings=(
            ("Days", f"{first_model.days} from {first_model.first_day.isoformat()}"),
            ("Time zone", first_model.zone),
            *((f"Pool {wording.name(one.pool.name)}", _pool(one)) for one in pools),
            ("Logs drawn for the comparison", str(DRAWN_LOGS)),
            draws.intervals("resamples of days"),
            ("Seed", str(draws.seed)),
        ),
        sources=(SOURCE,),
    )


def _pool(studied: Studied) -> str:
    left = studied.models[0].model.left_out
    return (
        f"{wording.count(studied.pool.largest)} {studied.pool.resource.value}; "
        f"{wording.plural(left, 'attempt')} left out, not ended or of unknown size"
    )


def _lead(studied: Studied) -> str:
    by_size = studied.models[0]
    model, likeness = by_size.model, by_size.likeness
    load, wait = likeness.span("load").mean, likeness.span("wait_mean_s").mean
    return (
        f"{wording.count(model.attempts)} attempts in {len(model.classes)} classes by size and "
        f"part of the week. {_first_words(by_size.verdicts)} Logs drawn from the model have an "
        f"offered load of {wording.percent(load)}, as against "
        f"{wording.percent(likeness.of_log.load)}, and a mean wait of "
        f"{wording.duration(wait)}, as against {wording.duration(likeness.of_log.wait_mean_s)} of "
        "the log's attempts under the same scheduler."
    )


def _first_words(verdicts: Sequence[Verdict]) -> str:
    return " ".join(
        f"{wording.first_upper(verdict.claim)}: {verdict.holds.value}." for verdict in verdicts
    )


def _sections(studied: Studied, prefix: str, seed: int) -> list[Section]:
    model = studied.models[0].model
    verdicts = [(one.model.by, verdict) for one in studied.models for verdict in one.verdicts]
    return [
        Section(
            "What [B] concludes of arrivals",
            (_VERDICTS, verdict_table(verdicts, ("Classes by", "by"))),
        ),
        *(
            Section(_TITLES[one.model.by], _technique(studied, one.model, prefix))
            for one in studied.models
        ),
        Section("Gaps between arrivals", (_GAPS, _curves(studied, model), *_fits(studied))),
        Section(
            "Drawn logs beside the log",
            (_LIKENESS, _likeness(studied), _week(studied, model, seed)),
        ),
    ]


# --- classes -------------------------------------------------------------------------------------


def _technique(studied: Studied, model: Model, prefix: str) -> tuple[str | Table | Chart, ...]:
    how = {
        "size": "Width classes, in powers of two.",
        "group": _grouping(studied),
        "clusters": (
            "k-means over the logarithms of size and occupancy; c1 has used most. The number of "
            "clusters is that of the greatest mean silhouette, unless it was asked for."
        ),
    }[model.by]
    return (
        f"{how} The model is the file {file_name(model, prefix)}.",
        _bars(model),
        _summary(model),
        _classes(model),
    )


def file_name(model: Model, prefix: str = "") -> str:
    """The name of a model's file.

    Args:
        model: of a pool.
        prefix: number of the pool and a hyphen, where there are several.
    """
    return f"workload-{prefix}{model.by}.toml"


def _grouping(studied: Studied) -> str:
    column = classes.grouping(studied.described.filter(pl.col("pool") == studied.pool.name))
    group = {"group": "Unix group", "account": "account", "user": "user"}[column]
    why = {
        "group": "",
        "account": " The log tells no groups apart.",
        "user": " The log tells neither groups nor accounts apart.",
    }[column]
    return (
        f"By {group}.{why} Who has less than a twentieth of the attempts and of the use is among "
        f"the {classes.OTHERS}."
    )


def _labels(model: Model) -> dict[str, str]:
    """How each class is called on the page, in order."""
    labels = list(dict.fromkeys(one.label for one in model.classes))
    shown = (wording.width(label) if model.by == "size" else label for label in labels)
    names = wording.told_apart(wording.name(one, 24) for one in shown)
    return dict(zip(labels, names, strict=True))


def _bars(model: Model) -> Chart:
    labels = _labels(model)
    rows: list[Values] = [
        {
            "of": labels[one.label],
            "part": PART_NAMES[one.part],
            "place": PARTS.index(one.part),
            "attempts": one.attempts,
        }
        for one in model.classes
    ]
    most = max(summaries(model), key=lambda summary: summary.attempts)
    peak = sum(one.attempts for one in model.classes if one.part == "peak") / model.attempts
    number = f"{wording.count(len(labels))} class{'es' * (len(labels) != 1)}"
    alt = (
        f"Stacked bar chart. Attempts of {number} by {model.by}, "
        f"divided by part of the week. Most: {labels[most.label]} with "
        f"{wording.count(most.attempts)}. {wording.percent(peak)} of all arrive in peak hours."
    )
    title = f"Attempts by {_NOUNS[model.by]} and part of the week"
    return charts.by_class(f"classes_{model.by}", title, alt, rows, list(labels.values()))


_ASKED: Final[Columns[Any]] = (
    Column("Mean size", "mean_size"),
    Column("Mean runtime", "mean_occupancy_s", "duration"),
    Column("Of the use", "used", "percent"),
)


def _summary(model: Model) -> Table:
    labels = _labels(model)
    columns: Columns[Summary] = (
        Column("Class", "class", "text", lambda summary: labels[summary.label]),
        Column("Attempts", "attempts", "count"),
        Column("Of all", "share", "percent"),
        *_ASKED,
    )
    return table(
        model.by,
        f"The classes by {_NOUNS[model.by]}",
        columns,
        summaries(model),
        note="As [B] tables 2 and 3. Runtime is from start to end; use is size × runtime.",
    )


def _classes(model: Model) -> Table:
    labels = _labels(model)
    columns: Columns[Class] = (
        Column("Class", "class", "text", lambda one: labels[one.label]),
        Column("Part", "part", "text", lambda one: _PARTS[one.part]),
        Column("Attempts", "attempts", "count"),
        Column("Arrivals per hour", "rate_per_h", value=lambda one: one.rate),
        *_ASKED,
        Column("With walltime", "with_walltime", "percent"),
        Column("Walltime ~ runtime", "foresight"),
    )
    return table(
        f"{model.by}-parts",
        f"The classes by {_NOUNS[model.by]}, in each part of the week",
        columns,
        model.classes,
        note="Arrivals per hour of that part of the week. The last: Spearman's rank correlation.",
    )


# --- fits ----------------------------------------------------------------------------------------


class _Fitted(NamedTuple):
    """A row of the table of fits."""

    label: str
    by: str
    what: str
    values: int
    fit: Fit


_CLASS: Final[Column[_Fitted]] = Column("Class", "class", "text", lambda row: row.label)
_FIT: Final[Columns[_Fitted]] = (
    Column("p", "p", value=lambda row: row.fit.distribution.share),
    Column("Short mean", "short_s", "duration", lambda row: row.fit.distribution.short_s),
    Column("Long mean", "long_s", "duration", lambda row: row.fit.distribution.long_s),
    Column("Variation", "variation", value=lambda row: row.fit.distribution.variation),
    Column("Distance", "distance", value=lambda row: row.fit.distance),
    Column("Exponential", "exponential_distance", value=lambda row: row.fit.exponential_distance),
    Column("p-value", "p_value", value=lambda row: row.fit.p_value),
)
_GAPS_OF: Final[Columns[_Fitted]] = (_CLASS, Column("Gaps", "values", "count"), *_FIT)
_ALL_FITS: Final[Columns[_Fitted]] = (
    _CLASS,
    Column("By", "by", "text"),
    Column("Of", "of", "text", lambda row: row.what),
    Column("Values", "values", "count"),
    *_FIT,
    Column("Log-likelihood gain", "gain", value=lambda row: row.fit.gain),
)


def _fits(studied: Studied) -> tuple[Table, Table]:
    """The gaps of classes by size for the page; all fits for the file."""
    rows = [row for modelled in studied.models for row in _fitted(modelled.model)]
    return (
        table(
            "gaps",
            "Gaps between arrivals of the classes by size",
            _GAPS_OF,
            [row for row in rows if (row.by, row.what) == ("size", "gaps")],
            note=(
                "p is the share of the short phase; both means are the same where it is an "
                "exponential distribution. Without a p-value: too few values, not fitted."
            ),
        ),
        table("fits", "All fits", _ALL_FITS, rows, shown=0),
    )


def _fitted(model: Model) -> Iterator[_Fitted]:
    labels = _labels(model)
    for one in model.classes:
        label = f"{labels[one.label]}, {_PARTS[one.part]}"
        for what, fit in (("gaps", one.gaps), ("runtimes", one.occupancies)):
            yield _Fitted(label, model.by, what, one.attempts, fit)


def _curves(studied: Studied, model: Model) -> Chart:
    labels = _labels(model)
    most = sorted(fitted(model), key=lambda one: -one.attempts)[:_DRAWN]
    panels = {f"{labels[one.label]}, {PART_NAMES[one.part]}": one for one in most}
    placed = place(studied.described, studied.pool, ZoneInfo(model.zone), model.by, 0)
    rows: list[Values] = []
    for panel, one in panels.items():
        seconds, shares = gap_distributions(placed, one)
        rows += [
            {"of": panel, "curve": curve, "seconds": float(x), "share": round(float(y), 4)}
            for curve, values in shares.items()
            for x, y in zip(seconds, values, strict=True)
        ]
    worst = max(most, key=lambda one: one.gaps.distance, default=None)
    furthest = (
        f"The greatest distance from the fit is {worst.gaps.distance:.2f}, of {labels[worst.label]}"
        f" in {PART_NAMES[worst.part]}."
        if worst
        else "No class has enough arrivals."
    )
    alt = (
        f"Line charts, one for each of the {len(most)} classes by size with most arrivals: the "
        f"share of gaps up to a length, of the log and of two fitted distributions. {furthest}"
    )
    title = (
        f"No drawn class is further than {worst.gaps.distance:.2f} from its fit"
        if worst
        else "No class has enough arrivals"
    )
    return charts.gaps("gaps", title, alt, rows, list(panels))


# --- likeness ------------------------------------------------------------------------------------

_TRAITS: Final = {
    "attempts": "Attempts",
    "mean_size": "Mean size",
    "mean_occupancy_s": "Mean runtime, s",
    "mean_walltime_s": "Mean walltime, s",
    "load": "Offered load",
    "peak": "Share arriving in peak hours",
    "gap_variation": "Variation of gaps",
    "day_dispersion": "Dispersion of days",
    "wait_mean_s": "Mean wait, s",
    "wait_median_s": "Median wait, s",
}


def _likeness(studied: Studied) -> Table:
    log = studied.models[0].likeness.of_log
    columns: list[Column[str]] = [
        Column("Figure", "trait", "text", lambda trait: _TRAITS[trait]),
        Column("Log", "log", value=lambda trait: getattr(log, trait)),
    ]
    for one in studied.models:
        columns += _drawn(one)
    return table(
        "likeness",
        f"The log, and {DRAWN_LOGS} logs drawn from each model",
        tuple(columns),
        _TRAITS,
        note="Waits are those of fcfs with EASY backfilling, for the log as for what was drawn.",
    )


def _drawn(modelled: Modelled) -> Columns[str]:
    """What a trait is in the logs that were drawn from a model."""
    by = modelled.model.by

    def part(place: int) -> Callable[[str], Cell]:
        return lambda trait: modelled.likeness.span(trait)[place]

    titles = (f"By {by}: mean", "least", "greatest")
    names = ("mean", "least", "greatest")
    return tuple(
        Column(title, f"{by}_{name}", value=part(place))
        for place, (title, name) in enumerate(zip(titles, names, strict=True))
    )


def _week(studied: Studied, model: Model, seed: int) -> Chart:
    log = week(population(studied.described, studied.pool)["arrival_time"], model)
    drawn = week(synthetic.draw(model, seed)["arrival_time"], model)
    rows: list[Values] = [
        {"of": name, "hour": hour, "arrivals": round(float(value), 4)}
        for name, values in (("log", log), ("drawn", drawn))
        for hour, value in enumerate(values)
    ]
    top = int(np.argmax(log))
    title = (
        f"Most arrive on {_DAY_NAMES[top // 24]} at {top % 24} h: {log[top]:.1f} per hour, drawn "
        f"{drawn[top]:.1f}"
    )
    alt = (
        "Line chart. Arrivals in each hour of the week, of the log and of one drawn from the model "
        f"by size. The log's greatest is {log[top]:.1f} per hour, "
        f"{wording.plural(top % 24, 'hour')} into {_DAY_NAMES[top // 24]}; the drawn log has steps "
        "where peak hours begin and end."
    )
    return charts.week("week", title, alt, rows)


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
