"""Page one of a pool, from records made by hand."""

from dataclasses import replace

import pytest

from audit.registry.causes import CAUSES
from audit.registry.passed import PassedWhy
from audit.report.judgement.findings import WORDS, Topic
from audit.report.judgement.page_one import PageOne, page_one
from audit.report.judgement.questions import Word
from audit.report.record.page import Assumed, Contents, Level
from audit.report.record.pool import (
    BoundRule,
    Breakdown,
    CauseChange,
    Change,
    Figure,
    PassedOver,
    PoolPart,
    Queue,
    ResourceUse,
    Trend,
)
from audit.report.record.stuck import Stuck
from audit.report.render.page import render_html
from tests.report.sample import (
    HOSTILE,
    contents,
    empty,
    entity,
    fidelity,
    figure,
    passed,
    pool,
    present,
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


def one(part: PoolPart) -> PageOne:
    return present(page_one(contents(part)))


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (measured(), Word.YES),
        (measured(0.15), Word.MIXED),
        (measured(0.4), Word.NO),
        (measured(0.02, "anna"), Word.MIXED),
        (measured(0.4, "anna"), Word.NO),
        (measured(0.02, "anna", good=False), Word.NO),
        (measured(0.4, good=False), Word.NO_SIGN),
        (measured(0.4, good=False, tested=4), Word.CANNOT_TELL),
        (measured(0.02, "anna", good=False, tested=4), Word.CANNOT_TELL),
    ],
)
def test_the_verdict_follows_the_answers(part: PoolPart, word: Word) -> None:
    assert one(part).verdict.word is word


@pytest.mark.parametrize("overtaken", [0.01, 0.15, 0.9])
def test_without_a_known_rule_delays_neither_accuse_nor_acquit(overtaken: float) -> None:
    made = one(measured(overtaken, good=False))
    order = made.questions[1]
    assert (order.level, order.big) == (Level.NOTE, "none")
    assert made.verdict.word is Word.NO_SIGN
    assert all(found.topic is not Topic.LATER_ARRIVALS for found in made.findings)


def test_with_few_tested_the_log_cannot_tell() -> None:
    for part in (measured(good=False, tested=4), measured(0.02, "anna", good=False, tested=4)):
        made = one(part)
        assert made.questions[1].big == "the log cannot tell"
        assert made.questions[1].level is Level.UNKNOWN
        assert made.hurt == ()
    nobody = one(measured(good=False, tested=0)).questions[1]
    assert nobody.text.startswith("No user or account could be tested")


def test_a_rule_that_holds_most_waiting_is_named_with_its_source() -> None:
    name = "limit of 10 running jobs per user"
    part = measured(rule=0.7, earlier=0.3, rule_free=0.66)
    part = replace(part, rules=(BoundRule(name, 6_600.0, 90),))
    made = one(part)
    waited = made.questions[0]
    assert waited.big == "66 %"
    assert waited.text.startswith(
        "For 66 % of all waiting time (65–67 %) enough was free, and only the "
        f"{name} (configured) kept the job from starting."
    )
    assert made.verdict.sentence.startswith("For 66 % of all waiting time")
    [found] = [found for found in made.findings if found.topic is Topic.RULES]
    assert found.action.endswith(f"{name}.")
    record = contents(part)
    assumed = {part.name: Assumed((name,))}
    inferred = present(
        page_one(replace(record, settings=replace(record.settings, assumed=assumed)))
    )
    assert f"only the {name} (inferred from the log)" in inferred.questions[0].text


def test_who_used_more_is_not_accused_where_the_order_follows_usage() -> None:
    anna = PassedOver("user", "anna", (figure("usage_multiple", 2.1),))
    made = one(replace(measured(good=False), used_more=(anna,)))
    assert made.verdict.word is Word.NO_SIGN
    assert made.hurt == ()
    assert all(found.topic is not Topic.PASSED_OVER for found in made.findings)
    assert made.questions[1].text.endswith(
        "User anna waits longer: the order follows recent usage, and it used 2.1 times its share."
    )


