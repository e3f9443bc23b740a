"""The timeline of a wait: by hand, and what merging keeps."""

from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.model import Limit
from audit.oneoff.explain.story import Line, Part
from audit.oneoff.explain.timeline import LEAST, LINES, timeline
from tests.oneoff.explain.scenes import ORIGIN, POOL, scene, story


def test_stretches_count_the_jobs_that_it_was_behind() -> None:
    # Until 100 the pool is full of 1, 2 and 5; until 160 5 or 6 runs, then 3.
    lines = story("4").account.timeline
    assert [(line.begin - ORIGIN, line.end - ORIGIN, line.parts) for line in lines] == [
        (20, 100, (Part("earlier", None, 80, 2),)),
        (100, 160, (Part("later", None, 60, 2),)),
        (160, 180, (Part("earlier", None, 20, 1),)),
    ]


def test_a_rule_is_named() -> None:
    # ann's job 3 waits from 10 on, while her job 1 runs until 100.
    lines = story("3", POOL._replace(limits=(Limit(most=1, per="user"),))).account.timeline
    assert lines[0] == Line(
        ORIGIN + 10, ORIGIN + 100, (Part("rule", "limit of 1 running job per user", 90, 0),)
    )


CAUSES = st.sampled_from(["earlier", "later", "own", "claimed", "unexplained"])


@given(st.lists(st.tuples(CAUSES, st.integers(1, 2_000)), min_size=1, max_size=60))
def test_merging_keeps_every_second(drawn: list[tuple[str, int]]) -> None:
    ends = pl.Series([length for _, length in drawn]).cum_sum().to_list()
    traced = pl.DataFrame(
        {
            "begin": [0, *ends[:-1]],
            "end": ends,
            "cause": [cause for cause, _ in drawn],
            "by": pl.Series([None] * len(drawn), dtype=pl.String),
        }
    )
    lines = timeline(traced, scene("4").queue)
    assert len(lines) <= LINES
    assert (lines[0].begin, lines[-1].end) == (0, ends[-1])
    assert all(one.end == other.begin for one, other in pairwise(lines))
    assert all(line.end - line.begin >= LEAST * ends[-1] for line in lines)
    seconds: dict[str, int] = {}
    for line in lines:
        assert sum(part.seconds for part in line.parts) == line.end - line.begin
        for part in line.parts:
            seconds[part.cause] = seconds.get(part.cause, 0) + part.seconds
    assert seconds == {
        cause: sum(length for of, length in drawn if of == cause) for cause, _ in drawn
    }


def test_a_job_that_did_not_wait_has_no_timeline() -> None:
    assert story("1").account.timeline == ()
