"""The labels of measures in tables."""

from audit.registry.measure import Heading
from audit.registry.measures import SUMMARY

Labels = tuple[tuple[str, str], ...]
"""Measures, each with its label."""


def listed(table: Heading) -> Labels:
    """Return the measures under one heading, with their labels."""
    return tuple((key, of.label) for key, of in SUMMARY.items() if of.table is table)
