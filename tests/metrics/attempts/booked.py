"""Attempts with the account and the parts of their waits, for tests of what rests on both."""

import polars as pl

from audit.metrics.attempts.account import account, anatomy
from audit.model import Pool


def booked(described: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    return account(anatomy(described, pool, now), pool, now).attempts
