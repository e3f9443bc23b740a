"""How busy a pool was, and what was idle, in words."""

from typing import Final

from audit.report import wording
from audit.report.finding import Kind, whole
from audit.report.pool import PoolPart


def busy(pool: PoolPart) -> str:
    """Return how busy a pool was; empty if that is not known."""
    share = pool.figure("utilization")
    if share.value is None:
        return ""
    more = " (including use above capacity)" if pool.overfilled else ""
    of = " with this part of the workload" if pool.part else ""
    return f"{wording.rough(share)} busy{of}{more}"


KINDS: Final = (
    Kind(
        whole,
        "loss_of_capacity",
        "idle while others queue",
        "machine",
        "{loss_of_capacity} of the capacity ({loss_of_capacity:within}) was idle while queued jobs "
        "requested at least as much.",
        "Check what the first jobs in the queue waited for at these times.",
        0.01,
    ),
)
