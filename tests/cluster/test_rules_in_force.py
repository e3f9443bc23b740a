"""Rows of the views ``rules`` and ``outages``, and the waiting that each rule causes."""

from datetime import date

import polars as pl

from audit.cluster.rules_in_force import outages_in, rules_of, shares
from audit.model import Limit, Period, Pool, Resource, Window

POOL = Pool(
    "main",
    Resource.cpus,
    8,
    limits=(Limit(most=2, per="user", valid_from=date(2026, 1, 5)),),
    windows=(
        Window(hours=(8, 9), walltime_above_s=3_600),
        Window(hours=(8, 9), overlap=True),
    ),
)
LIMIT = "limit of 2 running jobs per user from 2026-01-05"


def test_rules_are_configured_or_inferred_with_their_evidence() -> None:
    evidence = [{"rule": LIMIT, "starts": 40, "breaks": 1, "breaks_by_chance": 0.5, "gain": 0.2}]
    rows = rules_of(POOL, evidence).to_dicts()
    assert [row["kind"] for row in rows] == ["limit", "window", "overlap window"]
    assert [row["source"] for row in rows] == ["inferred", "configured", "configured"]
    assert rows[0]["rule"] == LIMIT
    assert (rows[0]["starts"], rows[0]["breaks"]) == (40, 1)
    assert rows[0]["valid_from"] == date(2026, 1, 5)
    assert rows[1]["rule"] == "closed hours Mon 08–10 for jobs over 1 h"
    assert rows[1]["starts"] is rows[1]["valid_from"] is None


def test_outages_that_overlap_a_period() -> None:
    outages = pl.DataFrame({"from_time": [0, 50, 200], "to_time": [40, 150, 300]})
    assert outages_in(outages, Period("p", 100, 200))["from_time"].to_list() == [50]
    assert outages_in(outages, Period("all", 0, 300)).height == 3


def test_the_share_of_waiting_of_each_rule() -> None:
    jobs = pl.DataFrame(
        {
            "wait_s": [100, 100, 200],
            "rule": [LIMIT, None, LIMIT],
            "cause_rule_free_s": [80.0, 0.0, 20.0],
        }
    )
    assert shares(jobs, POOL) == {"1": 0.25, "window1": 0.0, "window2": 0.0}
    assert shares(jobs.clear(), POOL) == {"1": 0.0, "window1": 0.0, "window2": 0.0}
