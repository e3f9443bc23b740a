"""The lists of users, and their comparison, from small frames made by hand."""

from typing import Any

import pytest

from audit.report.sections.causes import shown as waiting
from audit.report.sections.causes.record import RuleTime
from audit.report.sections.who.record import People
from audit.report.sections.who.section import Context, of_people
from tests.report.first_page import sample
from tests.report.sections.jobs import frame, job


def listed(*jobs: dict[str, Any], **more: Any) -> People | None:
    made = frame(*jobs)
    outside = float(made["outside"].sum())
    waited = float(made["wait_s"].sum()) - outside
    given: dict[str, Any] = {
        "rules": {}, "holds": {}, "overtaken": (), "base_waited_s": waited,
        "decision": sample.decision(), "tested": 7, "shares": {},
    } | more  # fmt: skip
    return of_people(made, Context(100, waiting.shares(made), waited, **given))


def found(*jobs: dict[str, Any], **more: Any) -> People:
    made = listed(*jobs, **more)
    assert made is not None
    return made


def test_the_users_whose_share_is_closest_to_half() -> None:
    waits = {"a": 300, "b": 250, "c": 240, "d": 210}
    made = found(*(job(wait, user=user) for user, wait in waits.items()))
    assert (made.users, made.half, made.half_waiting) == (4, 2, 0.55)
    assert made.half_cpu == pytest.approx(0.5)
    alone = found(job(900, user="a"), job(100, user="b"))
    assert (alone.half, alone.half_waiting) == (1, 0.9)


def test_the_three_with_most_waiting_from_one_percent_on() -> None:
    waits = {"a": 500, "b": 300, "c": 190, "d": 9, "e": 1}
    made = found(*(job(wait, user=user) for user, wait in waits.items()))
    assert [one.name for one in made.most] == ["a", "b", "c"]
    few = found(job(9_970, user="a"), job(20, user="b"), job(10, user="c"))
    assert [one.name for one in few.most] == ["a"]


def similar(user: str, number: int, wait: int, of_others: int, alone: int = 0) -> list[Any]:
    """Jobs of a user with similar ones that waited so long, and some without any."""
    some = [job(wait, user=user, similar_wait_s=of_others) for _ in range(number)]
    return some + [job(wait, user=user) for _ in range(alone)]


def test_waits_are_compared_over_jobs_with_similar_ones() -> None:
    made = found(*similar("a", 30, 5_000, 100, alone=10), *similar("b", 20, 4_000, 4_000, alone=21))
    assert made.compared == 1  # b has similar jobs for less than half of its own
    a, b = made.most
    assert (a.compared, a.median, a.similar) == (30, 5_000, 100)
    assert (b.compared, b.similar, b.median) == (None, None, 4_000)


@pytest.mark.parametrize(
    ("wait", "of_others", "longer"),
    [(1_200, 600, 1), (1_199, 600, 0), (700, 100, 1), (699, 100, 0), (2_000, 1_100, 0)],
)
def test_longer_is_twice_as_long_and_ten_minutes(wait: int, of_others: int, longer: int) -> None:
    made = found(*similar("a", 30, wait, of_others))
    assert made.longer == longer
    assert made.above == longer  # it has most waiting, too
    assert made.longer_rows == ()


def test_an_excess_below_one_percent_of_the_waiting_is_no_longer_wait() -> None:
    jobs = [*similar("a", 20, 1_000, 100), *(job(20_000, user=f"u{k}") for k in range(100))]
    assert found(*jobs).longer == 0


def test_who_is_above_is_not_listed_again() -> None:
    jobs = [one for k in range(6) for one in similar(f"u{k}", 20, 9_000 - k, 100)]
    made = found(*jobs)
    assert (made.compared, made.longer, made.above) == (6, 6, 3)
    assert [one.name for one in made.most] == ["u0", "u1", "u2"]
    assert [one.name for one in made.longer_rows] == ["u3", "u4", "u5"]
    assert made.longest is not None
    assert made.longest.name == "u0"


def overtaken(**more: Any) -> dict[str, Any]:
    return {
        "entity_kind": "user", "entity": "a", "jobs": 165, "attempts": 60, "passed_jobs": 21,
        "passed_median_s": 7_000, "passed_s": 50, "named": True, "why": None, "cause": None,
        "usage_multiple": None,
    } | more  # fmt: skip


