"""The page of the study of fairshare's settings (``studies.sensitivity.compute``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from audit.metrics.draws import Draws
from audit.metrics.verdicts import Estimate, Holds, Verdict, tally
from audit.model import Backfill, Pool
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.style import Chart
from audit.report.study.charts import Colours, Layout, Values, heat_map, several
from audit.report.study.page import (
    Column,
    Columns,
    Section,
    Study,
    Table,
    by_pool,
    interval,
    table,
    verdict_table,
)
from audit.report.text import wording
from audit.studies.sensitivity.claims import Answers, Sums, changes
from audit.studies.sensitivity.compute import (
    BASES,
    RUNS,
    Base,
    Groups,
    Plane,
    Point,
    Sweep,
    planes,
    sweeps,
    targets,
)

SOURCE: Final = "[B] H. Bui et al., Fairshare Scheduling – A Case Study."

_BY: Final = {"account": "account", "user": "user", "width_class": "width class"}


class Results(NamedTuple):
    """A pool, and what its log came to under all settings."""

    pool: Pool
    groups: Groups
    answers: Answers
    verdicts: Sequence[Verdict]

    @property
    def labels(self) -> Sequence[str]:
        """The groups as they are called."""
        if self.groups.by == "width_class":
            return [wording.width(label) for label in self.groups.labels]
        return self.groups.labels

    @property
    def short_labels(self) -> list[str]:
        """The groups as a chart or a title has room for."""
        return [wording.name(label, 24) for label in self.labels]


def study(log: str, pools: Sequence[Results], backfills: Sequence[Backfill], draws: Draws) -> Study:
    """The study of the cluster ``log``; ``backfills`` are those of its pools."""
    return Study(
        key="sensitivity",
        title=f"How far fairshare's settings matter on {wording.name(log)}",
        lead=_lead(pools),
        sections=(
            *by_pool([(results.pool.name, _sections(results)) for results in pools]),
            Section("How to read it", _READ),
            Section("Errata", _ERRATA),
        ),
        settings=(
            ("Log", wording.name(log)),
            ("Policy", ", ".join(f"fairshare-{one.value}" for one in dict.fromkeys(backfills))),
            ("Groups by", ", ".join(dict.fromkeys(_BY[results.groups.by] for results in pools))),
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


def _lead(pools: Sequence[Results]) -> str:
    verdicts = [verdict for results in pools for verdict in results.verdicts]
    counts = tally(verdicts)
    moved = {
        sweep.key: abs(changes(pools[0].answers, sweep).dominant.value)
        for sweep in _without_arrivals(BASES[0])
    }
    most = max(moved, key=lambda key: moved[key])
    return (
        f"Of {len(verdicts)} conclusions of [B], {counts[Holds.yes]} hold on this log, "
        f"{counts[Holds.no]} do not, {counts[Holds.undecided]} cannot be decided. What moves the "
        f"largest group most is the setting of its {most}: its mean response changes by "
        f"{wording.duration(moved[most])}."
    )


def _without_arrivals(base: Base) -> list[Sweep]:
    return [sweep for sweep in sweeps(base) if sweep.key != "arrivals"]


def _sections(results: Results) -> list[Section]:
    """Of one pool."""
    verdicts = verdict_table(("", verdict) for verdict in results.verdicts)
    first = BASES[0]
    arrivals = [sweep for sweep in sweeps(first) if sweep.key == "arrivals"]
    return [
        Section("What [B] concludes", (_VERDICTS, verdicts)),
        Section("The groups", (_groups_text(results), _groups(results))),
        *(
            Section(
                f"One at a time, after {base.name}",
                (
                    _ONE,
                    _lines(results, base),
                    _responses(results, base, _without_arrivals(base), f"one-{_slug(base)}"),
                    _changes(results, base),
                ),
            )
            for base in BASES
        ),
        Section(
            "Two at once",
            (_TWO, *(_heat(results, plane) for plane in planes(first)), _planes(results)),
        ),
        Section("More arrivals", (_MORE, _responses(results, first, arrivals, "arrivals"))),
    ]


def _slug(base: Base) -> str:
    return base.name.lower().replace(" ", "-")


_VERDICTS: Final = (
    "Each conclusion is decided by a stated comparison and its 95 % interval: yes where the whole "
    "interval is on its side, no where none of it is, undecided in between. A change is the rise "
    "of the straight line through all runs, from the first value to the last."
)


# --- the groups ----------------------------------------------------------------------------------


def _groups_text(results: Results) -> str:
    return (
        f"Attempts are put together by {_BY[results.groups.by]}. The group of the largest area, "
        f"{results.short_labels[0]}, is what [B] calls dominant. Targets are shares of "
        "the area (run 3); runs 2 and 1 give the largest group 10 and 20 points more."
    )


_GROUP: Final[Columns[Mapping[str, Any]]] = (
    Column("Group", "group", "text"),
    Column("Attempts", "attempts", "count"),
    Column("Share of the area", "area_share", "percent"),
    *(Column(f"Target, run {run}", f"target_run_{run}", "percent") for run in RUNS),
)


def _groups(results: Results) -> Table:
    areas = results.groups.areas
    wanted = {f"target_run_{run}": targets(areas, run) for run in RUNS}
    attempts = results.answers.sums[BASES[0].point].attempts
    rows = [
        {
            "group": label,
            "attempts": int(attempts[group].sum()),
            "area_share": areas[group] / sum(areas),
            **{name: shares[group] for name, shares in wanted.items()},
        }
        for group, label in enumerate(results.labels)
    ]
    return table("groups", "Groups and their targets", _GROUP, rows)


# --- one setting at a time -----------------------------------------------------------------------

_ONE: Final = (
    "One setting is varied and the others stay at the paper's fixed values. The lines show how far "
    "each group's mean response is from what it is at the fixed values."
)


class _Moved(NamedTuple):
    """By what part a group's mean response lies above that at the fixed values."""

    setting: str
    group: str
    value: float
    """Of the setting."""
    apart: float


