"""What is found about usage against targets."""

from collections.abc import Iterator

from audit.report.judgement.finding import Cause, Finding
from audit.report.judgement.place import quoted
from audit.report.record.page import Contents
from audit.report.record.pool import Figure
from audit.report.record.usage import DecayedUsage, UsageRow
from audit.report.text import wording


def of_usage(contents: Contents) -> Iterator[Finding]:
    """Who was furthest below and above its target, by each way of reckoning usage."""
    for number, of in enumerate(contents.usages, start=1):
        kind = of.accounts if of.accounts.targets else of.users
        for row, side in ((kind.below, "below"), (kind.above, "above")):
            if row is not None and row.share:
                yield _off(contents, of, row, kind.kind, side, number)


def _off(
    contents: Contents, of: DecayedUsage, row: UsageRow, kind: str, side: str, number: int
) -> Finding:
    share = row.share or 0.0
    name = wording.name(row.name, 30)
    gap = abs(row.mean - share)
    advice = (
        "Ask whether it asked for less; if not, raise its priority."
        if side == "below"
        else "Nothing, unless others went short for it."
    )
    return Finding(
        subject=f"{wording.first_upper(kind)} {name}",
        about=kind,
        name=row.name,
        measure="usage",
        figure=Figure("usage", row.mean),
        effect=gap,
        sure=gap,  # a count of what was used, which no chance made
        part=share if side == "below" else row.mean,
        cause=Cause.TARGETS,
        action=advice,
        anchor=f"usage-{number}",
        sql=(
            "SELECT as_of, entity, usage_fraction, share FROM fairshare_history "  # noqa: S608
            f"WHERE cluster = {quoted(contents.cluster)} "
            f"AND entity_kind = '{kind}' AND method = '{of.method}' ORDER BY as_of, entity"
        ),
        text=(
            f"{wording.first_upper(kind)} {name} was furthest {side} its target: "
            f"{wording.rough_percent(row.mean)} of all usage against "
            f"{wording.rough_percent(share)}."
        ),
    )
