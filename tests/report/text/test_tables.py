from dataclasses import replace

from audit.model import FstStatus
from audit.report.record.pool import Breakdown, Elsewhere, Entities
from audit.report.text import tables
from tests.report.sample import entity, figure, pool


def _of(*nets: float) -> Entities:
    rows = tuple(entity(f"u{number}", net) for number, net in enumerate(nets))
    return Entities("user", rows, (), ())


def test_worst_and_best_hold_only_who_belongs_there() -> None:
    of = _of(5.0, -1.0, 0.0, 9.0, -3.0)
    assert [row.name for row in tables.worst(of, 10)] == ["u3", "u0"]
    assert [row.name for row in tables.best(of, 1)] == ["u4"]
    assert tables.hidden(of, 10) == 1


def test_the_unnamed_are_not_ranked_but_did_give_up() -> None:
    part = pool(users=("anna", None))
    assert [row.name for row in tables.worst(part.users, 10)] == ["anna"]
    assert [row.name for row in tables.gave_up(part.users)] == [None]


def test_every_status_is_explained() -> None:
    assert set(tables.STATUSES) == set(FstStatus)
    assert all(sentence.endswith(".") for _, sentence in tables.STATUSES.values())
    assert tables.status("<b>") == ("<b>", "")


def test_each_figure_says_in_which_direction_and_by_how_much() -> None:
    part = pool()  # a mean wait of 600 s, 1,000 attempts
    used = figure("consumed", 3_600_000.0, unit="resource·s")
    part = replace(part, figures=(*part.figures, used))
    part = replace(part, elsewhere=Elsewhere(660.0, None, 20, 3_600_000.0, 3_240_000.0))
    told = [
        (row.tool.split(":")[0], row.there, row.differs) for row in tables.counted_elsewhere(part)
    ]
    assert told == [
        ("sacct", "11 min", "10 % more there"),
        ("XDMoD", "–", "not known"),
        ("XDMoD", "1,000", "the same"),
        ("sreport", "900", "10 % less there"),
        ("sacct without --duplicates", "980", "2 % less there"),
    ]


def test_where_nothing_ended_there_is_nothing_to_compare() -> None:
    assert tables.counted_elsewhere(pool()) == ()
    none = replace(pool(), figures=(), elsewhere=Elsewhere(None, None, 0, 9.0, None))
    assert tables.counted_elsewhere(none) == ()


def test_the_main_cause_has_the_largest_share() -> None:
    shares = {"cause_own_share": 0.2, "cause_later_share": 0.5, "cause_rule_share": None}
    figures = tuple(figure(key, share) for key, share in shares.items())
    assert tables.main_cause(Breakdown("gpu", figures)) == "machine full: later jobs (50 %)"
    assert tables.main_cause(Breakdown("gpu", (figure("cause_own_share", 0.0),))) == "–"
