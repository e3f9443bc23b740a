"""Passes tables between DuckDB and polars as Arrow streams, without pyarrow.

This module imports neither. polars keeps the type of its input, and everything that the type's
module refers to, until the process ends. DuckDB's own type would keep DuckDB's bindings alive too
long, which they report on stderr.
"""


class ArrowStream:
    """An Arrow stream capsule, which can be read once."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule
