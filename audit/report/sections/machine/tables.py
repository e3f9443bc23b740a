"""The key figures of a pool."""

from audit.registry.measure import Heading
from audit.report.labels import Labels, listed


def key_figures() -> Labels:
    """Return the key figures of a pool."""
    groups = (
        Heading.ATTEMPTS,
        Heading.WAITS,
        Heading.EQUALITY,
        Heading.MACHINE,
    )
    return tuple(row for table in groups for row in listed(table))
