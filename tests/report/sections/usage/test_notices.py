"""Cautions about usage."""

from dataclasses import replace
from typing import Any

import pytest

from audit.report.contents import Contents
from audit.report.sections.registry import notices
from audit.report.sections.usage.record import Charge, UsageOf
from tests.report.sample import contents, empty, figure, pool, usage

_FROM = 1790805600
PLAIN = contents()


def noticed(made: Contents) -> list[tuple[bool, str]]:
    return [(notice.grave, notice.text) for notice in notices(made) if notice not in notices(PLAIN)]


def with_usage(*pools: Any, charges: tuple[Charge, ...] = (), **changes: Any) -> Contents:
    of = usage()
    settings = {**of.settings, **changes.pop("settings", {})}
    accounts = replace(of.accounts, **{"different": 2, **changes.pop("accounts", {})})
    told = replace(of, settings=settings, accounts=accounts, **changes)
    return replace(contents(*pools), usages=(told,), charges=charges)


def charge(**changes: Any) -> Charge:
    whole = Charge("batch", "gpus", False, True, 100, 0, 0, _FROM)
    return replace(whole, **changes)


def test_ordinary_settings_leave_no_doubt() -> None:
    assert noticed(with_usage(charges=(charge(first_start=_FROM - 400 * 86_400),))) == []
    assert noticed(replace(with_usage(nothing=True), pools=empty().pools)) == []


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
def test_what_makes_fairshare_meaningless_is_stated(
    changes: dict[str, Any], grave: bool, text: str
) -> None:
    (found,) = noticed(with_usage(**changes))
    assert found[0] == grave
    assert text in found[1]


def test_usage_that_is_forgotten_before_the_next_start() -> None:
    slow = replace(pool(), figures=(figure("attempts", 1e3), figure("wait_mean", 2 * 86_400.0)))
    made = with_usage(slow, settings={"method": "half_life", "half_life_days": 1.0})
    (found,) = noticed(made)
    assert found[0]
    assert "Usage is forgotten after 24 h, which is less than the mean wait (2 d)" in found[1]
    windows = with_usage(slow, settings={"interval_days": 1, "depth": 1})
    assert "forgotten after 24 h" in noticed(windows)[0][1]
    assert noticed(with_usage(slow)) == []


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
        found = noticed(with_usage(charges=(begun,), settings=settings))
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
        found = noticed(with_usage(charges=(charge(first_start=late, **changes),)))
        assert [(grave, text in line) for grave, line in found] == [(grave, True)]
    unheeded = charge(first_start=late, unknown=90, charged=False)
    assert noticed(with_usage(charges=(unheeded,))) == []


def test_settings_that_are_not_known_raise_no_doubt() -> None:
    for settings in (
        {"method": "slurm", "slurm_conf": "x", "half_life_days": 1e-9},
        {"decay": "x"},
    ):
        assert noticed(with_usage(settings=settings, charges=(charge(first_start=_FROM),))) == []


def test_users_are_looked_at_too() -> None:
    users = UsageOf("user", 2, 2, (), 0, None, None, different=1)
    made = with_usage()
    (of,) = made.usages
    found = noticed(replace(made, usages=(replace(of, users=users),)))
    assert [text for _, text in found] == [
        "All 2 users have the same target, so ranks depend on usage alone."
    ]
