"""The picture of why one user or account waited, beside everybody."""

from audit.report.charts import series
from audit.report.charts.marks import bars
from audit.report.charts.marks.bars import Divided, Part
from audit.report.charts.style import Chart
from audit.report.charts.waiting import series_of
from audit.report.owner.contents import OwnerPart
from audit.report.text import wording

_WRITTEN_FROM = 0.08


def why(of: OwnerPart, name: str) -> Chart | None:
    """In what the owner's waiting passed; None where no wait was taken apart."""
    if not of.parts:
        return None
    shares = {part.cause: part.share for part in of.parts}
    rows = [(wording.name(name, 20), shares, of.wait_mean.value)]
    everybody = {part.cause: part.of_all for part in of.parts}
    if of.everybody is not None and any(everybody.values()):
        rows.append(("everybody", everybody, of.everybody.wait_mean))
    present = [cause for cause in shares if any(row[1][cause] for row in rows)]
    divided = [
        Divided(
            label,
            tuple(
                Part(
                    number,
                    parts[cause],
                    f"{label}, {cause.legend}: {wording.percent(parts[cause])}",
                    f"{100 * parts[cause]:.0f} %" if parts[cause] >= _WRITTEN_FROM else "",
                )
                for number, cause in enumerate(present)
            ),
            "" if mean is None else series.brief(mean),
        )
        for label, parts, mean in rows
    ]
    body, height = bars.divided(divided, [series_of(cause) for cause in present], "mean wait")
    most = max(of.parts, key=lambda part: part.share)
    title = f"Most of the waiting, {wording.rough_percent(most.share)}: {most.cause.legend}"
    said = "; ".join(
        f"{label}: "
        + ", ".join(f"{wording.percent(parts[cause])} {cause.legend}" for cause in present)
        for label, parts, _ in rows
    )
    note = "Share of waiting; mean wait at the right."
    return Chart("why", title, f"Bars divided by why attempts waited. {said}.", body, height, note)
