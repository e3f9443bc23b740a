"""How far the account of waits (SPEC §11) is from the true reasons of a made site.

Sides: *competition* (own, claimed, kept, earlier, later), *not explained* (unexplained, cycle) and
neither. The log cannot show holds, limits, nodes out of service and classes of nodes. Such times
are no competition: the account may leave them unexplained, or infer a cause on neither side.
"""

from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.account import account
from bench.logs.sites.reasons import COMPETITION, TrueReason
from bench.logs.sites.site import TrueSite

TOLD_COMPETITION: Final = ("own", "claimed", "kept", "earlier", "later")
TOLD_UNEXPLAINED: Final = ("unexplained", "cycle")


class WrongSide(NamedTuple):
    """Seconds on the wrong side, as shares of all waiting."""

    competition: float
    """Competition for one of account and truth, but not for both."""
    unexplained: float
    """Not explained, though it is competition; or explained, though the job could start."""
    waiting_s: int


def wrong_side(site: TrueSite) -> WrongSide:
    """Compare the account with the truth, by the sums of each job.

    A job whose errors cancel each other counts too little; ``by_second`` has no such error.
    """
    compared = _true_sums(site).join(_told_sums(site), on="row", how="left").fill_null(0.0)
    told, true = pl.col("told_competition"), pl.col("competition")
    unexplained, may_start = pl.col("told_unexplained"), pl.col("may_start")
    wrong = compared.select(
        competition=(told - true).abs().sum(),
        unexplained=pl.max_horizontal(
            0.0, may_start - unexplained, unexplained - may_start - pl.col("hidden")
        ).sum(),
        waiting=(true + may_start + pl.col("hidden")).sum(),
    ).row(0)
    return WrongSide(wrong[0] / wrong[2], wrong[1] / wrong[2], int(wrong[2]))


def by_second(told: pl.DataFrame, true: pl.DataFrame) -> WrongSide:
    """Compare stretches of the account with true ones, second by second.

    Args:
        told: row, begin, end, cause; cause is a key of ``registry.causes.CAUSES``. Of one row they
            are disjoint; times without one are on neither side.
        true: columns of ``reasons.STRETCHES``, of the rows that are compared.
    """
    both = true.join(told, on="row", suffix="_told").select(
        shared=pl.min_horizontal("end", "end_told") - pl.max_horizontal("begin", "begin_told"),
        competition=_is(COMPETITION),
        told_competition=pl.col("cause").is_in(TOLD_COMPETITION),
        may_start=_is([TrueReason.CYCLE]),
        told_unexplained=pl.col("cause").is_in(TOLD_UNEXPLAINED),
    )
    both = both.filter(pl.col("shared") > 0)
    lasts = pl.col("end") - pl.col("begin")
    waiting = int(true.select(lasts.sum()).item())

    def seconds(where: pl.Expr) -> int:
        return int(both.filter(where)["shared"].sum())

    def true_seconds(reasons: tuple[TrueReason, ...]) -> int:
        return int(true.filter(_is(reasons)).select(lasts.sum()).item())

    competition, told_competition = pl.col("competition"), pl.col("told_competition")
    missed = true_seconds(COMPETITION) - seconds(competition & told_competition)
    unexplained, may_start = pl.col("told_unexplained"), pl.col("may_start")
    late = true_seconds((TrueReason.CYCLE,)) - seconds(may_start & unexplained)
    return WrongSide(
        (missed + seconds(told_competition & ~competition)) / waiting,
        (late + seconds(unexplained & competition)) / waiting,
        waiting,
    )


def _is(reasons: tuple[TrueReason, ...] | list[TrueReason]) -> pl.Expr:
    return pl.col("reason").is_in([reason.value for reason in reasons])


def _true_sums(site: TrueSite) -> pl.DataFrame:
    """Return row, competition, may_start, hidden: true seconds of each job that waited."""
    lasts, competition, may_start = (
        pl.col("end") - pl.col("begin"),
        _is(COMPETITION),
        _is([TrueReason.CYCLE]),
    )
    return site.reasons.group_by("row", maintain_order=True).agg(
        competition=lasts.filter(competition).sum().cast(pl.Float64),
        may_start=lasts.filter(may_start).sum().cast(pl.Float64),
        hidden=lasts.filter(~competition & ~may_start).sum().cast(pl.Float64),
    )


def _told_sums(site: TrueSite) -> pl.DataFrame:
    """Return row, told_competition, told_unexplained: the account's seconds of each job.

    This and ``told_stretches`` are the only places that call the account.
    """
    made = account(site.jobs, site.pool, site.now, log_begin=_begin(site)).attempts

    def told(keys: tuple[str, ...]) -> pl.Expr:
        columns = [name for key in keys if (name := f"cause_{key}_s") in made.columns]
        return pl.sum_horizontal(columns)

    return made.with_row_index("row").select(
        pl.col("row").cast(pl.Int64),
        told_competition=told(TOLD_COMPETITION),
        told_unexplained=told(TOLD_UNEXPLAINED),
    )


def told_stretches(site: TrueSite, row: int) -> pl.DataFrame:
    """Return row, begin, end, cause: the account of one job, for ``by_second``."""
    told = account(site.jobs, site.pool, site.now, log_begin=_begin(site), traced=row)
    return told.traced.select(pl.lit(row, pl.Int64).alias("row"), "begin", "end", "cause")


def _begin(site: TrueSite) -> int:
    """Return when the site begins: its log has all that happened since."""
    return int(site.jobs["arrival_time"].to_numpy().min())
