"""The charts of one pool.

One Vega-Lite specification per chart gives the still picture (SVG: for the PDF, for print, and
where no script runs) and the interactive chart of the HTML page. Colours are those of Okabe and
Ito, which people with the usual kinds of colour blindness can tell apart; no chart relies on
colour alone. Each chart is described in words for those who cannot see it.

Written as Vega-Lite by hand, as all charts of a report: the library that writes it takes longer to
load than all of them to draw.
"""

from typing import Any, Final

from audit.report.charts import miss as miss_chart
from audit.report.charts import series, style
from audit.report.charts.style import BLUE, INK, RULE, SCHEMA, VERMILION, Chart, Spec
from audit.report.contents import PoolPart
from audit.report.text import wording

_WIDTH: Final = series.PIXELS


def of_pool(pool: PoolPart) -> dict[str, Chart]:
    """The charts of one pool by key; a chart that has nothing to draw is left out."""
    made = (
        miss_chart.miss(pool),
        miss_chart.missed(pool),
        miss_week(pool),
        shortfall_share(pool),
        shortfall(pool),
        nuwt(pool),
        waits(pool),
        week(pool),
        utilization(pool),
        queued(pool),
    )
    return {chart.key: chart for chart in made if chart is not None}


# --- resource equality -----------------------------------------------------------------------


def shortfall_share(pool: PoolPart) -> Chart | None:
    """What each width class went short of, as a share of what it consumed."""
    return _bars(
        "shortfall_share",
        "Shortfall by width class, relative to use",
        series.shortfalls(pool, "re_unfairness_share", 1),
        f"Width class ({wording.resource(pool.resource)}s)",
        "Shortfall (% of what was consumed)",
        "%",
        wording.percent,
    )


def shortfall(pool: PoolPart) -> Chart | None:
    """What an attempt of each width class went short of, in resource-hours."""
    unit = f"{wording.resource(pool.resource)}-hours"
    return _bars(
        "shortfall",
        "Shortfall by width class, per attempt",
        series.shortfalls(pool, "re_unfairness", 3_600),
        f"Width class ({wording.resource(pool.resource)}s)",
        f"Shortfall ({unit} per attempt)",
        ",.3~r",
        lambda value: f"{wording.number(value)} {unit}",
    )


def _bars(
    key: str, title: str, rows: list[Spec], x_title: str, y_title: str, axis_format: str, say: Any
) -> Chart | None:
    if not rows:
        return None
    x = _widths(x_title)
    few = any(row["sample"] == series.FEW for row in rows)
    bars: Spec = {
        "mark": {"type": "bar", "color": BLUE, "width": {"band": 0.62}},
        "encoding": {
            "opacity": {
                "field": "sample",
                "legend": _LEGEND if few else None,
                "scale": {"domain": [series.ENOUGH, series.FEW], "range": [1, 0.4]},
                "title": None,
                "type": "ordinal",  # opacities have an order
            },
            "tooltip": [
                _tip("width", x_title),
                _tip("value", y_title, axis_format.replace("%", ".1%")),
                _tip("attempts", "Attempts", ","),
            ],
            "x": x,
            "y": {
                "axis": {"format": axis_format, "tickCount": 5},
                **_amount("value", y_title),
            },
        },
    }
    spread: Spec = {
        "mark": {"type": "rule", "color": INK, "strokeWidth": 1.5},
        "encoding": {
            "x": x,
            "y": _amount("lower", y_title),  # another title would name the axis twice
            "y2": {"field": "upper"},
        },
        "transform": [{"filter": "isValid(datum.lower) && isValid(datum.upper)"}],
    }
    highest = max(rows, key=lambda row: float(row["value"]))
    alt_text = (
        f"Bar chart. {title}, for {len(rows)} width classes, narrow to wide; "
        f"lines are 95 % intervals. Highest: {highest['width']} with {say(highest['value'])}. "
        "The table beside it holds every value."
    )
    return _layered(key, title, alt_text, rows, [bars, spread])


# --- users -----------------------------------------------------------------------------------


