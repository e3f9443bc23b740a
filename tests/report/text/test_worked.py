import polars as pl

from audit.model import ATTEMPTS
from audit.report.text.worked import example_of, log


def test_a_log_has_all_columns_of_attempts() -> None:
    made = log(((1, "anna", 3, 0, 10, 100), (2, "ben", 4, 10, 100, 200)))
    assert made.schema == pl.Schema(ATTEMPTS)
    shown = made.select("job_id", "user", "cpus", "submit_time", "start_time", "end_time")
    assert shown.rows() == [("1", "anna", 3, 0, 10, 100), ("2", "ben", 4, 10, 100, 200)]


def test_an_example_shows_numbers_as_the_report_does() -> None:
    frame = pl.DataFrame({"job": ["1"], "wait": [1_000], "ratio": [3.8333333], "left": ["out"]})
    made = example_of("A job", frame, ("job", "wait", "ratio"), ("Job", "Wait", "Ratio"), "One.")
    assert (made.caption, made.columns, made.result) == ("A job", ("Job", "Wait", "Ratio"), "One.")
    assert made.rows == (("1", "1,000", "3.83"),)