@pytest.mark.parametrize(
    ("reasons", "tested", "told"),
    [
        ([], 0, "No user or account could be tested: the log does not name several users."),
        (
            [PassedWhy.FEW_DAYS],
            0,
            "No user or account could be tested: the jobs that waited while later jobs requested "
            "as much arrived on fewer than 8 days.",
        ),
        (
            [*[PassedWhy.FEW_JOBS] * 3, *[PassedWhy.FEW_DAYS] * 2, PassedWhy.USUAL],
            2,
            "Only 2 users and accounts could be tested: fewer than 20 jobs waited while later jobs "
            "of others requested as much (of 3); the jobs that waited while later jobs requested "
            "as much arrived on fewer than 8 days (of 2).",
        ),
        (
            [PassedWhy.UNSTARTABLE] * 9,
            0,
            "No user or account could be tested: more than half of all waiting is that of jobs "
            "that did not start although enough was free, so the log cannot tell whether the order "
            "was fair.",
        ),
    ],
)
def test_why_nobody_could_be_tested(reasons: list[PassedWhy], tested: int, told: str) -> None:
    part = measured(good=False)
    rows = tuple(
        replace(entity(f"u{k}", 0.0, 1), passed_why=why.value) for k, why in enumerate(reasons)
    )
    part = replace(part, users=replace(part.users, rows=rows), tested={"user": tested})
    answer = one(part).questions[1]
    assert (answer.level, answer.text) == (Level.UNKNOWN, told)
    page = render_html(contents(part)).replace("\xa0", " ")
    assert told.partition(": ")[2].rstrip(".") in page


def test_why_those_who_lost_more_pairs_are_not_named() -> None:
    """The page gives each condition that failed, and how many entities failed it."""
    reasons = [*[PassedWhy.USAGE_ORDER] * 2, PassedWhy.OWN_ORDER, PassedWhy.USUAL, PassedWhy.USAGE]
    rows = tuple(
        replace(entity(f"u{k}", 0.0, 1), passed_why=why.value) for k, why in enumerate(reasons)
    )
    part = measured(good=False)
    part = replace(part, users=replace(part.users, rows=rows), tested={"user": 5})
    page = render_html(contents(part)).replace("\xa0", " ")
    assert (
        "3 more are not named, although later jobs started first significantly more often: users "
        "or accounts that had used less recently started first (of 2); own later jobs passed own "
        "earlier jobs about as often (of 1)."
    ) in page
    one_left = replace(part, users=replace(part.users, rows=rows[2:]))
    page = render_html(contents(one_left)).replace("\xa0", " ")
    assert "1 more is not named, although" in page
    usual = replace(part, users=replace(part.users, rows=rows[3:]))
    assert "not named, although" not in render_html(contents(usual)).replace("\xa0", " ")


def test_the_order_of_partitions_and_qos_is_stated() -> None:
    high = PassedOver("qos", "high", (figure("passed_ahead", 0.58),))
    part = replace(measured(good=False), ahead=(high,))
    assert one(part).verdict.word is Word.NO_SIGN
    page = render_html(contents(part)).replace("\xa0", " ")
    assert "Later jobs of QOS high started first in 58 % of the pairs." in page


def test_the_verdict_says_what_jobs_waited_for_and_who_is_passed_over() -> None:
    said = one(measured(0.15, "anna", "ben", good=False)).verdict
    assert said.sentence == (
        "User anna and 1 more: later jobs that requested at least as much often started first. "
        "60 % of all waiting time passed behind running jobs of others that had arrived earlier "
        "(59–61 %)."
    )
    assert said.short == "User anna and 1 more are passed over"
    assert one(measured(0.15, "anna", good=False)).verdict.short == "User anna is passed over"


def test_a_known_rule_answers_before_who_is_passed_over() -> None:
    alone = one(measured(0.15)).verdict
    assert alone.sentence == (
        "60 % of all waiting time passed behind running jobs of others that had arrived earlier "
        "(59–61 %). 15 % of all waiting time is delay by later arrivals, under the rule that this "
        "log shows."
    )
    assert alone.short == (
        "15 % of all waiting time is delay by later arrivals, under the rule that this log shows"
    )
    with_anna = one(measured(0.15, "anna")).verdict
    assert with_anna.sentence == (
        f"{alone.sentence} User anna: later jobs that requested at least as much often started "
        "first."
    )
    assert with_anna.short == (
        "15 % of all waiting time is delay by later arrivals; user anna is passed over"
    )


def test_a_few_attempts_give_no_verdict() -> None:
    part = measured(0.4)
    few = tuple(
        figure("attempts", 7.0, unit="attempts") if of.metric == "attempts" else of
        for of in part.figures
    )
    assert one(replace(part, figures=few)).verdict.sentence == "Cannot tell: only 7 jobs ended."


def test_nothing_has_no_page_one() -> None:
    assert page_one(empty()) is None


def test_under_seven_days_of_a_longer_period_there_is_a_note_only() -> None:
    def covered(days: int, length: int = 31) -> Contents:
        part = measured()
        told = figure("covered_time", days * 86_400.0, unit="s")
        made = contents(replace(part, figures=(*part.figures, told)))
        span = replace(made.span, to_time=made.span.from_time + length * 86_400)
        return replace(made, span=span)

    assert page_one(covered(6)) is None
    assert "Too early to tell: 6 days of this period are covered" in render_html(covered(6))
    assert page_one(covered(7)) is not None
    assert page_one(covered(1, length=1)) is not None  # all of a day
    whole = covered(3)
    assert page_one(replace(whole, span=replace(whole.span, whole_log=True))) is not None


