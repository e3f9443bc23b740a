"""Answers in the details, and findings, from records made by hand."""

from dataclasses import replace

import pytest

from audit.registry.causes import CAUSES
from audit.report.judgement.answers import of_waiting, passed_before, wait_changed, waits_most
from audit.report.judgement.findings import WORDS, Finding, Topic, findings
from audit.report.judgement.place import Place
from audit.report.record.page import Assumed, Contents
from audit.report.record.pool import (
    BoundRule,
    Breakdown,
    CauseChange,
    Change,
    Figure,
    PassedOver,
    PoolPart,
    Queue,
    Trend,
)
from audit.report.record.stuck import Stuck
from audit.report.render.page import render_html
from tests.report.sample import (
    HOSTILE,
    contents,
    fidelity,
    figure,
    passed,
    pool,
)


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


def waited(of: Contents) -> str:
    return of_waiting(place(of), of.settings.assumed)[0]


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


def test_a_change_is_told_from_noise() -> None:
    def said(lower: float, upper: float, *, changed: bool = False) -> str:
        change = Change("cause_unexplained_share", 0.4, Figure("", -0.15, lower, upper))
        trend = Trend("month", (), (change,), "2026-09", settings_changed=changed)
        return waited(contents(replace(measured(), trend=trend))).partition("Unexplained ")[2]

    assert said(-0.2, -0.1) == "share: 15 points less than in 2026-09 (significant)."
    assert said(-0.2, 0.1) == "share: no significant change from 2026-09."
    under = "share: 15 points less than in 2026-09, under other settings."
    assert said(-0.2, -0.1, changed=True) == under


def test_why_the_mean_wait_changed() -> None:
    minutes = {"own": (10, 25), "rule": (4, 13), "cycle": (9, 7), "later": (18, 18.4)}
    causes = tuple(
        CauseChange(cause, *(60.0 * value for value in minutes.get(cause.key, (0, 0))))
        for cause in CAUSES
    )
    rose = Change("wait_mean", 2_460.0, Figure("", 1_344.0, 600.0, 1_800.0))
    trend = Trend("month", (), (rose,), "2026-09", causes=causes)
    part = replace(measured(), rules=(BoundRule("limit of 10 running jobs per user", 9e6, 40),))
    assert wait_changed(replace(part, trend=trend)) == (
        "Mean wait rose from 41 min in 2026-09 to 63 min: +15 min behind jobs of the same user; "
        "+9 min while a limit or closed hours did not allow the job to start (mostly the limit of "
        "10 running jobs per user)."
    )
    other = replace(trend, settings_changed=True, causes=tuple(reversed(causes)))
    assert "to 63 min, under other settings: +15 min behind" in (
        wait_changed(replace(part, trend=other))
    )
    noise = Change("wait_mean", 2_460.0, Figure("", 1_344.0, -600.0, 1_800.0))
    assert wait_changed(replace(part, trend=replace(trend, changes=(noise,)))) == ""
    assert wait_changed(replace(part, trend=replace(trend, causes=()))) == ""
    page = render_html(contents(replace(part, trend=trend)))
    assert "Mean wait rose from 41\u00a0min" in page
    assert "Mean wait per job by cause, compared with 2026-09" in page


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"cyd", "dot"}, ("anna",), "Passed over in 2026-09: 2"),
        ({"anna", "cyd"}, ("anna", "ben"), "Passed over in 2026-09: 2, 1 of them also now"),
        (set(), ("anna",), "Passed over in 2026-09: none"),
        (None, ("anna",), ""),
    ],
)
def test_who_is_passed_over_stands_beside_who_was_before(
    before: set[str] | None, now: tuple[str, ...], told: str
) -> None:
    known = {} if before is None else {"user": frozenset(before)}
    for changed, more in ((False, "."), (True, ", under other settings.")):
        trend = Trend("month", (), (), "2026-09", settings_changed=changed, passed_before=known)
        made = contents(replace(measured(0.1, *now), trend=trend))
        assert passed_before(place(made)) == (told and told + more)


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


def test_the_partition_with_most_of_the_waiting_is_named_with_its_cause() -> None:
    figures = (figure("wait_mean", 3_200.0), figure("cause_earlier_share", 0.43))
    queue = Queue("gpu", "-", "a100", 0.79, figures)
    rest = Queue("batch", "-", "-", 0.21, figures)
    assert waits_most(replace(measured(), queues=(queue, rest))) == (
        "79 % of all waiting time is that of jobs in partition gpu, GPU type a100, which waited "
        "53 min on average: 43 % of it passed behind running jobs of others that had arrived "
        "earlier."
    )
    assert not waits_most(replace(measured(), queues=(replace(queue, share=0.4), rest)))
    assert not waits_most(measured())
