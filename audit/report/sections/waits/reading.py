"""The waits of a pool, read from the database, and the columns of their tables."""

from collections.abc import Sequence
from typing import Final

from audit.metrics.attempts.parts import BETWEEN, QUEUE
from audit.report.figures import Breakdown, total
from audit.report.labels import Labels
from audit.report.sections.waits.record import Queue, Waits, Walltimes
from audit.report.source import SectionSource


def read(source: SectionSource) -> dict[str, Waits]:
    """Return the waits of queues, and used walltimes, of each pool."""
    known = walltimes(source)
    return {
        pool: Waits(_queues(parts.get(QUEUE, ())), known.get(pool))
        for pool, parts in source.parts.items()
    }


def _queues(parts: Sequence[Breakdown]) -> tuple[Queue, ...]:
    """Return the combinations of partition, QOS and GPU type with any waiting, most first."""
    waits = [total(part, "wait_mean") for part in parts]
    queues = []
    for wait, part in sorted(zip(waits, parts, strict=True), key=lambda of: -of[0]):
        if wait:
            partition, qos, gpu_type = part.label.rsplit(BETWEEN, 2)
            queues.append(Queue(partition, qos, gpu_type, wait / sum(waits), part.figures))
    return tuple(queues)


def walltimes(source: SectionSource) -> dict[str, Walltimes]:
    """Return the used walltimes of each pool with any."""
    found: dict[str, Walltimes] = {}
    for pool, tenth, number, median in source.rows("waits/walltimes").iter_rows():
        known, tenths, _ = found.get(pool, Walltimes(0, (0,) * 11, median))
        tenths = (*tenths[:tenth], number, *tenths[tenth + 1 :])
        found[pool] = Walltimes(known + number, tenths, median)
    return found


QUEUES: Final = 12
"""Most combinations of partition, QOS and GPU type in the table of waits."""


def queue_columns(queues: Sequence[Queue]) -> Labels:
    """Return those of partition, QOS and GPU type that the log knows, with their titles."""
    titles = (("partition", "partition"), ("qos", "QOS"), ("gpu_type", "GPU type"))
    return tuple(of for of in titles if any(getattr(queue, of[0]) != "-" for queue in queues))
