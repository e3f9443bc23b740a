"""Attempts with the account of their waits, for tests of what rests on it."""

import polars as pl

from audit.metrics.attempts.account import account
from audit.model import Pool


def booked(described: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    return account(described, pool, now).attempts
