from dataclasses import replace

import pytest

from audit.report.record.page import Coverage
from audit.report.record.pool import PoolPart
from audit.report.render import page as render
from audit.report.text.notices import notices, one_of_each
from tests.report.sample import (
    contents,
    entities,
    fair_starts,
    figure,
    pool,
    without_fair_starts,
)


def _with(part: PoolPart, *figures_: tuple[str, float]) -> PoolPart:
    changed = dict(figures_)
    kept = tuple(known for known in part.figures if known.metric not in changed)
    return replace(part, figures=kept + tuple(figure(*pair) for pair in figures_))


def test_many_days_without_records_are_noticed() -> None:
    for empty_days, noticed in ((3, False), (4, True)):
        said = replace(contents(), coverage=Coverage(31, empty_days, 0, 0, ()))
        assert noticed is any("no record ended" in notice.text for notice in notices(said))


def test_grave_notices_come_first() -> None:
    said = replace(
        contents(_with(pool(), ("over_capacity_time", 0.22), ("size_unknown", 1.0))),
        warnings=("header: MaxProcs says 64, but 128 were in use",),
    )
    found = notices(said)
    assert [notice.grave for notice in found] == sorted(
        (notice.grave for notice in found), reverse=True
    )
    assert found[0].text.startswith("header: MaxProcs")
    assert any("During 22.0 % of the time" in notice.text for notice in found)
    told = "Size not known, and counted as 0 (in no figure of equal sharing): 1 attempt."
    assert any(told in notice.text for notice in found)


def test_refused_lines_and_missing_names_are_noticed() -> None:
    unnamed = replace(pool(), users=entities("user", ()))
    texts = [notice.text for notice in notices(contents(unnamed))]
    assert any("2 lines of 1,010 could not be taken (0.2 %)" in text for text in texts)
    assert any("names no users" in text for text in texts)


def test_few_attempts_are_an_anecdote() -> None:
    found = notices(contents(_with(pool(), ("attempts", 1.0))))
    assert any(notice.grave and "Only 1 attempt ended" in notice.text for notice in found)


def test_attempts_of_which_none_counts_are_no_figure() -> None:
    part = without_fair_starts(pool())
    said = contents(replace(part, fair_start=fair_starts(over_capacity=30, blocked=2)))
    (notice,) = (notice for notice in notices(said) if "no figure" in notice.text)
    assert notice.grave
    assert notice.text.endswith("fair start times: over capacity 30, blocked 2.")
    assert "No job has a fair start time that counts" in render.render_html(said)


@pytest.mark.parametrize(
    ("statuses", "noticed"),
    [
        ({"final": 90, "blocked": 10}, None),
        ({"final": 80, "blocked": 20}, "20 of 100 attempts (20.0 %) are in no figure"),
        ({"final": 80, "provisional": 20}, "of 20 attempts (20.0 %) are provisional"),
    ],
)
def test_many_that_are_left_out_are_noticed(statuses: dict[str, int], noticed: str | None) -> None:
    said = contents(replace(pool(), fair_start=fair_starts(**statuses)))
    texts = [notice.text for notice in notices(said)]
    assert (
        any(noticed in text for text in texts) if noticed else not any("fair" in t for t in texts)
    )


def test_a_sample_says_of_how_many_it_is_and_leaves_nobody_out() -> None:
    said = contents(replace(pool(), fair_start=fair_starts(final=50, not_sampled=150)))
    (notice,) = (notice for notice in notices(said) if "forward start" in notice.text)
    assert not notice.grave
    assert "computed for 50 of 200 attempts (25.0 %), as many as the budget of both" in notice.text
    few = contents(replace(pool(), fair_start=fair_starts(final=1, blocked=20, not_sampled=80)))
    texts = [notice.text for notice in notices(few)]
    assert any("20 of 101 attempts" in text and "blocked 20." in text for text in texts)


def test_a_log_without_any_walltime_is_noticed() -> None:
    told = "The log knows no walltime of any attempt: estimates are what attempts really took"
    all_unknown = contents(_with(pool(), ("walltime_unknown", 1_000.0)))
    assert any(notice.text.startswith(told) for notice in notices(all_unknown))
    for known in (pool(), _with(pool(), ("walltime_unknown", 999.0))):
        assert not any("walltime" in notice.text for notice in notices(contents(known)))


def test_equal_cautions_are_one_with_a_count() -> None:
    days = [f"log-{day:02}.txt: times have no zone; UTC is assumed." for day in range(1, 93)]
    other = "Pool 'batch': 3 jobs requested more than it has."
    assert one_of_each([*days, other]) == [f"{days[0]} (91 more of this kind)", other]


def test_cautions_that_differ_in_words_stay_apart() -> None:
    texts = ["a.log: cut at the end.", "b.log: times have no zone.", "c.log: cut at the end."]
    assert one_of_each(texts) == ["a.log: cut at the end. (1 more of this kind)", texts[1]]