def nuwt(pool: PoolPart) -> Chart | None:
    """The cumulative distribution of NUWT over users and over accounts, cut at 10."""
    rows: list[Spec] = []
    said = []
    drawn = []
    end = series.nuwt_end((pool.users, pool.accounts))
    for of, label, colour, dash in (
        (pool.users, "users", BLUE, [1, 0]),
        (pool.accounts, "accounts", VERMILION, [6, 3]),
    ):
        if not of.cdf:
            continue
        rows += [{"of": label, **step} for step in series.nuwt_steps(of, end)]
        drawn.append((label, colour, dash))
        tenth = end / 10
        share = wording.percent(series.share_up_to(of, tenth))
        said.append(f"{share} of {label} have at most {wording.number(tenth)}")
    if not rows:
        return None
    resource = wording.resource(pool.resource)
    labels = [label for label, _, _ in drawn]
    cut = f", cut at {series.NUWT_CUT}" if end == series.NUWT_CUT else ""
    encoding: Spec = {
        "color": _told_apart(labels, [colour for _, colour, _ in drawn]),
        "strokeDash": _told_apart(labels, [dash for _, _, dash in drawn]),
        "x": {
            "field": "nuwt",
            "scale": {"domain": [0, end], "nice": False},
            "title": f"NUWT (s per {resource}-second){cut}",
            "type": "quantitative",
        },
        "y": {
            "axis": {"format": "%", "tickCount": 5},
            "field": "share",
            "scale": {"domain": [0, 1]},
            "title": "Share with at most this NUWT",
            "type": "quantitative",
        },
    }
    mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    alt_text = (
        f"Line chart. Cumulative distribution of NUWT, from 0 to {wording.number(end)}: "
        + "; ".join(said)
        + ". The table beside it holds mean, median and quartiles."
    )
    title = "Distribution of NUWT over users and accounts"
    return _single("nuwt", title, alt_text, rows, mark, encoding, 260)


# --- waits -----------------------------------------------------------------------------------

_TICKS: Final = (
    (0, "0"),
    (60, "1 min"),
    (600, "10 min"),
    (3_600, "1 h"),
    (21_600, "6 h"),
    (86_400, "1 d"),
    (345_600, "4 d"),
    (1_382_400, "16 d"),
    (5_529_600, "64 d"),
)


def waits(pool: PoolPart) -> Chart | None:
    """Median, mean and 90th percentile of the wait by width class."""
    rows = series.waits(pool)
    if not rows:
        return None
    x_title = f"Width class ({wording.resource(pool.resource)}s)"
    y_title = "Wait (logarithmic above 1 min)"
    x = _widths(x_title)
    stems: Spec = {
        "mark": {"type": "rule", "color": RULE, "strokeWidth": 2},
        "encoding": {
            "x": x,
            "y": {"aggregate": "min", **_amount("wait", y_title)},
            "y2": {"aggregate": "max", "field": "wait"},
        },
    }
    labels = list(series.WAITS)
    points: Spec = {
        "mark": {"type": "point", "filled": True, "opacity": 1, "size": 70},
        "encoding": {
            "color": _told_apart(labels, [BLUE, INK, VERMILION]),
            "shape": _told_apart(labels, ["circle", "square", "triangle-up"]),
            "tooltip": [_tip("width", x_title), _tip("of", "Of the waits"), _tip("says", "Wait")],
            "x": x,
            "y": _wait_axis(y_title, max(float(row["wait"]) for row in rows)),
        },
    }
    highest = max(rows, key=lambda row: float(row["wait"]))
    alt_text = (
        "Point chart. Median, mean and 90th percentile of the wait for each width class. "
        f"Highest: {highest['of']} of class {highest['width']}, {highest['says']}. "
        "The table beside it holds every value."
    )
    return _layered("waits", "Waits by width class", alt_text, rows, [stems, points])


