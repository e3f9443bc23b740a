"""The sections of a report: the questions that it answers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from audit.report.charts.style import Chart
from audit.report.contents import Contents
from audit.report.finding import Kind, Notice
from audit.report.pool import PoolPart
from audit.report.sections import preemption, resources
from audit.report.sections.advice import record as advice
from audit.report.sections.advice import text as advice_text
from audit.report.sections.causes import evidence
from audit.report.sections.causes import text as causes_text
from audit.report.sections.causes.charts import why
from audit.report.sections.causes.record import Causes
from audit.report.sections.changes import reading as changes
from audit.report.sections.changes.charts import trend_of_pool
from audit.report.sections.changes.record import Trend
from audit.report.sections.definitions import elsewhere
from audit.report.sections.definitions.record import Elsewhere
from audit.report.sections.fair_starts import notices as fair_starts_notices
from audit.report.sections.fair_starts import record as fair_starts
from audit.report.sections.fair_starts import tables as fair_starts_tables
from audit.report.sections.fair_starts import text as fair_starts_text
from audit.report.sections.fair_starts.charts import miss
from audit.report.sections.machine import charts as machine_charts
from audit.report.sections.machine import record as machine
from audit.report.sections.machine import text as machine_text
from audit.report.sections.passed_over import charts as passed_over_charts
from audit.report.sections.passed_over import record as passed_over
from audit.report.sections.passed_over import text as passed_over_text
from audit.report.sections.predicted import judged
from audit.report.sections.records.notices import of_records
from audit.report.sections.rules import bound
from audit.report.sections.rules.record import BoundRules
from audit.report.sections.sharing import charts as sharing_charts
from audit.report.sections.sharing import record as sharing
from audit.report.sections.sharing import tables as sharing_tables
from audit.report.sections.usage import notices as usage_notices
from audit.report.sections.waits import charts as waits_charts
from audit.report.sections.waits import reading as waits
from audit.report.sections.waits.record import Waits
from audit.report.sections.who import entities
from audit.report.source import SectionSource


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """One question; its code, queries and template are in folders of its name."""

    name: str
    record: type[Any] | None = None
    """Class of what it knows about a pool; without arguments, the record of one with nothing."""
    read: Callable[[SectionSource], Mapping[str, Any]] | None = None
    """Returns the record of each pool; those without one are left out."""
    in_part: Callable[[Any], Any] = lambda record: record
    """Returns a record without what depends on free capacity, for a part of the workload."""
    notices: Callable[[Contents], Iterable[Notice]] = lambda contents: ()
    findings: tuple[Kind, ...] = ()
    charts: tuple[Callable[[PoolPart], Chart | None], ...] = ()
    filters: tuple[Callable[..., object], ...] = ()
    """Functions that its template uses, by their names."""


SECTIONS: Final = (
    ReportSection(name="records", notices=of_records),
    ReportSection(
        name="rules",
        record=BoundRules,
        read=bound.read,
        in_part=lambda _: BoundRules(),
        findings=bound.KINDS,
    ),
    ReportSection(
        name="causes",
        record=Causes,
        read=evidence.read,
        in_part=lambda _: Causes(),
        findings=evidence.KINDS,
        charts=(why,),
        filters=(
            causes_text.causes,
            causes_text.main_cause,
            causes_text.of_pool,
            evidence.lack_of,
            evidence.request,
        ),
    ),
    ReportSection(name="changes", record=Trend, read=changes.read, charts=(trend_of_pool,)),
    ReportSection(
        name="passed_over",
        record=passed_over.OrderTest,
        read=passed_over.read,
        in_part=passed_over_text.without_causes,
        findings=passed_over_text.KINDS,
        charts=(passed_over_charts.passed,),
        filters=(
            passed_over_text.passed_notes,
            passed_over_text.cannot_test,
            passed_over_text.stuck_because,
        ),
    ),
    ReportSection(
        name="fair_starts",
        record=fair_starts.FairStart,
        read=fair_starts.read,
        in_part=lambda of: replace(of, delayed=()),
        notices=fair_starts_notices.of_fair_starts,
        findings=fair_starts_notices.KINDS,
        charts=(miss,),
        filters=(
            fair_starts_tables.delayed,
            fair_starts_tables.status,
            fair_starts_text.fit_table,
            fair_starts_text.agreements,
            fair_starts_text.good_fit,
            fair_starts_text.verdict,
            fair_starts_text.policy,
            fair_starts_text.fair_order,
            fair_starts_text.tolerance,
            fair_starts_text.most_delayed,
        ),
    ),
    ReportSection(
        name="preemption",
        record=preemption.Preemption,
        read=preemption.read,
        findings=preemption.KINDS,
    ),
    ReportSection(
        name="sharing",
        record=sharing.PoolShares,
        read=sharing.read,
        findings=sharing_tables.KINDS,
        charts=(sharing_charts.shortfall, sharing_charts.lorenz, sharing_charts.account_shares),
        filters=(
            sharing_tables.worst,
            sharing_tables.best,
            sharing_tables.hidden,
            sharing_tables.contrary,
            sharing_tables.beyond,
        ),
    ),
    ReportSection(name="who", filters=(entities.owners, entities.gave_up)),
    ReportSection(
        name="waits",
        record=Waits,
        read=waits.read,
        charts=(waits_charts.waits, waits_charts.week, waits_charts.walltime),
        filters=(waits.queue_columns,),
    ),
    ReportSection(
        name="advice",
        record=advice.Advised,
        read=advice.read,
        in_part=lambda _: advice.Advised(part=True),
        filters=(advice_text.never, advice_text.nothing, advice_text.sentences),
    ),
    ReportSection(
        name="predicted",
        record=judged.Predictions,
        read=judged.read,
        filters=(
            judged.judged,
            judged.predicted_lead,
            judged.simple,
            judged.predicted_number,
            judged.predicted_of,
        ),
    ),
    ReportSection(
        name="machine",
        record=machine.MachineOverTime,
        read=machine.read,
        in_part=lambda of: replace(of, outages=()),
        findings=machine_text.KINDS,
        charts=(machine_charts.machine,),
        filters=(machine_text.busy,),
    ),
    ReportSection(name="resources", record=resources.Resources, read=resources.read),
    ReportSection(name="usage", notices=usage_notices.of_usage, findings=usage_notices.KINDS),
    ReportSection(
        name="definitions",
        record=Elsewhere,
        read=elsewhere.read,
        filters=(elsewhere.counted_elsewhere,),
    ),
)


def notices(contents: Contents) -> tuple[Notice, ...]:
    """Return what a reader must know before relying on the figures, grave notices first."""
    found = [notice for section in SECTIONS for notice in section.notices(contents)]
    return tuple(sorted(found, key=lambda notice: (not notice.first, not notice.grave)))
