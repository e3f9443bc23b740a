"""The sentences of a wait: each says what the record holds, and no more."""

from dataclasses import replace

from audit.model import Limit, Window
from audit.oneoff.explain import sentences
from audit.oneoff.explain.story import Cost, Starts, Story, Trust
from audit.oneoff.explain.telling import story as told
from tests.oneoff.explain.scenes import ORIGIN, POOL, scene

PARTS = {
    "wait_room_s": 0,
    "wait_shared_s": 0,
    "wait_own_s": 0.0,
    "wait_earlier_s": 120.0,
    "wait_later_s": 40.0,
    "wait_down_s": 0,
}


def story(**changed: object) -> Story:
    found = scene("4")
    row = found.described["job_id"].to_list().index("4")
    made = told(found.described, POOL, ORIGIN + 1_000, "UTC", row)
    return replace(made, **changed)  # type: ignore[arg-type]


def starts(modelled: int, own: int = 0) -> Starts:
    return Starts(ORIGIN + 100, ORIGIN + 120, ORIGIN + 120, ORIGIN + modelled, None, own)


def text(**changed: object) -> str:
    return " ".join(sentences.sentences(story(**changed)))


def test_the_greatest_part_leads() -> None:
    made = story(parts=PARTS)
    assert sentences.lead(made) == (
        "It waited 2 min 40 s; for 75.0 % of that time what it lacked was in use by others that "
        "had come before it."
    )
    assert "in 40 s (25.0 %) what it lacked was in use by others that came after it" in " ".join(
        sentences.sentences(made)
    )
    assert "there was room" not in text(parts=PARTS)


def test_what_later_arrivals_cost_and_what_stays_unexplained() -> None:
    cost = text(starts=starts(150, own=10))
    assert "Those that came later cost it 30 s under this policy; 10 s of that" in cost
    assert "It started 30 s later than this policy would have let it" not in cost  # a tolerance
    assert "The modelled policy explains its start" in cost
    gained = text(starts=starts(100))
    assert "Those that came later let it start 20 s earlier" in gained
    assert "started 1 min 20 s later than this policy would have let it" in gained
    assert "cost it nothing" in text(starts=starts(120))


def test_only_those_whose_arrivals_cost_are_named() -> None:
    costs = (Cost("dot", 3, 50), Cost("eve", 1, 0), Cost(None, 2, -7))
    said = text(costs=costs)
    assert "later arrivals of dot (50 s) cost it most" in said
    assert "eve" not in said


def test_limits_and_windows_of_the_pool_are_named() -> None:
    made = story()
    night = Window(hours=(1, 2))
    pool = POOL._replace(limits=(Limit(most=1, per="user"),), windows=(night,))
    limited = replace(made, subject=replace(made.subject, pool=pool))
    assert sentences.policy(made) == "fcfs + easy"
    assert sentences.policy(limited) == "fcfs + easy, within its limits and windows"


def test_how_far_to_trust_the_model() -> None:
    good = text(trust=Trust(0.9, 0.7, 100))
    assert "starts 90.0 % when the site did, and its waits rank like those observed by 0.70" in good
    assert "enough to go by" in good
    for poor in (Trust(0.7, 0.9, 100), Trust(0.9, 0.6, 100)):
        assert "too little to blame anybody by it" in text(trust=poor)
    assert "trust" not in text(trust=Trust(None, None, 0))


def test_peers_stand_beside() -> None:
    assert "waited 1 h on average" in text(peer_wait_s=3600.0)
