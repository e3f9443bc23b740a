"""Which settings were in force when a period was computed, as its run keeps them."""

import json

from pydantic import ValidationError

from audit.config import Metrics
from audit.model import Period
from audit.report.contents import Settings
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
    metrics, resamples, usage = rows.row(0) if rows.height else (None, None, None)
    decay = json.loads(usage) if usage else None
    settings = Settings(usage=decay if isinstance(decay, dict) else {})
    try:
        known = None if metrics is None else Metrics.model_validate_json(metrics)
    except ValidationError:  # of a version that knew other keys
        known = None
    if known is None:
        return settings
    return Settings(known, resamples or settings.resamples, settings.usage, known=True)
