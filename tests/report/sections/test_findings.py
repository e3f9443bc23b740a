"""Findings: which are stated, in which order, and their words."""

from dataclasses import replace
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.registry.measures import SUMMARY
from audit.report.figures import Breakdown, Figure
from audit.report.finding import WORDS, Finding, Kind, Place, whole
from audit.report.render.page import render_html
from audit.report.sections import registry
from audit.report.sections.passed_over import OrderTest, PassedOver, Stuck
from audit.report.sections.registry import ranked
from audit.report.sections.rules.record import BoundRule, BoundRules
from tests.report.sample import HOSTILE, contents, figure, having, pool
from tests.report.sections.measured import everything, found, measured, waited, width


@pytest.mark.parametrize("overtaken", [0.01, 0.15, 0.9])
def test_without_a_known_rule_delays_are_no_finding(overtaken: float) -> None:
    made = found(contents(measured(overtaken, good=False)))
    assert all(one.topic != "later arrivals" for one in made)


def test_a_rule_that_holds_most_waiting_is_named_with_its_source() -> None:
    name = "limit of 10 running jobs per user"
    part = measured(rule=0.7, earlier=0.3, rule_free=0.66)
    part = having(part, BoundRules((BoundRule(name, 6_600.0, 90),)))
    made = contents(part)
    assert waited(made).startswith(
        "For 66 % of all waiting time (65–67 %) enough was free, and only the "
        f"{name} (configured) kept the job from starting."
    )
    [rule] = [one for one in found(made) if one.topic == "limits and closed hours"]
    assert rule.action.endswith(f"{name}.")
    assumed = {part.name: [name]}
    inferred = replace(made, settings=replace(made.settings, assumed=assumed))
    assert f"only the {name} (inferred from the log)" in waited(inferred)


def test_the_order_of_partitions_and_qos_is_stated() -> None:
    high = PassedOver("qos", "high", (figure("passed_ahead", 0.58),))
    part = having((of := measured(good=False)), replace(of[OrderTest], ahead=(high,)))
    page = render_html(contents(part)).replace("\xa0", " ")
    assert "Later jobs of QOS high started first in 58 % of the pairs." in page


def test_a_class_that_loses_no_more_than_all_is_not_named() -> None:
    """Even the interval that is fair to a pick from several must lie above all the others."""

    def named(*widths: Breakdown) -> list[str | None]:
        made = contents(measured(0.15, widths=widths))
        return [one.name for one in found(made) if one.about == "width"]

    alike = (width("1", 0.14), width("2", 0.15), width("3-4", 0.16, half=0.05))
    assert named(*alike) == []
    assert named(*alike, width("65-128", 0.4)) == ["65-128"]
    assert named(*alike, width("65-128", 0.4, attempts=20)) == []


def test_stuck_attempts_are_counted() -> None:
    made = contents(having((of := measured()), replace(of[OrderTest], stuck=Stuck(2, 3, ()))))
    [stuck] = [one for one in found(made) if one.topic == "held, or cannot start"]
    assert (
        stuck.text == "2 jobs still waiting and 3 that gave up waited longer than 95 % of similar "
        "jobs; one in twenty is expected to."
    )


def test_a_finding_is_short_and_has_its_evidence() -> None:
    made = found(everything())
    assert len(made) >= 8
    for one in made:
        assert len(one.text.split()) <= WORDS, one.text
        assert one.action
        assert one.anchor
        assert one.sql.startswith("SELECT")
        assert 0 < one.weight <= 1
    assert len({(one.about, one.name, one.topic) for one in made}) == len(made)


def test_hostile_names_stay_inside_their_quotes() -> None:
    for name in HOSTILE:
        for one in found(replace(everything((name, "ben")), cluster=name)):
            outside = one.sql.replace("''", "")
            assert outside.count("'") % 2 == 0
            assert "\n" not in one.text


ONE = Finding(
    about="pool",
    name=None,
    topic="unexplained waits",
    effect=0.4,
    sure=0.2,
    part=1.0,
    text="Something.",
    action="Look.",
    anchor="pool-1-why",
    sql="SELECT 1",
)
IDLE = Kind(
    whole,
    "queued_mean",
    "idle while others queue",
    "machine",
    "{queued_mean} CPUs queued.",
    "Wait.",
)
"""A kind that is not in the registry."""


def ranked_of(*figures: Figure) -> tuple[Finding, ...]:
    """Return the findings about a pool with these figures."""
    record = contents(replace(pool(), figures=(*figures, *pool().figures)))
    return registry.findings(record, Place("c", "p", record.pools[0], 1, several=False))


def told(*figures: Figure) -> list[str]:
    """Return those of kind ``IDLE``."""
    return [one.text for one in ranked_of(*figures) if one.action == IDLE.action]


def test_an_entry_is_all_that_a_new_kind_of_finding_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = next(of for of in registry.SECTIONS if of.name == "machine")
    more = replace(machine, findings=(*machine.findings, IDLE))
    monkeypatch.setattr(registry, "SECTIONS", (more,))
    assert told(figure("queued_mean", 7.0, 6.0, 9.0)) == ["7 CPUs queued."]
    assert told(figure("queued_mean", 7.0, 0.0, 9.0)) == []  # chance leaves nothing of it
    assert told(figure("queued_mean", None)) == []
    stricter = replace(IDLE, threshold=0.9)
    monkeypatch.setattr(registry, "SECTIONS", (replace(machine, findings=(stricter,)),))
    assert told(figure("queued_mean", 0.95, 0.8, 1.0)) == []
    assert told(figure("queued_mean", 0.95, 0.91, 1.0)) == ["0.9 CPUs queued."]


def test_capacity_that_is_hardly_ever_idle_is_no_finding() -> None:
    for lower, told in ((0.02, 1), (0.009, 0)):
        some = ranked_of(figure("loss_of_capacity", 0.03, lower, 0.04))
        assert sum(" was idle while queued jobs " in one.text for one in some) == told


def test_phrases_and_actions_of_all_kinds_can_be_filled_in() -> None:
    for kind in (kind for section in registry.SECTIONS for kind in section.findings):
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


def test_of_one_subject_and_topic_the_weightier_is_reported() -> None:
    better = ONE._replace(effect=0.5, sure=0.5)
    other = ONE._replace(topic="idle while others queue", part=0.1)
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
