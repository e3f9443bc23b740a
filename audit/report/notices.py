"""Cautions about the figures of a report, for its page and for the command line."""

from audit.report.contents import Contents
from audit.report.notice import Notice
from audit.report.sections.registry import SECTIONS


def notices(contents: Contents) -> tuple[Notice, ...]:
    """Return what a reader must know before relying on the figures, grave notices first."""
    found = [notice for section in SECTIONS for notice in section.notices(contents)]
    return tuple(sorted(found, key=lambda notice: (not notice.first, not notice.grave)))
