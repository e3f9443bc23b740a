"""Settings under which fairshare says nothing are named."""

from dataclasses import replace
from typing import Any

import pytest

from audit.report.record.page import Contents
from audit.report.record.usage import Charge, UsageOf
from audit.report.text.doubts import doubts
from audit.report.text.notices import notices
from tests.report.sample import contents, empty, figure, pool, usage

_FROM = 1790805600


def said(made: Contents) -> list[tuple[bool, str]]:
    return [(doubt.grave, doubt.text) for doubt in doubts(made)]


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
        ({"nothing": True}, True, "nobody used anything in this period"),
        ({"accounts": {"targets": 1}}, False, "Only one account has a target"),
        (
            {"accounts": {"targets": 3, "different": 1}},
            False,
            "targets of all 3 accounts are the same",
        ),
        ({"accounts": {"unused": 0.75}}, False, "75.0 % of what the targets promise to accounts"),
        (
            {"accounts": {"without": 2, "by_without": 0.3}},
            False,
            "30.0 % of all usage is by 2 accounts without a target",
        ),
        ({"accounts": {"without": 9, "by_without": 0.8}}, True, "80.0 % of all usage is by 9"),
        ({"settings": {"decay": 1.5}}, False, "Older usage counts more than recent usage"),
        ({"settings": {"decay": 0.0}}, False, "only the latest window counts"),
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
    assert "Usage is forgotten (24 h) sooner than an attempt waits on average (2 d)" in found[1]
    windows = with_usage(slow, settings={"interval_days": 1, "depth": 1})
    assert "forgotten (24 h)" in said(windows)[0][1]
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
            assert f"{unknown} of the weight of usage lies before the log begins" in found[0][1]


def test_amounts_that_the_log_does_not_know_or_that_are_beyond_the_pool() -> None:
    late = _FROM - 400 * 86_400
    for changes, grave, text in (
        ({"unknown": 20}, False, "how much of the GPUs of pool batch 20.0 % of the attempts had"),
        ({"unknown": 60}, True, "60.0 %"),
        ({"clipped": 30}, False, "30.0 % of the attempts in pool batch had more of the GPUs"),
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


def test_doubts_are_notices_of_page_one() -> None:
    made = with_usage(accounts={"targets": 1})
    assert any("Only one account has a target" in notice.text for notice in notices(made))


def test_users_are_looked_at_too() -> None:
    users = UsageOf("user", 2, 2, (), 0, None, None, different=1)
    made = with_usage()
    (of,) = made.usages
    found = said(replace(made, usages=(replace(of, users=users),)))
    assert [text for _, text in found] == [
        "The targets of all 2 users are the same: ranks go by usage alone."
    ]