def _lines(results: Results, base: Base) -> Chart:
    """Lines of the groups, a panel for each setting; panels share their vertical axis."""
    labels = wording.told_apart(results.short_labels)
    swept = _without_arrivals(base)
    moved = [
        _Moved(sweep.title, label, value, round(beside - 1, 4))
        for sweep in swept
        for group, label in enumerate(labels)
        for value, point in zip(sweep.values, sweep.points, strict=True)
        if (beside := results.answers.beside(point, base.point, group)) is not None
    ]
    in_words = []
    for sweep in swept:
        first, last = (
            wording.duration(results.answers.sums[point].mean_response(0))
            for point in (sweep.points[0], sweep.points[-1])
        )
        in_words.append(
            f"{sweep.title} {sweep.values[0]:g} to {sweep.values[-1]:g}: {labels[0]} "
            f"{first} to {last}"
        )
    y = scales.linear([one.apart for one in moved], scales.percent)
    panels = [
        _panel([one for one in moved if one.setting == sweep.title], sweep.title, y, labels)
        for sweep in swept
    ]
    body, height = lines.drawn(panels, height=130, abreast=2)
    shows = f"Mean response of each group, from that at {base.name}'s fixed values"
    return Chart(
        f"one_{_slug(base).replace('-', '_')}",
        _furthest(moved),
        f"Line charts, one for each setting. {shows}. {'; '.join(in_words)}.",
        body,
        height,
        f"{shows}.",
    )


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
    targets = [
        Target(
            at - 0.5,
            at + 0.5,
            f"{setting} {value:g}: "
            + ", ".join(f"{one.group} {one.apart:+.1%}" for one in moved if one.value == value),
        )
        for value, at in place.items()
    ]
    return Panel(x, y, drawn, setting, targets, level=0.0)


def _furthest(moved: Sequence[_Moved]) -> str:
    """Which setting moves a group's mean response furthest."""
    if not moved:
        return "No group has responses to compare"
    most = max(moved, key=lambda one: abs(one.apart))
    side = "more" if most.apart > 0 else "less"
    by = wording.rough_percent(abs(most.apart))
    return f"{most.setting} moves most: {most.group} {by} {side} at {most.value:g}"


class _Run(NamedTuple):
    """One setting, and what it came to."""

    setting: str
    value: float
    point: Point
    sums: Sums


_OF_POOL: Final[Columns[_Run]] = (
    Column("Utilization", "utilization", "percent", lambda run: run.sums.utilization),
    Column("Loss of capacity", "loss_of_capacity", "percent", lambda run: run.sums.loss),
)


def _response(title: str, name: str, groups: Sequence[int]) -> Column[_Run]:
    return Column(title, name, "duration", lambda run: run.sums.mean_response(*groups))


