"""The waits of queues, read from the database."""

from collections.abc import Sequence

from audit.metrics.attempts.parts import BETWEEN
from audit.report.figures import Breakdown, total
from audit.report.sections.waits.record import Queue


def queues(parts: Sequence[Breakdown]) -> tuple[Queue, ...]:
    """Return the combinations of partition, QOS and GPU type with any waiting, most first."""
    waits = [total(part, "wait_mean") for part in parts]
    queues = []
    for wait, part in sorted(zip(waits, parts, strict=True), key=lambda of: -of[0]):
        if wait:
            partition, qos, gpu_type = part.label.rsplit(BETWEEN, 2)
            queues.append(Queue(partition, qos, gpu_type, wait / sum(waits), part.figures))
    return tuple(queues)
