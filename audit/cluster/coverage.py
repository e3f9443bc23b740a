"""How many records ended on each day."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

from audit import periods
from audit.cluster.setting import Setting
from audit.cluster.windows import Window


def of_days(described: pl.DataFrame, setting: Setting, window: Window) -> pl.DataFrame:
    """Records by the day on which they ended, the days without any in between included.

    Args:
        described: columns of ``model.DESCRIBED``.
        setting: whose zone days are of.
        window: whose days are told of: none before it begins, and none from its end on.
    """
    instant = pl.coalesce("end_time", "arrival_time", "start_time")
    day = (
        pl.from_epoch(instant, time_unit="s")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(setting.zone.key)
        .dt.date()
    )
    counts = described.group_by(day.alias("day")).agg(records=pl.len().cast(pl.Int64))
    begin, end = edges_of(window, setting)
    first, last = counts.select(first=pl.col("day").min(), last=pl.col("day").max()).row(0)
    first = first if begin is None else begin
    last = last if end is None else end - timedelta(days=1)
    if first is None or last is None:
        days = pl.DataFrame(schema={"day": pl.Date})
    else:
        days = pl.select(day=pl.date_range(first, last))
    return (
        days.join(counts, on="day", how="left")
        .sort("day")
        .with_columns(
            records=pl.col("records").fill_null(0),
            refused=pl.lit(0, pl.Int64),
            state=pl.when(pl.col("records").is_null())
            .then(pl.lit("empty"))
            .otherwise(pl.lit("full")),
        )
    )


def edges_of(window: Window, setting: Setting) -> tuple[date | None, date | None]:
    """The first day of a window, and the first after it; None where it has no bound."""
    begin, end = (
        None if edge is None else periods.day_of(edge, setting.zone)
        for edge in (window.from_time, window.to_time)
    )
    return begin, end
