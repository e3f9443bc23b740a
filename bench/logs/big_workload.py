"""The workload of the big logs of bench/, drawn from the model in workload.toml."""

from pathlib import Path

import polars as pl

from audit.studies.workload.compute import model_files, synthetic

MODEL = Path(__file__).with_name("workload.toml")
BUSY = 30
"""Times as many arrivals as the model has: one in 12 s."""


def big_workload(records: int, seed: int) -> pl.DataFrame:
    """`records` attempts, by arrival; columns of `synthetic.DRAWN`. 1 M take about a second."""
    model = model_files.from_toml(MODEL.read_text(encoding="utf-8"), MODEL.name)
    return synthetic.first(model, seed, records, BUSY)
