"""The chart of the page of one user or account."""

from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.charts.series import value
from audit.report.charts.style import Chart
from audit.report.figures import Figure
from audit.report.owner.record import OwnerPart
from audit.report.sections.causes.charts import DividedWaits, has, stacked


def owner_why(of: OwnerPart, name: str) -> Chart | None:
    """Draw the causes of waiting of one user or account, and of all users."""
    if not of.parts:
        return None
    shares = {part.cause: Figure("", part.share) for part in of.parts}
    everybody = {part.cause: Figure("", part.of_all) for part in of.parts}
    label = wording.name(name, 20)
    rows = [DividedWaits(label, label, shares, of.wait_mean.value)]
    if of.everybody is not None and any(map(value, everybody.values())):
        rows.append(DividedWaits("all users", "all users", everybody, of.everybody.wait_mean))
    present = [cause for cause in CAUSES if has(rows, cause)]
    most = max(of.parts, key=lambda part: part.share)
    title = f"Main cause of waiting ({wording.rough_percent(most.share)}): {most.cause.legend}"
    note = "Share of waiting time; mean wait at the right."
    return stacked(title, rows, present, CAUSES, note)
