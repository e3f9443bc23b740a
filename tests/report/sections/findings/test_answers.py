"""Findings on made reports."""

from dataclasses import replace

import pytest

from audit.report.contents import Assumed, Contents
from audit.report.figures import Breakdown
from audit.report.place import Place
from audit.report.pool import PoolPart
from audit.report.render.page import render_html
from audit.report.sections.findings.findings import WORDS, Finding, Topic, findings
from audit.report.sections.passed_over.record import PassedOver, Stuck
from audit.report.sections.rules.record import BoundRule
from tests.report.sample import HOSTILE, contents, fidelity, figure, passed, pool
from tests.report.sections.causes.test_text import waited


def width(label: str, share: float, half: float = 0.02, attempts: int = 300) -> Breakdown:
    """A class that loses ``share`` of its waiting to later arrivals, an hour of ten."""
    return Breakdown(
        label,
        (
            figure("miss_delivered_share", share, share - half, share + half, attempts=attempts),
            figure("miss_delivered_mean", 3_600.0, 3_000.0, 4_200.0, "s", attempts),
            figure("wait_mean", 36_000.0, 30_000.0, 40_000.0, "s", attempts),
            figure("re_unfairness_share", 0.3, 0.2, 0.4, attempts=attempts),
            figure("consumed", 500.0, unit="resource·s", attempts=attempts),
        ),
    )


SHARES = {"unexplained": 0.1, "earlier": 0.6, "later": 0.3}


def measured(
    overtaken: float = 0.02,
    *named: str,
    good: bool = True,
    tested: int = 40,
    widths: tuple[Breakdown, ...] = (),
    **causes: float,
) -> PoolPart:
    """A pool with this part of its waiting lost to later arrivals, and shares of causes."""
    made = pool(users=(*named, "zoe") if named else ("anna", "ben"))
    figures = (  # the first of a name counts
        figure("miss_delivered_share", overtaken, overtaken - 0.01, overtaken + 0.01),
        *(
            figure(f"cause_{key}_share", share, share - 0.01, share + 0.01)
            for key, share in (causes or SHARES).items()
        ),
        figure("consumed", 1_000.0, unit="resource·s"),
        *made.figures,
    )
    fair = replace(made.fair_start, fidelity=fidelity() if good else fidelity(0.1))
    return replace(
        made,
        figures=figures,
        widths=widths,
        fair_start=fair,
        passed=tuple(passed(name) for name in named),
        tested={"user": tested},
    )


def place(of: Contents) -> Place:
    return Place(of.cluster, of.span.name, of.pools[0], 1, len(of.pools) > 1)


def found(of: Contents) -> tuple[Finding, ...]:
    return findings(of, place(of))


@pytest.mark.parametrize("overtaken", [0.01, 0.15, 0.9])
def test_without_a_known_rule_delays_are_no_finding(overtaken: float) -> None:
    made = found(contents(measured(overtaken, good=False)))
    assert all(one.topic is not Topic.LATER_ARRIVALS for one in made)


def test_a_rule_that_holds_most_waiting_is_named_with_its_source() -> None:
    name = "limit of 10 running jobs per user"
    part = measured(rule=0.7, earlier=0.3, rule_free=0.66)
    part = replace(part, rules=(BoundRule(name, 6_600.0, 90),))
    made = contents(part)
    assert waited(made).startswith(
        "For 66 % of all waiting time (65–67 %) enough was free, and only the "
        f"{name} (configured) kept the job from starting."
    )
    [rule] = [one for one in found(made) if one.topic is Topic.RULES]
    assert rule.action.endswith(f"{name}.")
    assumed = {part.name: Assumed((name,))}
    inferred = replace(made, settings=replace(made.settings, assumed=assumed))
    assert f"only the {name} (inferred from the log)" in waited(inferred)


def test_the_order_of_partitions_and_qos_is_stated() -> None:
    high = PassedOver("qos", "high", (figure("passed_ahead", 0.58),))
    part = replace(measured(good=False), ahead=(high,))
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
    made = contents(replace(measured(), stuck=Stuck(2, 3, ())))
    [stuck] = [one for one in found(made) if one.topic is Topic.STUCK]
    assert (
        stuck.text == "2 jobs still waiting and 3 that gave up waited longer than 95 % of similar "
        "jobs; one in twenty is expected to."
    )


def everything(names: tuple[str, ...] = ("anna", "ben")) -> Contents:
    part = measured(
        0.3,
        *names,
        widths=(width("1", 0.1), width(">128", 0.5, 0.01), width("2", 0.1)),
        rule=0.3,
        rule_free=0.2,
        unexplained=0.3,
    )
    rule = BoundRule("limit of 10 running jobs per user", 2_000.0, 90)
    return contents(replace(part, rules=(rule,), stuck=Stuck(2, 3, ())), pool("debug"))


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
