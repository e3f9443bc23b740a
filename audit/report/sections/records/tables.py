"""The counts that lead from records to attempts."""

from audit.registry.measures import SUMMARY
from audit.report.labels import Labels


def population() -> Labels:
    """Return the counts that lead from records to attempts."""
    return tuple((key, of.record_label) for key, of in SUMMARY.items() if of.record_label)
