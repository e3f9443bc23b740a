"""The lead of a what-if page: it states no more than its tables, and always names losses."""

from typing import Any

import polars as pl
import pytest

from audit.metrics.attempts.fidelity import FIDELITY_SCHEMA
from audit.metrics.claims import outcome
from audit.oneoff.whatif.lead import lead
from audit.scenario.whatif.comparison import (
    COMPARED,
    NEVER_STARTS,
    NOT_AGREEING,
    NOT_REPRODUCED,
    untested,
)

HOUR = 3_600.0


def part(
    dimension: str, name: str | None, *hours: float | None, observed: float = 3, never: int = 0
) -> dict[str, Any]:
    """The mean wait of a part: today, after, and the ends of the change's interval."""
    today, changed, lower, upper = (None if one is None else HOUR * one for one in hours)
    assert today is not None
    assert changed is not None
    seen = outcome(changed - today, lower, upper)
    figures = (HOUR * observed, today, changed, changed - today, lower, upper, "s", 99, never)
    return dict(zip(COMPARED, (dimension, name, "wait_mean", *figures, seen.value), strict=True))


def without(row: dict[str, Any], outcome: str, **more: Any) -> dict[str, Any]:
    """The same part without a figure of the change."""
    none = dict.fromkeys(("changed", "difference", "lower", "upper"))
    return {**row, **none, "outcome": outcome, **more}


def said(*parts: dict[str, Any], correlation: float | None = 0.8) -> str:
    rows = [("wait_correlation", correlation, "")]
    fidelity = pl.DataFrame(rows, schema=FIDELITY_SCHEMA, orient="row")
    return lead(pl.DataFrame(parts, schema=COMPARED), fidelity, 0.7)


CLEAR = part("all", None, 4, 2, -3, -1)


def test_the_error_of_the_replay_comes_first() -> None:
    assert said(CLEAR).startswith(
        "In a replay of today's rules, waits are 33 % longer than observed on average (4 h instead "
        "of 3 h). Their rank correlation with observed waits is 0.80. "
    )
    poor = said({**CLEAR, "observed": 5 * HOUR}, correlation=-0.64)
    assert poor.startswith("In a replay of today's rules, waits are 20 % shorter than observed")
    assert "is −0.64: treat this as a trial." in poor
    assert "rules, waits are as long as observed on average (4 h instead of 4 h)" in said(
        {**CLEAR, "observed": 4.01 * HOUR}
    )
    for unknown in (said(CLEAR, correlation=None), said({**CLEAR, "observed": None})):
        assert unknown.startswith("How well the replay matches the log is unknown")


def test_jobs_that_never_start_come_before_all_else() -> None:
    never = without(
        part("width_class", "65-128", 9, 9, None, None), NEVER_STARTS, attempts=0, never_start=12
    )
    text = said({**CLEAR, "never_start": 493, "attempts": 28_000}, never)
    assert text.startswith(
        "493 of 28,493 jobs would never start under this change, among them all of width 65–128. "
        "The waits below leave them out. In a replay"
    )
    assert "would wait significantly longer" not in text
    some = said(
        {**CLEAR, "never_start": 1, "attempts": 1}, part("width_class", "1", 4, 2, -3, -1, never=1)
    )
    assert some.startswith("1 of 2 jobs would never start under this change. The waits")
    none = without(CLEAR, NEVER_STARTS, attempts=0, never_start=3)
    assert "No job would start." in said(none)


def test_parts_that_the_replay_misses_get_no_figure() -> None:
    missed = without(part("all", None, 4, 2, -3, -1, observed=10), NOT_REPRODUCED)
    one = part("width_class", "1", 4, 2, -3, -1)
    other = without(part("width_class", "2", 4, 2, -3, -1, observed=10), NOT_REPRODUCED)
    account = without(part("account", "a", 4, 2, -3, -1, observed=10), NOT_REPRODUCED)
    text = said(missed, one, other, account)
    assert "60 % shorter than observed" in text
    assert "by more than a quarter, so no change of the mean wait of all jobs is shown." in text
    assert "with a figure would wait significantly longer. Jobs of width 1 would wait less." in text
    assert "Jobs of width 2 have no figure, because the replay misses their observed waits." in text
    assert text.endswith("it is unclear or the same; 1 have no figure.")


@pytest.mark.parametrize(
    ("agreement", "known"),
    [
        (0.534, "the replayed policy agrees with 53 % of the observed starts"),
        (None, "how far the replayed policy agrees with the observed starts is not known"),
    ],
)
def test_a_policy_that_does_not_agree_has_no_effect(agreement: float | None, known: str) -> None:
    never = without(
        part("width_class", "65-128", 9, 9, None, None), NEVER_STARTS, attempts=0, never_start=12
    )
    both = pl.DataFrame([{**CLEAR, "never_start": 12}, never], schema=COMPARED)
    parts = untested(both, NOT_AGREEING)
    assert parts["outcome"].to_list() == [NOT_AGREEING, NEVER_STARTS]
    assert parts.select("changed", "difference", "lower", "upper").null_count().row(0) == (2,) * 4
    rows = [("wait_correlation", 0.8, "")]
    fidelity = pl.DataFrame(rows, schema=FIDELITY_SCHEMA, orient="row")
    text = lead(parts, fidelity, agreement)
    assert text.startswith("12 of 111 jobs would never start")
    assert text.endswith(f"No effect is shown: {known}, and 65 % are required.")
    assert "would wait" not in text


