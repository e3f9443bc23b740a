from dataclasses import replace
from typing import Any

import pytest

from audit.report.record.page import Charge, Contents, Coverage, MissingLog, UsageOf
from audit.report.record.pool import PoolPart
from audit.report.render import page as render
from audit.report.text.notices import notices, one_of_each
from tests.report.sample import (
    contents,
    empty,
    entities,
    fair_starts,
    figure,
    pool,
    usage,
    without_fair_starts,
)


def _with(part: PoolPart, *figures_: tuple[str, float]) -> PoolPart:
    changed = dict(figures_)
    kept = tuple(known for known in part.figures if known.metric not in changed)
    return replace(part, figures=kept + tuple(figure(*pair) for pair in figures_))


def test_many_days_without_records_are_noticed() -> None:
    for empty_days, noticed in ((3, False), (4, True)):
        said = replace(contents(), coverage=Coverage(31, empty_days, 0, 0, ()))
        assert noticed is any("No job ended on" in notice.text for notice in notices(said))


def test_grave_notices_come_first() -> None:
    said = replace(
        contents(_with(pool(), ("over_capacity_time", 0.22), ("size_unknown", 1.0))),
        warnings=("header: MaxProcs says 64, but 128 were in use",),
    )
    found = notices(said)
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


def test_attempts_of_which_none_counts_are_no_figure() -> None:
    part = without_fair_starts(pool())
    said = contents(replace(part, fair_start=fair_starts(over_capacity=30, blocked=2)))
    (notice,) = (notice for notice in notices(said) if "no figure" in notice.text)
    assert not notice.grave
    assert notice.text.endswith("fair start times: over capacity 30, blocked 2.")
    assert "No job has such a fair start time that counts" in render.render_html(said)


