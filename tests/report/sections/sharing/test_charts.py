"""Shortfalls and inequality, drawn."""

import re
from dataclasses import replace

from audit.report.sections import sharing as sharing_charts
from audit.report.sections.sharing import AccountShare, PoolShares
from audit.report.sections.usage import shown as usage_charts
from tests.report.sample import choice, contents, known, of_resources, pool, present, waiting


def test_curves_bear_their_gini_index() -> None:
    made = present(sharing_charts.lorenz(waiting(pool())))
    # Amounts 0 (no attempts: no row), 3, 9, …, 243 and 10, 20, … 50 in proportion.
    assert "usage (Gini 0.61)" in made.body
    assert "waiting (Gini 0.27)" in made.body
    tips = re.findall('data-tip="([^"]*)"', made.body)
    least = "the 100 % of users with the least"
    assert tips[-1] == f"{least}: 100 % of all usage, 100 % of all waiting"
    assert len(tips) == 10


def test_a_few_users_have_no_distribution() -> None:
    part = waiting(pool())
    few = replace(part, users=replace(part.users, rows=part.users.rows[:4]))
    assert sharing_charts.lorenz(few) is None


def test_shortfalls_bear_their_intervals_and_how_many_they_rest_on() -> None:
    made = present(sharing_charts.shortfall(pool()))
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0].startswith("1 CPU: shortfall of 25.0 % of what they consumed (95 % interval")
    assert tips[0].endswith("; 900 attempts")


def test_the_account_with_the_largest_deficit_is_drawn_beside_what_it_was_entitled_to() -> None:
    begin = 1_767_225_600  # 2026-01-01 00:00 UTC
    share = AccountShare(
        *("<physics>", 7_200, 0.25, 0.5, 3_600.0),
        *(begin, 3_600, (0, 2), (0.5, 0.0), (0.5, 0.5)),
    )
    assert sharing_charts.account_shares(pool()) is None
    sections = {**pool().sections, "sharing": PoolShares(accounts=(share,))}
    made = present(sharing_charts.account_shares(replace(pool(), sections=sections)))
    assert made.title == (
        "While account <physics> had jobs, it held 25 % of the pool and was entitled to 50 %"
    )
    assert made.alt.endswith("Deficit: 1 h of the pool.")
    assert "<physics>" not in made.body
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips == ["held 50 %, entitled to 50 %", "held 0 %, entitled to 50 %"]


def test_charts_have_shapes_beside_colours() -> None:
    made = replace(contents(), occupied=of_resources(), choice=choice(), charges=known())
    occupied, penalties = usage_charts.occupied(made.occupied), usage_charts.penalties(made.choice)
    assert occupied is not None
    assert penalties is not None
    assert occupied.title == "Account physics occupied 40.0 % of the CPUs and 10.0 % of the GPUs"
    assert "physics 40.0 % of the CPUs, 10.0 % of the GPUs" in occupied.alt
    tips = re.findall('<(\\w+)[^>]*data-tip="([^"]*)"', occupied.body)
    assert tips[:3] == [
        ("circle", "physics, CPUs: 40.0 %"),
        ("polygon", "physics, GPUs: 10.0 %"),
        ("rect", "physics: target 25.0 %"),
    ]
    assert "anna 0.0 % by cpu, 60.0 % by root" in penalties.alt
