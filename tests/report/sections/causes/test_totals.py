"""What jobs waited for, from attempts."""

import math
from dataclasses import replace

import pytest

from audit.registry.reasons import HELD_BY
from audit.report.first_page.compose import lines
from audit.report.sections.causes import shown
from audit.report.sections.causes.page_one import notes, shown_shares
from audit.report.sections.causes.record import RuleTime, Where
from audit.report.sections.causes.shown import CAUSES, KEYS
from tests.report.first_page.sample import LIMIT, RULE, causes, facts, ruled
from tests.report.sections.jobs import frame, job


def test_shares_are_of_all_waiting_by_who_can_act() -> None:
    jobs = frame(
        job(100, earlier=60, later=40),
        job(100, held=100, held_by="licence"),
        job(100, held=100, held_by="dependency"),
        job(100, held=100, held_by="own_limit_inferred"),
        job(100, held=100),
        job(500, rule=250, outside=50),
    )
    shares = shown.shares(jobs)
    assert shares == pytest.approx(
        dict.fromkeys(KEYS, 0.0)
        | {"earlier": 0.06, "later": 0.04, "held_site": 0.1, "held_user": 0.1}
        | {"held_unknown": 0.2, "rule": 0.25, "outside": 0.05, "none": 0.2}
    )
    assert math.isclose(sum(shares.values()), 1.0)


def test_rare_looks_of_the_scheduler_are_no_cause_of_their_own() -> None:
    few = frame(job(1_000, cycle=40))
    assert shown.shares(few)["cycle"] == 0.0
    assert shown.shares(few)["none"] == 1.0
    many = frame(job(1_000, cycle=60))
    assert shown.shares(many)["cycle"] == pytest.approx(0.06)


def test_each_kind_of_hold_has_one_group() -> None:
    for kind in (*HELD_BY, "administrator", "of-a-later-version", None):
        shares = shown.shares(frame(job(10, held=10, held_by=kind)))
        assert sum(shares[key] for key in ("held_site", "held_user", "held_unknown")) == 1.0
    assert {cause.group for cause in CAUSES if cause.key.startswith("held")} == {
        *("The site", "The user", "Not known"),
    }


def test_the_class_that_has_much_of_the_waiting_without_a_reason() -> None:
    long = [job(9_000, walltime_s=20_000) for _ in range(20)]
    rest = [job(1_000, earlier=500, walltime_s=7_200) for _ in range(80)]
    made = shown.where(frame(*long, *rest))
    assert made == Where("walltime", 14_400, 180 / 220, 0.2)
    assert shown.where(frame(*rest)) is None  # everybody's
    assert shown.where(frame(job(10, earlier=10))) is None


def test_the_last_reason_recorded_of_the_waiting_without_a_cause() -> None:
    """A hold or limit; Slurm keeps the last of these, but not the time for which it applied."""
    tasks = [job(9_000, reason="JobArrayTaskLimit", user="bert") for _ in range(20)]
    rest = [job(1_000, earlier=500, reason="Resources") for _ in range(80)]
    made = shown.where(frame(*tasks, *rest))
    assert made == Where("reason", "JobArrayTaskLimit", 180 / 220, 0.2)
    most = frame(*4 * tasks, *rest)  # whose user has as much of it, and as many of the jobs
    assert shown.where(most) == Where("reason", "JobArrayTaskLimit", 720 / 760, 0.5)
    assert shown.last_reason(frame(*rest)) is None
    explained = [job(10, earlier=10, reason="Dependency") for _ in range(9)]
    assert shown.last_reason(frame(*explained)) is None


def test_rules_of_one_name_are_one() -> None:
    jobs = frame(
        job(100, rule=80, main_rule="closed 1", cause_rule_free_s=50.0),
        job(100, rule=60, main_rule="closed 2", cause_rule_free_s=60.0),
        job(100, rule=90, main_rule="limit", cause_rule_free_s=1.0),
        job(100, earlier=90),
    )
    named = {
        "closed 1": RuleTime("daytime closure for jobs over 4 h", "window", "inferred"),
        "closed 2": RuleTime("daytime closure for jobs over 4 h", "window", "inferred"),
        "limit": RuleTime("limit of 2 running jobs per user", "limit", "slurm"),
    }
    first, second = shown.rules(jobs, named)
    assert (first.name, first.waiting_s, first.free_s) == (named["closed 1"].name, 140.0, 110.0)
    assert (second.name, second.source, second.waiting_s) == (named["limit"].name, "slurm", 90.0)


def test_users_wait_for_others_under_a_limit_that_they_fill_together() -> None:
    said = "Hardly any user waited for others."
    of = facts(causes=causes(rule=0.97, none=0.03), rules=(LIMIT,))
    assert said in [note.plain for note in notes(of)]
    row = {"name": "limit of 384 CPUs per account", "kind": "limit", "source": "inferred"}
    row |= {"scope": "", "unit": "cpus", "per": "account"}
    shared = shown.named_rule(row)._replace(waiting_s=9.0)
    assert said not in [note.plain for note in notes(replace(of, rules=(shared,)))]


@pytest.mark.parametrize(
    ("free_s", "text"), [(90.0, "nearly always while"), (60.0, "two thirds of the time while")]
)
def test_how_much_of_the_time_under_a_rule_was_free(free_s: float, text: str) -> None:
    of = ruled(RULE._replace(free_s=free_s))
    assert notes(of)[0].plain == (
        "Limit or rule: mainly the daytime closure for jobs over 4 h (found, unconfirmed), "
        f"{text} enough was free."
    )


def test_listed_causes_stand_by_the_shares_that_are_shown() -> None:
    """A group's only listed cause has the group's total, with what is not listed."""
    of = facts(causes=causes(down=0.334, earlier=0.331, outside=0.009, none=0.326))
    assert next(iter(shown_shares(of).items())) == ("none", "34 %")
    assert dict(lines(of))["Why"].startswith("34 % no reason in the log, ")
