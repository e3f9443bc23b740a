"""What queries of a report take."""

from typing import Any

from audit.model import Period


def attempts_of(cluster: str, schedule: str, period: Period) -> dict[str, Any]:
    """Return the arguments of queries about the attempts of a period."""
    span = {"from_time": period.from_time, "to_time": period.to_time, "whole": period.whole_log}
    return {"cluster": cluster, "schedule": schedule, **span}
