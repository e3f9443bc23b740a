"""Public logs, audited whole: how many records they hold, what is conserved, what is known."""

from pathlib import Path

import pytest

from audit.store import database, snapshots
from tests.audited import public

LOGS = {
    # file: pool, records, ended, never started, start unknown
    "KTH-SP2-1996-2.1-cln": (100, 28_476, 28_476, 0, 0),
    "LANL-CM5-1994-4.1-cln": (1_024, 122_060, 122_057, 0, 3),
    "UniLu-Gaia-2014-1": (2_004, 51_987, 51_860, 127, 0),
}
PLAN = ("depth", "starts", "behind", "broken", "stretches", "lapses")
PLANS = {
    "KTH-SP2-1996-2.1-cln": [20, 28_474, 10_670, 1_820, 8_841, 9_353],
    "LANL-CM5-1994-4.1-cln": [0, 122_054, 58_952, 46_369, 6_106, 4_688],
    "UniLu-Gaia-2014-1": [0, 51_780, 182, 114, 1_061, 2_816],
}
"""The plan that each log shows, and the counts behind it (SPEC §11)."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.ci if name.startswith("KTH") else ()) for name in LOGS],
)
def test_a_public_log(name: str, real_logs: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    capacity, records, ended, never_started, start_unknown = LOGS[name]
    outcome, _ = public(tmp_path_factory, real_logs / "swf" / f"{name}.swf.gz")
    con = snapshots.open_snapshot(outcome.database)

    def figure(metric: str, dimension: str = "all") -> float:
        found = database.fetch(
            con,
            "SELECT value FROM summary WHERE metric = $metric AND dimension = $dimension "
            "AND (dimension = 'all' OR dimension_value = 'user')",
            {"metric": metric, "dimension": dimension},
        )
        return float(found.item())

    assert database.fetch(con, "SELECT capacity FROM pools").item() == capacity
    read = database.fetch(con, "SELECT records, refused, duplicates FROM inputs").row(0)
    assert read == (records, 0, 0)
    assert figure("attempts") == ended
    assert figure("never_started") == never_started
    assert figure("start_unknown") == start_unknown
    assert figure("re_conservation") < 1e-12
    total, positive, negative, known = database.fetch(
        con,
        "SELECT sum(re_unfairness), sum(greatest(re_unfairness, 0)), sum(least(re_unfairness, 0)), "
        "count(re_unfairness) FROM job_fairness",
    ).row(0)
    assert abs(total) <= 1e-9 * positive
    assert positive == pytest.approx(-negative)
    assert known == ended - name.startswith("KTH")  # one has no size
    assert figure("re_unfairness") == pytest.approx(positive / known)
    plan = "SELECT metric, value FROM fidelity WHERE metric LIKE 'plan%'"
    seen = dict(database.fetch(con, plan).iter_rows())
    assert [seen[f"plan_{one}"] for one in PLAN] == PLANS[name]
    if name.startswith("KTH"):
        assert figure("over_requested_walltime") == 475
        assert figure("uwt", "entity_kind") == pytest.approx(39.5, abs=0.05)
        assert figure("nuwt_deviation", "entity_kind") == pytest.approx(467, abs=0.5)
        full = "SELECT lower, upper FROM summary WHERE metric = 'full_share' AND dimension = 'all'"
        assert database.fetch(con, full).row(0) == pytest.approx((0.043, 0.468), abs=5e-4)
    if name.startswith("LANL"):
        assert figure("over_requested_walltime") == 40_180
        assert figure("over_capacity_time") == pytest.approx(0.22, abs=0.005)
    con.close()
