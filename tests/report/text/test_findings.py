from dataclasses import replace

from audit.report.contents import Contents, Coverage, PoolPart
from audit.report.text.findings import findings, notices, standing, state
from tests.report.sample import (
    HOSTILE,
    contents,
    empty,
    entities,
    figure,
    pool,
    resources,
    usage,
    without_fair_starts,
)


def _text(said: Contents) -> str:
    return " ".join(found.text for found in findings(said))


def _with(part: PoolPart, *figures_: tuple[str, float]) -> PoolPart:
    changed = dict(figures_)
    kept = tuple(known for known in part.figures if known.metric not in changed)
    return replace(part, figures=kept + tuple(figure(*pair) for pair in figures_))


def test_findings_hold_the_numbers_with_their_intervals() -> None:
    text = _text(contents())
    assert "40.0 % of the 1,000 attempts got less than an equal share" in text
    assert "1 CPU-hour for each attempt of the pool (95 % interval 0.500 to 2)" in text
    assert "one in ten longer than 2 h" in text
    assert "70.0 % busy (95 % interval 65.0 to 75.0 %)" in text


def test_uwt_is_never_said_without_its_companions() -> None:
    found = next(found.text for found in findings(contents()) if "UWT" in found.text)
    for companion in ("0.500", "0.250", "1.50", "0.750", "3.50", "12.5", "2 users with fewer"):
        assert companion in found
    assert "more computing" not in found


def test_never_started_stands_beside_the_waits() -> None:
    assert "3 attempts left the queue without having started, after 30 min" in _text(contents())


def test_overlapping_intervals_are_not_called_a_difference() -> None:
    assert "the difference may be chance" in _text(contents())


def test_a_class_of_few_attempts_is_not_named() -> None:
    # The class over 128 has five attempts: it may stand in a table, not in a headline.
    assert "over 128" not in _text(contents())


def test_nothing_is_found_where_nothing_was_measured() -> None:
    assert findings(empty()) == ()


def test_several_pools_are_told_apart() -> None:
    waits = [
        found.text for found in findings(contents(pool("a"), pool("b"))) if found.subject == "Waits"
    ]
    assert [text.partition(":")[0] for text in waits] == ["Pool a", "Pool b"]


def test_who_is_furthest_from_the_target_is_said() -> None:
    text = _text(replace(contents(), usages=(usage(("physics", "maths", "law")),)))
    assert (
        "Of 3 accounts with a target, in the mean over the period, account physics was furthest "
        "above its target, with 60.0 % of all usage against 20.0 %; account law was furthest below "
        "its target, with 15.0 % of all usage against 20.0 %. To use less"
    ) in text


def test_usage_is_no_finding_without_targets() -> None:
    said = replace(contents(), usages=(usage(targets=False),))
    assert "target" not in _text(said)


def test_who_is_heavy_on_gpus_is_said() -> None:
    text = _text(contents(replace(pool(), resources=resources("anna", "ben"))))
    assert "Busy over the period: 70.0 % of the CPUs, 25.0 % of the GPUs." in text
    assert "user ben had 90.0 % of the GPUs" in text
    assert "memory" not in text  # of which the log tells nothing


def test_many_days_without_records_are_noticed() -> None:
    for empty_days, noticed in ((3, False), (4, True)):
        said = replace(contents(), coverage=Coverage(31, empty_days, 0, 0, ()))
        assert noticed is any("no record ended" in notice.text for notice in notices(said))


def test_hostile_names_are_quoted_harmlessly() -> None:
    text = _text(contents(pool(users=(HOSTILE[4], HOSTILE[5]))))
    assert "\u202e" not in text
    assert "\n" not in text


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
    assert any("Size not known, and counted as 0: 1 attempt." in notice.text for notice in found)


def test_refused_lines_and_missing_names_are_noticed() -> None:
    unnamed = replace(pool(), users=entities("user", ()))
    texts = [notice.text for notice in notices(contents(unnamed))]
    assert any("2 lines of 1,010 could not be taken (0.2 %)" in text for text in texts)
    assert any("names no users" in text for text in texts)


def test_few_attempts_are_an_anecdote() -> None:
    found = notices(contents(_with(pool(), ("attempts", 1.0))))
    assert any(notice.grave and "Only 1 attempt ended" in notice.text for notice in found)


def _whole() -> Contents:
    """A report that lacks nothing."""
    said = contents()
    logs = tuple(replace(log, refused=0) for log in said.inputs)
    return replace(said, inputs=logs, refusals=(), coverage=Coverage(31, 0, 0, 0, ()))


def test_only_a_report_that_lacks_nothing_is_complete() -> None:
    whole = _whole()
    assert state(whole) == "complete"
    day = 86_400
    span, logs = whole.span, whole.inputs
    pools = (without_fair_starts(pool()),)
    for lacking, why in (
        (replace(whole, inputs=(replace(logs[0], refused=1),)), "1 line refused"),
        (replace(whole, coverage=Coverage(31, 1, 0, 0, ())), "on 1 of 31 days"),
        (replace(whole, span=replace(span, last_end=span.to_time - 15 * day)), "records end on"),
        (
            replace(whole, span=replace(span, first_arrival=span.from_time + 2 * day)),
            "records begin on",
        ),
        (replace(whole, pools=pools), "no fair start times in pool batch"),
        (replace(whole, usages=()), "no usage over time"),
        (replace(whole, warnings=("the header lies",)), "1 caution below"),
    ):
        assert state(lacking) == "partial"
        assert why in standing(lacking).text
    assert state(empty()) == "empty"


def test_records_that_ended_long_before_are_stale() -> None:
    whole, day = _whole(), 86_400
    old = replace(whole, span=replace(whole.span, last_end=whole.span.to_time - 40 * day))
    assert state(old) == "stale"
    assert "40 d before the period does" in standing(old).text
    # who hands the report on knows whether its period still runs
    half = replace(whole, span=replace(whole.span, last_end=whole.span.to_time - 15 * day))
    assert state(half, now=half.span.to_time - 14 * day) == "partial"
    assert state(half, now=half.span.to_time - 10 * day) == "stale"
    assert state(half, now=half.span.to_time + day) == "stale"
