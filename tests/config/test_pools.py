"""Pools: which settings of a queue go together."""

from pathlib import Path

from tests.config.refusals import usage_refusal


def test_a_queue_and_what_is_fair_go_by_one_kind_of_owner(tmp_path: Path) -> None:
    pool = '[[clusters.pools]]\nname = "all"\norder = "nuwt"\nfair_order = "fairshare"'
    (found,) = usage_refusal(tmp_path, "", pool)
    assert 'order = "nuwt" with fair_order = "fairshare"' in found
