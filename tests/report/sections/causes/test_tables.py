"""The main cause of a row."""

from audit.report.figures import Breakdown
from audit.report.sections.causes import tables as causes_tables
from tests.report.sample import figure


def test_the_main_cause_has_the_largest_share() -> None:
    shares = {"cause_own_share": 0.2, "cause_later_share": 0.5, "cause_rule_share": None}
    figures = tuple(figure(key, share) for key, share in shares.items())
    assert causes_tables.main_cause(Breakdown("gpu", figures)) == "machine full: later jobs (50 %)"
    assert causes_tables.main_cause(Breakdown("gpu", (figure("cause_own_share", 0.0),))) == "–"
