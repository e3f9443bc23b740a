"""Hands tables between DuckDB and polars as Arrow streams, without pyarrow.

In a module of its own, which imports neither: polars remembers the type of what it was given for
as long as the process lives, and through it all that the type's module refers to. Given DuckDB's
own type it would keep DuckDB's bindings alive past their end, which they report on stderr.
"""


class Stream:
    """An Arrow stream capsule, taken by whoever asks first."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule
