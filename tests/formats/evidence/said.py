"""Lines of a scheduler, in a few values."""

from audit.formats.evidence.read import read
from audit.words import EvidenceKind

AT = 1_795_533_410  # 2026-11-24T15:16:50 UTC


def said(kind: EvidenceKind, *lines: str) -> list[tuple[object, ...]]:
    """Their contents: instant, job or node, state, reason, priority and planned start, if any."""
    rows = read(kind, lines, "UTC").rows
    names = ("instant", "job_id", "node", "state", "reason", "priority", "expected_start")
    return [tuple(value for value in row if value is not None) for row in rows.select(names).rows()]
