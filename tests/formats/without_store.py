"""Attempts of records that no store holds."""

import polars as pl

from audit.ingest.attempts import attempts_of
from audit.metrics.attempts.population import describe
from audit.model import Pool
from audit.words import Resource


def labelled(records: pl.DataFrame, number: int = 0) -> pl.DataFrame:
    """The records of a log, as an input of a cluster."""
    return records.with_columns(
        cluster=pl.lit("c"),
        input_id=pl.lit(f"i{number}"),
        attempt=pl.lit(1, pl.Int64),
        superseded=pl.lit(value=False),
    )


def described(*logs: pl.DataFrame, resource: Resource = Resource.cpus) -> pl.DataFrame:
    """The attempts of the records of some logs, in a pool with room for all."""
    records = pl.concat(labelled(of, number) for number, of in enumerate(logs))
    return describe(attempts_of(records), [Pool("all", resource, 10**6)])
