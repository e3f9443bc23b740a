"""The page of the study of workloads (``compute.model``)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.draws import Draws
from audit.metrics.verdicts import Verdict
from audit.model import Pool
from audit.report.study import layout
from audit.report.study.page import Cell, Section, Study, by_pool, pool_prefix, verdict_table
from audit.report.text import wording
from audit.studies.workload import charts
from audit.studies.workload.compute import classes
from audit.studies.workload.compute.likeness import DRAWN_LOGS, Likeness, summaries
from audit.studies.workload.compute.model import Model, population

_TITLES: Final = {
    "size": "Classes by size",
    "group": "Classes by group",
    "clusters": "Classes by k-means",
}
_PARTS: Final = {"peak": "peak", "off_peak": "off-peak", "weekend": "weekend"}
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
_GROUPS: Final = {
    "group": "By Unix group.",
    "account": "By account. The log tells no groups apart.",
    "user": "By user. The log tells neither groups nor accounts apart.",
}
_ASKED: Final = (
    "Mean size <number> | Mean runtime <mean_occupancy_s duration> | Of the use <used percent>"
)
_FIT: Final = (
    "p <number> | Short mean <short_s duration> | Long mean <long_s duration> | Variation <number> "
    "| Distance <number> | Exponential <exponential_distance number> | p-value <p_value number>"
)


class Modelled(NamedTuple):
    """A pool's model by one technique, its likeness to the log, and the verdicts."""

    model: Model
    likeness: Likeness
    verdicts: tuple[Verdict, ...]


class Studied(NamedTuple):
    """A pool, its attempts and its models, in the order of the techniques."""

    pool: Pool
    described: pl.DataFrame
    models: tuple[Modelled, ...]


def study(log: str, pools: Sequence[Studied], draws: Draws) -> Study:
    """Return the study of the cluster ``log``; the seed of ``draws`` also draws the log."""
    sections = by_pool(
        [
            (studied.pool.name, _sections(studied, pool_prefix(number, len(pools)), draws.seed))
            for number, studied in enumerate(pools)
        ]
    )
    model, likeness, verdicts = pools[0].models[0]
    values = {
        "log": wording.name(log),
        "attempts": wording.count(model.attempts),
        "classes": len(model.classes),
        "verdicts": " ".join(
            f"{wording.first_upper(verdict.claim)}: {verdict.holds.value}." for verdict in verdicts
        ),
        "load": wording.percent(likeness.span("load").mean),
        "log_load": wording.percent(likeness.of_log.load),
        "wait": wording.duration(likeness.span("wait_mean_s").mean),
        "log_wait": wording.duration(likeness.of_log.wait_mean_s),
        "days": model.days,
        "first_day": model.first_day.isoformat(),
        "zone": model.zone,
        "drawn": DRAWN_LOGS,
        "seed": draws.seed,
    }
    settings = {
        "pools": [
            (
                f"Pool {wording.name(pool.name)}",
                f"{wording.count(pool.largest)} {pool.resource.value}; "
                f"{wording.plural(models[0].model.left_out, 'attempt')} left out, not ended or of "
                "unknown size",
            )
            for pool, _, models in pools
        ],
        "intervals": [draws.intervals("resamples of days")],
    }
    last = layout.section("workload", "read", {}, {})
    return layout.study("workload", settings, values, (*sections, last))


def _sections(studied: Studied, prefix: str, seed: int) -> list[Section]:
    """Return the sections of one pool."""
    pool, described, models = studied
    model = models[0].model
    verdicts = [(one.model.by, verdict) for one in models for verdict in one.verdicts]
    fits = [row for one in models for row in _fits(one.model)]
    parts = {
        "verdicts": verdict_table(verdicts, ("Classes by", "by")),
        "gaps_chart": charts.gaps(described, pool, model),
        "gaps": [
            (label, *row[:-1]) for label, by, of, *row in fits if (by, of) == ("size", "gaps")
        ],
        "fits": fits,
        "likeness": [
            (
                title,
                getattr(models[0].likeness.of_log, trait),
                *(figure for one in models for figure in one.likeness.span(trait)),
            )
            for trait, title in _TRAITS.items()
        ],
        "week": charts.week(population(described, pool), model, seed),
    }
    values = {
        "fit": _FIT,
        "drawn": DRAWN_LOGS,
        "techniques": " | ".join(
            f"By {by}: mean <{by}_mean number> | least <{by}_least number> | "
            f"greatest <{by}_greatest number>"
            for by in (one.model.by for one in models)
        ),
    }
    first, *others = (
        layout.section("workload", key, parts, values) for key in ("verdicts", "gaps", "likeness")
    )
    return [first, *(_technique(studied, one.model, prefix) for one in models), *others]


def _technique(studied: Studied, model: Model, prefix: str) -> Section:
    column = classes.grouping(studied.described.filter(pl.col("pool") == studied.pool.name))
    how = {
        "size": "Width classes, in powers of two.",
        "group": f"{_GROUPS[column]} Groups with less than a twentieth of the attempts and of the "
        f"use are merged as {classes.OTHERS}.",
        "clusters": "k-means over the logarithms of size and occupancy; c1 has used most. Unless "
        "given, the number of clusters is that of the greatest mean silhouette.",
    }
    labels = charts.labels_of(model)
    parts = {
        "chart": charts.by_class(model),
        model.by: [(labels[label], *row) for label, *row in summaries(model)],
        f"{model.by}-parts": [
            (
                *(labels[one.label], _PARTS[one.part], one.attempts, one.rate, one.mean_size),
                *(one.mean_occupancy_s, one.used, one.with_walltime, one.foresight),
            )
            for one in model.classes
        ],
    }
    values = {
        "title": _TITLES[model.by],
        "how": how[model.by],
        "file": file_name(model, prefix),
        "by": model.by,
        "noun": charts.NOUNS[model.by],
        "asked": _ASKED,
    }
    return layout.section("workload", "technique", parts, values)


def file_name(model: Model, prefix: str = "") -> str:
    """Return the name of a model's file; ``prefix`` is ``pool_prefix``."""
    return f"workload-{prefix}{model.by}.toml"


def _fits(model: Model) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table of all fits."""
    labels = charts.labels_of(model)
    for one in model.classes:
        for what, fit in (("gaps", one.gaps), ("runtimes", one.occupancies)):
            figures: tuple[Cell, ...] = (
                *(*fit.distribution, fit.distribution.variation),
                *(fit.distance, fit.exponential_distance, fit.p_value, fit.gain),
            )
            label = f"{labels[one.label]}, {_PARTS[one.part]}"
            yield label, model.by, what, one.attempts, *figures
