"""Sentences about resources that single nodes lacked."""

from dataclasses import replace

import pytest

from audit.registry.causes import LACKS
from audit.report.finding import WORDS, Place
from audit.report.render.page import render_html
from audit.report.sections.causes import section
from audit.report.sections.causes.record import Causes, Scattered
from audit.report.sections.registry import findings
from tests.report.sample import contents, figure, having, pool

GPUS = Scattered("gpus", 168_000.0, 40, nodes=1, amount=4, part=0.8)
SHARES = tuple(figure(lack.share, 0.28, 0.2, 0.36) for lack in LACKS)
PART = having(
    pool(),
    Causes(scattered=(GPUS,)),
    figures=(*pool().figures, *SHARES, figure("cause_nodes_share", 0.2)),
)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (
            GPUS,
            "For 28 % of the waiting of GPU jobs, 4 or more GPUs were free, but no "
            "otherwise suitable node had 4.",
        ),
        (
            GPUS._replace(part=0.4),
            "For 28 % of the waiting of GPU jobs, enough was free on all nodes together, but "
            "single nodes lacked GPUs.",
        ),
        (
            GPUS._replace(lack="cpus", nodes=2, amount=16),
            "For 28 % of the waiting of all jobs, enough was free on all nodes together, but not "
            "16 CPUs on each of 2 nodes.",
        ),
        (
            GPUS._replace(lack="mem", amount=64 << 30),
            "For 28 % of the waiting of jobs that request memory, 64 GiB of memory was free, but "
            "no otherwise suitable node had it.",
        ),
        (
            GPUS._replace(lack="several", amount=None),
            "For 28 % of the waiting of all jobs, enough was free on all nodes together, but "
            "single nodes lacked several resources at once.",
        ),
    ],
)
def test_a_sentence_names_the_request_if_one_explains_most(one: Scattered, text: str) -> None:
    assert section.sentence(one, PART) == text
    assert len(text.split()) <= WORDS


def test_the_finding_is_about_the_resource_with_most_waiting() -> None:
    report = contents(PART)
    (found,) = (
        one
        for one in findings(report, Place("c", "p", PART, 1, several=False))
        if one.topic == "free capacity scattered over nodes"
    )
    assert found.text == section.sentence(GPUS, PART)
    assert found.action == f"{LACKS[0].remedy}."
    # 1,000 jobs waited 600 s on average; GPU jobs waited 168,000 / 0.28 s of that, which is all
    assert (found.effect, found.sure) == (0.28, 0.2)
    assert found.part == pytest.approx(1.0)
    none = having(PART, Causes(scattered=()))
    assert all(
        one.topic != "free capacity scattered over nodes"
        for one in findings(contents(none), Place("c", "p", none, 1, several=False))
    )


def test_the_page_says_how_node_shares_are_known() -> None:
    unexplained = figure("cause_unexplained_share", 0.3)
    for value, text in ((0.03, "For 3.0\u00a0% of the node time"), (0.0, "are known from the log")):
        known = figure("nodes_guessed_share", value), figure("nodes_uneven_share", value)
        page = render_html(contents(replace(PART, figures=(*PART.figures, unexplained, *known))))
        assert text in page
        assert ("requests of 3.0\u00a0% of the jobs do not divide" in page) == bool(value)
        assert "4 GPUs on one node (80.0\u00a0%)" in page
