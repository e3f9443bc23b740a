"""What other tools would say of the pools of a report, read from the same attempts."""

from audit.model import Period
from audit.report.contents import Elsewhere
from audit.store import queries
from audit.store.database import Connection


def elsewhere(con: Connection, cluster: str, schedule: str, period: Period) -> dict[str, Elsewhere]:
    """What ``sacct``, ``sreport`` and XDMoD count, of each pool in which anything started."""
    rows = queries.run(
        con,
        "report_elsewhere",
        cluster=cluster,
        schedule=schedule,
        whole=period.whole_log,
        from_time=period.from_time,
        to_time=period.to_time,
    )
    return {pool: Elsewhere(*counted) for pool, *counted in rows.iter_rows()}
