from dataclasses import replace

from audit.report.contents import Contents, PoolPart
from audit.report.text.findings import findings
from tests.report.sample import (
    HOSTILE,
    contents,
    empty,
    figure,
    pool,
    resources,
    usage,
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


def test_hostile_names_are_quoted_harmlessly() -> None:
    text = _text(contents(pool(users=(HOSTILE[4], HOSTILE[5]))))
    assert "\u202e" not in text
    assert "\n" not in text
