"""Which settings were in force when a period was computed, as its run keeps them."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from audit.config import Metrics
from audit.model import Period
from audit.report.contents import Assumed, Settings
from audit.store import queries
from audit.store.database import Connection


def settings_of(con: Connection, cluster: str, period: Period) -> Settings:
    """The settings behind the figures of a period; defaults where the database has none.

    Args:
        con: a store or a published snapshot.
        cluster: its name in the database.
        period: one whose figures were computed.
    """
    rows = queries.run(con, "report_settings", cluster=cluster, period=period.name)
    metrics, resamples, usage, assumed = rows.row(0) if rows.height else (None,) * 4
    decay = json.loads(usage) if usage else None
    fitted = _assumed(json.loads(assumed) if assumed else {})
    settings = Settings(usage=decay if isinstance(decay, dict) else {}, assumed=fitted)
    try:
        known = None if metrics is None else Metrics.model_validate_json(metrics)
    except ValidationError:  # of a version that knew other keys
        known = None
    if known is None:
        return settings
    resamples = resamples or settings.resamples
    return Settings(known, resamples, settings.usage, settings.assumed, known=True)


def _assumed(kept: Mapping[str, Any]) -> dict[str, Assumed]:
    """What ``cluster.fitted`` kept of each pool."""
    return {
        pool: Assumed(tuple(of["says"]), of["unexplained"]["before"], of["unexplained"]["after"])
        for pool, of in kept.items()
        if of.get("says") and of.get("unexplained")
    }
