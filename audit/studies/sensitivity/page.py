"""The page of the study of fairshare's settings (``studies.sensitivity.compute``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.model import Backfill, Pool
from audit.report.charts import series
from audit.report.charts.style import FONT, INK, RULE, Chart, Spec, config
from audit.report.text import wording
from audit.studies.charts import Colours, Layout, heat_map
from audit.studies.drawn import Draws
from audit.studies.page import Cell, Column, Section, Study, Table
from audit.studies.sensitivity import claims as sensitivity_claims
from audit.studies.sensitivity import compute as sensitivity
from audit.studies.sensitivity.claims import Answers, Change
from audit.studies.sensitivity.compute import BASES, RUNS, Base, Groups, Plane, Point, Sweep
from audit.studies.verdicts import Holds, Verdict

SOURCE: Final = "[B] H. Bui et al., Fairshare Scheduling – A Case Study."

_COLOURS: Final = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3])
_SMALL: Final = 150
_BY: Final = {"account": "account", "user": "user", "width_class": "width class"}


class Studied(NamedTuple):
    """A pool, and what its log came to under all settings."""

    pool: Pool
    groups: Groups
    found: Answers
    verdicts: tuple[Verdict, ...]


def points() -> tuple[Point, ...]:
    """All settings that the page shows, each once."""
    found = [
        point for base in BASES for sweep in sensitivity.sweeps(base) for point in sweep.points
    ]
    found += [
        point for plane in sensitivity.planes(BASES[0]) for row in plane.points for point in row
    ]
    return tuple(dict.fromkeys(found))


def studied(pool: Pool, groups: Groups, frames: Sequence[pl.DataFrame], draws: Draws) -> Studied:
    """Puts together what the cells of one pool came to, and decides [B]'s conclusions.

    Args:
        pool: whose.
        groups: its groups.
        frames: of ``points()``, columns of ``sensitivity.SUMS``.
        draws: the resamples.
    """
    found = sensitivity_claims.answers(groups.labels, points(), frames, draws)
    verdicts = [
        verdict
        for base in BASES
        for verdict in sensitivity_claims.decide(base, found, two_at_once=base is BASES[0])
    ]
    return Studied(pool, groups, found, tuple(verdicts))


def study(log: str, pools: Sequence[Studied], backfills: Sequence[Backfill], draws: Draws) -> Study:
    """The study of a log.

    Args:
        log: the cluster's name.
        pools: its pools.
        backfills: who might start before others, in each pool.
        draws: how resamples were drawn.
    """
    several = len(pools) > 1
    sections = [
        Section(
            f"Pool {wording.name(of.pool.name)}: {title}" if several else title,
            parts,
        )
        for number, of in enumerate(pools, start=1)
        for title, parts in _parts(of, f"{number}-" if several else "")
    ]
    return Study(
        key="sensitivity",
        title=f"How far fairshare's settings matter on {wording.name(log)}",
        lead=_lead(pools),
        sections=(*sections, Section("How to read it", _READ), Section("Errata", _ERRATA)),
        settings=(
            ("Log", wording.name(log)),
            ("Policy", ", ".join(f"fairshare-{one.value}" for one in dict.fromkeys(backfills))),
            ("Groups by", ", ".join(dict.fromkeys(_BY[of.groups.by] for of in pools))),
            *(
                (
                    f"Fixed values after {base.name}",
                    f"interval {base.interval_days} d, depth {base.depth}, decay {base.decay:g}",
                )
                for base in BASES
            ),
            draws.intervals("resamples of users (of days where a figure is of the pool)"),
        ),
        sources=(SOURCE,),
    )


def _lead(pools: Sequence[Studied]) -> str:
    verdicts = [verdict for of in pools for verdict in of.verdicts]
    number = {holds: sum(one.holds is holds for one in verdicts) for holds in Holds}
    of = pools[0]
    base = sensitivity.sweeps(BASES[0])
    moved = {
        sweep.key: abs(sensitivity_claims.changes(of.found, sweep).dominant.value)
        for sweep in base
        if sweep.key != "arrivals"
    }
    most = max(moved, key=lambda key: moved[key])
    return (
        f"Of {len(verdicts)} conclusions of [B], {number[Holds.yes]} hold on this log, "
        f"{number[Holds.no]} do not, {number[Holds.undecided]} cannot be decided. What moves the "
        f"largest group most is the setting of its {most}: its mean response changes by "
        f"{wording.duration(moved[most])}."
    )


def _parts(of: Studied, prefix: str) -> list[tuple[str, tuple[str | Table | Chart, ...]]]:
    return [
        ("What [B] concludes", (_VERDICTS, _verdicts(of, prefix))),
        ("The groups", (_groups_text(of), _groups(of, prefix))),
        *(
            (
                f"One at a time, after {base.name}",
                (
                    _ONE,
                    _lines(of, base, prefix),
                    _figures(of, base, prefix),
                    _changes(of, base, prefix),
                ),
            )
            for base in BASES
        ),
        (
            "Two at once",
            (
                _TWO,
                *(_heat(of, plane, prefix) for plane in sensitivity.planes(BASES[0])),
                _planes(of, prefix),
            ),
        ),
        ("More arrivals", (_MORE, _arrivals(of, prefix))),
    ]


_VERDICTS: Final = (
    "Each conclusion is decided by a stated comparison and its 95 % interval: yes where the whole "
    "interval is on its side, no where none of it is, undecided in between. A change is the rise "
    "of the straight line through all runs, from the first value to the last."
)


def _verdicts(of: Studied, prefix: str) -> Table:
    return Table(
        f"{prefix}verdicts",
        "Does it hold on this log?",
        (
            Column("Conclusion", "claim", "text"),
            Column("Holds", "holds", "text"),
            Column("Because", "because", "text"),
            Column("In", "source", "text"),
        ),
        tuple((one.claim, one.holds.value, one.because, one.source) for one in of.verdicts),
    )


def _labels(of: Studied) -> Sequence[str]:
    """The groups as they are called."""
    if of.groups.by == "width_class":
        return [wording.width(label) for label in of.groups.labels]
    return of.groups.labels


def _named(of: Studied) -> list[str]:
    """The groups as a chart or a title has room for."""
    return [wording.name(label, 24) for label in _labels(of)]


def _groups_text(of: Studied) -> str:
    return (
        f"Attempts are put together by {_BY[of.groups.by]}. The group of the largest area, "
        f"{_named(of)[0]}, is what [B] calls dominant. Targets are shares of "
        "the area (run 3); runs 2 and 1 give the largest group 10 and 20 points more."
    )


def _groups(of: Studied, prefix: str) -> Table:
    total = sum(of.groups.areas)
    wanted = [sensitivity.targets(of.groups.areas, run) for run in RUNS]
    base = of.found.of[Point(*BASES[0][1:])]
    return Table(
        f"{prefix}groups",
        "Groups and their targets",
        (
            Column("Group", "group", "text"),
            Column("Attempts", "attempts", "count"),
            Column("Share of the area", "area_share", "percent"),
            *(Column(f"Target, run {run}", f"target_run_{run}", "percent") for run in RUNS),
        ),
        tuple(
            (
                label,
                int(base.attempts[group].sum()),
                of.groups.areas[group] / total,
                *(shares[group] for shares in wanted),
            )
            for group, label in enumerate(_labels(of))
        ),
    )


_ONE: Final = (
    "One setting is varied and the others stay at the paper's fixed values. The lines show how far "
    "each group's mean response is from what it is at the fixed values."
)


def _lines(of: Studied, base: Base, prefix: str) -> Chart:
    labels = wording.told_apart(_named(of))
    fixed = of.found.of[Point(*base[1:])]
    shown: list[Spec] = []
    said = []
    for sweep in sensitivity.sweeps(base):
        if sweep.key == "arrivals":
            continue
        for group, label in enumerate(labels):
            at = fixed.mean_response(group)
            for value, point in zip(sweep.values, sweep.points, strict=True):
                mean = of.found.of[point].mean_response(group)
                if at and mean is not None:
                    apart = round(mean / at - 1, 4)
                    shown.append({"of": sweep.title, "group": label, "x": value, "y": apart})
        ends = [
            of.found.of[point].mean_response(0) for point in (sweep.points[0], sweep.points[-1])
        ]
        said.append(
            f"{sweep.title} {sweep.values[0]:g} to {sweep.values[-1]:g}: {labels[0]} "
            f"{wording.duration(ends[0])} to {wording.duration(ends[1])}"
        )
    titles = [sweep.title for sweep in sensitivity.sweeps(base) if sweep.key != "arrivals"]
    key = base.name.lower().replace(" ", "_")
    title = f"Mean response of each group, from that at {base.name}'s fixed values"
    alt = f"Line charts, one for each setting. {title}. {'; '.join(said)}."
    return _panels(f"{prefix}one_{key}", title, alt, shown, titles, labels)


def _panels(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Spec],
    titles: Sequence[str],
    labels: Sequence[str],
) -> Chart:
    """Lines of the groups, in panels side by side that share their vertical axis."""
    scale = {"domain": list(labels), "range": list(_COLOURS[: len(labels)])}
    dash = {"domain": list(labels), "range": [list(one) for one in _DASHES[: len(labels)]]}
    legend = {"title": None, "orient": "top", "symbolType": "stroke"}
    gap = 16
    width = (series.PIXELS + gap) // 2 - gap
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 22}},
        "encoding": {
            "x": {
                "field": "x",
                "type": "ordinal",
                "title": None,
                "axis": {"labelAngle": 0, "labelOverlap": True},
            },
            "y": {"field": "y", "type": "quantitative", "title": None, "axis": {"format": "+.0%"}},
            "color": {"field": "group", "type": "nominal", "scale": scale, "legend": legend},
            "strokeDash": {"field": "group", "type": "nominal", "scale": dash, "legend": legend},
            "tooltip": [
                {"field": "group", "title": "Group"},
                {"field": "x", "title": "Value"},
                {"field": "y", "title": "Mean response", "format": "+.1%"},
            ],
        },
    }
    zero: Spec = {
        "mark": {"type": "rule", "color": INK, "strokeWidth": 1, "strokeDash": [3, 3]},
        "encoding": {"y": {"datum": 0}},
    }
    faceted: Spec = {
        "data": {"values": list(rows)},
        "facet": {
            "field": "of",
            "type": "nominal",
            "title": None,
            "sort": list(titles),
            "header": {
                "labelFont": FONT,
                "labelFontSize": 11,
                "labelColor": INK,
                "labelAnchor": "start",
                "labelLimit": width,
                "labelPadding": 4,
            },
        },
        "columns": 2,  # boot.js fits their width to the page
        "spacing": {"row": 14, "column": gap},
        "resolve": {"scale": {"x": "independent"}, "axis": {"x": "independent"}},
        "spec": {
            "width": width,
            "height": _SMALL,
            "view": {"stroke": RULE},
            "layer": [zero, line],
        },
    }
    return Chart(key, title, alt, {"description": alt, "vconcat": [faceted], "config": config()})


def _figures(of: Studied, base: Base, prefix: str) -> Table:
    swept = [sweep for sweep in sensitivity.sweeps(base) if sweep.key != "arrivals"]
    return _of_sweeps(of, base, swept, f"{prefix}one-{_slug(base)}", "Mean response by group")


def _slug(base: Base) -> str:
    return base.name.lower().replace(" ", "-")


def _of_sweeps(of: Studied, base: Base, swept: Sequence[Sweep], key: str, caption: str) -> Table:
    return Table(
        key,
        f"{caption}, around {base.name}'s fixed values",
        (
            Column("Setting", "setting", "text"),
            Column("Value", "value", "number"),
            *(
                Column(title, label, "duration")
                for title, label in zip(_named(of), of.groups.labels, strict=True)
            ),
            Column("Utilization", "utilization", "percent"),
            Column("Loss of capacity", "loss_of_capacity", "percent"),
        ),
        tuple(
            (
                sweep.key,
                value,
                *(sums.mean_response(group) for group in range(len(of.groups.labels))),
                sums.utilization,
                sums.loss,
            )
            for sweep in swept
            for value, point in zip(sweep.values, sweep.points, strict=True)
            for sums in (of.found.of[point],)
        ),
        note="Utilization and loss of capacity are between the first and the last arrival.",
    )


def _changes(of: Studied, base: Base, prefix: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for sweep in sensitivity.sweeps(base):
        made: Change = sensitivity_claims.changes(of.found, sweep)
        for label, drawn in zip(_labels(of), made.each, strict=True):
            found = drawn.estimate()
            value = None if np.isnan(found.value) else found.value
            rows.append(
                (
                    label,
                    sweep.key,
                    f"{sweep.values[0]:g} to {sweep.values[-1]:g}",
                    value,
                    found.lower,
                    found.upper,
                )
            )
    return Table(
        f"{prefix}changes-{_slug(base)}",
        "How far each setting changes each group's mean response",
        (
            Column("Group", "group", "text"),
            Column("Setting", "setting", "text"),
            Column("Values", "values", "text"),
            Column("Change", "change_s", "duration"),
            Column("From", "lower_s", "duration"),
            Column("To", "upper_s", "duration"),
        ),
        tuple(rows),
        note="The rise of the line through all runs, with its 95 % interval.",
    )


_TWO: Final = (
    "Interval and depth, and interval and decay, varied together; all else at Red Diamond's fixed "
    "values."
)


def _heat(of: Studied, plane: Plane, prefix: str) -> Chart:
    everybody = range(1, len(of.groups.labels))
    names = (_named(of)[0], "all others")
    cells: list[Spec] = []
    values: dict[str, list[float]] = {name: [] for name in names}
    found: list[tuple[str, str, str, float]] = []
    for row, line in enumerate(plane.points):
        for column, point in enumerate(line):
            for name, groups in zip(names, ((0,), everybody), strict=True):
                mean = sensitivity_claims.responses(of.found, [point], groups)[0].value
                other = sensitivity.sweeps(BASES[0])[1 if plane.other == "depth" else 2]
                found.append((name, f"{column + 1}", f"{other.values[row]:g}", mean))
                values[name].append(mean)
    fixed = {
        name: sensitivity_claims.responses(of.found, [Point(*BASES[0][1:])], groups)[0].value
        for name, groups in zip(names, ((0,), everybody), strict=True)
    }
    least = min(mean / fixed[name] for name, _, _, mean in found)
    for name, x, y, mean in found:
        ratio = mean / fixed[name]
        cells.append(
            {
                "of": name,
                "x": int(x),
                "y": y,
                "value": round(ratio - least, 4),
                "known": True,
                "says": wording.duration(mean),
            }
        )
    title = f"Mean response by {plane.one} (days, across) and {plane.other} (down)"
    said = "; ".join(
        f"{name} {wording.duration(min(of_name))} to {wording.duration(max(of_name))}"
        for name, of_name in values.items()
    )
    rows = list(dict.fromkeys(y for _, _, y, _ in found))
    return heat_map(
        f"{prefix}{plane.key}".replace("-", "_"),
        title,
        f"Heat maps. {title}. {said}.",
        cells,
        Layout(names, rows, "Interval, days"),
        Colours(f"Above the least, {wording.percent(least)} of that at the fixed values"),
    )


def _planes(of: Studied, prefix: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    everybody = range(1, len(of.groups.labels))
    for plane in sensitivity.planes(BASES[0]):
        for line in plane.points:
            for point in line:
                means = [
                    sensitivity_claims.responses(of.found, [point], groups)[0].value
                    for groups in ((0,), everybody)
                ]
                sums = of.found.of[point]
                rows.append(
                    (
                        plane.key,
                        point.interval_days,
                        point.depth,
                        point.decay,
                        *means,
                        sums.utilization,
                        sums.loss,
                    )
                )
    return Table(
        f"{prefix}two-at-once",
        "Two settings at once",
        (
            Column("Varied", "varied", "text"),
            Column("Interval, days", "interval_days", "count"),
            Column("Depth", "depth", "count"),
            Column("Decay", "decay", "number"),
            Column("Largest group", "largest_group", "duration"),
            Column("All others", "all_others", "duration"),
            Column("Utilization", "utilization", "percent"),
            Column("Loss of capacity", "loss_of_capacity", "percent"),
        ),
        tuple(rows),
        shown=0,
    )


_MORE: Final = (
    "The same attempts arrive up to half as fast again: all instants are moved towards the first "
    "arrival, run times and walltimes stay."
)


def _arrivals(of: Studied, prefix: str) -> Table:
    base = BASES[0]
    swept = [sweep for sweep in sensitivity.sweeps(base) if sweep.key == "arrivals"]
    return _of_sweeps(of, base, swept, f"{prefix}arrivals", "Mean response by group")


_READ: Final = (
    "Every run replays the whole log: arrivals, run times and walltimes are those of the log, and "
    "who is served first is whose group is furthest below its target. Response is from arrival to "
    "end; attempts that never started in the log take no part.",
    "[B] draws its jobs from a model, we replay a log. Where all that arrives is run soon after, "
    "utilization is what was offered, whatever the order; loss of capacity tells what idled while "
    "somebody waited.",
    "A group's target is its share of the whole log. So the longer usage is remembered, the nearer "
    "each group's usage is to its target, and the less fairshare has to say: settings that forget "
    "slowly bring the order closer to that of arrival. [B]'s explanation, that longer memory makes "
    "the largest group's usage larger, overlooks that everyone's grows with it.",
)

_ERRATA: Final = (
    "[B] §2.1: its own equation and Table 1 give 46.97 % at depth 4 and 45.64 % at depth 3, not "
    "the printed 47.91 % and 38.65 %; the conclusion drawn there does not follow.",
    "[B]'s eq. 1 sums to N, which is depth − 1. The runs of its Table 9 sum to 99; here targets "
    "sum to 100. Its “24 times” (§3.2.2) is 18.2.",
)
