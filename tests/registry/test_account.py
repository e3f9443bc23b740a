"""The evidence for a plan in the view ``fidelity``."""

from audit.metrics.attempts.fidelity import of_account
from audit.metrics.waits.plan import is_kept
from audit.metrics.waits.walk import Plan, Starts
from audit.registry.account import MEASURES
from audit.registry.measures import FIDELITY


def test_measures_of_the_account_belong_to_fidelity() -> None:
    assert [FIDELITY[one.key] for one in MEASURES] == [*MEASURES]


def test_a_reader_can_tell_from_the_counts_whether_jobs_are_kept() -> None:
    for seen, kept in (
        (Starts(28_474, 0, 10_670, 0, 1_820, 8_841, 9_353), True),
        (Starts(122_054, 0, 58_952, 0, 46_369, 6_106, 4_688), False),
    ):
        rows = of_account(Plan(20), seen, None).select("metric", "value").rows()
        counts = {name.removeprefix("plan_"): value for name, value in rows}
        conditional = {one.key for one in MEASURES if one.when}
        assert {f"plan_{name}" for name in Starts._fields if name in counts} == conditional
        broken, behind = counts["broken"], counts["behind"]
        rate_kept = broken / (broken + counts["stretches"])
        rate_free = (behind - broken) / (behind - broken + counts["lapses"])
        assert (rate_kept <= 0.7 * rate_free) is kept is is_kept(seen)
