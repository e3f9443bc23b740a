"""The page of the study of fairshare's settings (``studies.sensitivity.compute``)."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from audit.metrics.claims import ClaimHolds, ClaimVerdict, tally
from audit.metrics.draws import Draws
from audit.model import Backfill, Pool
from audit.report import wording
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.style import Chart
from audit.report.study import layout
from audit.report.study.charts import Layout, Value, heat_map, several
from audit.report.study.page import Columns, Section, Study, TableColumn, by_pool, verdict_table
from audit.studies.sensitivity.claims import SettingResults, changes
from audit.studies.sensitivity.compute import (
    BASES,
    RUNS,
    Base,
    Groups,
    Plane,
    SettingPoint,
    SettingSweep,
    planes,
    sweeps,
    targets,
)

_BY: Final = {"account": "account", "user": "user", "width_class": "width class"}


class SensitivityResults(NamedTuple):
    """A pool, its groups, and the results of all settings."""

    pool: Pool
    groups: Groups
    answers: SettingResults
    verdicts: Sequence[ClaimVerdict]

    @property
    def labels(self) -> Sequence[str]:
        """Names of the groups for readers."""
        if self.groups.by == "width_class":
            return [wording.width(label) for label in self.groups.labels]
        return self.groups.labels

    @property
    def short_labels(self) -> list[str]:
        """Names of the groups that fit into a chart or a title."""
        return [wording.name(label, 24) for label in self.labels]


def study(
    log: str, pools: Sequence[SensitivityResults], backfills: Sequence[Backfill], draws: Draws
) -> Study:
    """Return the study of the cluster ``log``; ``backfills`` are those of its pools."""
    counts = tally(verdict for results in pools for verdict in results.verdicts)
    moved = {
        sweep.key: abs(changes(pools[0].answers, sweep).dominant.value)
        for sweep in _without_arrivals(BASES[0])
    }
    most = max(moved, key=lambda key: moved[key])
    values = {
        "log": wording.name(log),
        "conclusions": sum(counts.values()),
        **{holds.value: counts[holds] for holds in ClaimHolds},
        "most": most,
        "change": wording.duration(moved[most]),
        "policies": ", ".join(f"fairshare-{one.value}" for one in dict.fromkeys(backfills)),
        "groups": ", ".join(dict.fromkeys(_BY[results.groups.by] for results in pools)),
    }
    bases = [
        (
            f"Fixed values after {name}",
            f"interval {at.interval_days} d, depth {at.depth}, decay {at.decay:g}",
        )
        for name, at in BASES
    ]
    units = "resamples of users (of days for figures of the pool)"
    settings = {"bases": bases, "intervals": [draws.intervals(units)]}
    sections = [
        *by_pool([(results.pool.name, _sections(results)) for results in pools]),
        *(layout.section("sensitivity", key, {}, {}) for key in ("read", "errata")),
    ]
    return layout.study("sensitivity", settings, values, sections)


def _without_arrivals(base: Base) -> list[SettingSweep]:
    return [sweep for sweep in sweeps(base) if sweep.key != "arrivals"]


def _sections(results: SensitivityResults) -> list[Section]:
    first, answers = BASES[0], results.answers
    *_, arrivals = sweeps(first)
    parts = {
        "verdicts": verdict_table(("", verdict) for verdict in results.verdicts),
        "groups": _group_rows(results),
        "heat_maps": [_heat(results, plane) for plane in planes(first)],
        "two-at-once": [
            (
                *(plane.key, point.interval_days, point.depth, point.decay),
                answers.sums[point].mean_response(0),
                answers.sums[point].mean_response(*answers.others),
                *_of_pool(answers, point),
            )
            for plane in planes(first)
            for line in plane.points
            for point in line
        ],
        "arrivals": _responses(results, [arrivals]),
    }
    values = {
        "base": first.name,
        "by": _BY[results.groups.by],
        "dominant": results.short_labels[0],
        "runs": " | ".join(f"Target, run {run} <target_run_{run} percent>" for run in RUNS),
    }
    before, after = (
        [layout.section("sensitivity", key, parts, values) for key in keys]
        for keys in (("verdicts", "groups"), ("planes", "arrivals"))
    )
    return [*before, *(_one_at_a_time(results, base) for base in BASES), *after]


def _one_at_a_time(results: SensitivityResults, base: Base) -> Section:
    key = base.name.lower().replace(" ", "-")
    swept = _without_arrivals(base)
    parts = {
        "lines": _lines(results, base, f"one_{key.replace('-', '_')}"),
        f"one-{key}": _responses(results, swept),
        f"changes-{key}": [
            (label, sweep.key, f"{sweep.values[0]:g} to {sweep.values[-1]:g}", *change.estimate())
            for sweep in sweeps(base)
            for label, change in zip(
                results.labels, changes(results.answers, sweep).each, strict=True
            )
        ],
    }
    return layout.section("sensitivity", "base", parts, {"base": base.name, "key": key})


# --- tables --------------------------------------------------------------------------------------


def _group_rows(results: SensitivityResults) -> list[tuple[object, ...]]:
    areas = results.groups.areas
    runs = [targets(areas, run) for run in RUNS]
    attempts = results.answers.sums[BASES[0].point].attempts
    return [
        (
            *(label, int(attempts[group].sum()), areas[group] / sum(areas)),
            *(shares[group] for shares in runs),
        )
        for group, label in enumerate(results.labels)
    ]


def _responses(
    results: SensitivityResults, swept: Iterable[SettingSweep]
) -> tuple[Columns, Sequence[tuple[object, ...]]]:
    answers = results.answers
    named = zip(results.short_labels, results.groups.labels, strict=True)
    titles: Columns = (
        *layout.columns("Setting | Value <number>"),
        *(TableColumn(title, label, "duration") for title, label in named),
        *layout.columns("Utilization <percent> | Loss of capacity <percent>"),
    )
    groups = range(len(answers.labels))
    rows = [
        (
            sweep.key,
            value,
            *(answers.sums[point].mean_response(group) for group in groups),
            *_of_pool(answers, point),
        )
        for sweep in swept
        for value, point in zip(sweep.values, sweep.points, strict=True)
    ]
    return titles, rows


def _of_pool(answers: SettingResults, point: SettingPoint) -> tuple[float | None, float | None]:
    sums = answers.sums[point]
    return sums.utilization, sums.loss


# --- charts --------------------------------------------------------------------------------------


class _Moved(NamedTuple):
    """A group's mean response relative to that at the fixed values, less 1."""

    setting: str
    group: str
    value: float  # of the setting
    apart: float