@pytest.mark.parametrize(
    ("statuses", "noticed"),
    [
        ({"final": 90, "blocked": 10}, None),
        ({"final": 80, "blocked": 20}, "20 of 100 attempts (20.0 %) are in no figure"),
        ({"final": 80, "provisional": 20}, "of 20 of 100 attempts (20.0 %) are provisional"),
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
    (notice,) = (notice for notice in notices(said) if "Strict and relaxed" in notice.text)
    assert not notice.grave
    assert "computed for 50 of 200 attempts (25.0 %), as many as the budget" in notice.text
    few = contents(replace(pool(), fair_start=fair_starts(final=1, blocked=20, not_sampled=80)))
    texts = [notice.text for notice in notices(few)]
    assert any("20 of 101 attempts" in text and "blocked 20." in text for text in texts)


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


# --- settings of usage and targets


_FROM = 1790805600


PLAIN = contents()


def said(made: Contents) -> list[tuple[bool, str]]:
    return [(notice.grave, notice.text) for notice in notices(made) if notice not in notices(PLAIN)]


def with_usage(*pools: Any, charges: tuple[Charge, ...] = (), **changes: Any) -> Contents:
    of = usage()
    settings = {**of.settings, **changes.pop("settings", {})}
    accounts = replace(of.accounts, **{"different": 2, **changes.pop("accounts", {})})
    told = replace(of, settings=settings, accounts=accounts, **changes)
    return replace(contents(*pools), usages=(told,), charges=charges)


def charge(**changes: Any) -> Charge:
    whole = Charge("batch", "gpus", 8.0, False, True, 100, 0, 0, _FROM)
    return replace(whole, **changes)


def test_ordinary_settings_leave_no_doubt() -> None:
    assert said(with_usage(charges=(charge(first_start=_FROM - 400 * 86_400),))) == []
    assert said(replace(with_usage(nothing=True), pools=empty().pools)) == []


@pytest.mark.parametrize(
    ("changes", "grave", "text"),
    [
        ({"nothing": True}, True, "charged no usage in this period"),
        ({"accounts": {"targets": 1}}, False, "Only one account has a target"),
        (
            {"accounts": {"targets": 3, "different": 1}},
            False,
            "All 3 accounts have the same target",
        ),
        ({"accounts": {"unused": 0.75}}, False, "75.0 % of all targets belong to accounts"),
        (
            {"accounts": {"without": 2, "by_without": 0.3}},
            False,
            "30.0 % of all usage is by 2 accounts without a target",
        ),
        ({"accounts": {"without": 9, "by_without": 0.8}}, True, "80.0 % of all usage is by 9"),
        ({"settings": {"decay": 1.5}}, False, "Older usage counts more than recent usage"),
        ({"settings": {"decay": 0.0}}, False, "only the latest of the configured windows counts"),
    ],
)
def test_what_makes_fairshare_meaningless_is_said(
    changes: dict[str, Any], grave: bool, text: str
) -> None:
    (found,) = said(with_usage(**changes))
    assert found[0] == grave
    assert text in found[1]


def test_usage_that_is_forgotten_before_the_next_start() -> None:
    slow = replace(pool(), figures=(figure("attempts", 1e3), figure("wait_mean", 2 * 86_400.0)))
    made = with_usage(slow, settings={"method": "half_life", "half_life_days": 1.0})
    (found,) = said(made)
    assert found[0]
    assert "Usage is forgotten after 24 h, which is less than the mean wait (2 d)" in found[1]
    windows = with_usage(slow, settings={"interval_days": 1, "depth": 1})
    assert "forgotten after 24 h" in said(windows)[0][1]
    assert said(with_usage(slow)) == []


def test_usage_from_before_the_log_is_not_known() -> None:
    end = usage().as_of
    for settings, days, unknown in (
        ({"method": "half_life", "half_life_days": 10.0}, 10, None),  # just a half
        ({"method": "half_life", "half_life_days": 20.0}, 10, "70.7 %"),
        # windows of a day weigh 1, 0.7, 0.49: of 2.19, a day and a half is known
        ({"interval_days": 1, "depth": 3}, 1.5, None),
        # 1.19 of it is not, of a day
        ({"interval_days": 1, "depth": 3}, 1, "54.3 %"),
        ({"interval_days": 1, "depth": 3}, 0, "100 %"),
    ):
        begun = charge(first_start=end - int(days * 86_400))
        found = said(with_usage(charges=(begun,), settings=settings))
        if unknown is None:
            assert found == []
        else:
            assert f"{unknown} of the weight of usage is from before the log begins" in found[0][1]


def test_amounts_that_the_log_does_not_know_or_that_are_beyond_the_pool() -> None:
    late = _FROM - 400 * 86_400
    for changes, grave, text in (
        ({"unknown": 20}, False, "does not state the GPUs of 20.0 % of the attempts in pool batch"),
        ({"unknown": 60}, True, "60.0 %"),
        ({"clipped": 30}, False, "30.0 % of the attempts in pool batch had more GPUs"),
        ({"clipped": 90}, True, "90.0 %"),
    ):
        found = said(with_usage(charges=(charge(first_start=late, **changes),)))
        assert [(grave, text in line) for grave, line in found] == [(grave, True)]
    unheeded = charge(first_start=late, unknown=90, charged=False)
    assert said(with_usage(charges=(unheeded,))) == []


def test_settings_that_are_not_known_raise_no_doubt() -> None:
    for settings in (
        {"method": "slurm", "slurm_conf": "x", "half_life_days": 1e-9},
        {"decay": "x"},
    ):
        assert said(with_usage(settings=settings, charges=(charge(first_start=_FROM),))) == []


def test_users_are_looked_at_too() -> None:
    users = UsageOf("user", 2, 2, (), 0, None, None, different=1)
    made = with_usage()
    (of,) = made.usages
    found = said(replace(made, usages=(replace(of, users=users),)))
    assert [text for _, text in found] == [
        "All 2 users have the same target, so ranks depend on usage alone."
    ]


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