def test_a_figure_comes_in_two_digits_with_its_interval() -> None:
    waited, order = one(measured(0.15, unexplained=0.3, own=0.2)).questions
    assert (waited.big, waited.level) == ("30 %", Level.NOTE)
    assert "(29–31 %)" in waited.text
    assert (order.big, order.level) == ("15 %", Level.WARN)
    assert "delay by later arrivals, under the rule that this log shows (14–16 %)" in order.text
    for overtaken, level in ((0.02, Level.WARN), (0.15, Level.WARN), (0.4, Level.FAIL)):
        _, order = one(measured(overtaken, "anna")).questions
        assert (order.big, order.level) == (f"{100 * overtaken:.2g} %", level)
        assert order.text.endswith(
            " User anna: later jobs that requested at least as much often started first."
        )
    _, order = one(measured(0.15, "anna", good=False)).questions
    assert (order.big, order.level) == ("1", Level.FAIL)
    assert order.text.startswith("of 40 users and accounts tested: later jobs")
    assert order.text.endswith("Most affected: user anna.")


def test_a_change_is_told_from_noise() -> None:
    def said(lower: float, upper: float, *, changed: bool = False) -> tuple[str, bool | None]:
        change = Change("cause_unexplained_share", 0.4, Figure("", -0.15, lower, upper))
        trend = Trend("month", (), (change,), "2026-09", settings_changed=changed)
        difference = present(one(replace(measured(), trend=trend)).questions[0].difference)
        return difference.text, difference.better

    assert said(-0.2, -0.1) == (
        "unexplained share: 15 points less than in 2026-09 (significant)",
        True,
    )
    assert said(-0.2, 0.1) == ("unexplained share: no significant change from 2026-09", None)
    assert said(-0.2, -0.1, changed=True) == (
        "unexplained share: 15 points less than in 2026-09, under other settings",
        None,
    )


def test_why_the_mean_wait_changed() -> None:
    minutes = {"own": (10, 25), "rule": (4, 13), "cycle": (9, 7), "later": (18, 18.4)}
    causes = tuple(
        CauseChange(cause, *(60.0 * value for value in minutes.get(cause.key, (0, 0))))
        for cause in CAUSES
    )
    rose = Change("wait_mean", 2_460.0, Figure("", 1_344.0, 600.0, 1_800.0))
    trend = Trend("month", (), (rose,), "2026-09", causes=causes)
    part = replace(measured(), rules=(BoundRule("limit of 10 running jobs per user", 9e6, 40),))
    assert one(replace(part, trend=trend)).wait_changed == (
        "Mean wait rose from 41 min in 2026-09 to 63 min: +15 min behind jobs of the same user; "
        "+9 min while a limit or closed hours did not allow the job to start (mostly the limit of "
        "10 running jobs per user)."
    )
    other = replace(trend, settings_changed=True, causes=tuple(reversed(causes)))
    assert "to 63 min, under other settings: +15 min behind" in (
        one(replace(part, trend=other)).wait_changed
    )
    noise = Change("wait_mean", 2_460.0, Figure("", 1_344.0, -600.0, 1_800.0))
    assert one(replace(part, trend=replace(trend, changes=(noise,)))).wait_changed == ""
    assert one(replace(part, trend=replace(trend, causes=()))).wait_changed == ""
    page = render_html(contents(replace(part, trend=trend)))
    assert "Mean wait rose from 41\u00a0min" in page
    assert "Mean wait per job by cause, compared with 2026-09" in page


@pytest.mark.parametrize(
    ("agreement", "told"),
    [
        (
            0.004,
            "; agrees with 0.4 % of the observed starts (at least 65 % required)",
        ),
        (None, "not known how far any rule agrees with the starts"),
    ],
)
def test_of_the_rules_is_told_what_is_known(agreement: float | None, told: str) -> None:
    part = measured()
    fair = replace(part.fair_start, fidelity=fidelity(agreement))
    model = one(replace(part, fair_start=fair)).trust[2]
    assert model.level is (Level.UNKNOWN if agreement is None else Level.WARN)
    assert model.text.endswith(told)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"cyd", "dot"}, ("anna",), "2 in 2026-09"),
        ({"anna", "cyd"}, ("anna", "ben"), "2 in 2026-09, 1 of them the same"),
        (set(), ("anna",), "none in 2026-09"),
        (None, ("anna",), None),
    ],
)
def test_who_is_passed_over_stands_beside_who_was_before(
    before: set[str] | None, now: tuple[str, ...], told: str | None
) -> None:
    known = {} if before is None else {"user": frozenset(before)}
    for changed, more in ((False, ""), (True, ", under other settings")):
        trend = Trend("month", (), (), "2026-09", settings_changed=changed, passed_before=known)
        difference = one(replace(measured(0.1, *now), trend=trend)).questions[1].difference
        assert (difference.text if difference else None) == (told and told + more)


