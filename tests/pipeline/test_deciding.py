"""The windows and the policy that a log shows, as facts and settings of its pool."""

from zoneinfo import ZoneInfo

import polars as pl
import pytest

from audit.cluster.fairshare import of_site
from audit.cluster.setting import ClusterSettings
from audit.model import Order, Policy, Pool
from audit.pipeline.inferring import compared_with, decided
from audit.policies import Backfill
from audit.report.wording import percent
from audit.scenario.releases.holds import NOT_HOLDING
from tests.oneoff.fit_policy.made import made_by, pool, requests
from tests.oneoff.fit_policy.test_plan import RULES

SJF = Policy(Order.sjf, Backfill.easy)


def of(log: pl.DataFrame, known: Pool) -> tuple[ClusterSettings, Pool]:
    now = int(log["end_time"].to_numpy().max())
    return ClusterSettings("c", ZoneInfo("UTC"), (known,), {}, now, (), ()), known


def shown_by(log: pl.DataFrame, known: Pool, *, silent: bool = True):  # type: ignore[no-untyped-def]
    setting, known = of(log, known)
    scenario = compared_with(log, known, setting, of_site(None, None))  # type: ignore[arg-type]
    return decided(scenario, NOT_HOLDING, None, silent=silent)


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """Of a site with the order sjf, a limit and a window."""
    return made_by(pool(SJF, **RULES), requests(0, days=60))


def test_windows_and_the_policy_are_in_force_with_their_evidence(log: pl.DataFrame) -> None:
    found = shown_by(log, pool(limits=RULES["limits"]))
    assert found.pool == pool(SJF, **RULES)
    policy, window = found.facts
    assert (policy.what, policy.value) == ("policy", "sjf-easy")
    agrees = f"it agrees with {percent(1.0)} of the starts"
    assert policy.source == f"the log: {agrees}; --order and --backfill change it"
    assert window.value == "closed hours Mon–Fri 08–17 (UTC) for jobs over 4 h"
    assert window.source.startswith("the log: 0 of ")
    [row] = found.shown.evidence
    assert (row["rule"], row["breaks"]) == (window.value, 0)
    assert row["rule"] == "closed hours Mon–Fri 08–17 (UTC) for jobs over 4 h"


def test_a_configured_policy_stays(log: pl.DataFrame) -> None:
    found = shown_by(log, pool(limits=RULES["limits"]), silent=False)
    assert (found.pool.policy, found.pool.windows) == (Policy(), RULES["windows"])
    assert [fact.what for fact in found.facts] == ["window 1 of 1"]


@pytest.mark.parametrize(
    ("order", "owners"), [(Order.sjf, False), (Order.fairshare, True), (Order.nuwt, True)]
)
def test_attempts_have_owners_where_a_rule_to_compare_ranks_them(
    log: pl.DataFrame, order: Order, *, owners: bool
) -> None:
    setting, known = of(log, pool(Policy(order, Backfill.easy)))
    scenario = compared_with(log, known, setting, of_site(None, None)).to_compare()  # type: ignore[arg-type]
    assert len(scenario.indexed.work.owners.name) == (log.height if owners else 0)
    found = decided(scenario, NOT_HOLDING, None, silent=False)
    assert found.pool.policy.order is order


def test_settings_of_passes_stay_under_a_known_rule(log: pl.DataFrame) -> None:
    """The interval is configured, and the order is not."""
    known = pool(Policy(interval_s=1), limits=RULES["limits"])
    assert shown_by(log, known).pool.policy == SJF._replace(interval_s=1)


def test_without_a_known_rule_the_default_stays_and_says_why(log: pl.DataFrame) -> None:
    """Without the limit that was in force, no policy agrees with enough of the starts."""
    shuffled = log.with_columns(user=pl.lit("u"), walltime_s=pl.lit(None, pl.Int64))
    found = shown_by(shuffled, pool())
    [policy] = found.facts
    assert found.pool.policy == Policy()
    assert policy.source.startswith("the default: the best policy, ")
    assert f"and {percent(0.65)} are required; " in policy.source


def test_a_log_without_starts_after_a_wait(log: pl.DataFrame) -> None:
    found = shown_by(log.head(1), pool())
    [policy] = found.facts
    assert policy.source.startswith("the default: no start of the log can be compared")