def test_what_is_clear_is_stated_with_its_interval() -> None:
    assert "The mean wait goes from 4 h to 2 h, 2 h less (1–3 h)." in said(CLEAR)
    longer = part("all", None, 4, 10, 5, 7)
    assert "The mean wait goes from 4 h to 10 h, 6 h more (5–7 h)." in said(longer)


def test_what_the_table_calls_unclear_is_not_stated() -> None:
    text = said(part("all", None, 4, 2, -5, 1), part("width_class", "1", 4, 2, -5, 1))
    assert "The mean wait goes" not in text
    assert (
        "Whether the mean wait changes is unclear: 4 h to 2 h (95 % interval of the change: −5 to "
        "1 h)."
    ) in text
    assert "would wait less" not in text
    assert "No width class would wait significantly longer." in text


def test_nothing_is_made_of_no_difference() -> None:
    assert "no difference to the mean wait." in said(part("all", None, 4, 4, 0, 0))
    assert said() == "No job ended in both schedules."


def test_who_loses_is_named_before_who_gains() -> None:
    text = said(
        CLEAR,
        part("width_class", "1", 2, 1, -2, -0.5),
        part("width_class", "33-64", 10, 13, 1, 4),
        part("width_class", "65-128", 20, 84, 30, 90),
    )
    assert (
        "Jobs of width 65–128 (20 h to 84 h), 33–64 (10 h to 13 h) would wait longer. Jobs of "
        "width 1 would wait less."
    ) in text


def test_the_class_that_may_lose_most_is_named_as_such() -> None:
    # KTH-SP2 without guarantees: some of its 22 users gain.
    text = said(
        CLEAR,
        part("width_class", "9-16", 10, 12, -3, 6),
        part("width_class", "65-128", 20, 84, -2, 110),
    )
    assert (
        "Jobs of width 65–128 might wait longer (20 h to 84 h; 95 % interval of the change −0.1 to "
        "4.6 d), which is not significant."
    ) in text
    assert "9–16" not in text
    assert "No width class" not in text


@pytest.mark.parametrize(("hours", "named"), [((10, 10.9, -1, 3), False), ((10, 11, -1, 3), True)])
def test_small_growth_that_may_be_chance_is_left_to_the_table(
    hours: tuple[float, ...], named: bool
) -> None:
    assert ("width 2 might wait longer" in said(CLEAR, part("width_class", "2", *hours))) is named


def test_accounts_are_counted_as_the_table_does() -> None:
    text = said(
        CLEAR,
        part("account", "a", 4, 2, -3, -1),
        part("account", "b", 4, 6, 1, 3),
        part("account", "c", 4, 6, None, None),
        part("account", None, 4, 4, 0, 0),
    )
    assert text.endswith(
        "Of 4 accounts, 1 would wait less (most: a, 4 h to 2 h) and 1 longer (most: b, 4 h to "
        "6 h); for 2 it is unclear or the same."
    )
    assert "account" not in said(CLEAR)


def test_users_who_gain_and_lose_most_in_sum_are_named() -> None:
    text = said(
        CLEAR,
        {**part("user", "ann", 4, 3, -2, -1), "attempts": 9},
        part("user", "bob", 4, 3.5, -1, -0.5),
        part("user", "cem", 2, 3, 0.5, 1),
    )
    assert text.endswith(
        "Of 3 users, 2 would wait less (most: bob, 4 h to 3.5 h) and 1 longer (most: cem, 2 h to "
        "3 h); for 0 it is unclear or the same."
    )


def test_the_total_is_that_of_all_jobs() -> None:
    assert "All jobs together would wait 8.2 d less." in said(CLEAR)  # 99 jobs, 2 h each
    assert "All jobs together would wait 8.2 d more." in said(part("all", None, 2, 4, 1, 3))
    assert "together" not in said(part("all", None, 2, 4, -1, 3))


def test_jobs_that_start_under_the_change_alone_are_counted_first() -> None:
    rows = [("wait_correlation", 0.8, "")]
    fidelity = pl.DataFrame(rows, schema=FIDELITY_SCHEMA, orient="row")
    text = lead(pl.DataFrame([CLEAR], schema=COMPARED), fidelity, 0.7, 0.0, 3)
    assert text.startswith(
        "3 jobs would start under this change alone. The waits below leave them out. In a replay"
    )


def test_an_agreement_just_below_what_is_required_is_not_rounded_up_to_it() -> None:
    row = without(CLEAR, NOT_AGREEING)
    fidelity = pl.DataFrame(schema=FIDELITY_SCHEMA)
    told = lead(pl.DataFrame([row], schema=COMPARED), fidelity, 0.6496)
    assert "agrees with 64 % of the observed starts, and 65 % are required." in told