def test_a_class_that_loses_no_more_than_all_is_not_named() -> None:
    """Even the interval that is fair to a pick from several must lie above all the others."""

    def named(*widths: Breakdown) -> list[str | None]:
        made = one(measured(0.15, widths=widths))
        return [found.name for found in made.findings if found.about == "width"]

    alike = (width("1", 0.14), width("2", 0.15), width("3-4", 0.16, half=0.05))
    assert named(*alike) == []
    assert named(*alike, width("65-128", 0.4)) == ["65-128"]
    assert named(*alike, width("65-128", 0.4, attempts=20)) == []


def test_who_is_passed_over_is_told_with_what_happened() -> None:
    [row] = one(measured(0.02, "anna")).hurt
    assert (row.subject, row.attempts, row.lost) == ("User anna", 100, "60 min")
    assert row.what == (
        "40 % of later jobs that requested at least as much started first (10 % expected); "
        "60 % of its waiting time passed behind running jobs of others that had arrived later"
    )


def test_stuck_attempts_are_counted() -> None:
    said = one(replace(measured(), stuck=Stuck(2, 3, ())))
    [found] = [found for found in said.findings if found.topic is Topic.STUCK]
    assert (
        found.text == "2 jobs still waiting and 3 that gave up waited longer than 95 % of similar "
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
    made = present(page_one(everything()))
    assert len(made.findings) >= 8
    for found in made.findings:
        assert len(found.text.split()) <= WORDS, found.text
        assert found.action
        assert found.anchor
        assert found.sql.startswith("SELECT")
        assert 0 < found.weight <= 1
    assert len({(found.about, found.name, found.topic) for found in made.findings}) == len(
        made.findings
    )


def test_hostile_names_stay_inside_their_quotes() -> None:
    for name in HOSTILE:
        made = present(page_one(replace(everything((name, "ben")), cluster=name)))
        for found in made.findings:
            outside = found.sql.replace("''", "")
            assert outside.count("'") % 2 == 0
            assert "\n" not in found.text


def test_use_above_capacity_is_part_of_how_busy_a_pool_was() -> None:
    part = measured()
    over = figure("over_capacity_time", 0.22)
    page = one(replace(part, figures=(over, *part.figures)))
    assert page.trust[1].text == (
        "128 CPUs, 70 % busy (including use above capacity), exceeded for 22 % of the time"
    )
    assert one(part).trust[1].text == "128 CPUs, 70 % busy"


def test_a_resource_that_is_busier_than_the_counted_one_is_named() -> None:
    uses = [ResourceUse("cpus", 0.7, 1.0, (), 0), ResourceUse("mem_bytes", 0.2, 1.0, (), 0)]
    busy = ResourceUse("gpus:a100", 0.92, 1.0, (), 0)
    page = one(replace(measured(), resources=(*uses, busy)))
    assert page.trust[1].text == "128 CPUs, 70 % busy, a100 GPUs 92 % in use"


def test_the_partition_with_most_of_the_waiting_is_named_with_its_cause() -> None:
    figures = (figure("wait_mean", 3_200.0), figure("cause_earlier_share", 0.43))
    queue = Queue("gpu", "-", "a100", 0.79, figures)
    rest = Queue("batch", "-", "-", 0.21, figures)
    assert one(replace(measured(), queues=(queue, rest))).waits_most == (
        "79 % of all waiting time is that of jobs in partition gpu, GPU type a100, which waited "
        "53 min on average: 43 % of it passed behind running jobs of others that had arrived "
        "earlier."
    )
    assert not one(replace(measured(), queues=(replace(queue, share=0.4), rest))).waits_most
    assert not one(measured()).waits_most


def test_a_share_without_an_interval_decides_nothing() -> None:
    part = measured(0.5)
    assert one(part).verdict.word is Word.NO
    bare = tuple(replace(figure, lower=None, upper=None) for figure in part.figures)
    page = one(replace(part, figures=bare))
    assert page.verdict.word is Word.CANNOT_TELL
    assert "too few days for an interval" in page.questions[1].text
    named = measured(0.5, "anna")
    assert one(replace(named, figures=bare)).verdict.word is Word.MIXED
