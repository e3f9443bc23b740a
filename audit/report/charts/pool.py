"""The charts of one pool.

One Vega-Lite specification per chart gives the still picture (SVG: for the PDF, for print, and
where no script runs) and the interactive chart of the HTML page. Colours are those of Okabe and
Ito, which people with the usual kinds of colour blindness can tell apart; no chart relies on
colour alone. Each chart is described in words for those who cannot see it.
"""

from typing import Any, Final

from audit.report.charts import miss as miss_chart
from audit.report.charts import series, style
from audit.report.charts.style import BLUE, INK, RULE, VERMILION, Chart, Spec
from audit.report.contents import PoolPart
from audit.report.text import wording

_WIDTH: Final = series.PIXELS


def of_pool(pool: PoolPart) -> dict[str, Chart]:
    """The charts of one pool by key; a chart that has nothing to draw is left out."""
    from altair.utils import schemapi

    with schemapi.debug_mode(False):  # checks each part against the schema as it is made: slow
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
    import altair as alt

    x = alt.X(
        "width:N",
        sort=None,
        title=x_title,
        axis=alt.Axis(labelOverlap=False, ticks=False),
    )
    base = alt.Chart(alt.Data(values=rows))
    bars = base.mark_bar(color=BLUE, width={"band": 0.62}).encode(
        x=x,
        y=alt.Y("value:Q", title=y_title, axis=alt.Axis(format=axis_format, tickCount=5)),
        opacity=alt.Opacity(
            "sample:O",
            scale=alt.Scale(domain=[series.ENOUGH, series.FEW], range=[1, 0.4]),
            legend=_legend() if any(row["sample"] == series.FEW for row in rows) else None,
            title=None,
        ),
        tooltip=[
            alt.Tooltip("width:N", title=x_title),
            alt.Tooltip("value:Q", title=y_title, format=axis_format.replace("%", ".1%")),
            alt.Tooltip("attempts:Q", title="Attempts", format=","),
        ],
    )
    # A layer of its own with its own title would name the axis twice.
    spread = (
        base.transform_filter("isValid(datum.lower) && isValid(datum.upper)")
        .mark_rule(color=INK, strokeWidth=1.5)
        .encode(x=x, y=alt.Y("lower:Q", title=y_title), y2="upper:Q")
    )
    highest = max(rows, key=lambda row: float(row["value"]))
    alt_text = (
        f"Bar chart. {title}, for {len(rows)} width classes, narrow to wide; "
        f"lines are 95 % intervals. Highest: {highest['width']} with {say(highest['value'])}. "
        "The table beside it holds every value."
    )
    return _chart(key, title, alt_text, bars + spread, 240)


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
    import altair as alt

    resource = wording.resource(pool.resource)
    labels = [label for label, _, _ in drawn]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "nuwt:Q",
                title=f"NUWT (s per {resource}-second)"
                + (f", cut at {series.NUWT_CUT}" if end == series.NUWT_CUT else ""),
                scale=alt.Scale(domain=[0, end], nice=False),
            ),
            y=alt.Y(
                "share:Q",
                title="Share with at most this NUWT",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", tickCount=5),
            ),
            color=alt.Color(
                "of:N",
                scale=alt.Scale(domain=labels, range=[colour for _, colour, _ in drawn]),
                legend=_legend(),
                title=None,
            ),
            strokeDash=alt.StrokeDash(
                "of:N",
                scale=alt.Scale(domain=labels, range=[dash for _, _, dash in drawn]),
                legend=_legend(),
                title=None,
            ),
        )
    )
    alt_text = (
        f"Line chart. Cumulative distribution of NUWT, from 0 to {wording.number(end)}: "
        + "; ".join(said)
        + ". The table beside it holds mean, median and quartiles."
    )
    return _chart("nuwt", "Distribution of NUWT over users and accounts", alt_text, chart, 260)


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
    import altair as alt

    x_title = f"Width class ({wording.resource(pool.resource)}s)"
    y_title = "Wait (logarithmic above 1 min)"
    longest = max(float(row["wait"]) for row in rows)
    ticks = [tick for tick, _ in _TICKS if tick <= longest * 1.5] or [0, 60]
    x = alt.X("width:N", sort=None, title=x_title, axis=alt.Axis(labelOverlap=False, ticks=False))
    # Waits of 0 are common, so the scale is linear up to a minute and logarithmic beyond.
    y = alt.Y(
        "wait:Q",
        title=y_title,
        scale=alt.Scale(type="symlog", constant=60, domain=[0, max(longest * 1.2, 60)], nice=False),
        axis=alt.Axis(
            values=ticks,
            tickCount=len(ticks),
            labelOverlap=False,
            labelExpr=" : ".join(f"datum.value == {tick} ? '{text}'" for tick, text in _TICKS)
            + " : ''",
        ),
    )
    base = alt.Chart(alt.Data(values=rows))
    stems = base.mark_rule(color=RULE, strokeWidth=2).encode(
        x=x, y=alt.Y("min(wait):Q", title=y_title), y2="max(wait):Q"
    )
    labels = list(series.WAITS)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color(
            "of:N",
            scale=alt.Scale(domain=labels, range=[BLUE, INK, VERMILION]),
            legend=_legend(),
            title=None,
        ),
        shape=alt.Shape(
            "of:N",
            scale=alt.Scale(domain=labels, range=["circle", "square", "triangle-up"]),
            legend=_legend(),
            title=None,
        ),
        tooltip=[
            alt.Tooltip("width:N", title=x_title),
            alt.Tooltip("of:N", title="Of the waits"),
            alt.Tooltip("says:N", title="Wait"),
        ],
    )
    highest = max(rows, key=lambda row: float(row["wait"]))
    alt_text = (
        "Point chart. Median, mean and 90th percentile of the wait for each width class. "
        f"Highest: {highest['of']} of class {highest['width']}, {highest['says']}. "
        "The table beside it holds every value."
    )
    return _chart("waits", "Waits by width class", alt_text, stems + points, 240)


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
    import altair as alt

    legend = alt.Legend(
        title=f"Mean {what} ({cells.unit})" + (f"; grey: {series.FEW}" if cells.some_grey else ""),
        orient="top",
        gradientLength=180,
        tickCount=4,
        titleLimit=400,
    )
    chart = (
        alt.Chart(alt.Data(values=cells.rows))
        .mark_rect(stroke="#ffffff", strokeWidth=1)
        .encode(
            x=alt.X(
                "hour:O",
                title="Hour of arrival (local time)",
                scale=alt.Scale(domain=list(range(24))),
                axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False),
            ),
            y=alt.Y(
                "weekday:O",
                title=None,
                scale=alt.Scale(domain=list(series.WEEKDAYS)),
                axis=alt.Axis(ticks=False, domain=False),
            ),
            color=alt.condition(
                "datum.sound",
                alt.Color(
                    "mean:Q",
                    scale=alt.Scale(scheme="blues", domain=[0, cells.most or 1], clamp=True),
                    legend=legend,
                ),
                alt.value("#d9dde2"),
            ),
            tooltip=[
                alt.Tooltip("weekday:N", title="Day"),
                alt.Tooltip("hour:O", title="Hour"),
                alt.Tooltip("says:N", title=f"Mean {what}"),
                alt.Tooltip("attempts:Q", title="Attempts", format=","),
            ],
        )
    )
    worst = max((row for row in cells.rows if row["sound"]), key=lambda row: float(row["mean"]))
    alt_text = (
        f"Heat map. Mean {what} by weekday and hour of arrival, local time. Longest for arrivals "
        f"on {worst['weekday']} between {worst['hour']} and {worst['hour'] + 1} o'clock: "
        f"{worst['says']}."
    )
    return _chart(key, f"Mean {what} by hour of arrival in the week", alt_text, chart, 190)


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
    import altair as alt

    points = series.by_week(daily)
    if len(points) < len(daily):
        y_title = f"{y_title}, weekly mean"
    rows = [{"day": day, "value": value} for day, value in points]
    days = _area(rows, colour).encode(
        x=_days_axis(len(daily)),
        y=alt.Y(
            "value:Q",
            title=y_title,
            scale=alt.Scale(domain=[0, max(top, *(value for _, value in points))]),
            axis=alt.Axis(format="%", tickCount=5),
        ),
        tooltip=[
            alt.Tooltip("day:N", title="Day"),
            alt.Tooltip("value:Q", title=y_title, format=".1%"),
        ],
    )
    values = [value for _, value in daily]
    day, peak = max(daily, key=lambda point: point[1])
    alt_text = (
        f"Area chart. {title}, {daily[0][0]} to {daily[-1][0]}: mean of the days "
        f"{wording.percent(sum(values) / len(values))}, lowest {wording.percent(min(values))}, "
        f"highest {wording.percent(peak)} on {day}."
    )
    return _chart(key, title, alt_text, days, 170)