def test_those_that_are_named_are_listed_from_one_percent_of_the_base_on() -> None:
    jobs = (job(900, user="a", later=300), job(100, user="b"))
    (row,) = found(*jobs, overtaken=[overtaken()], base_waited_s=1_000.0).overtaken
    assert (row.name, row.passed_jobs, row.jobs, row.passed) == ("a", 21, 165, 0.05)
    assert row.passed_median == 7_000
    (old,) = found(*jobs, overtaken=[overtaken(jobs=None)], base_waited_s=1_000.0).overtaken
    assert old.jobs == 60  # with pairs: of a version before
    assert row.later == pytest.approx(1 / 3)
    for less in ({"passed_s": 9}, {"named": None}, {"named": False}):
        assert found(*jobs, overtaken=[overtaken(**less)], base_waited_s=1_000.0).overtaken == ()


@pytest.mark.parametrize(("of_user", "kind"), [(9, "account"), (10, "user")])
def test_accounts_are_listed_where_only_they_were_overtaken(of_user: int, kind: str) -> None:
    jobs = (job(900, user="a", account="bio"), job(100, user="b", account="chem"))
    rows = [overtaken(passed_s=of_user), overtaken(entity_kind="account", entity="bio")]
    made = found(*jobs, overtaken=rows, base_waited_s=1_000.0)
    assert (made.kind, [one.kind for one in made.overtaken]) == (kind, [kind])


def test_those_that_are_named_and_lost_little_are_not_forgotten() -> None:
    jobs = (job(900, user="a"), job(100, user="b"))
    rows = [overtaken(passed_s=9), overtaken(entity="b", passed_s=9, cause="held")]
    rows.append(overtaken(entity="c", named=False, why="usual"))
    made = found(*jobs, overtaken=rows, base_waited_s=1_000.0)
    assert made.overtaken == ()  # below 1 %
    assert made.known_causes == (False, True)


def test_an_account_that_is_named_and_lost_little_is_not_forgotten_where_no_user_is() -> None:
    rows = [overtaken(entity_kind="account", entity="bio", passed_s=9)]
    rows.append(overtaken(named=False, why="usual"))
    jobs = (job(900, user="a", account="bio"), job(100, user="b", account="x0"))
    assert found(*jobs, overtaken=rows, base_waited_s=1_000.0).known_causes == (False,)


def test_accounts_that_were_tested_are_not_counted_as_users() -> None:
    rows = [overtaken(entity_kind="account", entity="bio")]
    rows += [overtaken(entity_kind="account", entity="x0", named=False, why="usual")]
    rows += [overtaken(entity_kind="account", entity="y", named=None, why="few_jobs")]
    rows += [overtaken(entity=f"u{k}", named=False, why="usual") for k in range(9)]
    jobs = [job(100, user="a", account="bio"), job(10, user="b", account="x0")]
    of_accounts = sample.decision(kind="account")
    assert found(*jobs, overtaken=rows, decision=of_accounts).tested_of_kind == 2
    rows[0] |= {"named": False}
    assert found(*jobs, overtaken=rows).tested_of_kind == 9


def test_an_account_that_used_much_less_than_its_share_is_listed() -> None:
    jobs = (job(100, user="a", account="bio"), job(900, user="b", account="physics"))
    shares = {"bio": (0.23, 0.4), "physics": (0.77, 0.6), "gone": (0.0, 0.1)}
    (row,) = found(*jobs, shares=shares).used_less
    assert (row.name, row.median, row.others, row.used, row.share) == ("bio", 100, 900, 0.23, 0.4)


def test_nobody_is_known_or_nothing_waited() -> None:
    assert listed(job(100, user=None)) is None
    assert listed(job(0)) is None


def test_the_rows_have_what_their_reasons_need() -> None:
    rule = {
        "limit": RuleTime("limit of 2 running jobs", "limit", "configured", scope="jobs of user a")
    }
    made = found(
        job(1_000, user="a", rule=900, main_rule="limit", size=30),
        job(10, user="b"),
        rules=rule,
        holds={("user", "a"): "joint release"},
        overtaken=[overtaken(cause="usage", named=False)],
    )
    a = made.most[0]
    assert a.large
    assert a.named_in_rule
    assert a.low_priority
    assert a.hold == "joint release"
    assert a.rules[0].waiting_s == 900.0
    assert made.most[1:] == ()
    lower = found(job(900, user="a"), overtaken=[overtaken(cause="priority")])
    assert lower.most[0].low_priority


def test_the_last_reason_of_half_of_the_waiting_without_a_cause() -> None:
    some = [job(600, user="a", reason="Dependency"), job(400, user="a", reason="Priority")]
    few = [job(400, user="b", reason="Dependency"), job(600, user="b")]
    made = found(*some, *few)
    assert [(one.name, one.last_reason) for one in made.most] == [("a", "Dependency"), ("b", None)]