def _wait_axis(title: str, longest: float) -> Spec:
    """Waits of 0 are common, so it is linear up to a minute and logarithmic beyond."""
    ticks = [tick for tick, _ in _TICKS if tick <= longest * 1.5] or [0, 60]
    said = " : ".join(f"datum.value == {tick} ? '{text}'" for tick, text in _TICKS)
    domain = [0, max(longest * 1.2, 60)]
    return {
        "axis": {
            "labelExpr": f"{said} : ''",
            "labelOverlap": False,
            "tickCount": len(ticks),
            "values": ticks,
        },
        "field": "wait",
        "scale": {"constant": 60, "domain": domain, "nice": False, "type": "symlog"},
        "title": title,
        "type": "quantitative",
    }


def week(pool: PoolPart) -> Chart | None:
    """Mean wait by weekday and hour of arrival, local time."""
    return _week("week", "wait", series.week(pool))


def miss_week(pool: PoolPart) -> Chart | None:
    """Mean strict miss by weekday and hour of arrival, where some hours can be told apart."""
    cells = series.week(pool, "miss_strict_mean")
    if cells is None or not cells.most or not cells.told_apart:
        return None
    return _week("miss_week", "strict miss", cells)


def _week(key: str, what: str, cells: series.Week | None) -> Chart | None:
    if cells is None:
        return None
    grey = f"; grey: {series.FEW}" if cells.some_grey else ""
    mean: Spec = {
        "test": "datum.sound",
        "field": "mean",
        "legend": {
            "gradientLength": 180,
            "orient": "top",
            "tickCount": 4,
            "title": f"Mean {what} ({cells.unit}){grey}",
            "titleLimit": 400,
        },
        "scale": {"clamp": True, "domain": [0, cells.most or 1], "scheme": "blues"},
        "type": "quantitative",
    }
    encoding: Spec = {
        "color": {"condition": mean, "value": "#d9dde2"},
        "tooltip": [
            _tip("weekday", "Day"),
            {"field": "hour", "title": "Hour", "type": "ordinal"},
            _tip("says", f"Mean {what}"),
            _tip("attempts", "Attempts", ","),
        ],
        "x": {
            "axis": {"domain": False, "labelAngle": 0, "labelOverlap": True, "ticks": False},
            "field": "hour",
            "scale": {"domain": list(range(24))},
            "title": "Hour of arrival (local time)",
            "type": "ordinal",
        },
        "y": {
            "axis": {"domain": False, "ticks": False},
            "field": "weekday",
            "scale": {"domain": list(series.WEEKDAYS)},
            "title": None,
            "type": "ordinal",
        },
    }
    mark = {"type": "rect", "stroke": "#ffffff", "strokeWidth": 1}
    worst = max((row for row in cells.rows if row["sound"]), key=lambda row: float(row["mean"]))
    alt_text = (
        f"Heat map. Mean {what} by weekday and hour of arrival, local time. Longest for arrivals "
        f"on {worst['weekday']} between {worst['hour']} and {worst['hour'] + 1} o'clock: "
        f"{worst['says']}."
    )
    title = f"Mean {what} by hour of arrival in the week"
    return _single(key, title, alt_text, list(cells.rows), mark, encoding, 190)


# --- the pool over time ----------------------------------------------------------------------


def utilization(pool: PoolPart) -> Chart | None:
    """Utilization per day."""
    return _over_days(
        pool,
        "utilization",
        "utilization",
        1,
        "Utilization per day",
        "Busy share of the pool",
        BLUE,
        1.0,
    )


def queued(pool: PoolPart) -> Chart | None:
    """Mean size of the queue per day, in multiples of the pool."""
    return _over_days(
        pool,
        "queued",
        "queued_mean",
        pool.capacity,
        "Queue per day",
        "Queued (% of the pool)",
        VERMILION,
        0.01,
    )


