"""How far other tools' figures are from the report's, in words."""

from dataclasses import replace

from audit.report.record.pool import Elsewhere
from audit.report.text.elsewhere import counted_elsewhere
from tests.report import sample


def test_each_figure_says_in_which_direction_and_by_how_much() -> None:
    pool = sample.pool()  # a mean wait of 600 s, 1,000 attempts
    used = sample.figure("consumed", 3_600_000.0, unit="resource·s")
    pool = replace(pool, figures=(*pool.figures, used))
    pool = replace(pool, elsewhere=Elsewhere(660.0, None, 20, 3_600_000.0, 3_240_000.0))
    told = [(row.tool.split(":")[0], row.there, row.differs) for row in counted_elsewhere(pool)]
    assert told == [
        ("sacct", "11 min", "10 % more there"),
        ("XDMoD", "–", "not known"),
        ("XDMoD", "1,000", "the same"),
        ("sreport", "900", "10 % less there"),
        ("sacct without --duplicates", "980", "2 % less there"),
    ]


def test_where_nothing_ended_there_is_nothing_to_compare() -> None:
    assert counted_elsewhere(sample.pool()) == ()
    none = replace(sample.pool(), figures=(), elsewhere=Elsewhere(None, None, 0, 9.0, None))
    assert counted_elsewhere(none) == ()
