"""Who has the largest shortfall and surplus."""

from audit.report.sections import sharing as sharing_tables
from audit.report.sections.who import section
from audit.report.sections.who.record import Entities
from tests.report.sample import entity, pool


def _of(*nets: float) -> Entities:
    rows = tuple(entity(f"u{number}", net) for number, net in enumerate(nets))
    return Entities("user", rows, ())


def test_worst_and_best_hold_only_who_belongs_there() -> None:
    of = _of(5.0, -1.0, 0.0, 9.0, -3.0)
    assert [row.name for row in sharing_tables.worst(of, 10)] == ["u3", "u0"]
    assert [row.name for row in sharing_tables.best(of, 1)] == ["u4"]
    assert sharing_tables.hidden(of, 10) == 1


def test_the_unnamed_are_not_ranked_but_did_give_up() -> None:
    part = pool(users=("anna", None))
    assert [row.name for row in sharing_tables.worst(part.users, 10)] == ["anna"]
    assert [row.name for row in section.gave_up(part.users)] == [None]