def _responses(results: Results, base: Base, swept: Sequence[Sweep], key: str) -> Table:
    columns: Columns[_Run] = (
        Column("Setting", "setting", "text"),
        Column("Value", "value"),
        *(
            _response(title, label, [group])
            for group, (title, label) in enumerate(
                zip(results.short_labels, results.groups.labels, strict=True)
            )
        ),
        *_OF_POOL,
    )
    return table(
        key,
        f"Mean response by group, around {base.name}'s fixed values",
        columns,
        [
            _Run(sweep.key, value, point, results.answers.sums[point])
            for sweep in swept
            for value, point in zip(sweep.values, sweep.points, strict=True)
        ],
        note="Utilization and loss of capacity are between the first and the last arrival.",
    )


_Changed = tuple[str, Sweep, Estimate]
"""A group, and what varying a setting does to it."""

_CHANGED: Final[Columns[_Changed]] = (
    Column("Group", "group", "text", lambda row: row[0]),
    Column("Setting", "setting", "text", lambda row: row[1].key),
    Column(
        "Values", "values", "text", lambda row: f"{row[1].values[0]:g} to {row[1].values[-1]:g}"
    ),
    *interval(
        lambda row: row[2],
        Column("Change", "change_s", "duration"),
        Column("From", "lower_s", "duration"),
        Column("To", "upper_s", "duration"),
    ),
)


def _changes(results: Results, base: Base) -> Table:
    rows = [
        (label, sweep, change.estimate())
        for sweep in sweeps(base)
        for label, change in zip(results.labels, changes(results.answers, sweep).each, strict=True)
    ]
    return table(
        f"changes-{_slug(base)}",
        "How far each setting changes each group's mean response",
        _CHANGED,
        rows,
        note="The rise of the line through all runs, with its 95 % interval.",
    )


# --- two settings at once ------------------------------------------------------------------------

_TWO: Final = (
    "Interval and depth, and interval and decay, varied together; all else at Red Diamond's fixed "
    "values."
)


def _heat(results: Results, plane: Plane) -> Chart:
    fixed = BASES[0].point
    answers = results.answers
    groups = {results.short_labels[0]: (0,), "all others": tuple(answers.others)}
    [rows] = (sweep.values for sweep in sweeps(BASES[0]) if sweep.key == plane.other)
    means: dict[str, list[float]] = {name: [] for name in groups}
    cells: list[Values] = []
    for row, line in zip(rows, plane.points, strict=True):
        for column, point in enumerate(line, start=1):
            for name, of in groups.items():
                mean = answers.sums[point].mean_response(*of) or 0.0
                means[name].append(mean)
                cells.append(
                    {
                        "of": name,
                        "x": column,
                        "y": f"{row:g}",
                        "known": True,
                        "value": answers.beside(point, fixed, *of) or 0.0,
                        "says": wording.duration(mean),
                    }
                )
    least = min(cell["value"] for cell in cells)
    cells = [cell | {"value": round(cell["value"] - least, 4)} for cell in cells]
    shows = f"Mean response by {plane.one} (days, across) and {plane.other} (down)"
    in_words = "; ".join(
        f"{name} {wording.duration(min(of_name))} to {wording.duration(max(of_name))}"
        for name, of_name in means.items()
    )
    return heat_map(
        plane.key.replace("-", "_"),
        f"Mean response: {in_words}",
        f"Heat maps. {shows}. {in_words}.",
        cells,
        Layout(list(groups), [f"{row:g}" for row in rows], "Interval, days"),
        Colours(f"{shows}; above the least, {wording.percent(least)} of that at the fixed values"),
    )


def _planes(results: Results) -> Table:
    columns: Columns[_Run] = (
        Column("Varied", "varied", "text", lambda run: run.setting),
        Column("Interval, days", "interval_days", "count", lambda run: run.point.interval_days),
        Column("Depth", "depth", "count", lambda run: run.point.depth),
        Column("Decay", "decay", "number", lambda run: run.point.decay),
        _response("Largest group", "largest_group", [0]),
        _response("All others", "all_others", results.answers.others),
        *_OF_POOL,
    )
    runs = [
        _Run(plane.key, 0, point, results.answers.sums[point])
        for plane in planes(BASES[0])
        for line in plane.points
        for point in line
    ]
    return table("two-at-once", "Two settings at once", columns, runs, shown=0)


# --- texts ---------------------------------------------------------------------------------------

_MORE: Final = (
    "The same attempts arrive up to half as fast again: all instants are moved towards the first "
    "arrival, run times and walltimes stay."
)
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
