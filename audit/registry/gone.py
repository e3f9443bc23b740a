"""Names that went, each with its heir: what messages say, and which columns older stores have.

An entry stays as long as stores, configurations and queries of the version before may be met.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from audit.registry.columns import BIGINT, DOUBLE, VARCHAR


class GoneColumn(NamedTuple):
    """A column of a table of results that a script of sql/schema drops.

    It may exist again, with another type and definition.
    """

    table: str
    name: str
    type: str
    script: int
    """The number of the script."""


COLUMNS: Final = tuple(
    GoneColumn(table, name, type_, script)
    for table, script, type_, names in (
        ("job_result", 11, BIGINT, "wait_room_s wait_shared_s wait_down_s kept_s idle_s"),
        ("job_result", 11, DOUBLE, "wait_own_s wait_earlier_s wait_later_s peer_wait_s"),
        ("job_result", 11, DOUBLE, "peer_contested_s"),
        ("job_result", 11, VARCHAR, "idle_because"),
        ("entity_result", 11, BIGINT, "wait_room_s wait_shared_s wait_down_s"),
        ("entity_result", 11, DOUBLE, "wait_own_s wait_earlier_s wait_later_s peer_ratio"),
        ("entity_result", 11, DOUBLE, "contested_ratio contested_excess_s excess_wait_s"),
        ("job_result", 15, BIGINT, "ready_time start_modelled overtaken_s overtaken_own_s"),
        ("job_result", 15, BIGINT, "unmodelled_s forward_basis"),
        ("job_result", 15, VARCHAR, "decision"),
        ("entity_result", 15, BIGINT, "overtaken_s unmodelled_s"),
        ("job_result", 30, BIGINT, "fst_basis"),
    )
    for name in names.split()
)

MEASURES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("wait_room_share", "unexplained_wait_share"), "cause_unexplained_share"),
    "wait_shared_share": "cause_claimed_share",
    "wait_own_share": "cause_own_share",
    "wait_earlier_share": "cause_earlier_share",
    "wait_later_share": "cause_later_share",
    "wait_down_share": "cause_unavailable_share",
    **dict.fromkeys(("peer_ratio", "contested_ratio", "contested_excess"), "excess_wait"),
    **dict.fromkeys(("passed_widest", "passed_only_in_bursts"), "passed_named"),
    "passed_expected_by_usage": "passed_expected",
    **dict.fromkeys(("passed_half_life", "equal_usage_multiple"), "usage_multiple"),
    **dict.fromkeys(("overtaken_wait_share", "overtaken_cut_share"), "miss_delivered_share"),
    "miss_explained_share": "miss_delivered_share",
    **dict.fromkeys(("overtaken_time_mean", "overtaken_own_time_mean"), "miss_delivered_mean"),
    "overtaken_gain": "preference_delivered_mean",
    "unmodelled_time_mean": "cause_unexplained_share",
}
"""Measures, with the nearest one that exists."""


OPTIONS: Final[Mapping[str, str]] = {
    "--fit-budget": "the log is now searched without a budget; omit this option, or pass --no-fit "
    "to infer no rules and no policy",
    "--budget": "fit-policy now examines the whole log without a budget; omit this option",
}
"""Options of commands, and what to do instead."""


def columns_before(script: int) -> dict[str, dict[str, str]]:
    """Return the types of the columns, by table, that stores of a script's number still have."""
    made: dict[str, dict[str, str]] = {}
    for one in COLUMNS:
        if one.script > script:
            made.setdefault(one.table, {})[one.name] = one.type
    return made
