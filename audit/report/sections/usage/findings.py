"""Findings about usage against targets."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from audit.report import wording
from audit.report.contents import Contents
from audit.report.figures import Figure
from audit.report.finding import Kind, Subject
from audit.report.place import Place, quoted, subject_of


def off_target(contents: Contents, place: Place, measure: str, *, side: str) -> Iterator[Subject]:
    """Yield the entity furthest below or above its target, by each method."""
    for number, of in enumerate(contents.usages, start=1):
        kind = of.accounts if of.accounts.targets else of.users
        row = kind.below if side == "below" else kind.above
        if row is None or not row.share:
            continue
        gap = abs(row.mean - row.share)
        yield Subject(
            kind.kind,
            row.name,
            {
                "subject": subject_of(kind.kind, row.name),
                "mean": wording.rough_percent(row.mean),
                "share": wording.rough_percent(row.share),
            },
            Figure,
            effect=gap,
            sure=gap,
            part=row.share if side == "below" else row.mean,
            anchor=f"usage-{number}",
            sql=(
                "SELECT as_of, entity, usage_fraction, share FROM fairshare_history "  # noqa: S608
                f"WHERE cluster = {quoted(contents.cluster)} "
                f"AND entity_kind = '{kind.kind}' AND method = '{of.method}' ORDER BY as_of, entity"
            ),
        )


KINDS: Final = (
    Kind(
        partial(off_target, side="below"),
        "",
        "usage against targets",
        "usage",
        "{subject} was furthest below its target: {mean} of all usage against {share}.",
        "Check whether it requested less; if not, raise its priority.",
        of_pool=False,
    ),
    Kind(
        partial(off_target, side="above"),
        "",
        "usage against targets",
        "usage",
        "{subject} was furthest above its target: {mean} of all usage against {share}.",
        "No action is needed unless others are below their targets because of it.",
        of_pool=False,
    ),
)
