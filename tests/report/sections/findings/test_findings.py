"""Findings and their order."""

from dataclasses import replace
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.registry.measures import SUMMARY
from audit.report.figures import Figure
from audit.report.place import Place
from audit.report.sections.findings import findings
from audit.report.sections.findings.findings import Finding, Kind, Topic, ranked
from tests.report.sample import contents, figure, pool

ONE = Finding(
    about="pool",
    name=None,
    topic=Topic.UNEXPLAINED,
    effect=0.4,
    sure=0.2,
    part=1.0,
    text="Something.",
    action="Look.",
    anchor="pool-1-why",
    sql="SELECT 1",
)
IDLE = Kind(
    findings.whole, "queued_mean", Topic.IDLE, "machine", "{queued_mean} CPUs queued.", "Wait."
)
"""A kind that is not in the registry."""


def found(*figures: Figure) -> tuple[Finding, ...]:
    """Return the findings about a pool with these figures."""
    record = contents(replace(pool(), figures=(*figures, *pool().figures)))
    return findings.findings(record, Place("c", "p", record.pools[0], 1, several=False))


def told(*figures: Figure) -> list[str]:
    """Return those of kind ``IDLE``."""
    return [one.text for one in found(*figures) if one.action == IDLE.action]


def test_an_entry_is_all_that_a_new_kind_of_finding_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "KINDS", (*findings.KINDS, IDLE))
    assert told(figure("queued_mean", 7.0, 6.0, 9.0)) == ["7 CPUs queued."]
    assert told(figure("queued_mean", 7.0, 0.0, 9.0)) == []  # chance leaves nothing of it
    assert told(figure("queued_mean", None)) == []
    stricter = replace(IDLE, threshold=0.9)
    monkeypatch.setattr(findings, "KINDS", (stricter,))
    assert told(figure("queued_mean", 0.95, 0.8, 1.0)) == []
    assert told(figure("queued_mean", 0.95, 0.91, 1.0)) == ["0.9 CPUs queued."]


def test_capacity_that_is_hardly_ever_idle_is_no_finding() -> None:
    for lower, told in ((0.02, 1), (0.009, 0)):
        some = found(figure("loss_of_capacity", 0.03, lower, 0.04))
        assert sum(" was idle while queued jobs " in one.text for one in some) == told


def test_phrases_and_actions_of_all_kinds_can_be_filled_in() -> None:
    for kind in findings.KINDS:
        assert kind.measure in SUMMARY or not kind.measure
        for phrase in (kind.phrase, kind.action):
            named = {name for _, name, _, _ in Formatter().parse(phrase) if name}
            words = {"subject", "kind", "mean", "share", "rule", "sentence", "remedy", "reason"}
            assert named <= words | SUMMARY.keys(), phrase


def test_weight_is_effect_times_part_times_confidence() -> None:
    assert ONE.confidence == 0.5
    assert ONE.weight == 0.4 * 1.0 * 0.5
    assert ONE._replace(part=0.25).weight == 0.05
    assert ONE._replace(sure=0.8).confidence == 1.0  # no more than all of it


def test_of_one_subject_and_topic_the_weightier_is_told() -> None:
    better = ONE._replace(effect=0.5, sure=0.5)
    other = ONE._replace(topic=Topic.IDLE, part=0.1)
    assert ranked([ONE, other, better]) == (better, other)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1)), max_size=6))
def test_the_weightiest_comes_first_in_whatever_order_they_come(
    drawn: list[tuple[float, float, float]],
) -> None:
    made = [
        ONE._replace(about="user", name=str(at), text=str(at), effect=e, sure=s, part=p)
        for at, (e, s, p) in enumerate(drawn)
    ]
    first = ranked(made)
    assert first == ranked(reversed(made))
    assert [one.weight for one in first] == sorted((one.weight for one in first), reverse=True)
