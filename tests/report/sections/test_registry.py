"""Cautions of a report."""

from dataclasses import replace

import pytest

from audit.report.contents import PoolPart
from audit.report.sections.records.record import Coverage, MissingLog
from audit.report.sections.records.section import one_of_each
from audit.report.sections.registry import notices
from tests.report.sample import contents, entities, figure, pool


def _with(part: PoolPart, *figures_: tuple[str, float]) -> PoolPart:
    changed = dict(figures_)
    kept = tuple(known for known in part.figures if known.metric not in changed)
    return replace(part, figures=kept + tuple(figure(*pair) for pair in figures_))


def test_many_days_without_records_are_noticed() -> None:
    for empty_days, noticed in ((3, False), (4, True)):
        made = replace(contents(), coverage=Coverage(31, empty_days, 0, 0, ()))
        assert noticed is any("No job ended on" in notice.text for notice in notices(made))


def test_grave_notices_come_first() -> None:
    noticed = replace(
        contents(_with(pool(), ("over_capacity_time", 0.22), ("size_unknown", 1.0))),
        warnings=("header: MaxProcs says 64, but 128 were in use",),
    )
    found = notices(noticed)
    assert [notice.grave for notice in found] == sorted(
        (notice.grave for notice in found), reverse=True
    )
    assert found[1].text.startswith("header: MaxProcs")
    assert any("For 22 % of the time" in notice.text for notice in found)
    told = "Attempts of unknown size, which count as 0 and not in resource equality: 1."
    assert any(told in notice.text for notice in found)


@pytest.mark.parametrize(("over", "refused", "of_page_one"), [
    (0.04, 2, []),
    (0.06, 2, ["For 6 % of the time, more than"]),
    (0.04, 100, ["100 lines of 1,010 refused"]),
])  # fmt: skip
def test_page_one_has_only_the_cautions_that_put_all_figures_in_doubt(
    over: float, refused: int, of_page_one: list[str]
) -> None:
    made = contents(_with(pool(), ("over_capacity_time", over)))
    first, *others = made.inputs
    inputs = (replace(first, refused=refused), *(replace(one, refused=0) for one in others))
    made = replace(made, inputs=inputs, warnings=("header: MaxProcs says 64, but 128 were in use",))
    found = [notice.text for notice in notices(made) if notice.first]
    assert [text[: len(begin)] for text, begin in zip(found, of_page_one, strict=True)] == (
        of_page_one
    )


def test_refused_lines_and_missing_names_are_noticed() -> None:
    unnamed = replace(pool(), users=entities("user", ()))
    texts = [notice.text for notice in notices(contents(unnamed))]
    assert any("2 lines of 1,010 refused (0.2 %)" in text for text in texts)
    assert any("names no users" in text for text in texts)


def test_few_attempts_are_an_anecdote() -> None:
    found = notices(contents(_with(pool(), ("attempts", 1.0))))
    assert any(notice.grave and "Only 1 attempt ended" in notice.text for notice in found)


def test_a_log_without_any_walltime_is_noticed() -> None:
    told = "The log has no walltimes: fair start times use real run times as estimates"
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


def test_of_refused_records_the_first_is_shown_on_the_same_line() -> None:
    reason = "9 of 10 records were refused. The first of them:\n  a.swf:1: bad\n  a.swf:2: bad"
    texts = [one.text for one in notices(replace(contents(), missing=(MissingLog("a", reason),)))]
    assert any(text.endswith("refused. The first of them: a.swf:1: bad") for text in texts)


def test_a_reason_of_many_logs_is_stated_once_with_their_number() -> None:
    no_log, empty = "not a log that fairaudit reads", "it is empty"
    files = [MissingLog(f"f{n}.txt", no_log) for n in range(100)]
    files.insert(1, MissingLog("g.txt", empty))
    texts = [one.text for one in notices(replace(contents(), missing=tuple(files)))]
    assert (
        "100 logs could not be read, so their records are missing (f0.txt, f1.txt, f2.txt, …): "
        f"{no_log}" in texts
    )
    assert f"Log g.txt could not be read, so its records are missing: {empty}" in texts
    assert sum(no_log in text for text in texts) == 1