def _area(rows: list[Spec], colour: str) -> Any:
    """An area under the rows; a point where there is one alone."""
    import altair as alt

    base = alt.Chart(alt.Data(values=rows))
    if len(rows) == 1:
        return base.mark_point(color=colour, filled=True, size=60)
    line = {"color": colour, "strokeWidth": 1}
    return base.mark_area(color=colour, opacity=0.25, interpolate="step-after", line=line)


def _days_axis(days: int) -> Any:
    """Days from left to right; ``days`` of them in all."""
    import altair as alt

    # UTC on both sides: the labels are days already, and must not move with the reader's zone.
    return alt.X(
        "utcyearmonthdate(day):T",
        title=None,
        scale=alt.Scale(type="utc"),
        axis=alt.Axis(
            labelOverlap=True,
            tickCount=6,
            format="%b %Y" if days > 120 else "%-d %b",
        ),
    )


# --- what all charts share -------------------------------------------------------------------


def _chart(key: str, title: str, alt_text: str, drawn: Any, height: int) -> Chart:
    spec: Spec = drawn.properties(
        width=_WIDTH, height=height, description=alt_text, config=style.config()
    ).to_dict(validate=False)
    return Chart(key, title, alt_text, spec)


def _legend() -> Any:
    import altair as alt

    return alt.Legend(orient="top", labelLimit=300)
