"""Jobs as page one reads them."""

from typing import Any

import polars as pl

from audit.report.sections.causes import shown

COLUMNS = dict.fromkeys(
    (
        *("outside", "held", "unavailable", "rule", "nodes", "own"),
        *("claimed", "kept", "earlier", "later", "cycle", "unexplained"),
    ),
    0.0,
)


def job(wait: float = 0, **more: Any) -> dict[str, Any]:
    """An attempt whose whole wait has no reason, unless ``more`` gives the seconds of causes."""
    causes = {name: float(more.pop(name)) for name in list(more) if name in COLUMNS}
    parts = COLUMNS | causes
    parts["unexplained"] = causes.get("unexplained", wait - sum(causes.values()))
    made: dict[str, Any] = {
        "user": "anna", "account": None, "partition": "batch", "size": 1, "gpus": 0,
        "arrival_time": 0, "start_time": int(wait), "end_time": int(wait) + 100,
        "wait_s": int(wait), "occupancy_s": 100, "walltime_s": 3_600, "held_by": None,
        "main_rule": None, "reason": None, "similar_wait_s": None, "priority": None,
        "cause_rule_free_s": 0.0,
    }  # fmt: skip
    return made | {f"cause_{name}_s": seconds for name, seconds in parts.items()} | more


SCHEMA = {
    **dict.fromkeys(("user", "account", "partition", "held_by", "main_rule", "reason"), pl.String),
    **dict.fromkeys(("walltime_s", "similar_wait_s"), pl.Int64),
    "priority": pl.Float64,
}


def frame(*jobs: dict[str, Any]) -> pl.DataFrame:
    return shown.with_causes(pl.DataFrame(list(jobs), schema_overrides=SCHEMA))
