"""Cautions about the figures of a report, for its page and for the command line."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from audit.report import part, wording
from audit.report.contents import Contents
from audit.report.notice import Notice
from audit.report.sections.fair_starts.notices import of_fair_starts
from audit.report.sections.records.notices import of_coverage, of_missing, of_pool, of_reading
from audit.report.sections.usage.notices import of_usage


def notices(contents: Contents) -> tuple[Notice, ...]:
    """Return what a reader must know before relying on the figures, grave notices first."""
    found = [
        *_of_part(contents),
        *(Notice(True, wording.name(text, 400)) for text in one_of_each(contents.warnings)),
        *of_missing(contents),
        *of_reading(contents),
        *of_coverage(contents.coverage),
        *(notice for pool in contents.pools for notice in of_pool(pool, contents)),
        *(notice for pool in contents.pools for notice in of_fair_starts(pool, contents)),
        *(() if contents.empty else of_usage(contents)),
    ]
    return tuple(sorted(found, key=lambda notice: (not notice.first, not notice.grave)))


def one_of_each(texts: Sequence[str]) -> list[str]:
    """Return one text of each kind, with the number of the others.

    Texts of one kind differ only in file names, quoted names and numbers.
    """
    kinds: dict[str, list[str]] = {}
    for text in texts:
        kinds.setdefault(_VARYING.sub("…", text), []).append(text)
    return [
        f"{first} ({len(more):,} more of this kind)" if more else first
        for first, *more in kinds.values()
    ]


_VARYING: Final = re.compile(r"""'[^']*'|"[^"]*"|\S*[\d/.]\S*""")


def _of_part(contents: Contents) -> Iterator[Notice]:
    if contents.part:
        why = wording.name(contents.part, 400)
        yield Notice(True, f"{wording.first_upper(part.VERDICT)}: {why}. {part.CAUTION}")
