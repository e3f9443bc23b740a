"""What operators keep, against what the paper claims and its errata."""

import polars as pl

from audit.studies.operators.compute import rules

OF_RATIO = {"relative", "relative_n", "sigmoid", "sigmoid_n", "slurm"}


def test_conformance_is_what_the_paper_claims_and_the_errata_correct() -> None:
    for name, verdicts in rules.conformance():
        broken = {verdict.rule for verdict in verdicts if not verdict.kept}
        if name in OF_RATIO:
            assert broken == {"edges"}  # (13) fails at s = 0
        else:
            assert broken == {"lowest", "highest", "redistribution", "ratio"}


def test_boundaries_agree_with_table_1() -> None:
    table = rules.boundaries()
    assert table.height == 7 * 3
    assert table["agrees"].all()
    row = table.row(by_predicate=(pl.col("operator") == "combined") & (pl.col("at") == 0.5))
    assert row[2:4] == (-0.75, 0.75)


def test_equivalent_are_all_that_depend_on_the_ratio() -> None:
    found = rules.equivalence()
    assert len(found) == 21
    for pair, witness in found.items():
        assert (witness is None) == (set(pair) <= OF_RATIO)


def test_figure_5_at_three_resolutions() -> None:
    assert [row.right for row in rules.fallen_together()] == [False, True, True]
    assert rules.fallen_together()[0][1:3] == ("7409", "7489")
