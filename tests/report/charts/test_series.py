from audit.report.charts import series
from tests.report.sample import (
    pool,
)


def test_rows_say_which_fair_start_time_they_are_of() -> None:
    rows = series.misses(pool(), "missed_{}_share", str)
    assert {row["of"] for row in rows} == {"strict", "relaxed"}
