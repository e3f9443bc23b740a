"""Published figures about all users: enough others remain, whatever a reader takes out."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics import disclosure
from audit.metrics.disclosure import (
    BLOCKS,
    Pair,
    blocks,
    may_be_published,
    publish,
    published_classes,
    rounded,
)
from audit.model import Period
from audit.registry.causes import CAUSES, COLUMNS
from tests.naive import disclosure as naive

WEEK = 7 * 86_400
PAIRS = st.sets(
    st.tuples(st.sampled_from([None, *"abcdefghij"]), st.sampled_from([None, "x", "y", "z"])),
    min_size=1,
)
CLASSES = st.tuples(st.sampled_from([None, "1", "2"]), st.sampled_from(["0-1h", "1-4h"]))


def weeks(*numbers: int) -> list[Period]:
    return [Period(f"{n}", n * WEEK, (n + 1) * WEEK) for n in numbers]


@given(PAIRS)
def test_fast_is_same_as_slow(pairs: set[Pair]) -> None:
    assert may_be_published(pairs) is naive.may_be_published(pairs)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((5,), False),  # one of the five would know the other four
        ((6,), True),
        ((6, 1), False),  # the head of the six would know the seventh
        ((6, 5), True),
        ((7, 4), False),
        ((1, 2, 5, 7), True),
    ],
)
def test_every_account_leaves_five_others_or_nobody(sizes: tuple[int, ...], expected: bool) -> None:
    pairs = {(f"{size}{user}", f"{size}") for size in sizes for user in range(size)}
    assert may_be_published(pairs) is expected


def test_a_user_of_two_accounts_remains_when_one_is_taken_out() -> None:
    pairs: set[Pair] = {(f"u{user}", "all") for user in range(6)}
    assert may_be_published(pairs | {(f"u{user}", "other") for user in range(5)})
    assert not may_be_published(pairs | {("u0", "other")})
    assert not may_be_published(pairs | {(None, "other")})


@given(st.lists(st.tuples(st.integers(0, 7), PAIRS), max_size=8))
def test_each_block_may_be_published_and_no_shorter_one(held: list[tuple[int, set[Pair]]]) -> None:
    over = weeks(0, 1, 2, 4, 5, 6, 7, 8)
    pairs = {(week, pair) for week, of in held for pair in of}

    def of(first: int, last: int) -> set[Pair]:
        return {pair for week, pair in pairs if first <= week <= last}

    free = 0
    for block in blocks(over, pairs):
        first, last = block[0], block[-1]
        assert first == (3 if free < 3 <= last else free)
        assert naive.may_be_published(of(first, last))
        assert not any(naive.may_be_published(of(first, earlier)) for earlier in block[:-1])
        free = last + 1


@given(st.sets(st.tuples(CLASSES, st.tuples(st.sampled_from("abcdefghijklmn"), st.just("x")))))
def test_a_class_and_what_all_classes_leave_may_be_published(
    pairs: set[tuple[disclosure.Class, Pair]],
) -> None:
    chosen = published_classes(pairs)
    for label in chosen:
        assert label[0] is not None
        assert naive.may_be_published({pair for other, pair in pairs if other == label})
    rest = {pair for label, pair in pairs if label not in chosen}
    assert not chosen or not rest or naive.may_be_published(rest)


def attempts(users: int, week: int, *, wait_s: int = 1_000, width: str = "1") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user": [f"u{user}" for user in range(users)],
            "account": [f"a{user}" for user in range(users)],
            "width_class": width,
            "walltime_s": 3_600,
            "size": 1,
            "end_time": week * WEEK + 10,
            "occupancy_s": 60,
            "wait_s": [wait_s + user for user in range(users)],
            **dict.fromkeys(COLUMNS, 0),
        }
    ).with_columns(cause_unexplained_s="wait_s")


def test_figures_are_those_of_whole_weeks_and_rounded() -> None:
    made = publish(pl.concat([attempts(6, 0), attempts(3, 1), attempts(9, 3)]), weeks(0, 1))
    assert made.schema == BLOCKS
    assert {*made.select("from_time", "to_time").iter_rows()} == {(0, WEEK)}
    whole = {row[4]: row[5] for row in made.iter_rows() if row[2] is None}
    assert whole == {
        **{cause.share: float(cause.key == "unexplained") for cause in CAUSES},
        "wait_mean": 1_000.0,
        "consumed": 360.0,
    }
    classes = made.filter(pl.col("width").is_not_null())
    of_class = (0, WEEK, "1", "0-1h")
    assert classes.rows() == [
        (*of_class, "wait_mean", 1_000.0),
        (*of_class, "wait_median", 1_000.0),
    ]


def test_weeks_of_too_few_users_are_put_together() -> None:
    three = attempts(6, 0).filter(pl.col("user") < "u3")
    others = attempts(6, 1).filter(pl.col("user") >= "u3")
    made = publish(pl.concat([three, others]), weeks(0, 1))
    assert {*made.select("from_time", "to_time").iter_rows()} == {(0, 2 * WEEK)}
    assert publish(
        pl.concat([three, others.with_columns(end_time=2 * WEEK)]), weeks(0, 2)
    ).is_empty()
    assert publish(three, []).is_empty()
    assert [*blocks(weeks(0), {(0, (None, None))})] == []
    assert [*blocks(weeks(0), {(0, (f"u{k}", None)) for k in range(6)})] == [range(1)]


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (13_620, 14_000), (0.0123, 0.012), (-1_549, -1_500), (9.96, 10)]
)
def test_two_significant_digits(value: float, expected: float) -> None:
    assert rounded(value) == expected


def test_the_causes_of_waits_have_the_same_bits_in_any_order() -> None:
    held = pl.concat([attempts(7, 0) for _ in range(200)]).with_columns(
        account=pl.lit("a"), cause_own_s=pl.int_range(pl.len()) / 7
    )
    published = publish(held, weeks(0))
    made = pl.concat(disclosure.waits(held, published))
    assert made.filter(part="own", entity_kind="account")["wait_s"].item() == pytest.approx(
        1400 * 1399 / 14
    )
    for seed in range(3):
        again = held.sample(fraction=1.0, shuffle=True, seed=seed)
        assert pl.concat(disclosure.waits(again, published)).equals(made)


def test_no_user_decides_a_median_alone() -> None:
    """One of seven users has 900 of the 906 jobs, which waited for a day; the others, for 60 s."""
    many = pl.concat([attempts(1, 0, wait_s=86_400)] * 900)
    others = (
        attempts(7, 0, wait_s=60)
        .filter(pl.col("user") != "u0")
        .with_columns(wait_s=pl.lit(60, pl.Int64))
    )
    made = publish(pl.concat([many, others]), weeks(0))
    assert made.filter(metric="wait_median")["value"].to_list() == [60.0]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 99)), min_size=1, max_size=30))
def test_medians_are_those_of_users_with_equal_weight(waits: list[tuple[int, int]]) -> None:
    base = attempts(9, 0)
    rows = [base[user].with_columns(wait_s=pl.lit(wait_s, pl.Int64)) for user, wait_s in waits]
    made = publish(pl.concat(rows), weeks(0)).filter(metric="wait_median")
    if made.is_empty():
        assert len({user for user, _ in waits}) <= disclosure.FEWEST
    else:
        assert made["value"].item() == rounded(naive.median(waits))
