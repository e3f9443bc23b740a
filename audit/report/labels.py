"""The measures that tables of the report show, with their labels."""

from audit.registry.measure import Heading
from audit.registry.measures import SUMMARY

Labels = tuple[tuple[str, str], ...]
"""Measures, each with its label."""


def listed(*headings: Heading) -> Labels:
    """Return the measures under some headings."""
    return tuple(
        (key, of.label) for at in headings for key, of in SUMMARY.items() if of.table is at
    )


def key_figures() -> Labels:
    """Return the key figures of a pool."""
    return listed(Heading.ATTEMPTS, Heading.WAITS, Heading.EQUALITY, Heading.MACHINE)


def population() -> Labels:
    """Return the counts that lead from records to attempts."""
    return tuple((key, of.record_label) for key, of in SUMMARY.items() if of.record_label)


def fair_start_figures() -> tuple[tuple[str, str, str], ...]:
    """Return figures of the strict and of the relaxed fair start time, with their labels."""
    return tuple(
        (key, key.replace("_strict_", "_relaxed_"), label.replace("strict FST", "FST"))
        for key, label in listed(Heading.FAIR_STARTS)
        if "_strict_" in key
    )
