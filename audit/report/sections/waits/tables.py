"""The rows of tables about waits."""

from collections.abc import Sequence
from typing import Final

from audit.report.labels import Labels
from audit.report.sections.waits.record import Queue

QUEUES: Final = 12
"""Most combinations of partition, QOS and GPU type in the table of waits."""


def queue_columns(queues: Sequence[Queue]) -> Labels:
    """Return those of partition, QOS and GPU type that the log knows, with their titles."""
    titles = (("partition", "partition"), ("qos", "QOS"), ("gpu_type", "GPU type"))
    return tuple(of for of in titles if any(getattr(queue, of[0]) != "-" for queue in queues))
