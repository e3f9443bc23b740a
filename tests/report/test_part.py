"""Reports on a part of the workload: no verdict, no advice, and nothing about free capacity."""

import re
from dataclasses import replace

import pytest

from audit.metrics.verdict import Because, Word
from audit.registry.causes import CAUSES
from audit.report import part, standing
from audit.report.build import FREE, in_part
from audit.report.contents import Contents, Who
from audit.report.first_page.compose import compose
from audit.report.owner import text as owner_text
from audit.report.owner.page import render_html as render_owner
from audit.report.owner.record import WaitPool
from audit.report.render.page import render_html
from audit.report.sections import passed_over
from audit.report.sections.advice import section as advice
from audit.report.sections.advice.record import Advised
from audit.report.sections.causes.record import Causes, Scattered
from audit.report.sections.machine.record import MachineOverTime
from audit.report.sections.passed_over import OrderTest, Stuck, StuckAttempt
from audit.report.sections.registry import notices
from audit.report.sections.rules.record import BoundRule, BoundRules
from tests.report.first_page.sample import decision, ruled, with_figures
from tests.report.owner import sample as owners
from tests.report.sample import contents, figure, having, pool, present
from tests.report.sections.measured import found, waited

WHY = "it has 10 %"
FREE_WORDS = re.compile(r"\bidle\b|\bwould have fitted\b|\bwas free\b|\bwere free\b")
"""Claims that capacity was free."""


def partly(main: str = "unexplained", why: str = WHY) -> Contents:
    """A report on a pool with all kinds of evidence of free capacity."""
    shares = (figure(f"cause_{cause.key}_share", 0.05, 0.04, 0.06) for cause in CAUSES)
    attempt = StuckAttempt("1", 1, "anna", 1, True, 900, 100, 0.9, "unexplained", None, None, None)
    made = pool()
    made = having(
        made,
        BoundRules((BoundRule("limit of 10 running jobs per user", 9_000.0, 90),)),
        OrderTest(tested={"user": 40}, stuck=Stuck(1, 0, (attempt,))),
        Causes(scattered=(Scattered("gpus", 900.0, 90, 1, 4, 0.9),)),
        MachineOverTime(outages=((0, 1),)),
        figures=(
            figure(f"cause_{main}_share", 0.6, 0.5, 0.7),
            *shares,
            figure("cause_rule_free_share", 0.4, 0.3, 0.5),
            figure("cause_nodes_gpus_share", 0.3, 0.2, 0.4),
            figure("idle_usable", 100.0),
            *made.figures,
        ),
    )
    return replace(contents(in_part(made, why)), part=why)


def visible(page: str) -> str:
    """The text of a page, without its glossary."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    page = page[: page.index('id="definitions"')] if 'id="definitions"' in page else page
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_same_pool_as_a_whole_claims_that_capacity_was_free() -> None:
    assert len(FREE_WORDS.findall(visible(render_html(partly(why=""))))) > 5


@pytest.mark.parametrize("main", [cause.key for cause in CAUSES])
def test_nothing_says_that_capacity_was_free(main: str) -> None:
    made = partly(main)
    page = visible(render_html(made))
    assert not FREE_WORDS.findall(page)
    assert not {one.topic for one in found(made)} & {
        "limits and closed hours",
        "free capacity scattered over nodes",
        "unexplained waits",
        "idle while others queue",
        "later arrivals",
    }
    said = waited(made)
    assert " of all waiting time passed " in said
    assert ", as far as this part of the workload shows (50–70 %)" in said
    assert part.ADVICE in page
    assert "The pool was 70 % busy with this part of the workload" in page


def test_page_one_says_only_that_the_log_is_a_part() -> None:
    made = decision(Word.CANNOT_TELL, Because.PART)
    page = compose(ruled(share=0.5, part=True, decision=made), "UTC")
    assert page.sentence.plain == "The log holds only a part of the jobs."
    assert page.to_try[-1].plain == "No change was tested: the log holds only a part of the jobs."
    texts = " ".join(sentence.plain for sentence in with_figures(page) if sentence != page.cannot)
    assert not re.search(r"\bfree\b|\bidle\b", texts), texts


def test_it_is_a_caution_and_makes_the_report_partial() -> None:
    made = partly()
    first = notices(made)[0]
    assert first.grave
    assert first.text == f"The log is a part of the workload: {WHY}. {part.CAUTION}"
    assert standing.lacks(made)[0] == part.VERDICT
    assert standing.standing(made).state is standing.State.PARTIAL
    assert "caution" not in standing.standing(made).text  # it is named instead


def test_evidence_of_free_capacity_is_left_out() -> None:
    of = partly().pools[0]
    assert not any(of.figure(metric).value for metric in FREE)
    assert of[Advised] == Advised(part=True)
    assert advice.nothing(of[Advised]) == part.ADVICE
    assert passed_over.stuck_because(present(of[OrderTest].stuck).rows[0]) == "not known"
    assert in_part(pool(), "") == pool()


def test_pages_of_users_say_it_too() -> None:
    ann = Who("user", "ann")
    for ground, claims in (
        (WaitPool("batch", "cpus"), True),
        (WaitPool("batch", "cpus", True), False),
    ):
        of = owners.owner(ann, replace(owners.part(), pool=ground))
        assert bool(FREE_WORDS.findall(visible(render_owner(of)))) is claims
        waited = owner_text.answers(of.parts[0])[2].text
        assert ("without an explanation, as far as this part" in waited) is not claims