def _lines(results: SensitivityResults, base: Base, key: str) -> Chart:
    labels = wording.distinct(results.short_labels)
    swept, answers = _without_arrivals(base), results.answers
    moved = [
        _Moved(sweep.title, label, value, round(beside - 1, 4))
        for sweep in swept
        for group, label in enumerate(labels)
        for value, point in zip(sweep.values, sweep.points, strict=True)
        if (beside := answers.beside(point, base.point, group)) is not None
    ]
    in_words = []
    for sweep in swept:
        first, last = (f"{value:g}" for value in (sweep.values[0], sweep.values[-1]))
        shortest, longest = (
            wording.duration(answers.sums[point].mean_response(0))
            for point in (sweep.points[0], sweep.points[-1])
        )
        in_words.append(f"{sweep.title} {first} to {last}: {labels[0]} {shortest} to {longest}")
    y = scales.linear([one.apart for one in moved], scales.percent)
    panels = [
        _panel([one for one in moved if one.setting == sweep.title], sweep.title, y, labels)
        for sweep in swept
    ]
    body, height = lines.drawn(panels, height=130, abreast=2)
    shows = f"Mean response of each group, from that at {base.name}'s fixed values"
    alt = f"Line charts, one for each setting. {shows}. {'; '.join(in_words)}."
    return Chart(key, _furthest(moved), alt, body, height, f"{shows}.")


def _panel(moved: Sequence[_Moved], setting: str, y: scales.Axis, groups: Sequence[str]) -> Panel:
    values = sorted({one.value for one in moved})
    place = {value: float(number) for number, value in enumerate(values)}
    ticks = tuple((at, f"{value:g}") for value, at in place.items())
    x = scales.Axis(-0.3, max(len(values) - 0.7, 0.3), ticks)
    drawn = [
        Line(
            of.name,
            [(place[one.value], one.apart) for one in moved if one.group == of.name],
            of.colour,
            of.dash,
            dotted=True,
        )
        for of in several(groups)
    ]
    tips = {
        value: ", ".join(f"{one.group} {one.apart:+.1%}" for one in moved if one.value == value)
        for value in values
    }
    targets = [
        (at - 0.5, at + 0.5, f"{setting} {value:g}: {tips[value]}") for value, at in place.items()
    ]
    return Panel(x, y, drawn, setting, targets, level=0.0)


def _furthest(moved: Sequence[_Moved]) -> str:
    if not moved:
        return "No group has responses to compare"
    most = max(moved, key=lambda one: abs(one.apart))
    side = "longer" if most.apart > 0 else "shorter"
    by = wording.rough_percent(abs(most.apart))
    at = f"{most.setting}: {most.value:g}"
    return f"Largest effect: the mean response of {most.group} is {by} {side} ({at})"


def _heat(results: SensitivityResults, plane: Plane) -> Chart:
    fixed, answers = BASES[0].point, results.answers
    groups = {results.short_labels[0]: (0,), "all others": tuple(answers.others)}
    [rows] = (sweep.values for sweep in sweeps(BASES[0]) if sweep.key == plane.other)
    means: dict[str, list[float]] = {name: [] for name in groups}
    values: list[Value] = []
    for row, line in zip(rows, plane.points, strict=True):
        for column, point in enumerate(line, start=1):
            for name, of in groups.items():
                mean = answers.sums[point].mean_response(*of) or 0.0
                means[name].append(mean)
                beside = answers.beside(point, fixed, *of) or 0.0
                values.append(Value(name, f"{row:g}", column, beside, wording.duration(mean)))
    least = min(value.value or 0.0 for value in values)
    values = [one._replace(value=round((one.value or 0.0) - least, 4)) for one in values]
    shows = f"Mean response by {plane.one} (days, across) and {plane.other} (down)"
    in_words = "; ".join(
        f"{name} {wording.duration(min(of_name))} to {wording.duration(max(of_name))}"
        for name, of_name in means.items()
    )
    return heat_map(
        plane.key.replace("-", "_"),
        f"Mean response: {in_words}",
        f"Heat maps. {shows}. {in_words}.",
        values,
        Layout(
            list(groups),
            [f"{row:g}" for row in rows],
            "Interval, days",
            f"{shows}; above the least, {wording.percent(least)} of that at the fixed values",
        ),
    )
