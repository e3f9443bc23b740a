"""The verdict: the rows of its table one by one, and against a slow twin."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.config import VerdictConfig
from audit.metrics.verdict import (
    COMPLETE,
    Because,
    Gaps,
    KnownCause,
    PassedEntity,
    VerdictBase,
    VerdictBound,
    Word,
    bound_of,
    decide,
)
from tests.naive import verdict as naive

OF = VerdictConfig()
BASE = VerdictBase(
    ended=1_000,
    placed=1_000,
    users=40,
    waited_s=1_000_000.0,
    unknown_users_s=0.0,
    not_judged_s=300_000.0,
    occupied_s=2_000_000.0,
    waits=1_000,
    long_waits=300,
    long_class=True,
    holds=True,
)
"""A fair pool."""


def lost(name: str, passed_s: int, named: bool | None = True, **more: object) -> PassedEntity:
    made = PassedEntity("user", name, passed_s, named)
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "word", "because"),
    [
        ({}, Word.FAIR, Because.NONE),
        ({"ended": 29, "placed": 29}, Word.CANNOT_TELL, Because.FEW_JOBS),
        ({"placed": 499}, Word.CANNOT_TELL, Because.FEW_STARTS),
        ({"placed": 500}, Word.FAIR, Because.NONE),
        ({"waits": 499}, Word.CANNOT_TELL, Because.FEW_ARRIVALS),
        # no wait is known, so none is long
        ({"waits": 0, "long_waits": 0}, Word.CANNOT_TELL, Because.FEW_ARRIVALS),
        ({"waits": 500}, Word.FAIR, Because.NONE),
        ({"unknown_users_s": 500_000.0}, Word.CANNOT_TELL, Because.UNKNOWN_USERS),
        ({"users": 1}, Word.CANNOT_TELL, Because.ONE_USER),
        ({"not_judged_s": 500_000.0}, Word.CANNOT_TELL, Because.NOT_JUDGED),
        ({"not_judged_s": 499_999.0}, Word.FAIR, Because.NONE),
        ({"overtaken": (lost("a", 30_000),)}, Word.UNFAIR, Because.TREATED_WORSE),
        ({"overtaken": (lost("a", 30_000),), "holds": False}, Word.MIXED, Because.TREATED_WORSE),
        ({"overtaken": (lost("a", 29_999),)}, Word.FAIR, Because.NONE),
        # none below 2 % counts, however many they are
        ({"overtaken": tuple(lost(f"u{k}", 19_999) for k in range(9))}, Word.FAIR, Because.NONE),
        (
            {"overtaken": (lost("a", 50_000, cause=KnownCause.HELD),)},
            Word.FAIR,
            Because.NONE,
        ),
        ({"overtaken": (lost("a", 50_000, None),)}, Word.CANNOT_TELL, Because.NOT_TESTED),
        ({"overtaken": (lost("a", 49_999, None),)}, Word.FAIR, Because.NONE),
        ({"overtaken": (lost("a", 50_000, named=False),)}, Word.FAIR, Because.NONE),
        # untested accounts do not count
        ({"overtaken": (lost("p", 60_000, None, kind="account"),)}, Word.FAIR, Because.NONE),
        (
            {"long_waits": 29, "long_class": False, "waited_s": 100_000.0, "not_judged_s": 9e4},
            Word.QUIET,
            Because.LITTLE_WAITING,
        ),
        (
            {"long_waits": 29, "long_class": True, "waited_s": 1e5, "not_judged_s": 9e4},
            Word.CANNOT_TELL,
            Because.NOT_JUDGED,
        ),
        (
            {"long_waits": 29, "long_class": False, "waited_s": 100_001.0, "not_judged_s": 9e4},
            Word.CANNOT_TELL,
            Because.NOT_JUDGED,
        ),
    ],
)
def test_each_row_of_the_table(changes: dict[str, object], word: Word, because: Because) -> None:
    made = decide(replace(BASE, **changes), OF)  # type: ignore[arg-type]
    assert (made.word, made.because) == (word, because)


@pytest.mark.parametrize(
    ("gaps", "because"),
    [
        (Gaps(part=True), Because.PART),
        (Gaps(missing_days=True), Because.MISSING_DAYS),
        (Gaps(refused=True), Because.REFUSED),
    ],
)
def test_what_is_missing_from_the_records_decides_first(gaps: Gaps, because: Because) -> None:
    bad = replace(BASE, not_judged_s=9e5, overtaken=(lost("a", 90_000),))
    made = decide(bad, OF, (), gaps)
    assert (made.word, made.because) == (Word.CANNOT_TELL, because)
    assert made.bounds == frozenset()  # an incomplete period hands nothing on


def test_accounts_decide_where_theirs_is_more() -> None:
    of_users = (lost("a", 25_000), lost("b", 20_000))
    of_accounts = (lost("physics", 46_000, kind="account"),)
    made = decide(replace(BASE, overtaken=(*of_users, *of_accounts)), OF)
    assert made.kind == "account"
    assert [one.name for one in made.carried] == ["physics"]
    assert made.treated_worse == 0.046
    fewer = decide(replace(BASE, overtaken=of_users), OF)
    assert (fewer.kind, [one.name for one in fewer.carried]) == ("user", ["a", "b"])


@pytest.mark.parametrize("bound", list(VerdictBound))
def test_a_bound_that_was_reached_holds_until_the_share_is_a_fifth_lower(
    bound: VerdictBound,
) -> None:
    full = bound_of(bound, OF, ())
    assert bound_of(bound, OF, [bound]) == pytest.approx(0.8 * full)
    for share, before, reached in (
        (full, (), True),
        (0.99 * full, (), False),
        (0.99 * full, (bound,), True),
        (0.81 * full, (bound,), True),
        (round(0.8 * full, 9), (bound,), True),
        (0.79 * full, (bound,), False),
    ):
        seconds = share * BASE.waited_s
        base = {
            VerdictBound.NOT_JUDGED: replace(BASE, not_judged_s=seconds),
            VerdictBound.TREATED_WORSE: replace(BASE, overtaken=(lost("a", round(seconds)),)),
            VerdictBound.NOT_TESTED: replace(BASE, overtaken=(lost("a", round(seconds), None),)),
        }[bound]
        made = decide(base, OF, before)
        assert (bound in made.bounds) is reached
        assert (made.because.value == bound.value) is reached


shares = st.integers(0, 12).map(lambda k: 10_000 * k)
entities = st.builds(
    naive.Entity,
    st.sampled_from(["user", "account"]),
    shares,
    st.sampled_from([True, False, None]),
    st.booleans(),
)
figures = st.builds(
    naive.Figures,
    ended=st.sampled_from([29, 30, 100]),
    placed=st.sampled_from([14, 15, 50]),
    users=st.integers(0, 3),
    waited=st.sampled_from([0, 1_000_000]),
    unknown=st.sampled_from([0, 499_999, 500_000]),
    not_judged=st.sampled_from([0, 399_999, 400_000, 499_999, 500_000, 900_000]),
    occupied=st.sampled_from([0, 1_000_000, 20_000_000]),
    waits=st.sampled_from([0, 100, 10_000]),
    long=st.sampled_from([0, 29, 30, 100]),
    long_class=st.booleans(),
    holds=st.booleans(),
    entities=st.lists(entities, max_size=4),
)


@given(
    figures,
    st.sets(st.sampled_from([bound.value for bound in VerdictBound])),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_as_the_slow_twin_decides(
    of: naive.Figures, before: set[str], part: bool, days: bool, refused: bool
) -> None:
    entities = tuple(
        PassedEntity(
            one.kind, f"e{k}", one.passed, one.named, KnownCause.HELD if one.cause else None
        )
        for k, one in enumerate(of.entities)
    )
    base = VerdictBase(
        *(of.ended, of.placed, of.users, float(of.waited), float(of.unknown)),
        not_judged_s=float(of.not_judged),
        occupied_s=float(of.occupied),
        waits=of.waits,
        long_waits=of.long,
        long_class=of.long_class,
        holds=of.holds,
        overtaken=entities,
    )
    made = decide(base, OF, frozenset(map(VerdictBound, before)), Gaps(part, days, refused))
    expected = naive.verdict(of, OF.model_dump(), sorted(before), part, days, refused)
    assert made.word.value == expected


@given(figures, shares)
def test_what_is_unknown_never_makes_a_pool_unfair(of: naive.Figures, more: int) -> None:
    """More waiting that cannot be judged may only turn a word into *cannot tell* or *quiet*."""
    base = replace(BASE, not_judged_s=float(of.not_judged), holds=of.holds)
    worse = replace(base, not_judged_s=min(base.not_judged_s + more, base.waited_s))
    before, after = decide(base, OF, (), COMPLETE).word, decide(worse, OF, (), COMPLETE).word
    assert after in (before, Word.CANNOT_TELL)
    assert after not in (Word.UNFAIR, Word.MIXED)
