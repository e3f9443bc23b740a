from dataclasses import replace

from audit.report.record.pool import Fidelity, Overtaken, PoolPart
from audit.report.text.overtaken import most_overtaken
from tests.report.sample import HOSTILE, fair_starts, fidelity, pool

ONE = Overtaken("17", 1, "anna", 4, 7_200, (0, 0, 0, 0, 0, 1_800.0, 5_400.0, 0, 0), 3_600, 0, 600)


def _of(one: Overtaken, told: Fidelity | None = None) -> str:
    fair = replace(fair_starts(), overtaken=(one,), fidelity=told or fidelity())
    part: PoolPart = replace(pool(), fair_start=fair)
    (said,) = most_overtaken(part)
    return said


def test_a_wait_in_a_sentence() -> None:
    assert _of(ONE) == (
        "Job 17 of user anna (4 CPUs) waited 2 h, and for 75.0 % of that jobs of others that had "
        "arrived later used what it lacked. Under the modelled policy, later arrivals cost it 1 h; "
        "it waited 10 min more than the model explains."
    )
    assert "(20 min of that its own user's)" in _of(replace(ONE, own_s=1_200))
    assert _of(replace(ONE, unmodelled_s=0)).endswith("cost it 1 h; nothing stays unexplained.")
    assert "10 min less than the model explains" in _of(replace(ONE, unmodelled_s=-600))
    assert _of(replace(ONE, attempt=2)).startswith("Job 17, attempt 2 of user anna")


def test_nobody_is_named_by_a_model_that_fits_poorly() -> None:
    assert "anna" not in _of(ONE, fidelity(0.2))


def test_what_is_not_known_is_left_out() -> None:
    said = _of(replace(ONE, size=None, user=None, parts=(None,) * 9, own_s=None))
    assert said.startswith("Job 17 waited 2 h. Under the modelled policy")


def test_names_stay_text() -> None:
    assert all(_of(replace(ONE, job_id=name, user=name)).isprintable() for name in HOSTILE)