def _over_days(
    pool: PoolPart,
    key: str,
    metric: str,
    unit: float,
    title: str,
    y_title: str,
    colour: str,
    top: float,
) -> Chart | None:
    daily = series.days(pool, metric, unit)
    if not daily:
        return None
    points = series.by_week(daily)
    if len(points) < len(daily):
        y_title = f"{y_title}, weekly mean"
    rows = [{"day": day, "value": value} for day, value in points]
    encoding: Spec = {
        "tooltip": [_tip("day", "Day"), _tip("value", y_title, ".1%")],
        "x": _days_axis(len(daily)),
        "y": {
            "axis": {"format": "%", "tickCount": 5},
            "field": "value",
            "scale": {"domain": [0, max(top, *(value for _, value in points))]},
            "title": y_title,
            "type": "quantitative",
        },
    }
    values = [value for _, value in daily]
    day, peak = max(daily, key=lambda point: point[1])
    alt_text = (
        f"Area chart. {title}, {daily[0][0]} to {daily[-1][0]}: mean of the days "
        f"{wording.percent(sum(values) / len(values))}, lowest {wording.percent(min(values))}, "
        f"highest {wording.percent(peak)} on {day}."
    )
    return _single(key, title, alt_text, rows, _area(len(rows), colour), encoding, 170)


def _area(points: int, colour: str) -> Spec:
    """The mark of an area; of a point where there is one alone."""
    if points == 1:
        return {"type": "point", "color": colour, "filled": True, "size": 60}
    return {
        "type": "area",
        "color": colour,
        "interpolate": "step-after",
        "line": {"color": colour, "strokeWidth": 1},
        "opacity": 0.25,
    }


def _days_axis(days: int) -> Spec:
    """Days from left to right; ``days`` of them in all."""
    # UTC on both sides: the labels are days already, and must not move with the reader's zone.
    return {
        "axis": {
            "format": "%b %Y" if days > 120 else "%-d %b",
            "labelOverlap": True,
            "tickCount": 6,
        },
        "field": "day",
        "scale": {"type": "utc"},
        "timeUnit": "utcyearmonthdate",
        "title": None,
        "type": "temporal",
    }


# --- what all charts share -------------------------------------------------------------------

_LEGEND: Final[Spec] = {"labelLimit": 300, "orient": "top"}


def _widths(title: str) -> Spec:
    """Width classes from left to right."""
    return {
        "axis": {"labelOverlap": False, "ticks": False},
        "field": "width",
        "sort": None,
        "title": title,
        "type": "nominal",
    }


def _amount(field: str, title: str) -> Spec:
    return {"field": field, "title": title, "type": "quantitative"}


def _told_apart(labels: list[str], looks: list[Any]) -> Spec:
    """What tells the series apart that ``of`` names."""
    return {
        "field": "of",
        "legend": _LEGEND,
        "scale": {"domain": labels, "range": looks},
        "title": None,
        "type": "nominal",
    }


def _tip(field: str, title: str, number: str | None = None) -> Spec:
    """A line of what the pointer tells: a text, or a number in this format."""
    if number is None:
        return {"field": field, "title": title, "type": "nominal"}
    return {"field": field, "format": number, "title": title, "type": "quantitative"}


def _single(
    key: str,
    title: str,
    alt_text: str,
    rows: list[Spec],
    mark: Spec,
    encoding: Spec,
    height: int,
) -> Chart:
    """A chart of one layer."""
    spec: Spec = {
        "config": _config(),
        "data": {"values": rows},
        "mark": mark,
        "description": alt_text,
        "encoding": encoding,
        **_frame(height),
    }
    return Chart(key, title, alt_text, spec)


def _layered(key: str, title: str, alt_text: str, rows: list[Spec], layers: list[Spec]) -> Chart:
    """A chart of several layers over the same rows."""
    spec: Spec = {
        "config": _config(),
        "layer": layers,
        "data": {"values": rows},
        "description": alt_text,
        **_frame(240),
    }
    return Chart(key, title, alt_text, spec)


def _frame(height: int) -> Spec:
    return {"height": height, "width": _WIDTH, "$schema": SCHEMA}


def _config() -> Spec:
    """What charts look like, and how large one would be that said nothing of its size."""
    looks = style.config()
    view = {"continuousWidth": 300, "continuousHeight": 300, **looks.pop("view")}
    return {"view": view, **looks}
