"""Readers of evidence, by kind (``words.EvidenceKind``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from audit.formats.evidence import ge_schedule, pbs_logs, samples, slurmctld
from audit.formats.evidence.statements import PENDING, Evidence, evidence
from audit.words import EvidenceKind

WRITES: Final = {
    EvidenceKind.SQUEUE: f'"{samples.SQUEUE}", or --json',
    EvidenceKind.SPRIO: f'"{samples.SPRIO}"',
    EvidenceKind.CTLD_LOG: f"slurmctld ({slurmctld.CTLD_LOG})",
    EvidenceKind.PBS_LOG: f"PBS ({pbs_logs.PBS_LOG})",
    EvidenceKind.GE_SCHEDULE: f"Grid Engine ({ge_schedule.SCHEDULE})",
}
"""The programs that write each kind."""


def read(kind: EvidenceKind, lines: Iterable[str], zone: str, taken: int | None = None) -> Evidence:
    """Return the evidence in a text.

    Args:
        zone: time zone of the text, an IANA name.
        taken: when it was written (epoch s), for samples without a time; None: they are skipped.
    """
    said, skipped = _of(kind, lines, None if taken is None else str(taken))
    return evidence(kind, said, zone, skipped, WRITES[kind])


def _of(kind: EvidenceKind, lines: Iterable[str], taken: str | None) -> samples.Sampled:
    if kind is EvidenceKind.SQUEUE:
        found = samples.first_lines(lines)
        if found.is_json:
            return samples.documents("\n".join(found.lines), taken)
        return samples.tables(found.lines, taken)
    if kind is EvidenceKind.SPRIO:
        return samples.tables(lines, taken, PENDING)
    if kind is EvidenceKind.CTLD_LOG:
        return samples.Sampled(*slurmctld.remarks(lines))
    if kind is EvidenceKind.PBS_LOG:
        return samples.Sampled(*pbs_logs.remarks(lines))
    return samples.Sampled(*ge_schedule.remarks(lines))
