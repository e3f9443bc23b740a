"""The page of the study of workloads (``workloads.model``)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.draws import Draws
from audit.metrics.verdicts import Verdict
from audit.model import Pool
from audit.report.charts.style import Chart
from audit.report.study.page import (
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
from audit.studies.workload.compute import classes
from audit.studies.workload.compute.hyper_exponential import Fit
from audit.studies.workload.compute.likeness import (
    DRAWN_LOGS,
    Likeness,
    Summary,
    summaries,
)
from audit.studies.workload.compute.model import Class, Model, population

SOURCE: Final = "[B] H. Bui et al., Fairshare Scheduling – A Case Study."

_TITLES: Final = {
    "size": "Classes by size",
    "group": "Classes by group",
    "clusters": "Classes by k-means",
}
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
    """The study of the cluster ``log``; the seed of ``draws`` is that of the log that is drawn."""
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
        Section(
            "Gaps between arrivals",
            (_GAPS, charts.gaps(studied.described, studied.pool, model), *_fits(studied)),
        ),
        Section(
            "Drawn logs beside the log",
            (
                _LIKENESS,
                _likeness(studied),
                charts.week(population(studied.described, studied.pool), model, seed),
            ),
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
        charts.by_class(model),
        _summary(model),
        _classes(model),
    )


def file_name(model: Model, prefix: str = "") -> str:
    """The name of a model's file; ``prefix`` is that of its pool, where there are several."""
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


_ASKED: Final[Columns[Any]] = (
    Column("Mean size", "mean_size"),
    Column("Mean runtime", "mean_occupancy_s", "duration"),
    Column("Of the use", "used", "percent"),
)


def _summary(model: Model) -> Table:
    labels = charts.labels_of(model)
    columns: Columns[Summary] = (
        Column("Class", "class", "text", lambda summary: labels[summary.label]),
        Column("Attempts", "attempts", "count"),
        Column("Of all", "share", "percent"),
        *_ASKED,
    )
    return table(
        model.by,
        f"The classes by {charts.NOUNS[model.by]}",
        columns,
        summaries(model),
        note="As [B] tables 2 and 3. Runtime is from start to end; use is size × runtime.",
    )


def _classes(model: Model) -> Table:
    labels = charts.labels_of(model)
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
        f"The classes by {charts.NOUNS[model.by]}, in each part of the week",
        columns,
        model.classes,
        note="Arrivals per hour of that part of the week. The last: Spearman's rank correlation.",
    )


# --- fits ----------------------------------------------------------------------------------------


class _Fitted(NamedTuple):
    """What was fitted to a class."""

    label: str
    by: str
    of: str
    """``gaps`` or ``runtimes``."""
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
    Column("Of", "of", "text"),
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
            [row for row in rows if (row.by, row.of) == ("size", "gaps")],
            note=(
                "p is the share of the short phase; both means are the same where it is an "
                "exponential distribution. Without a p-value: too few values, not fitted."
            ),
        ),
        table("fits", "All fits", _ALL_FITS, rows, shown=0),
    )


def _fitted(model: Model) -> Iterator[_Fitted]:
    labels = charts.labels_of(model)
    for one in model.classes:
        label = f"{labels[one.label]}, {_PARTS[one.part]}"
        for what, fit in (("gaps", one.gaps), ("runtimes", one.occupancies)):
            yield _Fitted(label, model.by, what, one.attempts, fit)


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

    def drawn(by: str, likeness: Likeness, title: str, name: str) -> Column[str]:
        return Column(
            title, f"{by}_{name}", value=lambda trait: getattr(likeness.span(trait), name)
        )

    columns: Columns[str] = (
        Column("Figure", "trait", "text", lambda trait: _TRAITS[trait]),
        Column("Log", "log", value=lambda trait: getattr(log, trait)),
        *(
            drawn(one.model.by, one.likeness, title, name)
            for one in studied.models
            for title, name in (
                (f"By {one.model.by}: mean", "mean"),
                ("least", "least"),
                ("greatest", "greatest"),
            )
        ),
    )
    return table(
        "likeness",
        f"The log, and {DRAWN_LOGS} logs drawn from each model",
        columns,
        _TRAITS,
        note="Waits are those of fcfs with EASY backfilling, for the log as for what was drawn.",
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
