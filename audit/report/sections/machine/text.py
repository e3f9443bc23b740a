"""How busy a pool was, in words."""

from audit.report import wording
from audit.report.pool import PoolPart


def busy(pool: PoolPart) -> str:
    """Return how busy a pool was; empty if that is not known."""
    share = pool.figure("utilization")
    if share.value is None:
        return ""
    more = " (including use above capacity)" if pool.overfilled else ""
    of = " with this part of the workload" if pool.part else ""
    return f"{wording.rough(share)} busy{of}{more}"
