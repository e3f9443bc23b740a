"""Readers of evidence, by kind (``words.EvidenceKind``)."""

from collections.abc import Iterable, Iterator
from typing import Final

import polars as pl

from audit.formats.evidence import logs, samples
from audit.formats.evidence.statements import PENDING, Evidence, Remarks, collected, evidence
from audit.formats.evidence.tables import TableReader
from audit.words import EvidenceKind

WRITES: Final = {
    EvidenceKind.SQUEUE: f'"{samples.SQUEUE}", or --json',
    EvidenceKind.SPRIO: f'"{samples.SPRIO}"',
    EvidenceKind.CTLD_LOG: f"slurmctld ({logs.CTLD_LOG})",
    EvidenceKind.PBS_LOG: f"PBS ({logs.PBS_LOG})",
    EvidenceKind.GE_SCHEDULE: f"Grid Engine ({logs.SCHEDULE})",
}
"""The programs that write each kind."""


def parts(
    kind: EvidenceKind, lines: Iterable[str], zone: str, taken: int | None = None
) -> Iterator[Evidence]:
    """Yield the evidence in a text, at least once; long tables in parts.

    Args:
        zone: time zone of the text, an IANA name.
        taken: when it was written (epoch s), for samples without a time; None: they are skipped.
    """
    before: pl.DataFrame | None = None
    found: Evidence | None = None
    for said in _remarks(kind, lines, None if taken is None else str(taken)):
        found = evidence(kind, said, zone, WRITES[kind], before=before)
        before = found.last
        yield found
    if found is None:
        yield evidence(kind, collected([]), zone, WRITES[kind])


def read(kind: EvidenceKind, lines: Iterable[str], zone: str, taken: int | None = None) -> Evidence:
    """Return the evidence in a text, its rows sorted; arguments as of ``parts``."""
    each = [*parts(kind, lines, zone, taken)]
    rows = pl.concat([one.rows for one in each]).unique().sort(pl.all())
    problem = None if rows.height else next(filter(None, (one.problem for one in each)), None)
    return Evidence(rows, each[-1].last, sum(one.skipped for one in each), problem)


def _remarks(kind: EvidenceKind, lines: Iterable[str], taken: str | None) -> Iterator[Remarks]:
    if kind is EvidenceKind.SQUEUE:
        lines, is_json = samples.first_lines(lines)
        if is_json:
            yield samples.documents("\n".join(lines), taken)
        else:
            yield from TableReader(taken).parts(lines)
    elif kind is EvidenceKind.SPRIO:
        yield from TableReader(taken, PENDING).parts(lines)
    else:
        reader = {
            EvidenceKind.CTLD_LOG: logs.slurmctld_remarks,
            EvidenceKind.PBS_LOG: logs.pbs_remarks,
            EvidenceKind.GE_SCHEDULE: logs.schedule_remarks,
        }[kind]
        yield collected(*reader(lines))
