"""Cautions about fair start times."""

import pytest

from audit.report.render import page as render
from audit.report.sections.registry import notices
from tests.report.sample import contents, fair_starts, having, pool, without_fair_starts


def test_attempts_of_which_none_counts_are_no_figure() -> None:
    part = without_fair_starts(pool())
    noticed = contents(having(part, fair_starts(over_capacity=30, blocked=2)))
    (notice,) = (notice for notice in notices(noticed) if "leave out" in notice.text)
    assert not notice.grave
    assert notice.text.endswith("leave out 32 of 32 attempts (100 %): over capacity 30, blocked 2.")
    assert "No job has such a fair start time that counts" in render.render_html(noticed)


@pytest.mark.parametrize(
    ("statuses", "noticed"),
    [
        ({"final": 90, "blocked": 10}, None),
        ({"final": 80, "blocked": 20}, "leave out 20 of 100 attempts (20.0 %): blocked 20."),
        ({"final": 80, "provisional": 20}, "of 20 of 100 attempts (20.0 %) are provisional"),
    ],
)
def test_many_that_are_left_out_are_noticed(statuses: dict[str, int], noticed: str | None) -> None:
    made = contents(having(pool(), fair_starts(**statuses)))
    texts = [notice.text for notice in notices(made)]
    assert (
        any(noticed in text for text in texts) if noticed else not any("fair" in t for t in texts)
    )


def test_a_sample_says_of_how_many_it_is_and_leaves_nobody_out() -> None:
    noticed = contents(having(pool(), fair_starts(final=50, not_sampled=150)))
    (notice,) = (notice for notice in notices(noticed) if "Strict and relaxed" in notice.text)
    assert not notice.grave
    assert "computed for 50 of 200 attempts (25.0 %), as many as the budget" in notice.text
    few = contents(having(pool(), fair_starts(final=1, blocked=20, not_sampled=80)))
    texts = [notice.text for notice in notices(few)]
    assert any("20 of 101 attempts" in text and "blocked 20." in text for text in texts)
